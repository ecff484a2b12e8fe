"""Tokens of one key: stable, told apart where two would be one, sealed where there is a vault."""

import hmac
import threading

import pytest

from redaction import KEY, redactor
from runreel.canonical import make_token
from runreel.canonical.tokens import token_digest
from runreel.processors.redact import Redactor, RedactSettings, TenantKey
from runreel.processors.redact import tokens as module
from runreel.processors.redact.detect import Detector
from runreel.processors.redact.tokens import Tokens
from runreel.values import CleanBatch, LogEvent, RawBatch, Span, SpanKey

DETECTOR = Detector()
TRACES = ("0af7651916cd43dd8448eb211c80319c", "0bf7651916cd43dd8448eb211c80319c")


class Plain:
    """A sealer that seals nothing, to see what would be sealed."""

    key_id = "plain"

    def seal(self, token: str, text: str) -> bytes:
        return f"{token} {text}".encode()


def spans(*texts: str, traces: tuple[str, ...] = TRACES[:1]) -> RawBatch:
    return RawBatch(
        "acme",
        tuple(
            Span(SpanKey("acme", traces[place % len(traces)], f"{place:016x}"), None, text, 1, 2)
            for place, text in enumerate(texts)
        ),
    )


def test_a_token_is_the_keyed_hash_that_it_was_always() -> None:
    tokens = Tokens(KEY, 8, 100)

    assert tokens.token("EMAIL", "Dana@Example.com") == make_token(KEY.secret, "EMAIL", "dana@example.com")
    assert tokens.token("EMAIL", "dana@example.com") == tokens.token("EMAIL", "DANA@example.com")


def colliding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every value's first 12 digits the same."""

    def made(keyed: hmac.HMAC, entity: str, text: str) -> str:
        return "0" * 12 + token_digest(keyed, entity, text)[12:]

    monkeypatch.setattr(module, "token_digest", made)


def test_two_values_under_one_token_get_more_digits_until_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    colliding(monkeypatch)
    tokens = Tokens(KEY, 8, 100)

    first, second = tokens.token("EMAIL", "a@x.org"), tokens.token("EMAIL", "b@x.org")

    assert first == "<EMAIL_00000000>"
    assert second.startswith("<EMAIL_000000000000")
    assert len(second) > len("<EMAIL_000000000000>")
    assert [tokens.token("EMAIL", one) for one in ("a@x.org", "b@x.org")] == [first, second]


def test_a_run_of_colliding_values_keeps_them_apart_when_it_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    colliding(monkeypatch)
    values = [f"user{number}@example.com" for number in range(20)]

    clean = Redactor(KEY, detector=DETECTOR).process(spans(*values, *values))

    names = [span.name for span in clean.spans]
    assert len(set(names)) == 20
    assert names[:20] == names[20:]


def test_threads_agree_on_the_token_of_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    colliding(monkeypatch)
    tokens, made = Tokens(KEY, 8, 1000), []

    def work() -> None:
        made.append([tokens.token("EMAIL", f"{number}@x.org") for number in range(50)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({tuple(one) for one in made}) == 1
    assert len(set(made[0])) == 50


def test_scope_run_gives_each_trace_tokens_of_its_own_and_one_to_all_its_records() -> None:
    scoped = Redactor(KEY, RedactSettings(scope="run"), detector=DETECTOR)
    raw = spans("a@example.com", "a@example.com", "a@example.com", traces=TRACES)
    log = LogEvent("acme", TRACES[1], "", body="a@example.com")

    clean = scoped.process(RawBatch("acme", raw.spans, (log,)))
    again = Redactor(KEY, RedactSettings(scope="run"), detector=DETECTOR).process(spans("a@example.com"))

    first, second, third = (span.name for span in clean.spans)
    assert first == third != second == clean.logs[0].body
    assert [span.key for span in clean.spans] == [span.key for span in raw.spans]
    assert again.spans[0].name == first
    assert first != redactor().text("a@example.com")


def test_the_key_of_a_run_is_proved_from_the_tenants_key_and_the_trace() -> None:
    clean = Redactor(KEY, RedactSettings(scope="run"), detector=DETECTOR).process(spans("a@example.com"))

    assert clean.spans[0].name == make_token(KEY.of_run(TRACES[0]).secret, "EMAIL", "a@example.com")


def test_an_empty_batch_in_scope_run_stays_one() -> None:
    scoped = Redactor(KEY, RedactSettings(scope="run"), detector=DETECTOR)

    assert scoped.process(RawBatch("acme")) == CleanBatch("acme")


def sealed(clean: CleanBatch) -> set[str]:
    return {one.body.decode() for one in clean.sealed}


def test_personal_values_are_sealed_and_secrets_and_hashes_never() -> None:
    from runreel.processors.redact.classes import rules

    classes = rules([{"class": "hash", "attribute": "h"}, {"class": "token", "attribute": "t"}])
    told = Redactor(TenantKey("k1", KEY.secret), RedactSettings(classes=classes), detector=DETECTOR, sealer=Plain())
    raw = spans("mail a@example.com key sk-test-51HxFAKE0000000000000000")
    span = Span(
        raw.spans[0].key, None, raw.spans[0].name, 1, 2, attributes={"h": "Hash Me", "t": "Dana", "password": "hunter2"}
    )

    clean = told.process(RawBatch("acme", (span,)))

    assert {one.partition(" ")[2] for one in sealed(clean)} == {"a@example.com", "Dana"}
    assert {(one.tenant, one.key_id, one.vault_key_id) for one in clean.sealed} == {("acme", "k1", "plain")}


def test_what_is_sealed_comes_with_every_batch_that_has_the_token_memo_or_not() -> None:
    told = Redactor(KEY, detector=DETECTOR, sealer=Plain())
    text = "write to a@example.com, " + "and so on, " * 40

    first, second = told.process(spans(text)), told.process(spans(text))
    other = told.process(spans("b@example.com"))

    assert sealed(first) == sealed(second) != set()
    assert len(sealed(other)) == 1


def test_a_token_that_a_sender_writes_seals_nothing() -> None:
    told = Redactor(KEY, detector=DETECTOR, sealer=Plain())

    assert told.process(spans("<EMAIL_7f3a9c02>")).sealed == ()


def test_without_a_vault_nothing_is_sealed() -> None:
    assert redactor().process(spans("a@example.com")).sealed == ()
