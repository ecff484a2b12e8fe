import pytest

from runreel.semconv.content import tool_arguments, understand
from runreel.semconv.registry import FieldType
from runreel.semconv.view import Found, Memo
from runreel.values import RefState, Value

MESSAGES = '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]'


@pytest.mark.parametrize(
    ("shape", "raw", "state", "word"),
    [
        ("messages", MESSAGES, "whole", ""),
        ("messages", MESSAGES[:-20], "cut", "not_json"),
        ("messages", "__REDACTED__", "withheld", "placeholder"),
        ("messages", '[{"role": "user", "parts": [{"type": "text"}]}]', "withheld", "content_off"),
        ("messages", "[]", "absent", "empty"),
        ("messages", "only text", "whole", ""),
        ("documents", '[{"id": "1", "content": "a"}]', "whole", ""),
        ("documents", '[{"id": "1", "score": 0.9}]', "withheld", "no_document_text"),
        ("documents", '[{"id": "1", "content": "__REDACTED__"}]', "withheld", "placeholder"),
        ("documents", "[]", "whole", ""),
        ("value", "", "whole", ""),
        ("value", '{"broken": ', "whole", ""),
        ("value", "a... [truncated]", "cut", "said_truncated"),
        ("json", '{"a": 1}', "whole", ""),
        ("definitions", '[{"name": "f"}]', "whole", ""),
    ],
)
def test_content_says_how_much_of_it_there_is(shape: FieldType, raw: Value, state: RefState, word: str) -> None:
    found = understand(shape, raw, "user", Memo())

    assert (found.state, found.reason.partition(":")[0]) == (state, word)


VOIDS: tuple[Value, ...] = ("null", '""', "0", "false", "[]", "[null]", "", "  ", " null ", 0, False, (), (None,))


@pytest.mark.parametrize("raw", VOIDS)
def test_what_says_nothing_is_no_message(raw: Value) -> None:
    found = understand("messages", raw, "user", Memo())

    assert (found.value, found.state, found.reason.partition(":")[0]) == (None, "absent", "empty")


@pytest.mark.parametrize("raw", ["{}", "[{}]", " {} ", {}, ({},), ("{}",)])
def test_an_empty_object_in_the_place_of_messages_stands_for_withheld_ones(raw: Value) -> None:
    found = understand("messages", raw, "user", Memo())

    assert (found.value, found.state, found.reason.partition(":")[0]) == (None, "withheld", "placeholder")


@pytest.mark.parametrize(("shape", "raw"), [("documents", "null"), ("documents", 0), ("definitions", "false")])
def test_what_says_nothing_is_no_document_and_no_definition(shape: FieldType, raw: Value) -> None:
    assert understand(shape, raw, "", Memo()).state == "absent"


@pytest.mark.parametrize("raw", ["5", "true", "null and void", '"null"', '["a"]', '[{"role": "user"}]'])
def test_short_texts_and_lists_that_say_something_are_messages(raw: Value) -> None:
    assert understand("messages", raw, "user", Memo()).state == "whole"


@pytest.mark.parametrize("raw", ["null", '""', "{}", "0", "false", "", 0, False, (), {}])
def test_what_a_tool_returned_may_be_any_of_these(raw: Value) -> None:
    assert understand("value", raw, "", Memo()) == Found(raw, "whole")


def test_a_cut_value_is_kept_as_the_text_that_came() -> None:
    assert understand("messages", MESSAGES[:-20], "user", Memo()).value == MESSAGES[:-20]


def test_pythons_nan_in_messages_is_no_cut() -> None:
    found = understand("messages", '[{"role": "user", "parts": [{"type": "score", "content": NaN}]}]', "user", Memo())

    assert found.state == "whole"


def test_text_structure_and_list_of_texts_give_the_same_messages() -> None:
    structured = ({"role": "user", "parts": ({"type": "text", "content": "hi"},)},)
    texts = ('{"role": "user", "parts": [{"type": "text", "content": "hi"}]}',)

    found = [understand("messages", raw, "user", Memo()).value for raw in (MESSAGES, structured, texts)]

    assert found[0] == found[1] == found[2]


def test_arguments_keep_their_own_text() -> None:
    found = tool_arguments('{"rate": 1e2}', Memo())

    assert (found.value, found.text, found.state) == ({"rate": 100.0}, '{"rate": 1e2}', "whole")


@pytest.mark.parametrize("raw", ['{"city": "Lis', "", "not json"])
def test_broken_arguments_are_whole_since_models_write_them(raw: str) -> None:
    found = tool_arguments(raw, Memo())

    assert (found.value, found.text, found.state) == (raw, raw, "whole")


def test_structured_arguments_have_no_text() -> None:
    assert tool_arguments({"a": 1}, Memo()).text is None
