"""What expectations look at in a run, and how places in values are found."""

import pytest

from golden_kit import EXAMPLES
from runreel.goldens import folder
from runreel.goldens.view import places, pointer_of, view


def test_a_recorded_run_as_expectations_and_judges_see_it():
    seen = view(folder.read(EXAMPLES / "receipt" / "goldens" / "cents-for-dollars").run)

    assert [(one.kind, one.name) for one in seen.calls] == [
        ("llm", "gpt-4o-mini"),
        ("tool", "lookup_order"),
        ("llm", "gpt-4o-mini"),
        ("tool", "refund"),
        ("llm", "gpt-4o-mini"),
    ]
    assert (seen.used["model_calls"], seen.used["tool_calls"], seen.used["retrievals"]) == (3, 2, 0)
    assert seen.used["tokens"] == seen.used["input_tokens"] + seen.used["output_tokens"] > 0
    document = seen.document()
    assert document["outcome"] == "ok"
    assert document["output"].endswith("R-A-1042: $4900.00")
    assert document["calls"][3]["input"] == {"order_id": "A-1042", "cents": 4900}


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("", ""),
        ("$", ""),
        ("/a/0", "/a/0"),
        ("$.a.b", "/a/b"),
        ("$.a[0].b", "/a/0/b"),
        ("$.a[*]", "/a/*"),
        ("$['a/b'].c", "/a~1b/c"),
    ],
)
def test_json_paths_are_written_as_pointers(path, pointer):
    assert pointer_of(path) == pointer


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", [{"a/b": (1, 2), "text": '{"inner": [3]}'}]),
        ("/a~1b/1", [2]),
        ("/a~1b/*", [1, 2]),
        ("/text/inner/0", [3]),
        ("/a~1b/7", []),
        ("/a~1b/x", []),
        ("/none", []),
        ("/*/*/0", [3]),
    ],
)
def test_places_lead_through_maps_lists_and_texts_that_are_json(pointer, found):
    assert list(places({"a/b": (1, 2), "text": '{"inner": [3]}'}, pointer)) == found
