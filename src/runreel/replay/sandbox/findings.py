"""What the walls saw, put together: kernel attempts and the child's own reports become findings and notes.

A finding is a `network_attempt`: the replay is not the recorded run. A note is said, but changes no verdict: what libc,
an import or a vendor's telemetry does by itself. Pure: no I/O, no clock.
"""

import ipaddress
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

LIBC_SOCKETS = (
    "/run/nscd/",
    "/dev/log",
    "/run/systemd/journal/",
    "/run/systemd/userdb/",
)
"""Unix sockets (beginnings of paths) that libc connects to when a program asks for a user, a group or a log line."""

RESOLVER_SOCKETS = ("/run/systemd/resolve/", "/run/avahi-daemon/")
RESOLVER_PORTS = frozenset({53, 853, 5353})

PROBES = frozenset({"_has_ipv6", "has_dualstack_ipv6"})
"""Functions that open a socket to see whether they can (urllib3 does so when it is imported), and send nothing."""

TELEMETRY_HOSTS = (
    "amplitude.com",
    "api.smith.langchain.com",
    "api.traceloop.com",
    "app.phoenix.arize.com",
    "cloud.langfuse.com",
    "datadoghq.com",
    "honeycomb.io",
    "logfire-api.pydantic.dev",
    "mixpanel.com",
    "posthog.com",
    "scarf.sh",
    "segment.io",
    "sentry.io",
    "telemetry.crewai.com",
)
"""Where libraries send usage statistics and traces by themselves. A name below one of these counts, too."""

