from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redaction import KEY, redact, redactor, texts
from runreel.processors.redact import Redactor, RedactSettings
from runreel.processors.redact.detect import Detector, Finding
from runreel.values import (
    Event,
    Facts,
    Gap,
    Link,
    LogEvent,
    Pointer,
    RawBatch,
    Rejection,
    Resource,
    Scope,
    Span,
    SpanKey,
)

MAIL = "dana.fields@example.com"
SPAN_KEY = SpanKey("default", "0af7651916cd43dd8448eb211c80319c", "00000000000000a0")


def everywhere(text: str) -> RawBatch:
    """Return a batch with a text in every field that a sender fills."""
    bag = {text: text, "list": (text, {"in": text}), "bytes": text.encode()}
    resource, scope = Resource(bag, text), Scope(text, text, bag, text)
    span = Span(
        SPAN_KEY, "00000000000000b0", text, 1, 2, message=text, scope=scope, resource=resource, attributes=bag,
        events=(Event(text, 1, bag),), links=(Link("1" * 32, "2" * 16, text, bag),), trace_state=text, marks=(text,),
    )  # fmt: skip
    log = LogEvent(
        "default", SPAN_KEY.trace_id, SPAN_KEY.span_id, text, severity_text=text, body={"x": (text,)}, attributes=bag,
        resource=resource, scope=scope, marks=(text,),
    )  # fmt: skip
    facts = Facts(
        "llm", text, text, text, text, text, text, text, text,
        content={text: Pointer("attributes", (text,))}, gaps=(Gap(None, text, "frozen", text, text),),
    )  # fmt: skip
    return RawBatch("default", (span,), (log,), (facts,), (Rejection("span", "invalid_id", text),))


@pytest.mark.parametrize("planted", [MAIL, "+1 202-555-0143", "sk-test-51HxFAKE0000000000000000"])
def test_no_field_of_a_batch_keeps_the_value(planted: str) -> None:
    batch = everywhere(f"see {planted} ok")

    clean = redactor().process(batch)

    rest = [text for text in texts((clean.spans, clean.logs, clean.facts, clean.rejected)) if planted in text]
    assert rest == []
    assert len(list(texts(clean.spans))) == len(list(texts(batch.spans)))
    assert sum(redact(planted) in text for text in texts(clean)) > 40


def test_ids_times_and_flags_are_what_they_were() -> None:
    span = Span(SPAN_KEY, "2" * 16, "x", 1747731000_000000000, 1747731001_000000000, 2, kind=3, flags=257)
    batch = RawBatch("default", (span,), (LogEvent("default", "3" * 32, "4" * 16, time_ns=12025550143, severity=9),))

    clean = redactor().process(batch)

    assert clean.spans == batch.spans
    assert clean.logs == batch.logs


def test_names_in_facts_follow_the_names_of_attributes() -> None:
    span = Span(SPAN_KEY, None, "x", 1, 2, attributes={MAIL: "y"})
    facts = Facts(content={"input": Pointer("attributes", (MAIL,))})

    clean = redactor().process(RawBatch("default", (span,), facts=(facts,)))

    assert clean.facts[0].content["input"].keys == tuple(clean.spans[0].attributes)


def test_spans_share_a_redacted_resource() -> None:
    resource, scope = Resource({"host": MAIL}), Scope("x", attributes={"a": MAIL})
    spans = tuple(
        Span(replace(SPAN_KEY, span_id=f"{n:016x}"), None, "x", 1, 2, scope=scope, resource=resource)
        for n in range(1, 4)
    )

    clean = redactor().process(RawBatch("default", spans))

    assert clean.spans[0].resource is clean.spans[2].resource
    assert clean.spans[0].scope is clean.spans[2].scope
    assert clean.counts == {"EMAIL": 2}


def test_counts_say_what_was_found() -> None:
    span = Span(SPAN_KEY, None, "x", 1, 2, attributes={"a": f"{MAIL} {MAIL}", "password": "x", "n": 4242424242424242})

    assert redactor().process(RawBatch("default", (span,))).counts == {"EMAIL": 2, "SECRET:password": 1, "CARD": 1}


class Raising(Detector):
    """A detector with a defect: it raises at one word."""

    def __init__(self, error: Callable[[], BaseException]) -> None:
        super().__init__(["EMAIL"])
        self._error = error

    def judge(self, text: str, *args: Any, **kwargs: Any) -> list[Finding]:
        if "boom" in text:
            raise self._error()
        return super().judge(text, *args, **kwargs)


ERRORS = [
    lambda: ValueError("boom " + MAIL),
    RecursionError,
    MemoryError,
    lambda: UnicodeDecodeError("x", b"", 0, 1, "x"),
]


