"""Re-reads everything that a data folder holds and says what must not be in it: by the rules of redaction, and by
canaries, values that somebody has planted.

A scan proves first that it sees: canaries in every form and every container must be found, or its answer is worth
nothing. What it finds it never shows.
"""

import os
import re
import secrets
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

import zstandard

from runreel.errors import StoreError
from runreel.govern import forms
from runreel.govern.frames import can_open_blocks, frames
from runreel.processors.redact.edits import Edit

Look = Callable[[str], Sequence[Edit]]
"""Returns what redaction would replace in a text."""

KEPT_APART = frozenset({"keys", "collector.json"})
"""Of a data folder: what holds keys and tokens of our own, for its owner alone. Backups must not have it."""

_PRINTABLE = re.compile(
    rb"(?:[\x09\x0a\x0d\x20-\x7e]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}){6,}"
)
_WIDE = re.compile(rb"(?:[\x20-\x7e]\x00){6,}|(?:\x00[\x20-\x7e]){6,}")
_SHAPE = 24
_MOST_PASSES = 20


@dataclass(frozen=True, slots=True)
class Found:
    """Something that must not be stored: which rule found it, where, how long it is, and its shape (see `shape`)."""

    rule: str
    place: str
    length: int
    shape: str
    times: int = 1


@dataclass(slots=True)
class Report:
    """What a scan came to."""

    found: list[Found] = field(default_factory=list)
    files: int = 0
    frames: int = 0
    bytes: int = 0
    proved: int = 0
    unseen: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    witnesses: dict[str, bool] = field(default_factory=dict)


class Scan:
    """One scan of files. `look` says what redaction would replace; `canaries` are values that must not be there,
    `witnesses` values that must."""

    def __init__(self, look: Look, canaries: Sequence[str] = (), witnesses: Sequence[str] = ()) -> None:
        self._look = look
        self._canaries = {f"canary {place}": forms.forms(value) for place, value in enumerate(canaries, 1)}
        self._witnesses = {f"witness {place}": forms.forms(value) for place, value in enumerate(witnesses, 1)}
        self._given = [*canaries]

    def run(self, roots: Sequence[Path], objects: Iterable[tuple[str, bytes]] = ()) -> Report:
        """Prove that the scan sees, then read every file below the roots, and what else is stored as objects (name and
        bytes). Raises StoreError where a root is not there or a file cannot be read."""
        report = Report(witnesses=dict.fromkeys(self._witnesses, False))
        self._prove(report)
        counts: dict[tuple[str, str], Found] = {}
        for place, data, is_frame in self._everything(roots, objects, report):
            report.files += not is_frame
            report.frames += is_frame
            report.bytes += len(data)
            for one in self._in(place, data):
                key = one.rule, one.place
                known = counts.get(key)
                counts[key] = one if known is None else replace(known, times=known.times + one.times)
            for name, needles in self._witnesses.items():
                seen = any(needle in data for needle in needles.values())
                report.witnesses[name] = report.witnesses[name] or seen
        report.found = [counts[key] for key in sorted(counts)]
        return report

    # --- reading ----------------------------------------------------------------------------------------------------

    def _everything(
        self, roots: Sequence[Path], objects: Iterable[tuple[str, bytes]], report: Report
    ) -> Iterator[tuple[str, bytes, bool]]:
        for root in roots:
            yield from self._contents(root, report)
        for name, data in objects:
            yield name, data, False
            yield from ((f"{name} (inside)", opened, True) for opened in frames(data))

    def _contents(self, root: Path, report: Report) -> Iterator[tuple[str, bytes, bool]]:
        if not root.exists():
            raise StoreError(f"{root} is not there: name a data folder, or a file")
        for path, data in _files(root, report):
            name = str(path)
            yield f"{name} (name)", path.name.encode(errors="surrogateescape"), True
            yield name, data, False
            yield from ((f"{name} (inside)", opened, True) for opened in frames(data))

    # --- finding ----------------------------------------------------------------------------------------------------

    def _in(self, place: str, data: bytes) -> Iterator[Found]:
        yield from self._canaries_in(place, data)
        for text in _texts(data):
            for edit in self._look(text):
                value = text[edit.start : edit.end]
                yield Found("+".join(edit.labels) or "encoded", place, len(value), shape(value))

    def _canaries_in(self, place: str, data: bytes) -> Iterator[Found]:
        for name, needles in self._canaries.items():
            for form, needle in needles.items():
                times = data.count(needle)
                if times:
                    yield Found(f"{name} ({form})", place, len(needle), "", times)

    # --- seeing -----------------------------------------------------------------------------------------------------

    def _prove(self, report: Report) -> None:
        """Plant canaries in memory, in every form and container, and look for each with the very same code."""
        probes = [f'canary+{secrets.token_hex(8)} <&"\u00e9', *self._given]
        if not can_open_blocks():
            report.unseen.append("blocks of ClickHouse: the package lz4 is not installed")
        for probe in probes:
            scan = Scan(lambda _: (), [probe])
            for form, sample in forms.samples(probe):
                if not any(form.startswith(known) for known in forms.forms(probe)) and form not in forms.forms(probe):
                    continue  # this value looks the same in another form, which is looked for
                for container, data, packed in _contained(sample):
                    # Of what is packed only what was opened counts: a short value may show through.
                    opened = frames(data) if packed else (data,)
                    seen = any(True for one in opened for _ in scan._canaries_in("", one))
                    if seen:
                        report.proved += 1
                    else:
                        report.unseen.append(f"a canary as {form} in {container}")
        for rule, text in _EXAMPLES.items():
            labels = {label for data in (text.encode(), text.encode("utf-16-le")) for piece in _texts(data)
                      for edit in self._look(piece) for label in edit.labels}  # fmt: skip
            if rule in labels:
                report.proved += 1
            else:
                report.unseen.append(f"{rule} by its rule")