_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
_WITH_ADDRESS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"})
_OPENED, _INSTALLED = "socket.__new__", "audit.installed"
_LISTENING, _PROBE = "listening, not contacting", "a library looks whether it could"
_LOCAL_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call that the kernel stopped, as the supervisor saw it; equal ones are counted, not repeated.

    `target` is `host:port`, `[v6]:port`, a path, `@name` for an abstract socket, or empty where the call names none.
    `stood_in` says that the program was given a stand-in instead of a socket: such a `socket` call alone reaches out to
    nobody, and the connect that follows is an attempt of its own. The command line is whole, and not redacted. `at` is
    what `Sandboxed.follow` was told when it was first seen, `seen_ns` the monotonic clock then.
    """

    pid: int
    tid: int
    command: str
    cmdline: tuple[str, ...]
    syscall: str
    family: str = ""
    kind: str = ""
    target: str = ""
    stood_in: bool = False
    count: int = 1
    at: int = 0
    seen_ns: int = 0


@dataclass(frozen=True, slots=True)
class NetworkAttempt:
    """One line of the report: who tried, where to, and from where in the code. `note` says why it is no finding.

    `where` is the nearest code outside of Python's own, often a library's; `stack` are the agent's own frames, the
    innermost first. Both are `file:line in function`.
    """

    pid: int
    command: str
    cmdline: str
    syscall: str
    family: str
    target: str = ""
    where: str = ""
    stack: tuple[str, ...] = ()
    via: str = ""
    count: int = 1
    note: str = ""
    type: str = "network_attempt"

    def __str__(self) -> str:
        times = f", {self.count} times" if self.count > 1 else ""
        via = f" through {self.via}" if self.via else ""
        where = f" at {self.where}" if self.where else ""
        callers = [place for place in self.stack if place != self.where]
        where += f", called from {' < '.join(callers)}" if callers else ""
        note = f" ({self.note})" if self.note else ""
        target = self.target or "target unknown"
        who = f"{self.command}[{self.pid}]"
        return f"{who} {self.syscall} {self.family} {target}{via}{where}{times}{note}: {self.cmdline}"


class Merged(NamedTuple):
    """`findings` make a replay diverge, `notes` are only said."""

    findings: tuple[NetworkAttempt, ...]
    notes: tuple[NetworkAttempt, ...]


def merge(
    attempts: Sequence[Attempt],
    reports: Iterable[Mapping[str, str]],
    *,
    watched: bool = True,
    clean: Callable[[str], str] = str,
) -> Merged:
    """Join what the kernel stopped with what Python code said it wanted (see audit.py), process by process; each
    attempt is told once, in the order of first sight.

    Args:
        watched: Whether the kernel reported attempts at all (`Isolation.notify`); without it the reports stand alone.
        clean: Applied to command lines, targets and code places before they enter a report: the redactor.
    """
    said = tuple(reports)
    merged: list[tuple[int, NetworkAttempt]] = []
    for pid in dict.fromkeys([*(a.pid for a in attempts), *(_pid(r) for r in said)]):
        tried = [a for a in attempts if a.pid == pid]
        merged += _Process(tried, [r for r in said if _pid(r) == pid], watched).lines()
    merged.sort(key=lambda timed: timed[0])
    cleaned = [_cleaned(line, clean) for _, line in merged]
    return Merged(tuple(line for line in cleaned if not line.note), tuple(line for line in cleaned if line.note))


class _Process:
    """Everything known about one process, joined."""

    def __init__(self, attempts: Sequence[Attempt], reports: Sequence[Mapping[str, str]], watched: bool) -> None:
        self._attempts = attempts
        self._reports = reports
        self._watched = watched
        self._hello: Mapping[str, str] = next((r for r in reports if r.get("event") == _INSTALLED), {})
        self._names = _names(reports)
        self._used: list[Mapping[str, str]] = []

    def lines(self) -> list[tuple[int, NetworkAttempt]]:
        """Return what is to be said, each line with the time of its first sight."""
        lines: list[tuple[int, NetworkAttempt]] = []
        resolver = ""
        for attempt in self._attempts:
            note = self._why_harmless(attempt)
            if not note and self._names and _is_lookup(attempt):
                # Said by the name below: the name is what a reader wants, the resolver only how it was asked for.
                resolver = resolver or attempt.target or attempt.family
                continue
            lines.append((attempt.seen_ns, self._from_kernel(attempt, note)))
        if resolver or not self._watched:
            lines += [(_ns(report), self._from_python(report, via=resolver)) for report in self._names.values()]
        return lines + [(_ns(report), self._from_python(report)) for report in self._only_said()]

    def _only_said(self) -> list[Mapping[str, str]]:
        """Return the reports that no kernel attempt stands for: what was given up before the call, what no filter can
        see, and everything where the kernel does not report."""
        events = _WITH_ADDRESS - {"socket.bind"} if self._watched else _WITH_ADDRESS | {_OPENED}
        return [
            report
            for report in self._reports
            if report.get("event") in events
            and report not in self._used
            and _host(report.get("target", "")) not in self._names
            and report.get("family") != "AF_NETLINK"
        ]

    def _report_of(self, attempt: Attempt) -> Mapping[str, str]:
        """Find the Python code behind an attempt: the same address, else a socket of the same kind. Empty if none."""
        if attempt.target:
            return next((r for r in self._reports if _same_target(r, attempt)), {})
        seen = {other.target for other in self._attempts}
        alike = [r for r in self._reports if (r.get("family"), r.get("kind")) == (attempt.family, attempt.kind)]
        unseen = (r for r in alike if r.get("target") and r.get("target") not in seen)
        went_on = {r.get("where") for r in self._reports if r.get("event") in _WITH_ADDRESS}
        opened = (r for r in alike if r.get("event") == _OPENED and r.get("where") not in went_on)
        return next(unseen, None) or next(opened, {})

    def _near(self, report: Mapping[str, str]) -> str:
        """Return what was looked up on the same line of code, for a socket that never came to its connect."""
        here = (r for r in self._reports if r.get("event") in _LOOKUPS and r.get("where") == report.get("where"))
        return next(here, {}).get("target", "")

    def _why_harmless(self, attempt: Attempt) -> str:
        """Return why an attempt is no finding, or nothing."""
        if attempt.family == "AF_NETLINK":
            return "libc asks the kernel for its own addresses"
        if attempt.family == "AF_UNSPEC":
            return "a disconnect"
        if attempt.syscall == "bind":
            return _LISTENING
        if attempt.family == "AF_UNIX" and attempt.target.removeprefix("/var").startswith(LIBC_SOCKETS):
            return "a look-up or log line by libc itself"
        if attempt.syscall == "socket":
            return self._why_unused(attempt)
        if attempt.syscall == "connect" and attempt.kind == "SOCK_DGRAM" and not _is_lookup(attempt):
            return self._why_sorting(attempt)
        return ""

    def _why_unused(self, attempt: Attempt) -> str:
        """A socket that was opened, and no more is known. A datagram one may have been sent to with `sendmsg`, which no
        filter sees; a stream one cannot reach anything without a connect, which is seen."""
        report = self._report_of(attempt)
        if _is_probe(report):
            return _PROBE
        if attempt.stood_in and (attempt.kind == "SOCK_STREAM" or attempt.family == "AF_INET6"):
            return "" if report.get("target") else "opened and never used"
        return ""

    def _why_sorting(self, attempt: Attempt) -> str:
        """getaddrinfo sorts addresses by connecting datagram sockets to them, sending nothing. It is told from an own
        connect by the look-up that asked for this port, or by the stream connect to the same address that follows."""
        followed = any(a.target == attempt.target and a.kind == "SOCK_STREAM" for a in self._attempts)
        looked_up = any(r.get("event") in _LOOKUPS and _may_be_port(r, _port(attempt.target)) for r in self._reports)
        own = any(_same_target(r, attempt) and r.get("kind") == "SOCK_DGRAM" for r in self._reports)
        return "" if own or not (followed or looked_up) else "getaddrinfo sorts addresses, nothing is sent"

    def _from_kernel(self, attempt: Attempt, note: str) -> NetworkAttempt:
        report = self._report_of(attempt)
        self._used += [r for r in self._reports if r == report or (attempt.target and _same_target(r, attempt))]
        return NetworkAttempt(
            attempt.pid,
            attempt.command,
            shlex.join(attempt.cmdline),
            attempt.syscall,
            attempt.family,
            attempt.target or report.get("target", "") or self._near(report),
            report.get("where", ""),
            _stack_of(report),
            count=attempt.count,
            note=note,
        )

    def _from_python(self, report: Mapping[str, str], via: str = "") -> NetworkAttempt:
        note = "telemetry of a vendor" if _is_telemetry(_host(report.get("target", ""))) else ""
        if report.get("event") == "socket.bind":
            note = _LISTENING
        elif _is_probe(report):
            note = _PROBE
        known = self._attempts[0] if self._attempts else None
        return NetworkAttempt(
            pid=_pid(report),
            command=known.command if known else self._hello.get("command", "python"),
            cmdline=shlex.join(known.cmdline) if known else self._hello.get("cmdline", ""),
            syscall=report.get("event", "").removeprefix("socket.").replace("__new__", "socket"),
            family=report.get("family", ""),
            target=report.get("target", "") or self._near(report),
            where=report.get("where", ""),
            stack=_stack_of(report),
            via=via,
            note=note,
        )


def _names(reports: Iterable[Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Return the look-ups of names that this machine cannot answer by itself: one report for each name."""
    found: dict[str, Mapping[str, str]] = {}
    for report in reports:
        host = _host(report.get("target", ""))
        if report.get("event") in _LOOKUPS and not _is_local(host):
            found.setdefault(host, report)
    return found


