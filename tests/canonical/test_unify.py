"""Recorded tokens unify with what they stand for, and with nothing else."""

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from canonical_values import VALUES
from runreel.canonical import Bindings, Mismatch, canonical, make_token, normalise, unify
from runreel.values import Value

KEY = b"k" * 32
DANA = "dana.fields@example.com"
DANA_TOKEN = make_token(KEY, "EMAIL", DANA)
OMAR = "omar@example.org"
OMAR_TOKEN = make_token(KEY, "EMAIL", OMAR)

# Values as redaction finds them.
PERSONAL = st.one_of(
    st.tuples(st.just("EMAIL"), st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,8})?@[a-z]{1,8}\.(com|org)", fullmatch=True)),
    st.tuples(
        st.just("PHONE"), st.from_regex(r"(\+[0-9]{1,3} )?(\([0-9]{3}\) )?[0-9]{3}[-. ][0-9]{4}", fullmatch=True)
    ),
    st.tuples(st.just("CARD"), st.from_regex(r"[0-9]{4}([- ]?)[0-9]{4}\1[0-9]{4}\1[0-9]{4}", fullmatch=True)),
    st.tuples(st.just("IBAN"), st.from_regex(r"DE[0-9]{2}( [0-9]{4}){4} [0-9]{2}", fullmatch=True)),
    st.tuples(st.just("IP"), st.ip_addresses().map(str)),
    st.tuples(st.just("SSN"), st.from_regex(r"[0-9]{3}-[0-9]{2}-[0-9]{4}", fullmatch=True)),
    st.tuples(st.just("CRYPTO"), st.from_regex(r"1[A-Za-z0-9]{30}", fullmatch=True)),
)
NAMED = st.tuples(st.just("PERSON"), st.text(st.characters(categories=["L"]), min_size=1, max_size=12))
BETWEEN = st.text(st.sampled_from("ab .,:\n<>\"'\u00e9\U0001f642"), min_size=1, max_size=6)


@st.composite
def redacted_texts(draw: st.DrawFn, personal: Any = PERSONAL | NAMED) -> tuple[str, str, dict[str, str], list[int]]:
    """A text as recorded, as it was, what its tokens stand for, and where the text between the tokens stands."""
    pool = draw(st.lists(personal, min_size=1, max_size=4))
    was, now, tokens, places = "", "", {}, []
    for entity, raw in draw(st.lists(st.sampled_from(pool), max_size=6)):
        between = draw(BETWEEN)
        places += range(len(now), len(now) + len(between))
        token = make_token(KEY, entity, raw)
        tokens.setdefault(token, raw)
        was, now = was + between + token, now + between + raw
    between = draw(BETWEEN)
    places += range(len(now), len(now) + len(between))
    return was + between, now + between, tokens, places


def meant(tokens: Any) -> dict[str, str]:
    return {token: normalise(token[1:].rpartition("_")[0], raw) for token, raw in tokens.items()}


@given(redacted_texts())
def test_with_the_key_exactly_the_redacted_values_are_bound(case: tuple[str, str, dict[str, str], list[int]]) -> None:
    was, now, tokens, _ = case

    bindings = unify(was, now, key=KEY)

    assert isinstance(bindings, Bindings)
    assert meant(bindings.tokens) == meant(tokens)
    assert bindings.assumed == frozenset()


@given(redacted_texts(PERSONAL))
def test_without_the_key_every_token_is_bound_and_listed_as_assumed(
    case: tuple[str, str, dict[str, str], list[int]],
) -> None:
    was, now, tokens, _ = case

    bindings = unify(was, now)

    assert isinstance(bindings, Bindings)
    assert bindings.tokens.keys() == bindings.assumed == tokens.keys()


