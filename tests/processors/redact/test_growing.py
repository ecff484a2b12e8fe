"""What is remembered of growing texts saves work, changes no result and holds no text."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redaction import redactor
from runreel.processors.redact.edits import Edit
from runreel.processors.redact.growing import Growing, Start, Stop, noted
from runreel.values import RawBatch, Span, SpanKey, Value

FILLER = "A prompt, with dana@example.com in it, that makes the text long enough. " * 70
PERSONAL = st.sampled_from(
    ["bob@example.com", "+1 202-555-0143", "4242 4242 4242 4242", "203.0.113.7", "plain", "é\n\\"]
)
NAMES = st.sampled_from(["content", "password", "token", "phone", "created", "type", "logprob", "eve@example.com"])
NUMBERS = st.sampled_from([1, 1.5, 4242424242424242, 12025550143])
DOCUMENTS: st.SearchStrategy[Any] = st.recursive(
    PERSONAL | NUMBERS | st.none() | st.just("string") | PERSONAL.map(lambda text: json.dumps({"password": text})),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
ENDS = [
    '"',
    ":",
    '": "x"}',
    ',"logprob":1}',
    ',{"phone":"x","n":[12025550143]}]',
    "]",
    "}",
    '"]',
    " :1}]",
    "\\q",
    '"\\q"]',
]


def cold(text: str) -> str:
    """Return a text as it is redacted by what remembers nothing."""
    return redactor(memo_size=0).text(text)


@settings(deadline=None)
@given(st.lists(st.lists(DOCUMENTS, max_size=3), min_size=1, max_size=4), st.booleans(), st.sampled_from([None, 1]))
def test_a_history_is_redacted_the_same_however_it_grew(steps: list[list[Any]], ascii_only: bool, indent: Any) -> None:
    history: list[Any] = [{"role": "system", "content": FILLER}]
    for step in steps:
        history += step
        text = json.dumps(history, ensure_ascii=ascii_only, indent=indent)

        assert redactor().text(text) == cold(text)
        assert redactor().text(redactor().text(text)) == redactor().text(text)


@settings(deadline=None)
@given(DOCUMENTS, st.lists(st.sampled_from(ENDS) | DOCUMENTS.map(json.dumps), max_size=4), st.integers(0, 40))
def test_what_follows_a_known_beginning_may_be_anything(known: Any, rest: list[str], cut: int) -> None:
    first = json.dumps([{"content": FILLER}, known])
    redactor().text(first)
    text = first[: max(0, len(first) - cut)] + "".join(rest)

    assert redactor().text(text) == cold(text)


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ('{"token": "abcdef", "logprob": 1}]', '{"token": "abcdef", "x": 1}]'),
        ('{"password": {"a": "hunter22", "type": "string"}}]', '{"password": {"a": "hunter22", "type": "x"}}]'),
        (
            '{"password": {"password": null, "a": "hunter22", "type": "string"}}]',
            '{"password": {"password": null, "a": "hunter22", "b": 1}}]',
        ),
        ('"password"]', '"password": "hunter22"]'),
        ('"phone", "x"]', '"phone": 12025550143, "x"]'),
        ('{"phone": "x", "n": ["y"]}]', '{"phone": "x", "n": ["y", 12025550143]}]'),
        ('{"phone": "x"}]', '{"phone": "x"}, 12025550143]'),
    ],
)
def test_what_stands_behind_may_change_what_stood_before(known: str, text: str) -> None:
    start = json.dumps([{"content": FILLER}])[:-1] + ", "
    redactor().text(start + known)

    assert redactor().text(start + text) == cold(start + text)


def test_a_text_under_another_name_is_another_text() -> None:
    text = json.dumps([FILLER, 4242424242424242, 12025550143])
    attributes: dict[str, Value] = {"phones": text, "created": text, "n": text, "client_version": text}

    (clean,) = redactor(token_digits=9).process(RawBatch("default", (span(attributes),))).spans

    found = {name: str(value).count("<CARD_") + str(value).count("<PHONE_") for name, value in clean.attributes.items()}
    assert found == {"phones": 2, "created": 0, "n": 1, "client_version": 1}


def span(attributes: dict[str, Value]) -> Span:
    return Span(SpanKey("default", "1" * 32, "2" * 16), None, "chat", 1, 2, attributes=attributes)


def test_threads_get_what_one_thread_gets() -> None:
    shared = redactor(token_digits=10)
    history = [{"content": FILLER + str(number)} for number in range(12)]
    texts = [json.dumps(history[:size]) for size in range(1, 13)] * 3

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(shared.text, texts))

    assert found == [redactor(token_digits=10, memo_size=0).text(text) for text in texts]


TEXT = "[" + "abcdefghi," * 1000 + "]"
EDITS = tuple(Edit(place, place + 2, "<T>", ("T",)) for place in range(100, 9000, 100))
STOPS = [Stop(10, "n"), Stop(5000, "n"), Stop(9000, "m")]


def known(growing: Growing, mark: str = "m") -> Start:
    growing.put(growing.start(mark, TEXT), TEXT, STOPS, EDITS)
    return growing.start(mark, TEXT)


def test_a_text_starts_behind_the_last_stop_up_to_which_it_is_the_same() -> None:
    growing = Growing(1000, "1")
    known(growing)

    starts = [growing.start("m", TEXT[:same] + "x" * 5000) for same in (9500, 9000, 8999, 5000, 600, 5)]

    assert [start.length for start in starts] == [9000, 9000, 5000, 5000, 10, 0]
    assert [len(start.edits) for start in starts] == [89, 89, 49, 49, 0, 0]
    assert starts[0].stop == Stop(9000, "m")


@pytest.mark.parametrize("text", [TEXT[:4000], '"' + TEXT, "[" + TEXT])
def test_short_and_other_texts_start_at_their_beginning(text: str) -> None:
    growing = Growing(1000, "1")
    known(growing)

    assert (growing.start("m", text).length, growing.start("other", TEXT).length) == (0, 0)


def test_a_key_is_that_of_the_whole_text_wherever_it_starts() -> None:
    growing = Growing(1000, "1")
    before = growing.start("m", TEXT).key(TEXT)

    assert known(growing).key(TEXT) == before != growing.start("n", TEXT).key(TEXT)
    assert Growing(1000, "1").start("m", TEXT).key(TEXT) != before


def test_a_trail_that_is_continued_makes_room_and_a_fork_does_not() -> None:
    growing = Growing(1000, "1")
    start = known(growing)
    longer, other = TEXT + "more" * 1000, TEXT[:400] + "other" * 1000
    growing.put(start, longer, [Stop(12_000, "n")], EDITS)
    growing.put(growing.start("m", other), other, [Stop(5000, "n")], ())

    assert [growing.start("m", text).length for text in (longer, TEXT, other)] == [12_000, 9000, 5000]
    assert len(growing._memo.get(start.head) or ()) == 2


def test_stops_and_edits_are_bounded() -> None:
    growing = Growing(len(STOPS) + len(EDITS), "1")
    assert known(growing).length == 9000
    assert known(growing, "other").length == 9000

    assert growing.start("m", TEXT).length == 0
    assert known(Growing(10, "1")).length == 0


def test_no_text_is_kept() -> None:
    growing = Growing(1000, "1")
    known(growing)

    assert all(text not in repr(growing._memo._entries) for text in ("abc", "def", "ghi,"))


def test_stops_keep_apart_but_for_the_last() -> None:
    stops: list[Stop] = []
    for length in range(1, 20_000, 500):
        noted(stops, Stop(length, ""))

    assert stops[-1].length == 19_501
    assert len(stops) <= 7
