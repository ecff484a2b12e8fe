"""Records that are kept aside: found by their mark, or by halves in a batch that a store refuses."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector_kit import Store
from runreel.errors import CorruptError, PermanentError, RetryableError
from runreel.exporters.memory import Memory
from runreel.processors.required import QUARANTINE
from runreel.spool import Spool, drain, records
from runreel.spool.quarantine import ids, item, items, opened, rescue, set_apart
from runreel.values import Quarantined, Rejection, SplitBatch
from spool_kit import again, batch, nobody
from stored_rows import batch_with_payload, log, log_events, row, span_rows


class Poisoned(Memory):
    """A store that refuses every batch with one of these spans for good, however it is put together."""

    def __init__(self, bad: set[str], *, quarantine: bool = True) -> None:
        super().__init__()
        self.bad, self.asked, self.takes_quarantined = bad, 0, quarantine
        self.names: list[str] = []

    def export(self, batch: SplitBatch) -> None:
        self.asked += 1
        if any(one.span.name in self.bad for one in batch.rows):
            raise PermanentError("insert into spans: engine error 53")
        if batch.quarantined and not self.takes_quarantined:
            raise PermanentError("insert into quarantine: engine error 53")
        self.names += [one.span.name for one in batch.rows]
        super().export(batch)


def named(*names: str) -> SplitBatch:
    return SplitBatch("default", tuple(row(f"{n:016x}", name=name) for n, name in enumerate(names, 1)))


def write(store: Poisoned):
    def attempt(piece: SplitBatch):
        try:
            store.export(piece)
        except (PermanentError, RetryableError) as error:
            return error
        return None

    return attempt


# --- by halves ---


@given(st.lists(st.booleans(), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_of_a_refused_batch_every_good_record_is_stored_and_every_bad_one_kept_aside(bad: list[bool]) -> None:
    names = [f"s{number}" for number in range(len(bad))]
    poison = {name for name, is_bad in zip(names, bad, strict=True) if is_bad}
    store = Poisoned(poison)
    if not poison:
        return

    error, apart = rescue(named(*names), PermanentError("refused"), write(store))

    assert error is None
    assert sorted({*store.names}) == sorted({*names} - poison)
    assert {one.name for one in apart} == poison
    assert {one.name for one in store.quarantine.items("default")} == poison


def test_one_bad_record_of_thousands_is_found_in_few_attempts() -> None:
    store = Poisoned({"s777"})

    error, apart = rescue(named(*(f"s{n}" for n in range(4096))), PermanentError("refused"), write(store))

    assert (error, [one.name for one in apart], len(store.names)) == (None, ["s777"], 4095)
    assert store.asked < 40


def test_a_store_that_refuses_everything_is_not_asked_for_each_record() -> None:
    names = [f"s{n}" for n in range(4096)]
    store = Poisoned(set(names))

    error, apart = rescue(named(*names), PermanentError("refused"), write(store))

    assert (error, len(apart)) == (None, 4096)
    assert store.asked < 300


def test_a_store_that_goes_away_meanwhile_gets_all_of_it_again() -> None:
    asked = []

    def attempt(piece: SplitBatch):
        asked.append(piece)
        return RetryableError("away")

    error, apart = rescue(named("a", "b"), PermanentError("refused"), attempt)

    assert (type(error), apart, len(asked)) == (RetryableError, (), 1)


def test_what_even_the_quarantine_does_not_take_is_refused_as_before() -> None:
    store = Poisoned({"b"}, quarantine=False)

    error, apart = rescue(named("a", "b"), PermanentError("refused"), write(store))

    assert (type(error), apart, store.names) == (PermanentError, (), ["a"])


def test_a_refusal_that_is_about_no_record_stays_one() -> None:
    refused = PermanentError("the vault is gone")
    only = SplitBatch("default", rejected=(Rejection("span", "invalid_id"),))

    assert rescue(only, refused, lambda _: refused) == (refused, ())


def test_spans_and_log_records_that_need_each_others_payloads_keep_them() -> None:
    first = batch_with_payload({"text": "x" * 300})
    both = replace(first, rows=(*first.rows, row("2" * 16, name="bad")), logs=(log(),))
    store = Poisoned({"bad"})

    rescue(both, PermanentError("refused"), write(store))

    (kept,) = store.quarantine.get("default", [one.id for one in store.quarantine.items("default")])
    assert opened(kept).payloads == ()  # it names none
    assert store.payloads("default", [first.payloads[0].ref.sha256])


# --- by mark ---


def test_a_marked_span_is_set_apart_with_what_it_needs_and_the_rest_goes_on() -> None:
    first = batch_with_payload({"text": "x" * 300})
    marked = replace(first.rows[0], span=replace(first.rows[0].span, marks=(f"{QUARANTINE}missing_field:a", "other")))
    other = batch_with_payload({"text": "y" * 300}, trace_id="1" * 32)
    whole = replace(
        first,
        rows=(marked, *other.rows),
        payloads=(*first.payloads, *other.payloads),
        parts=(*first.parts, *other.parts),
        rejected=(Rejection("span", "invalid_id"),),
    )

    apart = set_apart(whole)

    assert (apart.rows, apart.payloads, apart.parts) == (other.rows, other.payloads, other.parts)
    assert apart.rejected == whole.rejected
    (kept,) = apart.quarantined
    assert (kept.reason, kept.name, kept.service) == ("missing_field:a", marked.span.name, "billing")
    alone = opened(kept)
    assert (alone.payloads, alone.parts) == (first.payloads, first.parts)
    assert alone.rows[0].span.marks == ("missing_field:a", "other")


def test_a_batch_without_marks_is_the_same_one() -> None:
    one = named("a", "b")

    assert set_apart(one) is one


@given(span_rows("default") | log_events("default"))
def test_what_is_kept_aside_comes_back_as_it_was(record) -> None:
    alone = SplitBatch("default", logs=(record,)) if hasattr(record, "body") else SplitBatch("default", (record,))

    kept = item(alone, "why")

    assert opened(kept) == alone
    assert kept.id == item(alone, "another reason").id


def test_damaged_bytes_are_said_and_never_guessed() -> None:
    kept = item(named("a"), "why")

    for record in (b"", b"no frame", kept.record[:-4]):
        with pytest.raises(CorruptError, match=kept.id):
            opened(replace(kept, record=record))


# --- through the spool ---


def held(reason: str = "missing_field:service.name") -> Quarantined:
    return item(named("held"), reason)


def test_what_is_quarantined_survives_in_the_spool_as_it_is() -> None:
    whole = replace(named("a"), quarantined=(held(),))

    assert records.decode(records.encode(whole)) == whole


def test_a_record_of_an_earlier_version_has_nothing_quarantined() -> None:
    old = records.encode(named("a")).replace(b',"quarantined":[]', b"")
    size = len(old) - 8

    assert records.decode(size.to_bytes(8, "big") + old[8:]) == named("a")


def test_the_ledger_counts_the_quarantined_as_such_and_after_a_crash(spool: Spool) -> None:
    spool.append(replace(named("a", "b"), quarantined=(held(),))).result(30)
    assert spool.ledger.document()["default"]["acknowledged_spans"] == 3

    opened_ = again(spool)
    store = Poisoned({"b"})
    drain(opened_, [store], nobody)

    counts = opened_.ledger.document()["default"]
    assert (counts["acknowledged_spans"], counts["stored_spans"], counts["quarantined_spans"]) == (3, 1, 2)
    assert counts["spooled_spans"] == 0
    assert again(opened_).ledger.document()["default"] == counts


def test_what_is_released_was_acknowledged_before_and_counts_apart(spool: Spool) -> None:
    spool.append(replace(named("a"), quarantined=(held(),))).result(30)
    spool.append(named("held"), again=True).result(30)
    store = Store()

    drain(spool, [store], nobody)

    counts = spool.ledger.document()["default"]
    assert (counts["acknowledged_spans"], counts["stored_spans"], counts["quarantined_spans"]) == (2, 1, 1)
    assert counts["released_spans"] == 1


def test_a_ledger_of_an_earlier_version_is_read(spool: Spool) -> None:
    spool.append(batch("a")).result(30)
    (entry,) = spool.take(most_rows=9, most_bytes=9**9)
    spool.finish([entry], [entry])
    spool.close()
    file = spool.folder / "cursor.json"
    file.write_text(file.read_text().replace("quarantined_spans", "refused_spans"))

    opened_ = again(spool)

    assert opened_.ledger.document()["default"]["quarantined_spans"] == 1
    opened_.close()


# --- taken out of the store again ---


@given(st.lists(span_rows("default"), max_size=4), st.lists(log_events("default"), max_size=3))
@settings(max_examples=40, deadline=None)
def test_each_record_of_a_stored_batch_is_kept_aside_as_it_would_be_alone(rows: list, logs: list) -> None:
    one = batch_with_payload({"text": "x" * 300})
    stored = replace(one, rows=(*one.rows, *rows), logs=tuple(logs))

    found = list(items(stored, "missing_field:input"))
    assert [one.id for one in found] == list(ids(stored))

    alone = [opened(each) for each in found]
    assert [each.rows + each.logs for each in alone] == [(each,) for each in (*stored.rows, *stored.logs)]
    assert alone[0] == one
    assert all(not each.payloads and not each.parts for each in alone[1:])
    assert {each.reason for each in found} == {"missing_field:input"}


def test_what_is_withdrawn_is_counted_beside_what_was_acknowledged_and_survives(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.open()
    spool.append(named("a", "b")).result(30)
    store = Poisoned(set())
    drain(spool, [store], nobody)

    spool.append(SplitBatch("default", quarantined=tuple(items(named("a"), "why"))), again=True).result(30)
    counts = again(spool).ledger.document()["default"]
    assert (counts["acknowledged_spans"], counts["stored_spans"], counts["spooled_spans"]) == (2, 2, 0)
    opened_ = again(spool)
    drain(opened_, [store], nobody)

    counts = again(opened_).ledger.document()["default"]
    assert (counts["acknowledged_spans"], counts["stored_spans"], counts["withdrawn_spans"]) == (2, 2, 1)
    assert "quarantined_spans" not in counts
    assert [one.name for one in store.quarantine.items("default")] == ["a"]


def test_what_even_the_quarantine_refuses_is_not_counted_as_withdrawn(spool: Spool) -> None:
    spool.append(SplitBatch("default", quarantined=tuple(items(named("a"), "why"))), again=True).result(30)

    drain(spool, [Poisoned(set(), quarantine=False)], nobody)

    assert spool.counted().get("default", {}).get("withdrawn_spans", 0) == 0
    assert len(list(spool.folder.glob("refused/*.bin"))) == 1