@given(redacted_texts(), st.data())
def test_a_changed_character_elsewhere_is_a_mismatch(
    case: tuple[str, str, dict[str, str], list[int]], data: st.DataObject
) -> None:
    was, now, _, places = case
    place = data.draw(st.sampled_from(places))
    new = data.draw(st.sampled_from("abQ .(+1-@\u00a0\u200b"))
    assume(new != now[place])

    found = unify(was, now[:place] + new + now[place + 1 :], key=KEY)

    assert isinstance(found, Mismatch)
    assert found.path == ""


@given(redacted_texts(), st.sampled_from(["list", "map", "json", "key"]))
def test_tokens_are_found_at_any_depth(case: tuple[str, str, dict[str, str], list[int]], where: str) -> None:
    was, now, tokens, _ = case
    pairs: dict[str, tuple[Value, Value]] = {
        "list": (("x", (was,)), ("x", (now,))),
        "map": ({"a": {"b": was}}, {"a": {"b": now}}),
        "json": (json.dumps({"a": [was]}), json.dumps({"a": [now]}, indent=1)),
        "key": ({"x": 1, was: 2}, {now: 2, "x": 1}),
    }

    bindings = unify(*pairs[where], key=KEY)

    assert isinstance(bindings, Bindings)
    assert meant(bindings.tokens) == meant(tokens)


@given(VALUES)
def test_any_value_unifies_with_itself(value: Value) -> None:
    assert unify(value, value) == Bindings()


@given(VALUES, VALUES)
def test_values_without_tokens_unify_only_if_they_are_equal(one: Value, other: Value) -> None:
    equal = canonical(one) == canonical(other)
    found = unify(one, other)

    if equal:
        assert found == Bindings()
    if isinstance(found, Bindings) and not equal:
        assert "{" in repr((one, other)) or "[" in repr((one, other))  # strings that are JSON text of equal values


DIFFERENCES: list[tuple[Value, Value, Mismatch]] = [
    (1, 2, Mismatch("", 1, 2, "value")),
    (1, True, Mismatch("", 1, True, "type")),
    (1, "1", Mismatch("", 1, "1", "type")),
    (None, "", Mismatch("", None, "", "type")),
    ((), {}, Mismatch("", (), {}, "type")),
    (b"a", "a", Mismatch("", b"a", "a", "type")),
    (2**53, 2**53 + 1, Mismatch("", 2**53, 2**53 + 1, "value")),
    ({"a": 1}, {"a": 1, "b": 2}, Mismatch("/b", None, 2, "added")),
    ({"a": 1, "b": 2}, {"a": 1}, Mismatch("/b", 2, None, "removed")),
    ({"a": None}, {}, Mismatch("/a", None, None, "removed")),
    ((1, 2), (1,), Mismatch("/1", 2, None, "removed")),
    ((1,), (1, 2), Mismatch("/1", None, 2, "added")),
    ((1, 2, 3), (1, 9), Mismatch("/1", 2, 9, "value")),
    ({"a/b": {"~": ("x",)}}, {"a/b": {"~": ("y",)}}, Mismatch("/a~1b/~0/0", "x", "y", "value")),
    (
        {"messages": ({"parts": ({"content": "hello"},)},)},
        {"messages": ({"parts": ({"content": "bye"},)},)},
        Mismatch("/messages/0/parts/0/content", "hello", "bye", "value"),
    ),
    (
        {"arguments": '{"city": "Oslo"}'},
        {"arguments": '{"city":"Rome"}'},
        Mismatch("/arguments/city", "Oslo", "Rome", "value"),
    ),
    ('{"a": 9007199254740993}', '{"a": 9007199254740992}', Mismatch("/a", 2**53 + 1, 2**53, "value")),
    ('{"a": 1}', '{"a": 1', Mismatch("", '{"a": 1}', '{"a": 1', "value")),
    ('{"a": 1, "a": 2}', '{"a": 2}', Mismatch("", '{"a": 1, "a": 2}', '{"a": 2}', "value")),
    ("1", "1.0", Mismatch("", "1", "1.0", "value")),
]


