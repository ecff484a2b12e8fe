from typing import Any

from runreel.semconv.message_events import answered, finish_reasons, sent
from runreel.semconv.view import ABSENT, View
from runreel.values import Event, LogEvent, Value
from span_kit import make_log, make_span

CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"a": 1}'}}
PART = {"type": "tool_call", "id": "c1", "name": "get", "arguments": {"a": 1}}


def log(name: str, body: Value, **attributes: Any) -> LogEvent:
    return make_log(attributes, event_name=name, body=body)


def view_of(*logs: LogEvent, events: tuple[Event, ...] = ()) -> View:
    return View(make_span({}, events=events), logs)


def text(role: str, content: str) -> dict[str, Value]:
    return {"role": role, "parts": ({"type": "text", "content": content},)}


def test_a_message_an_event_in_order() -> None:
    view = view_of(
        log("gen_ai.system.message", {"content": "be brief"}),
        log("gen_ai.user.message", {"content": "hello"}),
        log("gen_ai.assistant.message", {"tool_calls": (CALL,)}),
        log("gen_ai.tool.message", {"id": "c1", "content": "42"}),
        log("gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": {"content": "done"}}),
    )

    assert sent(view).value == (
        text("system", "be brief"),
        text("user", "hello"),
        {"role": "assistant", "parts": (PART,)},
        {"role": "tool", "parts": ({"type": "tool_call_response", "id": "c1", "response": "42"},)},
    )
    assert answered(view).value == (text("assistant", "done") | {"finish_reason": "tool_call"},)
    assert finish_reasons(view) == ("tool_calls",)
    assert (sent(view).source, sent(view).state) == ("logs", "whole")


def test_older_senders_put_the_name_into_an_attribute_and_the_body_into_text() -> None:
    view = view_of(
        make_log({"event.name": "gen_ai.user.message"}, event_name="", body='{"role": "user", "content": "hello"}')
    )

    assert sent(view).value == (text("user", "hello"),)


def test_the_senders_own_number_orders_messages_and_what_has_none_comes_after() -> None:
    view = view_of(
        log("gen_ai.user.message", {"content": "third"}),
        log("gen_ai.user.message", {"content": "second"}, CHAT_MESSAGE_INDEX=1),
        log("gen_ai.system.message", {"content": "first"}, CHAT_MESSAGE_INDEX=0),
    )

    assert sent(view).value == (text("system", "first"), text("user", "second"), text("user", "third"))


def test_messages_on_the_span_go_before_the_same_ones_as_log_events() -> None:
    event = Event("gen_ai.user.message", 0, {"content": "hello"})

    found = sent(view_of(log("gen_ai.user.message", {"content": "hello"}), events=(event,)))

    assert (found.value, found.source) == ((text("user", "hello"),), "events")


def test_an_event_without_content_is_withheld_content_and_no_empty_message() -> None:
    bare = {"id": "c1", "type": "function", "function": {"name": "get"}}
    for name, body in (
        ("gen_ai.user.message", None),
        ("gen_ai.assistant.message", {"tool_calls": (bare,)}),
        ("gen_ai.tool.message", {"id": "c1"}),
    ):
        assert sent(view_of(log(name, body))).state == "withheld"
    assert answered(view_of(log("gen_ai.choice", {"index": 0, "message": {"role": "assistant"}}))).state == "withheld"


def test_an_empty_answer_is_content() -> None:
    found = answered(view_of(log("gen_ai.choice", {"message": {"content": ""}, "finish_reason": "stop"})))

    assert (found.state, found.value) == ("whole", (text("assistant", "") | {"finish_reason": "stop"},))


def test_ordinary_log_lines_are_no_messages() -> None:
    view = view_of(make_log({}, event_name="", body="Calling a function"), log("exception", {"content": "x"}))

    assert sent(view) is ABSENT
    assert answered(view) is ABSENT