@pytest.mark.parametrize("error", ERRORS)
def test_where_a_detector_raises_that_value_alone_is_withheld(error: Callable[[], BaseException]) -> None:
    failing = Redactor(KEY, RedactSettings(entities=("EMAIL",)), detector=Raising(error))
    span = Span(
        SPAN_KEY, None, "name", 1, 2,
        attributes={"gen_ai.tool.call.result": f"boom {MAIL}@", "other": f"x {MAIL}", "n": 7},
        events=(Event("e", 1, {"exception.message": ("fine", f"boom@{MAIL}")}),), message=f"boom {MAIL}",
        resource=Resource({"r": f"boom {MAIL}"}),
    )  # fmt: skip
    log = LogEvent("default", "", "", body={"deep": (f"boom {MAIL}",)}, attributes={f"boom {MAIL}": "v"})

    clean = failing.process(RawBatch("default", (span, replace(span, attributes={})), (log,)))

    first, second = clean.spans
    withheld = "<WITHHELD:redaction_failed>"
    assert first.attributes == {"gen_ai.tool.call.result": withheld, "other": f"x {redact(MAIL)}", "n": 7}
    assert first.events[0].attributes == {"exception.message": withheld}
    assert (first.message, first.name, first.start_ns, first.key) == (withheld, "name", 1, SPAN_KEY)
    assert set(first.marks) == {
        "withheld:attributes/gen_ai.tool.call.result:redaction_failed",
        "withheld:events/0/attributes/exception.message:redaction_failed",
        "withheld:message:redaction_failed",
        "withheld:resource/attributes/r:redaction_failed",
    }
    assert "withheld:resource/attributes/r:redaction_failed" in second.marks
    assert clean.logs[0].body == withheld
    assert clean.logs[0].attributes == {withheld: "v"}
    assert set(clean.logs[0].marks) == {"withheld:body:redaction_failed", "withheld:attributes/0:redaction_failed"}
    assert clean.counts["redaction_failures"] == 8  # message and event are in both spans
    assert not [text for text in texts((clean.spans, clean.logs)) if "boom" in text or MAIL in text]


def test_a_value_that_exceeds_its_budget_is_withheld_and_the_next_is_not() -> None:
    now = [0.0]

    class Slow(Detector):
        def judge(self, text: str, *args: Any, **kwargs: Any) -> list[Finding]:
            now[0] += 100.0 if "slow" in text else 0.0
            return super().judge(text, *args, **kwargs)

    slow = Redactor(KEY, RedactSettings(entities=("EMAIL",)), detector=Slow(["EMAIL"]), clock=lambda: now[0])
    span = Span(SPAN_KEY, None, "x", 1, 2, attributes={"a": f"slow {MAIL}", "b": f"quick {MAIL}"})

    clean = slow.process(RawBatch("default", (span,)))

    assert clean.spans[0].attributes == {"a": "<WITHHELD:redaction_failed>", "b": f"quick {redact(MAIL)}"}
    assert clean.spans[0].marks == ("withheld:attributes/a:redaction_failed",)


def test_the_budget_grows_with_the_size_of_the_value() -> None:
    now = [0.0]

    class Steady(Detector):
        def judge(self, text: str, *args: Any, **kwargs: Any) -> list[Finding]:
            now[0] += len(text) / 1e6 * 10
            return super().judge(text, *args, **kwargs)

    settings = RedactSettings(entities=("EMAIL",), budget_s=1.0, budget_s_per_mb=15.0)
    steady = Redactor(KEY, settings, detector=Steady(["EMAIL"]), clock=lambda: now[0])
    span = Span(SPAN_KEY, None, "x", 1, 2, attributes={"a": f"{MAIL} " + "text " * 400_000})

    assert steady.process(RawBatch("default", (span,))).counts == {"EMAIL": 1}


def test_a_single_text_is_withheld_as_well() -> None:
    failing = Redactor(KEY, RedactSettings(entities=("EMAIL",)), detector=Raising(ValueError))

    assert failing.text(f"boom {MAIL}") == "<WITHHELD:redaction_failed>"


def test_what_failed_is_not_remembered_as_clean() -> None:
    fail = [True]

    class Once(Detector):
        def judge(self, text: str, *args: Any, **kwargs: Any) -> list[Finding]:
            if fail[0]:
                raise ValueError
            return super().judge(text, *args, **kwargs)

    once = Redactor(KEY, RedactSettings(entities=("EMAIL",)), detector=Once(["EMAIL"]))
    batch = RawBatch("default", (Span(SPAN_KEY, None, "x", 1, 2, attributes={"a": f"see {MAIL}"}),))

    first = once.process(batch)
    fail[0] = False

    assert first.counts == {"redaction_failures": 1}
    assert once.process(batch).spans[0].attributes == {"a": f"see {redact(MAIL)}"}
