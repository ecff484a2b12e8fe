"""Declared classes, from spans as they come to spans as they are stored."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import otlp_build as build
from redaction import KEY, redact, texts
from runreel import otlp
from runreel.processors.redact import Redactor, RedactSettings, TenantKey
from runreel.processors.redact.classes import rules
from runreel.processors.redact.detect import Detector
from runreel.processors.schema import Schema
from runreel.semconv import keys
from runreel.values import CleanBatch, LogEvent, RawBatch

MAIL = "dana.fields@example.com"
NAME = "Dana Fields"
CUSTOMER = {"name": NAME, "iban": "DE89370400440532013000", "age": 41, "vip": True, "notes": [f"write to {MAIL}", None]}
SECRET = "sk-test-51HxFAKE0000000000000000"
DETECTOR = Detector()


def redactor(*declared: Mapping[str, str], key: TenantKey = KEY, **settings: Any) -> Redactor:
    told = RedactSettings(classes=rules([dict(one) for one in declared]), **settings)
    return Redactor(key, told, detector=DETECTOR)


def batch(*spans: Any) -> RawBatch:
    request = build.req(build.agent(), *spans).SerializeToString()
    return Schema().process(otlp.decode("traces", request, "protobuf", "default"))


def tool(arguments: Any, result: Any, name: str = "refund", **extra: Any) -> RawBatch:
    raw = batch(build.tool("00000000000001aa", build.ROOT, name, arguments, result, id="c1", at=1))
    attributes = {**raw.spans[1].attributes, **extra}
    return Schema().process(replace(raw, spans=(raw.spans[0], replace(raw.spans[1], attributes=attributes)), facts=()))


def seen(clean: CleanBatch, key: str) -> Any:
    """Return an attribute of the last span, parsed."""
    return json.loads(str(clean.spans[-1].attributes[key]))


ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"


def test_token_takes_every_text_and_number_and_leaves_the_structure() -> None:
    clean = redactor({"class": "token", "tool": "refund", "pointer": "/customer"}).process(
        tool({"customer": CUSTOMER, "id": 7}, {"ok": True})
    )

    left = seen(clean, ARGUMENTS)
    customer = left.pop("customer")
    assert left == {"id": 7}
    assert [*customer] == [*CUSTOMER]
    assert customer["vip"] is True
    assert customer["notes"][1] is None
    assert customer["iban"] == redact(CUSTOMER["iban"])  # the token that it has everywhere else, too
    assert customer["name"].startswith("<FIELD_")
    assert clean.counts["CLASS:token"] == 4


def test_the_same_value_is_the_same_token_in_every_place_and_form() -> None:
    declared = redactor({"class": "token", "tool": "refund", "pointer": "/name"})

    clean = declared.process(tool({"name": NAME}, json.dumps({"name": NAME})))

    assert seen(clean, ARGUMENTS)["name"] == seen(clean, RESULT)["name"] == declared._whole.token("FIELD", NAME)


def test_hash_is_a_longer_token_of_its_own() -> None:
    clean = redactor({"class": "hash", "tool": "refund", "pointer": "/customer/iban"}).process(
        tool({"customer": CUSTOMER}, {})
    )

    assert len(seen(clean, ARGUMENTS)["customer"]["iban"]) == len("<HASH_0123456789abcdef>")


def test_regulated_is_one_token_for_the_whole_value_however_it_is_written() -> None:
    declared = redactor({"class": "regulated", "tool": "refund", "pointer": "/customer"})
    turned = dict(reversed([*CUSTOMER.items()]))

    clean = declared.process(tool({"customer": CUSTOMER}, {"customer": turned}))

    token = seen(clean, ARGUMENTS)["customer"]
    assert token.startswith("<REGULATED_")
    assert seen(clean, RESULT)["customer"] == token


def test_drop_takes_the_value_out_truth_values_too() -> None:
    clean = redactor(
        {"class": "drop", "tool": "refund", "pointer": "/customer/vip"},
        {"class": "drop", "tool": "refund", "pointer": "/customer/notes"},
    ).process(tool({"customer": CUSTOMER}, {}))

    customer = seen(clean, ARGUMENTS)["customer"]
    assert (customer["vip"], customer["notes"]) == ("<WITHHELD:dropped>", "<WITHHELD:dropped>")


def test_keep_leaves_personal_data_and_numbers_as_they_are_but_no_secret() -> None:
    arguments = {
        "customer": {**CUSTOMER, "card": 4242424242424242, "password": "hunter2", "key": f"use {SECRET}"},
        "to": MAIL,
    }

    clean = redactor({"class": "keep", "tool": "refund", "pointer": "/customer"}).process(tool(arguments, {}))

    left = seen(clean, ARGUMENTS)
    assert left["to"] == redact(MAIL)
    customer = left["customer"]
    assert {name: customer[name] for name in CUSTOMER} == CUSTOMER
    assert customer["card"] == 4242424242424242
    assert customer["password"] == "<SECRET:password>"
    assert SECRET not in customer["key"]
    assert customer["key"].startswith("use <SECRET:")


@pytest.mark.parametrize("kind", ["token", "hash", "regulated", "drop"])
def test_no_class_hides_what_it_must_remove_and_a_secret_makes_no_token(kind: str) -> None:
    arguments = {"customer": {**CUSTOMER, "note": SECRET, "password": "hunter2"}}

    clean = redactor({"class": kind, "tool": "refund", "pointer": "/customer"}).process(tool(arguments, {}))

    left = " ".join(texts((clean.spans, clean.facts)))
    assert not [value for value in (NAME, CUSTOMER["iban"], MAIL, SECRET, "hunter2") if str(value) in left]
    if kind in ("token", "hash"):
        assert seen(clean, ARGUMENTS)["customer"]["note"].startswith("<SECRET:")


def test_what_is_declared_holds_in_messages_that_quote_the_call() -> None:
    messages = [
        build.msg("user", "refund please"),
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "refund", "arguments": {"name": NAME}}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": json.dumps({"name": NAME})}]},
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c2", "response": json.dumps({"name": "Lisbon"})}],
        },
    ]
    call = build.llm("00000000000000b1", build.ROOT, messages, [build.msg("assistant", "done")])
    declared = redactor({"class": "token", "tool": "refund", "pointer": "/name"})

    clean = declared.process(batch(call))

    left = seen(clean, "gen_ai.input.messages")
    token = declared._whole.token("FIELD", NAME)
    assert left[1]["parts"][0]["arguments"] == {"name": token}
    assert json.loads(left[2]["parts"][0]["response"]) == {"name": token}
    assert json.loads(left[3]["parts"][0]["response"]) == {"name": "Lisbon"}


OPENAI = [
    {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "refund", "arguments": '{"name": "Dana Fields"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"name": "Dana Fields"}'},
]
ANTHROPIC = [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "refund", "input": {"name": NAME}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1",
                                  "content": [{"type": "text", "text": '{"name": "Dana Fields"}'}]}]},
]  # fmt: skip
GEMINI = [{"parts": [{"function_call": {"name": "refund", "args": {"name": NAME}}},
                     {"function_response": {"name": "refund", "response": {"name": NAME}}}]}]  # fmt: skip


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC, GEMINI], ids=["openai", "anthropic", "gemini"])
def test_the_shapes_of_all_providers_are_known(messages: Any) -> None:
    raw = batch(build.llm("00000000000000b1", build.ROOT, [build.msg("user", "x")], [build.msg("assistant", "y")]))
    span = replace(raw.spans[1], attributes={"raw.request": json.dumps({"messages": messages})})

    clean = redactor({"class": "token", "tool": "refund", "pointer": "/name"}).process(
        replace(raw, spans=(raw.spans[0], span))
    )

    left = str(clean.spans[1].attributes["raw.request"])
    assert NAME not in left
    assert left.count("<FIELD_") == 2
    json.loads(left)


def test_indexed_attributes_of_a_call_and_its_result_are_known() -> None:
    raw = batch(build.llm("00000000000000b1", build.ROOT, [build.msg("user", "x")], [build.msg("assistant", "y")]))
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    span = replace(
        raw.spans[1],
        attributes={
            f"{call}.id": "c1",
            f"{call}.function.name": "refund",
            f"{call}.function.arguments": '{"name": "Dana Fields"}',
            "llm.input_messages.1.message.tool_call_id": "c1",
            "llm.input_messages.1.message.content": '{"name": "Dana Fields"}',
        },
    )

    clean = redactor({"class": "token", "tool": "refund", "pointer": "/name"}).process(
        replace(raw, spans=(raw.spans[0], span))
    )

    assert NAME not in " ".join(texts(clean.spans))


def test_a_log_event_that_names_a_result_by_its_call_alone_is_known_from_an_earlier_request() -> None:
    declared = redactor({"class": "token", "tool": "refund", "pointer": "/name"})
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "00000000000000a0"
    asked = LogEvent("default", trace_id, span_id, body={"tool_calls": ({"id": "c9", "function": {"name": "refund"}},)})
    came = LogEvent("default", trace_id, span_id, body={"id": "c9", "content": {"name": NAME}})

    declared.process(RawBatch("default", logs=(asked,)))
    clean = declared.process(RawBatch("default", logs=(came,)))

    assert clean.logs[0].body == {"id": "c9", "content": {"name": declared._whole.token("FIELD", NAME)}}


def test_a_tools_own_contract_needs_no_configuration_and_is_remembered() -> None:
    declared = redactor()
    contract = (f"/{'name'}", "regulated:/address")

    own = declared.process(tool({"name": NAME, "address": {"city": "Lisbon"}}, {}, **{keys.SENSITIVE: contract}))
    later = declared.process(tool({"name": NAME}, {"name": NAME}))

    assert seen(own, ARGUMENTS)["name"].startswith("<FIELD_")
    assert seen(own, ARGUMENTS)["address"].startswith("<REGULATED_")
    assert own.spans[1].attributes[keys.SENSITIVE] == contract
    assert NAME not in " ".join(texts(later.spans))


def test_contracts_that_come_on_other_spans_hold_for_the_first_call_already() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "refund", "arguments": {"name": NAME}}
    raw = batch(
        build.llm("00000000000000b1", build.ROOT, [build.msg("user", "x")], [{"role": "assistant", "parts": [call]}])
    )
    attributes = {**raw.spans[1].attributes, keys.SENSITIVE_TOOLS: ("refund /name", "refund", "x drop:/y", 5)}

    clean = redactor().process(replace(raw, spans=(raw.spans[0], replace(raw.spans[1], attributes=attributes))))

    assert NAME not in " ".join(texts(clean.spans))


def test_a_sender_cannot_keep_what_would_be_redacted() -> None:
    clean = redactor().process(tool({"email": MAIL}, {}, **{keys.SENSITIVE: ("keep:/email",)}))

    assert MAIL not in " ".join(texts(clean.spans))


def test_an_attribute_is_meant_wherever_it_stands() -> None:
    raw = batch(build.tool("00000000000001aa", build.ROOT, "echo", {"a": 1}, {}))
    span = replace(
        raw.spans[1],
        attributes={
            **raw.spans[1].attributes,
            "app.customer.name": NAME,
            "app.customer.tags": ("a", "b"),
            "app.plan": "gold",
        },
        resource=replace(raw.spans[1].resource, attributes={"app.customer.name": NAME}),
    )
    log = LogEvent("default", span.key.trace_id, span.key.span_id, attributes={"app.customer.name": NAME})

    clean = redactor({"class": "token", "attribute": "app.customer.*"}).process(
        replace(raw, spans=(raw.spans[0], span), logs=(log,))
    )

    assert NAME not in " ".join(texts((clean.spans, clean.logs)))
    assert clean.spans[1].attributes["app.plan"] == "gold"


def test_a_pointer_into_an_attribute_names_one_place() -> None:
    raw = batch(build.tool("00000000000001aa", build.ROOT, "echo", {"a": 1}, {}))
    span = replace(raw.spans[1], attributes={"app.state": {"user": {"name": NAME}, "name": "public"}})

    clean = redactor({"class": "drop", "attribute": "app.state", "pointer": "/user/name"}).process(
        replace(raw, spans=(raw.spans[0], span))
    )

    assert clean.spans[1].attributes["app.state"] == {"user": {"name": "<WITHHELD:dropped>"}, "name": "public"}


DOCUMENTS = [{"id": "d1", "score": 0.9, "content": "Dana Fields earns 100"}, {"id": "d2", "score": 0.8, "content": "b"}]


def test_documents_inherit_the_class_of_the_index_that_they_come_from() -> None:
    raw = batch(
        build.span(
            "retrieval salaries", "00000000000001aa", build.ROOT,
            attrs={"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "hr",
                   "gen_ai.retrieval.documents": json.dumps(DOCUMENTS)},
        )
    )  # fmt: skip
    assert raw.facts[1].kind == "retrieval"

    clean = redactor({"class": "regulated", "source": "hr"}).process(raw)

    left = " ".join(texts(clean.spans))
    assert NAME not in left
    assert "d1" in left
    assert left.count("<REGULATED_") == 2


def test_documents_that_name_their_source_are_known_in_any_span() -> None:
    raw = batch(build.tool("00000000000001aa", build.ROOT, "search", {"q": "x"}, [
        {"page_content": "Dana Fields", "metadata": {"source": "hr"}},
        {"page_content": "free", "metadata": {"source": "web"}},
    ]))  # fmt: skip

    clean = redactor({"class": "drop", "source": "hr"}).process(raw)

    first, second = seen(clean, RESULT)
    assert first == {"page_content": "<WITHHELD:dropped>", "metadata": {"source": "hr"}}
    assert second["page_content"] == "free"


@pytest.mark.parametrize(
    "result",
    [
        "{'name': 'Dana Fields'}",
        '{"id": 1, "name": "Dana Fie',
        '{"x": 1}\n{"name": "Dana Fields"}',
        '{"a": nope, "name": "Dana Fields"}',
    ],
)
def test_a_result_that_is_cut_or_no_json_gives_nothing_away(result: str) -> None:
    clean = redactor({"class": "token", "tool": "refund", "pointer": "/name"}).process(tool({}, result))

    assert "Dana" not in " ".join(texts(clean.spans))


def test_wrappers_that_libraries_put_around_arguments_do_not_hide_the_place() -> None:
    clean = redactor({"class": "token", "tool": "refund", "pointer": "/name"}).process(
        tool({"args": [], "kwargs": {"name": NAME, "product": {"name": "a lamp"}}}, {})
    )

    left = seen(clean, ARGUMENTS)["kwargs"]
    assert left["name"].startswith("<FIELD_")
    assert left["product"] == {"name": "a lamp"}


def test_of_two_classes_for_one_place_the_nearer_then_the_stricter_holds() -> None:
    clean = redactor(
        {"class": "keep", "tool": "refund"},
        {"class": "token", "tool": "refund", "pointer": "/name"},
        {"class": "drop", "tool": "refund", "pointer": "/name"},
    ).process(tool({"name": NAME, "email": MAIL}, {}))

    assert seen(clean, ARGUMENTS) == {"name": "<WITHHELD:dropped>", "email": MAIL}


def test_a_second_redaction_changes_nothing() -> None:
    declared = redactor({"class": "token", "tool": "refund", "pointer": "/customer"})
    once = declared.process(tool({"customer": CUSTOMER}, {}))

    twice = declared.process(RawBatch("default", once.spans, facts=once.facts))

    assert twice.spans == once.spans


def test_a_record_says_which_key_made_its_tokens() -> None:
    named = TenantKey("0123456789abcdef", KEY.secret)
    declared = redactor({"class": "token", "tool": "refund", "pointer": "/name"}, key=named)

    by_class = declared.process(tool({"name": NAME}, {}))
    by_rule = declared.process(tool({"email": MAIL}, {}, name="send"))
    none = declared.process(tool({"n": 1, "password": "hunter2"}, {}, name="send"))

    assert [clean.spans[1].marks for clean in (by_class, by_rule, none)] == [
        ("key:0123456789abcdef",),
        ("key:0123456789abcdef",),
        (),
    ]


def test_where_deciding_fails_the_value_is_withheld_and_the_rest_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = redactor({"class": "token", "tool": "refund", "pointer": "/name"})

    def failing(entity: str, text: str, digits: int | None = None) -> str:
        raise MemoryError

    monkeypatch.setattr(declared._whole, "token", failing)
    clean = declared.process(tool({"name": NAME}, {"ok": True}))

    assert clean.spans[1].attributes[ARGUMENTS] == "<WITHHELD:redaction_failed>"
    assert seen(clean, RESULT) == {"ok": True}
    assert clean.spans[1].marks == (f"withheld:{ARGUMENTS}:redaction_failed",)
    assert clean.counts["redaction_failures"] == 1
