import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import freeze
from runreel.semconv import messages as shapes
from runreel.semconv.view import Memo
from runreel.values import Value

USER = {"role": "user", "parts": ({"type": "text", "content": "hi"},)}


@pytest.mark.parametrize(
    "spelling",
    [
        ({"role": "user", "parts": ({"type": "text", "content": "hi"},)},),
        ({"role": "user", "parts": ({"type": "text", "content": "hi"},), "name": None},),
        ({"role": "user", "content": "hi"},),
        ({"role": "user", "content": ({"type": "text", "text": "hi"},)},),
        ({"role": "user", "content": ({"type": "input_text", "text": "hi"},)},),
        ('{"role": "user", "parts": [{"type": "text", "content": "hi"}]}',),
        {"role": "user", "content": "hi"},
        ({"role": "MessageRole.USER", "content": "hi"},),
        {"messages": ({"role": "user", "content": "hi"},)},
        ("hi",),
        "hi",
    ],
)
def test_every_spelling_of_one_message_is_the_same_message(spelling: Value) -> None:
    assert shapes.messages(spelling, "user", Memo()) == (USER,)


def test_empty_text_no_part_and_null_content_stay_three_things() -> None:
    found = shapes.messages(
        (
            {"role": "system", "parts": ({"type": "text", "content": ""},)},
            {"role": "assistant", "parts": ()},
            {"role": "assistant", "parts": ({"type": "text", "content": None},)},
        ),
        "user",
        Memo(),
    )

    assert [one["parts"] for one in found] == [
        ({"type": "text", "content": ""},),
        (),
        ({"type": "text", "content": None},),
    ]


def test_unknown_roles_extra_keys_and_unknown_parts_pass_through() -> None:
    part = {"type": "compaction", "id": "c1", "content": "short"}

    (found,) = shapes.messages(({"role": "developer", "parts": (part,), "cache": True},), "user", Memo())

    assert found == {"role": "developer", "parts": (part,), "cache": True}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"city": "Lisbon"}', {"city": "Lisbon"}),
        ('{"city": "Lis', '{"city": "Lis'),
        ('"SELECT * FROM t"', '"SELECT * FROM t"'),
        ("", ""),
        ("null", "null"),
        ("[1,2]", "[1,2]"),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a":1}{"b":2}', '{"a":1}{"b":2}'),
        ("{'city': 'Lisbon'}", "{'city': 'Lisbon'}"),
        ('{"q": "\\\\d+"}', {"q": "\\d+"}),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
    ],
)
def test_arguments_are_an_object_where_the_text_is_one_and_else_the_text(text: str, kept: Value) -> None:
    assert shapes.arguments(text, Memo()) == kept


@pytest.mark.parametrize(
    "spelling",
    [
        {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}},
        {"type": "tool_call", "id": "c1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function", "id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
    ],
)
def test_every_spelling_of_a_tool_call_is_the_same_call(spelling: Value) -> None:
    wanted = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}

    assert shapes.part(spelling, Memo()) == wanted


@pytest.mark.parametrize("key", ["response", "result"])
def test_a_tool_response_keeps_its_text_as_text(key: str) -> None:
    found = shapes.part({"type": "tool_call_response", "id": "c1", key: '{"a": 1}'}, Memo())

    assert found == {"type": "tool_call_response", "id": "c1", "response": '{"a": 1}'}


def test_a_providers_message_with_prose_and_calls_keeps_both_in_order() -> None:
    raw = {
        "role": "assistant",
        "content": "Let me check.",
        "tool_calls": ({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},),
    }

    (found,) = shapes.messages((raw,), "assistant", Memo())

    assert found["parts"] == (
        {"type": "text", "content": "Let me check."},
        {"type": "tool_call", "id": "c1", "name": "f", "arguments": {}},
    )


def test_a_providers_tool_message_is_a_tool_response() -> None:
    (found,) = shapes.messages(({"role": "tool", "tool_call_id": "c1", "content": ""},), "user", Memo())

    assert found == {"role": "tool", "parts": ({"type": "tool_call_response", "id": "c1", "response": ""},)}


def test_a_data_url_and_a_blob_are_the_same_picture() -> None:
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    blob = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBORw0KGgo="}

    assert shapes.part(url, Memo()) == shapes.part(blob, Memo()) == blob