@pytest.mark.parametrize(("was", "now", "expected"), DIFFERENCES)
def test_the_first_difference_is_named(was: Value, now: Value, expected: Mismatch) -> None:
    assert repr(unify(was, now)) == repr(expected)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (1, 1.0),
        ({"a": 1, "b": (2.0,)}, {"b": (2,), "a": 1}),
        (float("nan"), float("nan")),
        ('{"a": 1, "b": "\\u00e9"}', '{"b":"é","a":1.0}'),
        ("[1, 2]", " [1,2]\n"),
        ('{"inner": "{\\"a\\": 1}"}', '{"inner": "{\\"a\\":1}"}'),
    ],
)
def test_spelling_alone_is_no_difference(was: Value, now: Value) -> None:
    assert unify(was, now) == Bindings()


def test_one_token_is_one_value_everywhere_in_a_run() -> None:
    first = unify(f"mail {DANA_TOKEN}", f"mail {DANA}")
    assert isinstance(first, Bindings)

    assert unify((DANA_TOKEN,), (DANA,), first) == first
    assert unify((DANA_TOKEN,), ("Dana.Fields@Example.com",), first) == first
    assert unify((DANA_TOKEN,), (OMAR,), first) == Mismatch("/0", DANA_TOKEN, OMAR, "token")
    assert isinstance(unify(f"{DANA_TOKEN} {DANA_TOKEN}", f"{DANA} {DANA}"), Bindings)
    assert isinstance(unify(f"{DANA_TOKEN} {DANA_TOKEN}", f"{DANA} {OMAR}"), Mismatch)
    assert isinstance(unify({"a": DANA_TOKEN, "b": DANA_TOKEN}, {"a": DANA, "b": OMAR}), Mismatch)


def test_two_tokens_are_two_values() -> None:
    assert isinstance(unify(f"{DANA_TOKEN} {OMAR_TOKEN}", f"{DANA} {DANA}"), Mismatch)
    assert isinstance(unify(f"{DANA_TOKEN} {OMAR_TOKEN}", f"{DANA} {OMAR}"), Bindings)


def test_bindings_grow_and_nothing_of_a_mismatch_is_kept() -> None:
    first = unify(DANA_TOKEN, DANA)
    assert isinstance(first, Bindings)

    assert isinstance(unify((OMAR_TOKEN, 1), (OMAR, 2), first), Mismatch)
    second = unify(OMAR_TOKEN, OMAR, first, key=KEY)

    assert first == Bindings({DANA_TOKEN: DANA}, frozenset({DANA_TOKEN}))
    assert second == Bindings({DANA_TOKEN: DANA, OMAR_TOKEN: OMAR}, frozenset({DANA_TOKEN}))


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("now", ["mail me", "mail ", "mail dana", "mail @", f"mail {OMAR}, {DANA}", "call me"])
def test_an_address_stands_for_no_other_text(key: bytes | None, now: str) -> None:
    assert isinstance(unify(f"mail {DANA_TOKEN}", now, key=key), Mismatch)


def test_with_the_key_a_token_stands_for_its_own_value_only() -> None:
    assert unify(DANA_TOKEN, OMAR, key=KEY) == Mismatch("", DANA_TOKEN, OMAR, "token")
    assert unify(DANA_TOKEN, DANA, key=b"another") == Mismatch("", DANA_TOKEN, DANA, "token")
    longer = make_token(KEY, "EMAIL", DANA, 16)
    assert unify(longer, DANA, key=KEY) == Bindings({longer: DANA})


def test_a_token_that_the_tape_served_equals_itself_and_binds_nothing() -> None:
    was = f"You asked about {DANA_TOKEN} and {OMAR_TOKEN}."
    served = frozenset({DANA_TOKEN})

    assert unify(was, f"You asked about {DANA_TOKEN} and {OMAR}.", served=served, key=KEY) == Bindings(
        {OMAR_TOKEN: OMAR}
    )
    assert unify(was, f"You asked about {DANA} and {OMAR}.", served=served, key=KEY) == Bindings(
        {DANA_TOKEN: DANA, OMAR_TOKEN: OMAR}
    )
    assert isinstance(unify(was, f"You asked about {DANA_TOKEN} and {OMAR}.", key=KEY), Mismatch)
    assert unify(was, was) == Bindings()


