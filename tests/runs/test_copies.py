from dataclasses import replace

from otlp_build import ROOT, agent, llm, msg, span
from runreel.runs.copies import revision, settle, settle_logs
from span_kit import captured_run, counts, make_event, make_link, make_log, make_span, of_kind, runs_of, spans_of

B2 = "00000000000000b2"


def test_a_batch_sent_twice_counts_once() -> None:
    batch = spans_of(agent(), llm("00000000000000b1", ROOT, [msg("user", "hi")], [msg("assistant", "hello")]))

    (once,), (twice,) = runs_of(batch), runs_of((*batch, *batch))

    assert once == twice
    assert counts(twice) == (1, 0)
    assert twice.notes == ()


def test_a_retried_request_of_a_real_client_counts_once() -> None:
    run = captured_run("otel-genai-openai/retry-duplicate")

    assert counts(run) == (3, 3)
    assert run.notes == ()


def test_a_span_exported_at_start_and_again_at_end_is_the_complete_one_in_either_order() -> None:
    first = spans_of(agent(), span("chat", B2, ROOT, ms=0, attrs={"gen_ai.operation.name": "chat"}))
    later = spans_of(llm(B2, ROOT, [msg("user", "q")], [msg("assistant", "a")]))

    for order in ((*first, *later), (*later, *first)):
        (run,) = runs_of(order)

        assert counts(run) == (1, 0)
        (step,) = of_kind(run, "llm")
        assert step.output.state == "whole"
        assert run.notes == ()


def test_different_spans_under_one_id_are_counted_and_the_first_is_read() -> None:
    later = spans_of(agent(), llm(B2, ROOT, [msg("user", "q")], [msg("assistant", "a")]))
    clash = spans_of(llm(B2, ROOT, [msg("user", "other")], [msg("assistant", "other")], at=500))

    for order in ((*later, *clash), (*clash, *later)):
        (run,) = runs_of(order)

        (step,) = of_kind(run, "llm")
        assert "'q'" in str(run.value(step.input))
        assert len(run.notes) == 1
        assert run.notes[0].startswith("id_clash: 2 different spans")


def test_stored_copies_keep_their_keys() -> None:
    one = make_span({"gen_ai.operation.name": "chat"})
    copies = [
        replace(one, key=replace(one.key, copy="aa")),
        replace(one, key=replace(one.key, copy="bb"), end_ns=one.start_ns, name="chat (running)"),
    ]

    (settled,), notes = settle(copies)

    assert [key.copy for key in settled.keys] == ["aa", "bb"]
    assert settled.span.key.copy == "aa"
    assert notes == []


def test_equal_numbers_of_two_types_settle_on_the_same_copy_whatever_came_first() -> None:
    whole, real = make_span({"gen_ai.request.temperature": 0}), make_span({"gen_ai.request.temperature": 0.0})

    first, second = settle([whole, real])[0][0], settle([real, whole])[0][0]

    assert type(first.span.attributes["gen_ai.request.temperature"]) is type(
        second.span.attributes["gen_ai.request.temperature"]
    )


def test_events_and_links_are_part_of_what_a_copy_contains() -> None:
    event, link = make_event("exception", exception__type="E"), make_link("1" * 32, B2)
    bare = make_span({}, end_ns=0)
    full = make_span({}, events=(event,), links=(link,))

    assert settle([full, bare])[0][0].span == settle([bare, full])[0][0].span == full


def test_log_events_are_settled_by_content_and_ordered_by_time() -> None:
    early, late = make_log({"n": 1}, observed_ns=1), make_log({"n": 2}, observed_ns=2)
    same_time = make_log({"n": 3}, observed_ns=2)

    assert settle_logs([late, early, late, same_time]) == settle_logs([same_time, late, early])
    assert settle_logs([late, early, early]) == [early, late]


def test_the_revision_names_the_facts() -> None:
    one, two = make_span({"a": 1}), make_span({"a": 1}, span_id=B2)

    def of(*spans: object) -> str:
        return revision(settle(spans)[0], [])  # type: ignore[arg-type]

    assert of(one, two) == of(two, one, one)
    assert of(one) != of(one, two)
    assert of(one) != of(replace(one, end_ns=one.end_ns + 1))
    assert revision(settle([one])[0], [make_log({})]) != of(one)
