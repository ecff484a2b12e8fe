"""Planted secrets and personal values, in every field and encoding, are in no byte of spool and quarantine."""

from pathlib import Path

from planted import Scan, garden
from runreel import otlp
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.redactor import Redactor
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.spool import Spool, drain
from runreel.spool.quarantine import set_apart
from runreel.values import CleanBatch, RawBatch, SplitBatch
from spool_kit import nobody
from stored_bytes import contents

COUNT = 600
FIELD = "vcs.ref.head.revision"


class Kept:
    """Keeps what is quarantined as files, as a table does: bytes as they are."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder, self.quarantine = folder, None
        self.names: list[str] = []

    def export(self, batch: SplitBatch) -> None:
        for one in batch.quarantined:
            (self.folder / one.id).write_bytes(one.record + repr((one.name, one.service, one.reason)).encode())
            self.names.append(one.reason)


def kept(folder: Path, *, redacted: bool) -> int:
    """Have a garden of values go into a spool, wait there, and the spans of it into a quarantine."""
    schema, split = Schema(required={"*": {FIELD: "quarantine"}}), Split()
    redactor = Redactor(TenantKey("k1", b"0" * 32))

    def chained(raw: RawBatch) -> SplitBatch:
        found = schema.process(raw)
        plain = CleanBatch(found.tenant, found.spans, found.logs, found.facts, found.rejected)
        return set_apart(split.process(redactor.process(found) if redacted else plain))

    spool = Spool(folder / "spool")
    spool.open()
    for request in garden(COUNT)[1]:
        for signal, body in request.bodies():
            spool.append(chained(otlp.decode(signal, body, "protobuf", "default"))).result(60)  # type: ignore[arg-type]
    waiting = {file.name: file.read_bytes() for file in (folder / "spool").glob("*.spool")}
    aside = Kept(folder / "quarantine")
    drain(spool, [aside], nobody)  # type: ignore[list-item]
    spool.close()
    for name, data in waiting.items():
        (folder / f"waited-{name}").write_bytes(data)
    return aside.names.count(f"missing_field:{FIELD}")


def test_no_planted_value_is_in_the_spool_or_the_quarantine_and_without_redaction_they_are_seen(tmp_path: Path) -> None:
    plants, _ = garden(COUNT)
    scan = Scan(plants)
    for name in ("clean", "raw"):
        (tmp_path / name).mkdir()

    assert kept(tmp_path / "clean", redacted=True) > 0
    assert kept(tmp_path / "raw", redacted=False) > 0

    left = scan.found(data for _, data in contents(tmp_path / "clean"))
    seen = scan.found(data for _, data in contents(tmp_path / "raw"))
    assert [plants[place] for place in sorted(left)] == []
    assert len(seen) > 0.95 * COUNT  # or the scan is blind
