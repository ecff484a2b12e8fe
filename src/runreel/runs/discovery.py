"""Finds the collector that has a data folder open: `collector.json` there says where it listens and how to ask it."""

import http.client
import ipaddress
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path

from runreel.errors import StoreError

FILE = "collector.json"
_PATIENCE_S = 5.0
_LAST_PID = 2**31 - 1


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Go nowhere else: the token, and what is not redacted yet, are for the collector alone."""


# A collector is on loopback: a proxy from the environment must see neither its token nor what it is sent.
LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
_ELSEWHERE = urllib.request.build_opener(_NoRedirect)


def opener(url: str) -> urllib.request.OpenerDirector:
    """Return what opens the URL of a collector: without a proxy on this machine, as the environment says elsewhere."""
    return LOOPBACK if is_loopback(urllib.parse.urlsplit(url).hostname or "") else _ELSEWHERE


@dataclass(frozen=True, slots=True)
class Collector:
    """A collector as its file describes it. `otlp_grpc` is host:port, `otlp_http` and `api` are URLs; a receiver that
    is off is None. Who has `token` may read payloads."""

    pid: int
    started_at: str
    otlp_grpc: str | None
    otlp_http: str | None
    api: str
    token: str

    def __repr__(self) -> str:
        # Written by hand: the token must not get into a log with the rest.
        return f"Collector(pid={self.pid}, api={self.api!r})"


def write(home: Path, collector: Collector) -> None:
    """Write the file in one step; only its owner may read it, whatever the umask. Raises StoreError."""
    target, new = home / FILE, home / f".{FILE}.{os.getpid()}"
    try:
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            json.dump(asdict(collector), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        new.replace(target)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from None


def remove(home: Path, pid: int) -> None:
    """Remove the file if it is still that process's; another collector's stays."""
    try:
        if read(home).pid == pid:
            (home / FILE).unlink()
    except (StoreError, OSError):
        return  # gone already, or not readable: nothing of ours to remove


def read(home: Path) -> Collector:
    """Read the file. Raises StoreError where it is missing, not readable, or not what we write."""
    path = home / FILE
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        found = Collector(**{name: fields[name] for name in Collector.__dataclass_fields__})
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(f"{path} is no file of a collector: remove it") from None
    right = type(found.pid) is int and 0 < found.pid <= _LAST_PID and isinstance(found.token, str)
    # A collector listens on loopback. A file that says otherwise (it came with a folder of somebody else's, say) must
    # not make an import send what is not redacted yet to another machine.
    if not right or not _on_loopback(found.api) or not (found.otlp_http is None or _on_loopback(found.otlp_http)):
        raise StoreError(f"{path} is no file of a collector: remove it")
    return found


def _on_loopback(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urllib.parse.urlsplit(url)
        plain = parts.scheme == "http" and not parts.path and not parts.query and parts.port is not None
        return plain and is_loopback(parts.hostname or "")
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine only. Names other than localhost are not trusted to stay so."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def find(home: Path, *, say: Callable[[str], object]) -> Collector | None:
    """Return the running collector of a data folder, None where there is none.

    A stale file (its process is gone, or does not answer with the token) is said, once, and counts as none.
    """
    try:
        if not (home / FILE).exists():
            return None
        found = read(home)
    except OSError as error:
        raise StoreError(f"cannot read the data folder {home}: {error.strerror}") from None
    except StoreError as error:
        say(str(error))
        return None
    reason = stale(found)
    if reason is None:
        return found
    say(f"{home / FILE} is stale: {reason}; no collector runs here")
    return None


def reach(api: str, token: str, *, said_by: str, token_by: str) -> Collector:
    """Return the collector whose read API is at a URL, once it has answered.

    It says where it takes OTLP over HTTP. One on another machine has both under one URL, as its proxy must.

    Raises StoreError that names where the URL and the token come from.
    """
    named = Collector(0, "", None, None, api, token)
    try:
        document = json.loads(_health(named))
    except urllib.error.HTTPError as error:
        why = f"it refuses the token from {token_by}" if error.code == HTTPStatus.UNAUTHORIZED else f"{error.code}"
        raise StoreError(f"the collector at {api} ({said_by}) does not let us in: {why}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise StoreError(
            f"no collector answers at {api} ({said_by}): {reason}. Is it running, and is that its read API?"
        ) from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or "version" not in document:
        raise StoreError(f"what answers at {api} ({said_by}) is no collector's read API")
    said = document.get("otlp_http") if is_loopback(urllib.parse.urlsplit(api).hostname or "") else api
    return Collector(0, "", None, said if isinstance(said, str) else None, api, token)


def stale(collector: Collector) -> str | None:
    """Say why a file describes no running collector; None if it does."""
    try:
        os.kill(collector.pid, 0)
    except ProcessLookupError:
        return f"its process {collector.pid} is gone"
    except PermissionError:
        pass  # it lives, as another user
    try:
        _health(collector)
    except urllib.error.HTTPError as error:
        return f"what listens at {collector.api} is not the collector that wrote it (it answers {error.code})"
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        return f"process {collector.pid} runs but {collector.api} does not answer ({reason})"
    return None


def version(collector: Collector) -> str | None:
    """Return the version of a running collector; None where it does not say."""
    try:
        document = json.loads(_health(collector))
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return None
    found = document.get("version") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None


def _health(collector: Collector) -> bytes:
    headers = {"Authorization": f"Bearer {collector.token}"}
    request = urllib.request.Request(f"{collector.api}/api/v1/health", headers=headers)  # noqa: S310
    with opener(collector.api).open(request, timeout=_PATIENCE_S) as answer:
        return bytes(answer.read())
