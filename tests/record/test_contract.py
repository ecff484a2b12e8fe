from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

import runreel.record as rr
from record_kit import exporter, only
from runreel.record import _active
from runreel.record.contract import contract

SCHEMA = {
    "title": "refunds",
    "type": "object",
    "properties": {
        "order": {"type": "string", "pattern": "^A-", "minLength": 3, "maxLength": 8},
        "cents": {"type": "integer", "minimum": 1, "maximum": 100},
        "rate": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "notify": {"type": "boolean"},
        "why": {"enum": ["lost", "late"]},
        "kind": {"const": "refund"},
        "lines": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        "to": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "address": {"type": "object", "properties": {"zip": {"type": "string"}}, "additionalProperties": False},
        "tags": {"type": "object", "additionalProperties": {"type": "integer"}},
        "either": {"type": ["integer", "string"]},
    },
    "required": ["order"],
    "additionalProperties": False,
}


class Refund(BaseModel):
    model_config = ConfigDict(extra="forbid")
    order: str
    cents: int = Field(gt=0)
    why: Literal["lost", "late"] = "lost"

    @field_validator("order")
    @classmethod
    def known(cls, value):
        if value == "secret-order":
            raise ValueError(f"no such order: {value}")
        if value == "broken":
            raise RuntimeError("the validator itself fails")
        return value


@pytest.mark.parametrize(
    "more",
    [
        {"cents": 5, "rate": 0.5, "notify": True, "why": "lost", "kind": "refund"},
        {"lines": [1, 2], "to": None, "address": {"zip": "1"}, "tags": {"a": 1}, "either": "3"},
        {},
    ],
)
def test_arguments_that_fit_a_schema_are_admitted_as_they_are(more):
    judged = contract(SCHEMA).judge({"order": "A-1", **more})

    assert (judged.decision, judged.contract, judged.reason) == ("admit", "refunds", "")
    assert judged.arguments == {"order": "A-1", **more}


@pytest.mark.parametrize(
    ("more", "executed"),
    [
        ({"cents": "5"}, {"cents": 5}),
        ({"cents": 5.0}, {"cents": 5}),
        ({"rate": "0.5"}, {"rate": 0.5}),
        ({"notify": "true"}, {"notify": True}),
        ({"lines": ["1", 2.0]}, {"lines": [1, 2]}),
        ({"to": "7"}, {"to": 7}),
        ({"tags": {"a": "1"}}, {"tags": {"a": 1}}),
    ],
)
def test_what_models_write_for_a_value_is_coerced_to_it(more, executed):
    judged = contract(SCHEMA).judge({"order": "A-1", **more})

    assert judged.decision == "coerce"
    assert judged.arguments == {"order": "A-1", **executed}
    assert type(next(iter(judged.arguments.values()))) is str


@pytest.mark.parametrize(
    ("given_", "reason"),
    [
        ({}, "/order: required"),
        ({"order": "B-1"}, "/order: pattern"),
        ({"order": "A-"}, "/order: minLength"),
        ({"order": "A-1234567"}, "/order: maxLength"),
        ({"order": 1}, "/order: type"),
        ({"order": "A-1", "cents": 0}, "/cents: minimum"),
        ({"order": "A-1", "cents": "101"}, "/cents: maximum"),
        ({"order": "A-1", "cents": 1.5}, "/cents: type"),
        ({"order": "A-1", "cents": True}, "/cents: type"),
        ({"order": "A-1", "rate": 0}, "/rate: exclusiveMinimum"),
        ({"order": "A-1", "rate": 1.0}, "/rate: exclusiveMaximum"),
        ({"order": "A-1", "notify": "yes"}, "/notify: type"),
        ({"order": "A-1", "why": "bored"}, "/why: enum"),
        ({"order": "A-1", "kind": "x"}, "/kind: const"),
        ({"order": "A-1", "lines": []}, "/lines: minItems"),
        ({"order": "A-1", "lines": [1, 2, 3]}, "/lines: maxItems"),
        ({"order": "A-1", "lines": ["x"]}, "/lines/0: type"),
        ({"order": "A-1", "to": "x"}, "/to: anyOf"),
        ({"order": "A-1", "address": {"street": "x"}}, "/address/street: additionalProperties"),
        ({"order": "A-1", "colour": "red"}, "/colour: additionalProperties"),
    ],
)
def test_what_a_schema_forbids_is_rejected_by_field_and_rule(given_, reason):
    judged = contract(SCHEMA).judge(given_)

    assert (judged.decision, judged.reason) == ("reject", reason)
    assert judged.arguments == given_


@given(st.integers(-(10**17), 10**17))
def test_a_number_in_a_text_is_the_number(number):
    judged = contract({"properties": {"n": {"type": "integer"}}}).judge({"n": str(number)})

    assert (judged.decision, judged.arguments) == ("coerce", {"n": number})


