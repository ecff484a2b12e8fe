"""What becomes a finding and what a note, without any process."""

from collections.abc import Mapping, Sequence

import pytest

from runreel.replay.sandbox.findings import Attempt, NetworkAttempt, merge

HELLO = {"event": "audit.installed", "pid": "7", "command": "python", "cmdline": "python agent.py"}
HERE = "agent.py:9 in act"


def tried(syscall: str, family: str, kind: str = "SOCK_STREAM", target: str = "", **more: object) -> Attempt:
    defaults: dict[str, object] = {"pid": 7, "tid": 7, "command": "python", "cmdline": ("python", "agent.py")}
    return Attempt(syscall=syscall, family=family, kind=kind, target=target, **{**defaults, **more})


def said(event: str, target: str = "", family: str = "", kind: str = "", where: str = HERE) -> dict[str, str]:
    facts = {"event": f"socket.{event}", "target": target, "family": family, "kind": kind, "where": where}
    return {**facts, "pid": "7", "thread": "7"}


def targets(lines: Sequence[NetworkAttempt]) -> list[str]:
    return [line.target for line in lines]


def test_a_connect_is_a_finding_with_the_process_and_without_reports() -> None:
    merged = merge([tried("connect", "AF_INET", target="203.0.113.1:443", count=3)], [])

    (finding,) = merged.findings
    assert merged.notes == ()
    assert str(finding) == "python[7] connect AF_INET 203.0.113.1:443, 3 times: python agent.py"
    assert finding.type == "network_attempt"


def test_a_report_of_the_same_target_adds_the_line_of_code() -> None:
    attempt = tried("connect", "AF_INET", target="203.0.113.1:443")
    merged = merge([attempt], [HELLO, said("connect", "203.0.113.1:443", "AF_INET", "SOCK_STREAM")])

    assert [line.where for line in merged.findings] == [HERE]
    assert merged.notes == ()


def test_a_connect_by_name_is_one_finding_with_the_address_that_the_kernel_saw() -> None:
    attempt = tried("connect", "AF_INET", target="127.0.0.1:80")
    merged = merge([attempt], [HELLO, said("connect", "localhost:80", "AF_INET", "SOCK_STREAM")])

    assert [(line.target, line.where) for line in merged.findings] == [("127.0.0.1:80", HERE)]


def test_reports_of_one_process_say_nothing_about_another() -> None:
    attempt = tried("connect", "AF_INET", target="203.0.113.1:443", pid=8, command="curl", cmdline=("curl", "x y"))
    merged = merge([attempt], [HELLO, said("connect", "203.0.113.1:443", "AF_INET", "SOCK_STREAM")])

    assert [(line.pid, line.command, line.cmdline, line.where) for line in merged.findings] == [
        (8, "curl", "curl 'x y'", ""),
        (7, "python", "python agent.py", HERE),
    ]


def test_a_look_up_is_told_by_its_name_and_the_resolver_is_how() -> None:
    dns = [tried("connect", "AF_INET", "SOCK_DGRAM", f"10.0.0.{n}:53") for n in (1, 2)]
    merged = merge(dns, [HELLO, said("getaddrinfo", "telemetry.example.com:443"), said("getaddrinfo", "b.example:1")])

    assert [(line.target, line.via, line.syscall) for line in merged.findings] == [
        ("telemetry.example.com:443", "10.0.0.1:53", "getaddrinfo"),
        ("b.example:1", "10.0.0.1:53", "getaddrinfo"),
    ]


def test_a_question_to_a_name_server_by_a_program_that_is_not_python_is_a_finding() -> None:
    merged = merge([tried("connect", "AF_INET", "SOCK_DGRAM", "10.0.0.1:53", command="curl")], [])

    assert targets(merged.findings) == ["10.0.0.1:53"]


def test_a_name_that_was_answered_without_asking_anybody_is_nothing() -> None:
    assert merge([], [HELLO, said("getaddrinfo", "in-etc-hosts:80"), said("getaddrinfo", "127.0.0.1:80")]) == ((), ())


@pytest.mark.parametrize("host", ["api.smith.langchain.com", "us.i.posthog.com", "o1.ingest.sentry.io"])
def test_listed_telemetry_is_a_note(host: str) -> None:
    dns = tried("connect", "AF_INET", "SOCK_DGRAM", "10.0.0.1:53")
    merged = merge([dns], [HELLO, said("getaddrinfo", f"{host}:443")])

    assert merged.findings == ()
    assert [(line.target, line.note) for line in merged.notes] == [(f"{host}:443", "telemetry of a vendor")]


def test_a_host_that_only_ends_like_telemetry_is_a_finding() -> None:
    dns = tried("connect", "AF_INET", "SOCK_DGRAM", "10.0.0.1:53")

    assert targets(merge([dns], [HELLO, said("getaddrinfo", "notsentry.io:443")]).findings) == ["notsentry.io:443"]


