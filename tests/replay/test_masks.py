"""What a mask hides, and that it never hides a whole request."""

import pytest

from runreel.errors import UsageError
from runreel.replay.masks import hide_all, parse


@pytest.mark.parametrize(
    ("text", "kind", "name", "path", "covered"),
    [
        ("tool:note/tmp", "tool", "note", "/tmp", True),
        ("tool:note/tmp", "tool", "note", "/tmp/deeper/0", True),
        ("tool:note/tmp", "tool", "note", "/tmpfile", False),
        ("tool:note/tmp", "tool", "other", "/tmp", False),
        ("tool:*/options/trace_id", "tool", "any", "/options/trace_id", True),
        ("tool:note/rows/*/id", "tool", "note", "/rows/17/id", True),
        ("tool:note/rows/*/id", "tool", "note", "/rows/id", False),
        ("llm:*/params/seed", "llm", "gpt-4o-mini", "/params/seed", True),
        ("llm:gpt-4o*/messages/0/parts/0/content", "llm", "gpt-4o-mini", "/messages/0/parts/0/content", True),
        ("retrieval:kb/filters/day", "retrieval", "kb", "/filters/day", True),
        ("retrieval:kb/filters/day", "tool", "kb", "/filters/day", False),
    ],
)
def test_a_mask_covers_its_field_and_what_is_below(text, kind, name, path, covered):
    mask = parse(text)

    assert (mask.speaks_of(kind, name) and mask.covers(path)) is covered
    assert str(mask) == text


@pytest.mark.parametrize(
    "text", ["", "tool", "tool:note", "tool:/x", "note/tmp", "decision:route/chosen", "tool:note//x"]
)
def test_what_is_no_mask_is_refused(text):
    with pytest.raises(UsageError, match="mask"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "tool:note/",
        "tool:note/*",
        "tool:note/*/*",
        "llm:*/messages",
        "llm:*/messages/*",
        "llm:*/*",
        "retrieval:kb/query",
    ],
)
def test_a_mask_that_would_hide_a_whole_request_is_refused(text):
    with pytest.raises(UsageError, match="whole request"):
        parse(text)


def test_masks_that_together_leave_nothing_to_compare_are_told():
    request = {"id": "a", "at": {"start": 1, "end": 2}}

    assert hide_all([parse("tool:note/id"), parse("tool:note/at")], "tool", request)
    assert not hide_all([parse("tool:note/id"), parse("tool:note/at/end")], "tool", request)
    assert not hide_all([parse("llm:*/model")], "llm", {"model": "m", "messages": ("x",)})
    assert hide_all([parse("llm:*/messages/0")], "llm", {"model": "m", "messages": ("x",)})