def _cleaned(line: NetworkAttempt, clean: Callable[[str], str]) -> NetworkAttempt:
    texts = (line.target, line.where, line.via, line.cmdline)
    target, where, via, cmdline = (clean(text) if text else text for text in texts)
    stack = tuple(clean(place) for place in line.stack)
    return replace(line, target=target, where=where, via=via, cmdline=cmdline, stack=stack)


def _stack_of(report: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(report.get("stack", "").splitlines())


def _host(target: str) -> str:
    """Return the host of `host:port` or `[v6]:port`; the whole where there is no port."""
    host, colon, port = target.rpartition(":")
    return (host if colon and (port.isdigit() or not port) else target).strip("[]").lower()


def _pid(report: Mapping[str, str]) -> int:
    number = report.get("pid", "")
    return int(number) if number.isdigit() else 0


def _ns(report: Mapping[str, str]) -> int:
    number = report.get("ns", "")
    return int(number) if number.isdigit() else 0


def _port(target: str) -> int:
    port = target.rpartition(":")[2]
    return int(port) if port.isdigit() else 0


def _may_be_port(lookup: Mapping[str, str], port: int) -> bool:
    """Whether a look-up asked for a port; one by the name of a service may be any."""
    asked = lookup.get("target", "").rpartition(":")[2]
    return _port(lookup.get("target", "")) == port or not asked.isdigit()


def _is_lookup(attempt: Attempt) -> bool:
    """Whether an attempt is a question to a name server (or may be one, where its target is not known)."""
    if attempt.family == "AF_UNIX":
        return attempt.target.removeprefix("/var").startswith(RESOLVER_SOCKETS)
    return _port(attempt.target) in RESOLVER_PORTS or (not attempt.target and attempt.kind == "SOCK_DGRAM")


def _is_local(host: str) -> bool:
    """Whether a look-up of the name asks nobody: an address, or this machine."""
    return host in _LOCAL_NAMES or _is_address(host)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_telemetry(host: str) -> bool:
    return any(host == known or host.endswith(f".{known}") for known in TELEMETRY_HOSTS)


def _is_probe(report: Mapping[str, str]) -> bool:
    return report.get("event") == _OPENED and report.get("where", "").rpartition(" in ")[2] in PROBES


def _same_target(report: Mapping[str, str], attempt: Attempt) -> bool:
    """Whether a report means the address of an attempt: literally, or as a name with the same port and kind."""
    target = report.get("target", "")
    if report.get("event") not in _WITH_ADDRESS or not target:
        return False
    if target == attempt.target:
        return True
    named = bool(_port(target)) and not _is_address(_host(target)) and report.get("kind") == attempt.kind
    return named and _port(target) == _port(attempt.target)