@pytest.mark.parametrize(
    "path",
    [
        "/var/run/nscd/socket",
        "/run/nscd/socket",
        "/dev/log",
        "/run/systemd/userdb/io.systemd.DynamicUser",
        "/run/systemd/journal/socket",
    ],
)
def test_what_libc_connects_to_by_itself_is_a_note(path: str) -> None:
    merged = merge([tried("connect", "AF_UNIX", target=path)], [])

    assert merged.findings == ()
    assert targets(merged.notes) == [path]


@pytest.mark.parametrize("path", ["/var/run/docker.sock", "/run/dbus/system_bus_socket", "@abstract", "/run/nscd2"])
def test_other_unix_sockets_are_findings(path: str) -> None:
    assert targets(merge([tried("connect", "AF_UNIX", target=path)], []).findings) == [path]


def test_a_systemd_resolver_is_a_look_up() -> None:
    resolver = tried("connect", "AF_UNIX", target="/run/systemd/resolve/io.systemd.Resolve")

    assert targets(merge([resolver], [HELLO, said("getaddrinfo", "a.example:1")]).findings) == ["a.example:1"]
    assert len(merge([resolver], []).findings) == 1


@pytest.mark.parametrize(
    ("attempt", "note"),
    [
        (tried("socket", "AF_NETLINK", "SOCK_RAW"), "its own addresses"),
        (tried("connect", "AF_UNSPEC", "SOCK_DGRAM"), "disconnect"),
        (tried("bind", "AF_INET", target="127.0.0.1:0"), "listening"),
        (tried("socket", "AF_INET", stood_in=True), "never used"),
        (tried("socket", "AF_INET6", "SOCK_DGRAM", stood_in=True), "never used"),
    ],
)
def test_what_reaches_nobody_is_a_note(attempt: Attempt, note: str) -> None:
    merged = merge([attempt], [])

    assert merged.findings == ()
    assert note in merged.notes[0].note


@pytest.mark.parametrize(
    "attempt",
    [
        tried("socket", "AF_INET"),  # refused at once: there was no stand-in to tell more
        tried("socket", "AF_INET", "SOCK_DGRAM", stood_in=True),  # it may have been sent to, unseen
        tried("socket", "AF_VSOCK"),
        tried("socketpair", "AF_UNIX", "SOCK_DGRAM"),
        tried("sendto", "AF_INET", "SOCK_DGRAM", "203.0.113.1:8125"),
        tried("connect", "AF_INET", "SOCK_DGRAM", "203.0.113.1:8125"),
    ],
)
def test_what_may_have_been_meant_to_reach_somebody_is_a_finding(attempt: Attempt) -> None:
    assert len(merge([attempt], []).findings) == 1


def test_addresses_that_getaddrinfo_sorts_are_notes_where_the_code_did_not_connect_itself() -> None:
    sorting = tried("connect", "AF_INET", "SOCK_DGRAM", "127.0.0.1:80")
    real = tried("connect", "AF_INET", "SOCK_STREAM", "127.0.0.1:80")
    own = said("connect", "127.0.0.1:80", "AF_INET", "SOCK_DGRAM")
    asked, service, other = (said("getaddrinfo", f"localhost:{port}") for port in ("80", "http", "443"))

    assert len(merge([sorting, real], []).findings) == 1
    assert merge([sorting], [HELLO, asked]).findings == ()
    assert merge([sorting], [HELLO, service]).findings == ()
    assert len(merge([sorting], [HELLO, asked, own]).findings) == 1
    assert len(merge([sorting], [HELLO, other]).findings) == 1


def test_a_datagram_socket_that_c_code_connects_by_itself_is_a_finding() -> None:
    connected = tried("connect", "AF_INET", "SOCK_DGRAM", "203.0.113.1:8125")

    assert targets(merge([connected], [HELLO]).findings) == ["203.0.113.1:8125"]
    assert targets(merge([connected], []).findings) == ["203.0.113.1:8125"]


def test_attempts_are_told_once_and_in_the_order_of_first_sight() -> None:
    attempts = [
        tried("connect", "AF_INET", target="203.0.113.3:443", seen_ns=30),
        tried("connect", "AF_INET", target="203.0.113.1:443", seen_ns=10, pid=8, command="curl"),
    ]
    reports = [
        HELLO,
        {**said("getaddrinfo", "a.example.com:80"), "ns": "20"},
        {**said("connect", "203.0.113.3:443", "AF_INET", "SOCK_STREAM"), "ns": "29"},
    ]
    resolver = tried("connect", "AF_INET", "SOCK_DGRAM", "127.0.0.53:53", seen_ns=21)

    merged = merge([*attempts, resolver], reports)

    assert targets(merged.findings) == ["203.0.113.1:443", "a.example.com:80", "203.0.113.3:443"]
    assert [line.where for line in merged.findings] == ["", HERE, HERE]


