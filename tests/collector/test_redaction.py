"""What a configuration may say of redaction, and what a store then holds of it."""

from pathlib import Path

import pytest

import otlp_build as build
from runreel import otlp
from runreel.collector import config
from runreel.collector.build import _chains, _plain
from runreel.components import Site, redact_settings
from runreel.demo.walk import CONFIG
from runreel.errors import ConfigError
from runreel.processors.redact.classes import Rule
from runreel.processors.redact.own import Recogniser

WRITTEN = """redact:
    scope: run
    classes:
      - {class: regulated, tool: lookup, pointer: /diagnosis}
      - class: drop
        attribute: app.debug.*
    recognizers:
      - entity: EMPLOYEE_ID
        patterns: ['\\bE-\\d{6}\\b', {regex: 'emp #\\d+', score: 0.4}]
        deny_list: [Quilla]
"""


def written(redact: str) -> str:
    body = CONFIG.replace(
        "processors: {schema: {}, redact: {}, split: {}}", f"processors:\n  schema: {{}}\n  {redact}  split: {{}}"
    )
    assert body != CONFIG
    return body


def test_rules_and_recognisers_are_read_as_they_are_written() -> None:
    loaded = config.parse(written(WRITTEN), "c.yaml", {})

    settings = redact_settings(_plain(loaded.processors["redact"]))

    assert settings.scope == "run"
    assert settings.classes == (
        Rule("regulated", tool="lookup", pointer=("diagnosis",)),
        Rule("drop", attribute="app.debug.*"),
    )
    assert settings.recognizers == (
        Recogniser("EMPLOYEE_ID", ((r"\bE-\d{6}\b", 0.5), (r"emp #\d+", 0.4)), ("Quilla",)),
    )


def test_what_is_written_is_what_a_batch_goes_through(tmp_path: Path) -> None:
    loaded = config.parse(written(WRITTEN), "c.yaml", {})
    chain = _chains(loaded, Site(tmp_path))["traces"]
    tool = build.tool(
        "00000000000001aa", build.ROOT, "lookup", {"who": "E-123456"}, {"diagnosis": "flu", "by": "Quilla"}
    )

    split = chain.process(otlp.decode("traces", build.req(tool).SerializeToString(), "protobuf", "default"))

    held = repr((split.rows, split.payloads, split.parts))
    assert not [word for word in ("E-123456", "flu", "Quilla") if word in held]
    assert "<EMPLOYEEID_" in held
    assert "<REGULATED_" in held


@pytest.mark.parametrize(
    ("redact", "place", "said"),
    [
        ("redact: {classes: [{class: secret, tool: x}]}\n", "processors::redact::classes::0::class", "must be 'drop'"),
        (
            "redact: {classes: [{class: drop}]}\n",
            "processors::redact::classes::0",
            "write exactly one of tool, attribute",
        ),
        ("redact: {classes: [{class: drop, tool: x, pointer: a}]}\n", "classes::0", "'a' is no JSON pointer"),
        ("redact: {classes: [{class: drop, tol: x}]}\n", "classes::0::tol", "unknown key 'tol'"),
        ("redact: {recognizers: [{entity: EMAIL, deny_list: [x]}]}\n", "recognizers::0", "'EMAIL' cannot be one"),
        ("redact: {recognizers: [{entity: A1, patterns: ['(']}]}\n", "recognizers::0", "'(' is no regular expression"),
        ("redact: {ner: [AGE]}\n", "processors::redact::ner::0", "must be 'PERSON', 'LOCATION' or 'ORGANIZATION'"),
    ],
)
def test_a_mistake_is_said_with_its_place_and_what_to_write(redact: str, place: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config.parse(written(redact), "c.yaml", {})

    assert any(place in problem and said in problem and "line" in problem for problem in raised.value.problems)
