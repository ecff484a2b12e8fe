"""A golden on disk: `goldens/NAME/` with `golden.json` and the reel unpacked as JSON text, its large parts as files.

    golden.json     format and version, the run, how to run its agent again, what is expected, the hash of each file
    spans.json logs.json payloads.json   the reel's rows, in the order of the run
    parts/<sha256>  texts of 256 bytes or more, once each

The same run always gives the same bytes. Everything in it has been redacted when it was recorded.
"""

import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from runreel.errors import CorruptError, NotFoundError, StoreError, UsageError
from runreel.exporters.memory import Memory
from runreel.goldens import text
from runreel.goldens.values import Golden, Settings
from runreel.runs import reel
from runreel.runs.load import StoreRuns
from runreel.values import DEFAULT_TENANT, Run, SplitBatch

FORMAT: Final = "runreel-golden"
VERSION: Final = 1
HEAD: Final = "golden.json"
FOLDER: Final = "goldens"
NAME_RE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MIGRATIONS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""How `golden.json` of a version becomes that of the next one; there is one entry for each version that there was."""

_ROWS: Final = ("spans", "logs", "payloads")
# Ends of lines are part of what is recorded, and hashed: no checkout may change them.
_ATTRIBUTES: Final = "* -text\n"


def write(golden: Golden) -> Path:
    """Write a golden's folder, new or in the place of the old one, and read it back.

    Raises UsageError for a name that is none, CorruptError where what was read back is not what was written.
    """
    require_name(golden.name)
    files = dict(_files(golden.run.run_id, golden.batch))
    head = {
        "format": FORMAT,
        "format_version": VERSION,
        "run_id": golden.run.run_id,
        "agent_id": golden.run.agent_id,
        "outcome": golden.run.outcome,
        "failure": golden.failure,
        "ticket": golden.ticket,
        "replay": {
            "agent": golden.settings.agent,
            "args": list(golden.settings.args),
            "tools": dict(sorted(golden.settings.tools.items())),
            "masks": list(golden.settings.masks),
            "timeout_s": golden.settings.timeout_s,
        },
        "expect": list(golden.expect),
        "media_types": {
            part.sha256: part.media_type for part in sorted(golden.batch.parts, key=lambda one: one.sha256)
        },
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    }
    folder = golden.folder
    try:
        if (folder / "parts").is_dir():
            shutil.rmtree(folder / "parts")
        (folder / "parts").mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        (folder / HEAD).write_bytes(text.pretty(head))
        attributes = folder.parent / ".gitattributes"
        if not attributes.exists():
            attributes.write_text(_ATTRIBUTES, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{folder}: the golden cannot be written: {error.strerror}") from None
    if read(folder).run != golden.run:
        raise CorruptError(f"{folder}: what was written does not read back as the same run; please report it")
    return folder


def read(folder: Path) -> Golden:
    """Read a golden; every file is checked against its hash.

    Raises:
        NotFoundError: there is no golden in the folder.
        CorruptError: a file is missing or changed, or not what a golden holds.
        StoreError: a golden of a newer format.
    """
    head = read_head(folder)
    place = str(folder)
    try:
        members = {str(name): _member(folder, str(name), str(sha256)) for name, sha256 in head["files"].items()}
        run_id, batch = reel.read(_reel(head, members), place)
        how = head["replay"]
        settings = Settings(
            how["agent"], tuple(how["args"]), dict(how["tools"]), tuple(how["masks"]), float(how["timeout_s"])
        )
        expect = tuple(str(line) for line in head["expect"])
        ticket, failure = str(head["ticket"]), str(head["failure"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptError(f"{place}: not what a golden of format {VERSION} holds ({type(error).__name__})") from None
    return Golden(folder, run_of(batch, run_id), batch, expect, settings, ticket, failure)


def run_of(batch: SplitBatch, run_id: str) -> Run:
    """Assemble the run of a reel's rows, as it was when it was promoted: complete, whatever the time is now."""
    memory = Memory(clock=lambda: 0)
    memory.export(batch)
    return StoreRuns(memory, memory).run(batch.tenant, run_id)