@given(st.text())
def test_a_text_is_never_coerced_where_a_text_is_wanted(text):
    judged = contract({"properties": {"n": {"type": "string"}}}).judge({"n": text})

    assert (judged.decision, judged.arguments) == ("admit", {"n": text})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {"a": {"$ref": "#/x"}}}, r"\$ref at /properties/a cannot be checked"),
        ({"properties": {"a": {"type": "date"}}}, "'date' at /properties/a is no type"),
        ({"properties": {"a": True}}, "is a map, not bool, at /properties/a"),
        ({"anyOf": [{"not": {}}]}, "not at /anyOf/0"),
        ({"properties": {"a": {"items": {"oneOf": []}}}}, "oneOf at /properties/a/items"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused_where_the_tool_is_made(schema, said):
    with pytest.raises(ValueError, match=said):
        rr.tool(contract=schema)


def test_a_contract_is_a_model_or_a_schema():
    with pytest.raises(TypeError, match="not int"):
        rr.tool(contract=3)


@pytest.mark.parametrize(
    ("given_", "decision", "executed", "reason"),
    [
        ({"order": "A-1", "cents": 5}, "admit", {"order": "A-1", "cents": 5}, ""),
        ({"order": "A-1", "cents": "5"}, "coerce", {"order": "A-1", "cents": 5}, ""),
        ({"order": "A-1", "cents": 0}, "reject", None, "/cents: greater_than"),
        ({"order": "A-1", "cents": 5, "x": 1}, "reject", None, "/x: extra_forbidden"),
        ({"order": "secret-order", "cents": 5}, "reject", None, "/order: value_error"),
        ({"order": "broken", "cents": 5}, "reject", None, "RuntimeError"),
    ],
)
def test_a_pydantic_model_judges_by_field_and_rule_and_quotes_no_value(given_, decision, executed, reason):
    judged = contract(Refund).judge(given_)

    assert (judged.decision, judged.reason) == (decision, reason)
    assert judged.arguments == (executed or given_)
    assert judged.contract.endswith("Refund")


def test_a_tool_is_executed_with_coerced_arguments_and_both_are_recorded():
    spans = exporter()

    @rr.tool(contract=Refund)
    def refund(order, cents=1, **more):
        return [order, cents]

    assert refund("A-1", cents="5") == ["A-1", 5]

    attributes = only(spans).attributes
    assert attributes["gen_ai.tool.call.arguments"] == '{"order":"A-1","cents":"5"}'
    assert attributes["replay.tool.contract.coerced_arguments"] == '{"order":"A-1","cents":5}'
    assert attributes["replay.tool.contract.decision"] == "coerce"


def test_arguments_of_any_name_are_coerced_too():
    @rr.tool(contract={"additionalProperties": {"type": "integer"}})
    def add(**numbers):
        return sum(numbers.values())

    assert add(a="1", b=2) == 3


def test_a_rejected_call_does_not_run_and_its_text_holds_no_value():
    spans = exporter()

    @rr.tool(contract=Refund)
    def refund(order, cents):
        raise AssertionError("the body ran")

    with pytest.raises(rr.ContractError, match=r"refund: /cents: int_parsing") as raised:
        refund("A-1", "four hundred")

    assert "four hundred" not in str(raised.value)
    attributes = only(spans).attributes
    assert attributes["replay.tool.contract.decision"] == "reject"
    assert attributes["replay.tool.contract.reason"] == "/cents: int_parsing"
    assert attributes["error.type"] == "runreel.record.contract.ContractError"


def test_in_a_replay_the_boundary_hears_what_the_contract_says_now(monkeypatch):
    heard = []

    class Tape:
        def call(self, kind, name, arguments, call_id, *, contract=""):
            heard.append((arguments, contract))
            return "from the record"

    monkeypatch.setattr(_active, "current", Tape())
    refund = rr.tool(contract=Refund)(lambda order, cents: None)

    assert refund("A-1", "5") == "from the record"
    with pytest.raises(rr.ContractError):
        refund("A-1", "x")
    assert heard == [({"order": "A-1", "cents": "5"}, "coerce"), ({"order": "A-1", "cents": "x"}, "reject")]


@pytest.mark.parametrize("value", ["<EMAIL_0a1b2c3d>", ["x <SECRET:password>"], {"<EMAIL_0a1b2c3d>": 1}])
def test_in_a_replay_a_contract_does_not_judge_what_a_token_stands_for(monkeypatch, value):
    heard = []

    class Tape:
        def call(self, kind, name, arguments, call_id, *, contract=""):
            heard.append(contract)
            return "from the record"

    monkeypatch.setattr(_active, "current", Tape())

    assert rr.tool(contract={"properties": {"to": {"type": "integer"}}})(lambda to: None)(value) == "from the record"
    assert heard == [""]
