from runreel.semconv import keys
from runreel.semconv.reading import read
from runreel.semconv.view import View
from span_kit import make_span


def test_a_decision_is_read_from_our_attributes() -> None:
    span = make_span(
        {
            keys.DECISION_TYPE: "route",
            keys.DECISION_CHOSEN: "refund",
            keys.DECISION_OPTIONS: '["refund", "escalate"]',
            keys.DECISION_REASON: "under the limit",
        },
        name="route",
    )

    found = read(View(span))

    assert (found.kind, found.name, found.output.value) == ("decision", "route", "refund")
    assert found.fields["options"] == ("refund", "escalate")
    assert (found.fields["type"], found.fields["reason"]) == ("route", "under the limit")


def test_our_attributes_come_before_those_of_any_dialect() -> None:
    span = make_span(
        {
            "openinference.span.kind": "RETRIEVER",
            "gen_ai.data_source.id": "theirs",
            keys.INDEX_NAME: "ours",
            keys.INDEX_VERSION: "e5-2026-10",
            keys.RETRIEVAL_FILTERS: '{"lang": "en"}',
        }
    )

    found = read(View(span))

    assert found.fields["index_name"] == "ours"
    assert found.fields["index_version"] == "e5-2026-10"
    assert found.fields["filters"] == {"lang": "en"}


def test_a_tool_says_what_nobody_else_can() -> None:
    span = make_span(
        {"gen_ai.tool.name": "refund", keys.TOOL_SIDE_EFFECT: True, keys.TOOL_VERSION: "3", keys.TOOL_MODE: "shadow"}
    )

    found = read(View(span)).fields

    assert (found["side_effect"], found["version"], found["mode"]) == (True, "3", "shadow")