def test_a_served_token_may_stand_beside_its_value() -> None:
    first = unify(f"I am {DANA_TOKEN}", f"I am {DANA}", served=frozenset({DANA_TOKEN}))
    assert isinstance(first, Bindings)

    both = unify(f"{DANA_TOKEN} or {DANA_TOKEN}", f"{DANA_TOKEN} or {DANA}", first, served=frozenset({DANA_TOKEN}))

    assert both == first


def is_key(rule: str, text: str) -> bool:
    return rule == "test-key" and re.fullmatch("key-[0-9]+", text) is not None


@pytest.mark.parametrize(
    ("was", "now", "same"),
    [
        ("use <SECRET:test-key> now", "use key-123 now", True),
        ("use <SECRET:test-key> now", "use key-9 now", True),
        ("use <SECRET:test-key> now", "use <SECRET:test-key> now", True),
        ("<SECRET:test-key> <SECRET:test-key>", "key-1 key-2", True),
        ("use <SECRET:test-key> now", "use nothing now", False),
        ("use <SECRET:other> now", "use key-123 now", False),
        ("use <SECRET:test-key>", "use ", False),
    ],
)
def test_a_secret_matches_what_its_rule_finds_unbound(was: str, now: str, same: bool) -> None:
    found = unify(was, now, secret=is_key)

    assert found == Bindings() if same else isinstance(found, Mismatch)


def test_without_rules_a_secret_only_equals_itself() -> None:
    assert isinstance(unify("a <SECRET:test-key>", "a key-1"), Mismatch)
    assert isinstance(unify(f"<SECRET:test-key> {DANA_TOKEN}", f"<SECRET:test-key> {DANA}"), Bindings)


def test_adjacent_tokens_are_told_apart_by_the_key() -> None:
    assert unify(DANA_TOKEN + OMAR_TOKEN, DANA + OMAR, key=KEY) == Bindings({DANA_TOKEN: DANA, OMAR_TOKEN: OMAR})


def test_a_token_does_not_swallow_json_around_it() -> None:
    was = json.dumps({"to": DANA_TOKEN, "b": "1"})
    now = json.dumps({"to": DANA, "cc": "x@example.com", "b": "1"})

    assert unify(was, now) == Mismatch("/cc", None, "x@example.com", "added")


def test_keys_with_tokens_need_their_value_too() -> None:
    was: Value = {DANA_TOKEN: {"n": 1}, OMAR_TOKEN: {"n": 2}}

    assert isinstance(unify(was, {OMAR: {"n": 2}, DANA: {"n": 1}}), Bindings)
    assert unify(was, {OMAR: {"n": 2}, "x": {"n": 1}}) == Mismatch(f"/{DANA_TOKEN}", {"n": 1}, None, "removed")
    assert isinstance(unify(was, {OMAR: {"n": 2}, DANA: {"n": 3}}), Mismatch)


def test_hostile_text_ends() -> None:
    names = [f"<PERSON_{n:08x}>" for n in range(60)]

    assert isinstance(unify("".join(names) + "!", "a" * 3000 + "?"), Mismatch)
    assert isinstance(unify("".join(names), "a" * 1800), Mismatch)
    assert isinstance(unify(f"{names[0]} {names[1]}" + "x" * 10, "a " * 20_000 + "y"), Mismatch)
    many = " ".join(make_token(KEY, "IP", f"10.0.{n // 250}.{n % 250 + 1}") for n in range(2000))
    assert isinstance(unify(many, " ".join(f"10.0.{n // 250}.{n % 250 + 1}" for n in range(2000)), key=KEY), Bindings)


