import json
from collections import Counter
from typing import Any

import pytest

from redaction import redact, redactor
from runreel.processors.redact.joins import Groups, crossing
from runreel.values import Event, RawBatch, Span, SpanKey, Value

MAIL, CARD, KEY = "dana.fields@example.com", "4242 4242 4242 4242", "AKIAIOSFODNN7EXAMPLE"
SPLITS = [MAIL[:8], MAIL[8:15], MAIL[15:]]


def redacted(value: Any) -> Any:
    return json.loads(redact(json.dumps(value)))


@pytest.mark.parametrize("planted", [MAIL, CARD, KEY, "+1 202-555-0143"])
@pytest.mark.parametrize("cut", [3, 9, 15])
def test_a_value_cut_anywhere_goes_from_the_chunks_of_a_stream(planted: str, cut: int) -> None:
    value = {"chunks": ["see ", planted[:cut], planted[cut:], " ok"]}

    assert redacted(value) == {"chunks": ["see ", redact(planted), "", " ok"]}


def test_the_deltas_of_a_stream_are_pieces_of_one_text() -> None:
    stream = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in ["to ", *SPLITS, " now"]]

    left = [item["choices"][0]["delta"]["content"] for item in redacted(stream)]

    assert left == ["to ", redact(MAIL), "", "", " now"]


def test_parts_of_one_message_are_joined_and_messages_are_not() -> None:
    parts = [{"type": "text", "text": "card 4242 4242 "}, {"type": "text", "text": "4242 4242, ok"}]
    one = [{"role": "user", "parts": parts}]
    two = [{"role": "user", "content": "card 4242 4242 "}, {"role": "user", "content": "4242 4242, ok"}]

    assert [part["text"] for part in redacted(one)[0]["parts"]] == [f"card {redact(CARD)}", ", ok"]
    assert redacted(two) == two


@pytest.mark.parametrize("value", [["plain", MAIL], [MAIL, MAIL], ["202", "555", "0143"], ["4242424242424242"[:8]] * 2])
def test_items_side_by_side_are_their_own_where_nothing_says_otherwise(value: list[str]) -> None:
    assert redacted(value) == [redact(item) for item in value]


@pytest.mark.parametrize("end", [".", ".\n", ')."', "?"])
@pytest.mark.parametrize("texts", [lambda *all_: list(all_), lambda *all_: [{"type": "text", "text": t} for t in all_]])
def test_a_sentence_that_ends_with_a_value_has_nothing_to_do_with_the_next_text(end: str, texts: Any) -> None:
    clean = redacted(texts(f"write to {MAIL}{end}", "You may call, too."))

    assert clean == texts(f"write to {redact(MAIL)}{end}", "You may call, too.")


@pytest.mark.parametrize("name", ["texts", "parts"])
def test_values_that_are_no_json_are_apart_behind_a_sentence_too(name: str) -> None:
    span = Span(SpanKey("default", "1" * 32, "2" * 16), None, "x", 1, 2, attributes={name: (f"to {MAIL}.", "You")})

    (clean,) = redactor().process(RawBatch("default", (span,))).spans

    assert clean.attributes[name] == (f"to {redact(MAIL)}.", "You")


def test_items_that_are_nothing_alone_are_joined() -> None:
    assert redacted(["dana.fields@", "example.com", " x"]) == [redact(MAIL), "", " x"]


def test_a_text_that_goes_on_after_what_was_known_is_judged_from_its_beginning() -> None:
    filler = {"role": "system", "content": "A prompt that is long enough to be remembered. " * 120}
    shared = redactor(token_digits=11)
    first = json.dumps([filler, {"delta": {"content": "to dana.fie"}}])
    longer = json.dumps([filler, {"delta": {"content": "to dana.fie"}}, {"delta": {"content": "lds@example.com"}}])

    shared.text(first)

    assert json.loads(shared.text(longer))[1:] == [
        {"delta": {"content": f"to {shared.text(MAIL)}"}},
        {"delta": {"content": ""}},
    ]


def test_values_that_are_no_text_are_joined_too() -> None:
    values: Value = ({"delta": SPLITS[0], "n": 1}, {"delta": SPLITS[1]}, {"delta": SPLITS[2]})
    span = Span(
        SpanKey("default", "1" * 32, "2" * 16), None, "x", 1, 2, attributes={"v": values, "chunks": tuple(SPLITS)}
    )

    (clean,) = redactor().process(RawBatch("default", (span,))).spans

    assert clean.attributes["chunks"] == (redact(MAIL), "", "")
    assert clean.attributes["v"] == ({"delta": redact(MAIL), "n": 1}, {"delta": ""}, {"delta": ""})


def test_events_of_a_stream_are_joined() -> None:
    events = tuple(Event("gen_ai.chunk", n, {"gen_ai.chunk.delta": piece, "n": n}) for n, piece in enumerate(SPLITS))
    span = Span(SpanKey("default", "1" * 32, "2" * 16), None, "x", 1, 2, events=events)

    clean = redactor().process(RawBatch("default", (span,)))

    assert [event.attributes["gen_ai.chunk.delta"] for event in clean.spans[0].events] == [redact(MAIL), "", ""]
    assert clean.counts == {"EMAIL": 1}


def test_only_the_borders_of_long_texts_are_looked_at() -> None:
    seen: list[str] = []

    def find(windows: list[str]) -> dict[int, Any]:
        seen.extend(windows)
        return {}

    crossing(["a" * 1000, "b" * 1000, "c", "", "d" * 1000], find, chunks=True)

    assert seen == ["a" * 128 + "b" * 128, "b" * 128 + "c" + "d" * 128]


def test_a_message_ends_its_groups_and_a_list_its_items() -> None:
    groups = Groups()
    groups.add("text", 1, "a")
    groups.add("text", 2, "b")
    groups.end_message()
    groups.add("text", 3, "c")
    groups.add_item("chunks", 4, "d", first=True)
    groups.add_item("chunks", 5, "e", first=False)

    assert groups.open
    assert [[number for number, _ in group.texts] for group in groups.all()] == [[1, 2], [4, 5]]
    assert not groups.open


def test_what_is_joined_is_counted_once() -> None:
    counts: Counter[str] = Counter()
    values = redactor()._whole.values

    assert values.chunks(list(SPLITS), "delta", counts) == [redact(MAIL), "", ""]
    assert counts == {"EMAIL": 1}