def test_a_picture_by_address_stays_an_address() -> None:
    found = shapes.part(
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}, Memo()
    )

    assert found == {"type": "uri", "modality": "image", "uri": "https://example.com/a.png", "detail": "low"}


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("tool_calls", "tool_call"),
        ("tool_call", "tool_call"),
        ("toolUse", "tool_call"),
        ("STOP", "stop"),
        ("FinishReason.STOP", "stop"),
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("something_new", "something_new"),
    ],
)
def test_finish_reasons_become_the_conventions_words(reason: str, word: str) -> None:
    assert shapes.finish(reason) == word


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text"},
        {"type": "text", "content": "__REDACTED__"},
        {"type": "tool_call", "id": "c", "name": "f"},
        {"type": "tool_call_response", "id": "c"},
        {"type": "blob", "modality": "image", "content": "__REDACTED__"},
        {"type": "text", "content": "<WITHHELD:redaction_failed>"},
    ],
)
def test_a_part_without_its_content_is_a_hole(part: Value) -> None:
    assert shapes.holes(({"role": "user", "parts": (part,)},)) != ""


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "content": ""},
        {"type": "text", "content": None},
        {"type": "tool_call", "id": "c", "name": "f", "arguments": None},
        {"type": "tool_call_response", "id": "c", "response": None},
        {"type": "something_new"},
    ],
)
def test_empty_content_is_no_hole(part: Value) -> None:
    assert shapes.holes(({"role": "user", "parts": (part,)},)) == ""


PARAMETERS = {"type": "object", "properties": {"q": {"type": "string"}}}


@pytest.mark.parametrize(
    "spelling",
    [
        {"type": "function", "name": "f", "description": "d", "parameters": PARAMETERS},
        {"name": "f", "description": "d", "inputSchema": PARAMETERS},
        {"name": "f", "description": "d", "input_schema": PARAMETERS},
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": PARAMETERS}},
        json.dumps({"type": "function", "function": {"name": "f", "description": "d", "parameters": PARAMETERS}}),
    ],
)
def test_every_spelling_of_a_tool_definition_is_the_same_definition(spelling: Value) -> None:
    (found,) = shapes.definitions((spelling,), Memo())

    assert found == {"type": "function", "name": "f", "description": "d", "parameters": PARAMETERS}


@pytest.mark.parametrize(
    "spelling",
    [
        {"id": "d1", "score": 0.5, "content": "text"},
        {"id": "d1", "score": 0.5, "page_content": "text"},
        {"node": {"id_": "d1", "text": "text"}, "score": 0.5},
        {"document": {"id": "d1", "content": "text"}, "score": 0.5},
        '{"id": "d1", "score": 0.5, "content": "text"}',
    ],
)
def test_every_spelling_of_a_document_is_the_same_document(spelling: Value) -> None:
    assert shapes.documents((spelling,), Memo()) == ({"id": "d1", "score": 0.5, "content": "text"},)


def test_prose_goes_before_calls_only_in_answers_of_the_assistant() -> None:
    call = {"type": "tool_call", "id": "c", "name": "f", "arguments": {}}
    text = {"type": "text", "content": "hm"}

    found = shapes.wire_order(({"role": "assistant", "parts": (call, text)}, {"role": "user", "parts": (call, text)}))

    assert [one["parts"] for one in found] == [(text, call), (call, text)]


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "parts", "content", "type", "tool_calls", "function", "id", "arguments", "text", "node"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_no_shape_of_content_makes_normalising_fail(raw: object) -> None:
    value = freeze(raw)
    memo = Memo()

    found = shapes.messages(value, "user", memo)
    shapes.holes(found)
    shapes.wire_order(found)
    shapes.definitions(value, memo)
    shapes.documents(value, memo)

    assert all("role" in one and isinstance(one["parts"], tuple) for one in found)


@given(ANYTHING)
def test_normalising_messages_twice_changes_nothing(raw: object) -> None:
    memo = Memo()
    once = shapes.messages(freeze(raw), "user", memo)

    assert shapes.messages(once, "user", memo) == once


def test_a_document_without_an_id_is_named_by_its_text_and_takes_its_score_from_its_metadata() -> None:
    plain = {"page_content": "sunny", "metadata": {"score": 0.5}}

    (found,) = shapes.documents((plain,), Memo())

    assert found == {
        "content": "sunny",
        "metadata": {"score": 0.5},
        "score": 0.5,
        "id": "sha256:" + hashlib.sha256(b"sunny").hexdigest(),
    }
    assert "id" not in shapes.documents(({"content": "__REDACTED__"},), Memo())[0]  # type: ignore[operator]