def test_the_agents_own_frames_are_told_beside_the_librarys_and_cleaned() -> None:
    report = {
        **said("connect", "203.0.113.1:443", "AF_INET", "SOCK_STREAM", "lib/sync.py:205 in connect_tcp"),
        "stack": "dana@example.com/agent.py:5 in ask\nagent.py:9 in <module>",
    }
    attempt = tried("connect", "AF_INET", target="203.0.113.1:443")

    (finding,) = merge([attempt], [HELLO, report], clean=lambda text: text.replace("dana@example.com", "X")).findings

    assert finding.stack == ("X/agent.py:5 in ask", "agent.py:9 in <module>")
    assert str(finding) == (
        "python[7] connect AF_INET 203.0.113.1:443 at lib/sync.py:205 in connect_tcp, "
        "called from X/agent.py:5 in ask < agent.py:9 in <module>: python agent.py"
    )


def test_a_librarys_probe_is_a_note_with_and_without_a_stand_in() -> None:
    probe = said("__new__", "", "AF_INET6", "SOCK_STREAM", "urllib3/util/connection.py:130 in _has_ipv6")

    for attempts, watched in (([tried("socket", "AF_INET6")], True), ([], False)):
        merged = merge(attempts, [HELLO, probe], watched=watched)
        assert merged.findings == ()
        assert [line.note for line in merged.notes] == ["a library looks whether it could"]


def test_a_datagram_sent_where_no_filter_sees_it_is_told_by_the_code_alone() -> None:
    opened = tried("socket", "AF_INET", "SOCK_DGRAM", stood_in=True)
    merged = merge([opened], [HELLO, said("sendmsg", "203.0.113.1:9", "AF_INET", "SOCK_DGRAM")])

    assert [(line.target, line.where) for line in merged.findings] == [("203.0.113.1:9", HERE)]


def test_a_socket_of_c_code_is_not_laid_to_python_code_that_came_to_its_connect() -> None:
    connected = tried("connect", "AF_INET", target="203.0.113.1:443")
    of_c = tried("socket", "AF_INET", stood_in=True)
    reports = [
        said("__new__", "", "AF_INET", "SOCK_STREAM"),
        said("connect", "203.0.113.1:443", "AF_INET", "SOCK_STREAM"),
    ]

    merged = merge([of_c, connected], [HELLO, *reports])

    assert [(line.target, line.where) for line in merged.findings] == [("203.0.113.1:443", HERE)]
    assert [(line.syscall, line.target, line.where) for line in merged.notes] == [("socket", "", "")]


def test_a_refused_socket_is_told_with_what_was_looked_up_on_the_same_line() -> None:
    reports = [HELLO, said("getaddrinfo", "203.0.113.1:443"), said("__new__", "", "AF_INET", "SOCK_STREAM")]

    for attempts, watched in (([tried("socket", "AF_INET")], True), ([], False)):
        merged = merge(attempts, reports, watched=watched)
        assert [(line.target, line.where) for line in merged.findings] == [("203.0.113.1:443", HERE)]


def test_without_the_kernels_reports_the_codes_own_make_findings_and_notes() -> None:
    reports = [
        HELLO,
        said("getaddrinfo", "a.example:443"),
        said("getaddrinfo", "app.posthog.com:443"),
        said("__new__", "", "AF_NETLINK", "SOCK_RAW"),
        said("bind", "127.0.0.1:0", "AF_INET", "SOCK_STREAM"),
        said("connect", "/run/docker.sock", "AF_UNIX", "SOCK_STREAM"),
    ]
    merged = merge([], reports, watched=False)

    assert targets(merged.findings) == ["a.example:443", "/run/docker.sock"]
    assert targets(merged.notes) == ["app.posthog.com:443", "127.0.0.1:0"]
    assert {line.cmdline for line in merged.findings} == {"python agent.py"}


def test_what_enters_a_report_can_be_cleaned_first() -> None:
    attempt = tried("connect", "AF_INET", target="203.0.113.1:1", cmdline=("curl", "-H", "key: planted"))
    merged = merge([attempt], [], clean=lambda text: text.replace("planted", "<SECRET>"))

    assert "planted" not in str(merged)
    assert "<SECRET>" in merged.findings[0].cmdline


@pytest.mark.parametrize("reports", [[], [HELLO], [{}], [{"pid": "9", "event": "socket.unheard"}]])
def test_nothing_tried_is_nothing_found(reports: list[Mapping[str, str]]) -> None:
    assert merge([], reports).findings == ()