def _files(root: Path, report: Report) -> Iterator[tuple[Path, bytes]]:
    """Yield the files below a root with what is in them, each name once; note those that are kept apart.

    A store at work renames and deletes: where something was gone before it was read, it may have another name by then,
    so that what is new is read, too, until nothing goes any more. Raises StoreError.
    """
    known: set[Path] = set()
    for _ in range(_MOST_PASSES):
        gone: list[OSError] = []
        for path in sorted(_below(root, gone) - known):
            known.add(path)
            if root != path and path.relative_to(root).parts[0] in KEPT_APART:
                report.left_out.append(str(path))
                continue
            try:
                if path.is_file() or not path.exists():  # no pipe and the like, but what may just have gone
                    yield path, path.read_bytes()
            except FileNotFoundError as error:
                gone.append(error)
            except OSError as error:
                raise StoreError(f"{path} cannot be read: {error.strerror}") from None
        if not gone:
            return
    raise StoreError(f"files below {root} move faster than they are read: scan when less is stored, or a copy")


def _below(root: Path, gone: list[OSError]) -> set[Path]:
    """Return the files below a root, or the root where it is a file; note folders that were gone."""

    def unread(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise StoreError(f"{error.filename} cannot be read: {error.strerror}") from None
        gone.append(error)

    if root.is_file():
        return {root}
    return {Path(top, name) for top, _, names in os.walk(root, onerror=unread) for name in names}


_EXAMPLES: Mapping[str, str] = {
    "EMAIL": "write to scan.proof@example.com today",
    "CARD": "card 4242 4242 4242 4242 there",
    "SECRET:private-key": "-----BEGIN PRIVATE KEY-----\nMIIBFAKEFAKEFAKEFAKEFAKE\n-----END PRIVATE KEY-----",
}


def _contained(sample: bytes) -> Iterator[tuple[str, bytes, bool]]:
    yield "a plain file", sample, False
    yield "a zstd frame", b"before" + zstandard.ZstdCompressor().compress(sample) + b"after", True
    body = BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member", sample)
    yield "a reel", body.getvalue(), True
    if can_open_blocks():
        import lz4.block  # type: ignore[import-untyped]

        squeezed = lz4.block.compress(sample, store_size=False)
        yield "a block of ClickHouse", b"\0" * 16 + b"\x82" + _sizes(len(squeezed) + 9, len(sample)) + squeezed, True


def _sizes(packed: int, size: int) -> bytes:
    return packed.to_bytes(4, "little") + size.to_bytes(4, "little")


def _texts(data: bytes) -> Iterator[str]:
    for match in _PRINTABLE.finditer(data):
        yield match[0].decode(errors="replace")
    for match in _WIDE.finditer(data):
        yield match[0].decode("utf-16-be" if match[0][0] == 0 else "utf-16-le")


def shape(value: str) -> str:
    """Return what a value looks like: letters as a, digits as 0, signs as they are; cut where it is long."""
    made = "".join(
        "0" if char.isdigit() else "a" if char.isalpha() else " " if char.isspace() else char for char in value
    )
    return made if len(made) <= _SHAPE else f"{made[: _SHAPE - 1]}…"
