import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonical_values import VALUES
from runreel.semconv import langchain
from runreel.semconv.view import Memo
from runreel.values import Value

CALL = {"id": "c1", "name": "rain", "args": {"city": "Oslo"}, "type": "tool_call"}
ANSWER = {"content": "", "tool_calls": (CALL,), "response_metadata": {"finish_reason": "tool_calls", "id": "r1"}}
ASKED = {
    "role": "assistant",
    "parts": ({"type": "tool_call", "id": "c1", "name": "rain", "arguments": {"city": "Oslo"}},),
    "finish_reason": "tool_call",
}
USER = {"role": "user", "parts": ({"type": "text", "content": "Rain?"},)}


@pytest.mark.parametrize(
    "spelling",
    [
        {"lc": 1, "type": "constructor", "id": ("langchain", "schema", "messages", "AIMessage"), "kwargs": ANSWER},
        {"type": "ai", "data": ANSWER},
        {**ANSWER, "type": "ai"},
    ],
)
def test_a_message_is_the_same_in_every_spelling(spelling: Value) -> None:
    assert langchain.message(spelling, Memo()) == ASKED


@pytest.mark.parametrize(
    "spelling",
    [
        {"messages": (("user", "Rain?"),)},
        {"messages": (({"type": "human", "content": "Rain?"},),)},
        {"q": "Rain?", "msgs": ({"type": "human", "content": "Rain?"},)},
        ({"graph": None, "update": {"messages": ({"type": "human", "content": "Rain?"},)}},),
        {"messages": ({"role": "user", "content": "Rain?"},)},
    ],
)
def test_messages_are_found_inside_a_state_a_batch_or_a_command(spelling: Value) -> None:
    assert langchain.messages(spelling, "user", Memo()) == (USER,)


def test_an_answer_has_its_finish_reason_beside_the_message() -> None:
    said = {"type": "ai", "content": "Yes."}
    answer = {"generations": (({"generation_info": {"finish_reason": "stop"}, "message": said},),)}

    assert langchain.messages(answer, "assistant", Memo()) == (
        {"role": "assistant", "parts": ({"type": "text", "content": "Yes."},), "finish_reason": "stop"},
    )
    assert [dict(one) for one in langchain.answers(answer)] == [said]


@pytest.mark.parametrize("value", [None, "text", 3, {"docs": ("a", "b")}, ("a", "b"), ({"city": "Oslo"},), ()])
def test_what_holds_no_messages_stays_as_it_is(value: Value) -> None:
    assert langchain.messages(value, "user", Memo()) == value


def test_a_tools_result_is_what_its_message_holds() -> None:
    told = {"type": "tool", "data": {"content": "rain", "tool_call_id": "c1", "type": "tool"}}

    assert langchain.tool_result(told) == ("rain", "c1")
    assert langchain.tool_result({"type": "ai", "content": "rain"}) is None
    assert langchain.message(told, Memo()) == {
        "role": "tool",
        "parts": ({"type": "tool_call_response", "id": "c1", "response": "rain"},),
    }


def test_calls_in_the_content_and_beside_it_are_one() -> None:
    content = ({"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "c1", "name": "rain", "input": {}})

    found = langchain.message({"type": "ai", "content": content, "tool_calls": (CALL,)}, Memo())

    assert found is not None
    assert [part["type"] for part in found["parts"]] == ["text", "tool_call"]  # type: ignore[union-attr,index,call-overload]


@pytest.mark.parametrize(
    ("name", "node", "chosen", "expected"),
    [
        ("router", "agent", "tools", True),
        ("router", "agent", "__end__", True),
        ("agent", "agent", "tools", False),
        ("router", None, "tools", False),
        ("router", "agent", "It is rainy.", False),
        ("router", "agent", {"next": "tools"}, False),
        ("StrOutputParser", "agent", "Rain", False),
    ],
)
def test_a_conditional_edge_names_a_node_inside_another_node(
    name: str, node: Value, chosen: Value, expected: bool
) -> None:
    assert langchain.is_route(name, node, chosen) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"city": "Oslo"}', {"city": "Oslo"}),
        ("{'city': 'Oslo', 'near': ['Moss', None]}", {"city": "Oslo", "near": ("Moss", None)}),
        ("Oslo", "Oslo"),
        ("{'a'}", "{'a'}"),
        ("{1: 2}", "{1: 2}"),
        ("{'city': Oslo}", "{'city': Oslo}"),
        ("{" * 400, "{" * 400),
        ("{'a': " + "1," * 40000 + "}", "{'a': " + "1," * 40000 + "}"),
    ],
)
def test_arguments_written_as_python_are_read_and_other_text_stays(text: str, expected: Value) -> None:
    assert langchain.arguments(text, Memo()) == expected


@given(VALUES)
def test_nothing_makes_it_fail(value: Value) -> None:
    memo = Memo()

    langchain.messages(value, "user", memo)
    langchain.messages({"messages": value}, "user", memo)
    langchain.messages((({"message": value, "kwargs": value},),), "assistant", memo)
    langchain.tool_result({"type": "tool", "data": value})
    list(langchain.answers({"generations": value}))


@given(st.text(max_size=60))
def test_no_text_makes_arguments_fail(text: str) -> None:
    langchain.arguments(text, Memo())
    langchain.arguments("{" + text + "}", Memo())