PHONE, IBAN = "+1 (212) 555-0123", "DE89 3704 0044 0532 0130 00"
PHONE_TOKEN, IBAN_TOKEN = make_token(KEY, "PHONE", PHONE), make_token(KEY, "IBAN", IBAN)


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize(
    ("was", "now"),
    [
        (f"call {PHONE_TOKEN}.", f"call {PHONE}.."),
        (f"call {PHONE_TOKEN}.", f"call x{PHONE}."),
        (f"call {PHONE_TOKEN}.", f"call {PHONE} now."),
        (f"call {PHONE_TOKEN} now", f"call {PHONE}, now"),
        (f"pay {IBAN_TOKEN}", f"pay {IBAN}."),
        (f"pay {IBAN_TOKEN}", f"pay  {IBAN}"),
        (f"mail {DANA_TOKEN}", f"mail {DANA} "),
        (f"mail {DANA_TOKEN}", f"mail \u200b{DANA}"),
    ],
)
def test_a_value_swallows_nothing_that_was_put_beside_it(key: bytes | None, was: str, now: str) -> None:
    assert isinstance(unify(was, now, key=key), Mismatch)


@pytest.mark.parametrize(
    "spelling", ["+1 212 555 0123", "12125550123", "+1 (212) 555\u20110123", "1-212-555-0123", "+1.212.555.0123"]
)
def test_another_spelling_is_the_same_value(spelling: str) -> None:
    assert unify(f"call {PHONE_TOKEN}.", f"call {spelling}.", key=KEY) == Bindings({PHONE_TOKEN: spelling})


CARD, CARD_TOKEN = 4242424242424242, make_token(KEY, "CARD", "4242424242424242")


@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("live", [CARD, float(CARD), str(CARD)])
def test_a_token_stands_for_a_number_too(key: bytes | None, live: Value) -> None:
    for was, now in (
        ({"card": CARD_TOKEN}, {"card": live}),
        (f'{{"card": "{CARD_TOKEN}"}}', json.dumps({"card": live})),
        ({"card": (CARD_TOKEN, CARD_TOKEN)}, {"card": (live, live)}),
    ):
        assert isinstance(unify(was, now, key=key), Bindings), (was, now)


def test_a_token_stands_for_no_other_number() -> None:
    assert unify({"card": CARD_TOKEN}, {"card": CARD + 1}, key=KEY) == Mismatch("/card", CARD_TOKEN, CARD + 1, "token")
    two = unify((CARD_TOKEN, CARD_TOKEN), (CARD, CARD + 1))
    assert two == Mismatch("/1", CARD_TOKEN, CARD + 1, "token")
    assert unify(CARD_TOKEN, True) == Mismatch("", CARD_TOKEN, True, "type")
    assert unify(f"card {CARD_TOKEN}", CARD, key=KEY) == Mismatch("", f"card {CARD_TOKEN}", CARD, "type")
    assert unify("4242", 4242) == Mismatch("", "4242", 4242, "type")


def test_a_secret_stands_for_a_number_where_its_rule_takes_any_value() -> None:
    def secret(rule: str, text: str) -> bool:
        return rule == "password" and bool(text)

    assert unify({"pin": "<SECRET:password>"}, {"pin": 1234}, secret=secret) == Bindings()
    assert isinstance(unify({"pin": "<SECRET:aws-access-key>"}, {"pin": 1234}, secret=secret), Mismatch)


def test_tokens_in_bytes_stand_for_their_text() -> None:
    recorded = f"mail {DANA_TOKEN}".encode()

    assert unify(recorded, f"mail {DANA}".encode(), key=KEY) == Bindings({DANA_TOKEN: DANA})
    assert unify(recorded, f"mail {OMAR}".encode(), key=KEY) == Mismatch("", recorded, f"mail {OMAR}".encode(), "token")
    assert unify(recorded, b"\xff", key=KEY) == Mismatch("", recorded, b"\xff", "value")
    assert unify(b"\xff\x00", b"\xff\x00") == Bindings()
    assert unify(b"\xff\x00", b"\xff\x01") == Mismatch("", b"\xff\x00", b"\xff\x01", "value")