def read_head(folder: Path) -> dict[str, Any]:
    """Read `golden.json`, brought to the newest version. Raises NotFoundError, CorruptError, StoreError."""
    try:
        head = json.loads((folder / HEAD).read_bytes())
        if head["format"] != FORMAT:
            raise CorruptError(f"{folder}: {HEAD} is not that of a golden")
        version = int(head["format_version"])
    except FileNotFoundError:
        raise NotFoundError(f"no golden in {folder}: there is no {HEAD}") from None
    except OSError as error:
        raise StoreError(f"{folder}: {HEAD} cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise CorruptError(f"{folder}: {HEAD} is not that of a golden") from None
    if version > VERSION:
        raise StoreError(f"{folder}: a golden of format {version}; this version reads up to {VERSION}: update runreel")
    while version < VERSION:
        if version not in MIGRATIONS:
            raise CorruptError(f"{folder}: there never was a golden of format {version}")
        head, version = MIGRATIONS[version](head), version + 1
    if version != VERSION:
        raise CorruptError(f"{folder}: there never was a golden of format {version}")
    return dict(head)


def fingerprint(head: Mapping[str, Any]) -> str:
    """Return the SHA-256 over the hashes of a golden's files: of what was recorded, whatever is expected of it."""
    return hashlib.sha256(json.dumps(head["files"], sort_keys=True).encode()).hexdigest()


def find(root: Path) -> tuple[Path, ...]:
    """Return the folders of the goldens in a folder of goldens, by name."""
    return tuple(sorted(head.parent for head in root.glob(f"*/{HEAD}")))


def named(root: Path, name: str) -> Path:
    """Return the folder of a golden. Raises NotFoundError, with the names that there are; UsageError for no name."""
    require_name(name)
    if not (root / name / HEAD).is_file():
        known = ", ".join(folder.name for folder in find(root)) or "none"
        raise NotFoundError(f"no golden {name} in {root}; there: {known}")
    return root / name


def require_name(name: str) -> None:
    """Raise UsageError where a golden cannot be called so: it is a folder's name, on any machine."""
    if not NAME_RE.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a golden: letters, digits, '.', '_' and '-', at most 100")


# --- a reel and its text ----------------------------------------------------------------------------------------------


def batch_of(data: bytes, source: str) -> tuple[str, SplitBatch]:
    """Return the run id and the rows of a reel."""
    return reel.read(data, source)


def _files(run_id: str, batch: SplitBatch) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a golden but its head: what a reel of the run holds, as text."""
    with zipfile.ZipFile(io.BytesIO(reel.write(run_id, batch))) as archive:
        spans, logs = (text.rows(_lines(archive.read(f"{name}.jsonl"))) for name in ("spans", "logs"))
        payloads = [text.payload(line) for line in _lines(archive.read("payloads.jsonl"))]
        yield "spans.json", text.pretty(spans)
        yield "logs.json", text.pretty(logs)
        yield "payloads.json", text.pretty(_in_order(payloads, json.dumps([spans, logs])))
        for name in archive.namelist():
            if name.startswith("parts/"):
                yield name, archive.read(name)


def _in_order(payloads: list[dict[str, Any]], used: str) -> list[dict[str, Any]]:
    """Put payloads where the run first names them: by their hashes, a small change would shuffle all of them."""

    def place(one: dict[str, Any]) -> tuple[int, str]:
        found = used.find(one["sha256"]) if one["sha256"] else -1
        return found if found >= 0 else len(used), one["sha256"]

    return sorted(payloads, key=place)


def _member(folder: Path, name: str, sha256: str) -> bytes:
    if name not in {f"{rows}.json" for rows in _ROWS} and not re.fullmatch(r"parts/[0-9a-f]{64}", name):
        raise CorruptError(f"{folder}: {HEAD} names a file that no golden has")
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise CorruptError(f"{folder}: {name} cannot be read: {error.strerror}") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise CorruptError(
            f"{folder}: {name} is not what was recorded: it was changed by hand, or by a tool. Take it from version "
            f"control again, or renew the golden (runreel golden update {folder.name})"
        )
    return data


def _reel(head: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    """Put the files together to the reel that they were made from."""
    packed = {name: data for name, data in members.items() if name.startswith("parts/")}
    for name in _ROWS:
        line = text.payload_line if name == "payloads" else text.row_line
        packed[f"{name}.jsonl"] = "".join(
            line(row) + "\n" for row in json.loads(members[f"{name}.json"].decode("utf-8", "surrogatepass"))
        ).encode("utf-8", "surrogatepass")
    manifest = {
        "format": reel.FORMAT,
        "format_version": reel.VERSION,
        "run_id": head["run_id"],
        "tenant": DEFAULT_TENANT,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in packed.items()},
        "media_types": head["media_types"],
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in (("manifest.json", json.dumps(manifest).encode()), *packed.items()):
            archive.writestr(name, data)
    return out.getvalue()


def _lines(data: bytes) -> list[str]:
    return [line for line in data.decode("utf-8", "surrogatepass").split("\n") if line]
