import subprocess
import sys
from pathlib import Path

import yaml

from runreel.record.handle import LOSSES
from runreel.semconv import keys
from runreel.semconv.namespace import attributes, render
from runreel.semconv.registry import ATTRIBUTES, BY_KEY

FILE = Path(__file__).resolve().parents[2] / "docs" / "replay-registry.yaml"


def test_the_file_is_what_the_registry_says() -> None:
    command = [sys.executable, "-m", "runreel.semconv.namespace"]

    written = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert written == render()
    assert FILE.read_text(encoding="utf-8") == render(), (
        "run: python -m runreel.semconv.namespace > docs/replay-registry.yaml"
    )


def test_every_name_of_ours_is_in_it_once() -> None:
    ours = {
        value.rstrip(".")
        for name, value in vars(keys).items()
        if name.isupper() and isinstance(value, str) and value.startswith(keys.PREFIX) and value != keys.PREFIX
    }
    named = [one.key for one in attributes()]

    assert LOSSES in named
    assert sorted(named) == sorted(ours - {keys.FLAG_EVENT, keys.RESULT_EVENT})


def test_it_is_a_registry_as_opentelemetry_writes_them() -> None:
    groups = yaml.safe_load(render())["groups"]

    assert len({group["id"] for group in groups}) == len(groups)
    ids = []
    for group in groups:
        assert group["type"] in ("attribute_group", "event")
        assert group["brief"]
        for one in group["attributes"]:
            if "ref" in one:
                continue
            ids.append(one["id"])
            assert one["id"].startswith("replay.")
            assert one["stability"] == "development"
            assert one["brief"]
            if isinstance(one["type"], dict):
                assert all(set(member) == {"id", "value", "stability"} for member in one["type"]["members"])
            else:
                assert one["type"] in {"string", "string[]", "int", "double", "boolean", "template[string]"}
                # An example is needed for texts, of the type that the attribute has.
                kind = {"string[]": list}.get(one["type"], str)
                assert [type(example) for example in one.get("examples", [])] == [kind] * ("string" in one["type"])
    assert len(set(ids)) == len(ids) == len(attributes())
    refs = {one["ref"] for group in groups for one in group["attributes"] if "ref" in one}
    assert refs <= set(ids)


def test_closed_lists_of_values_are_those_that_the_record_names() -> None:
    for key, field in ((keys.DECISION_TYPE, "decision.type"), (keys.MEMORY_OP, "memory.op")):
        (found,) = [one for one in ATTRIBUTES if one.key == key]

        assert all(value in BY_KEY[field].doc for value in found.values)
