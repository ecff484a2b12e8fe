"""The audit hook, in processes of its own: it cannot be taken out again."""

import json
import subprocess
import sys
from pathlib import Path

SETUP = """
import json, os, socket, sys
from runreel.replay.sandbox import audit
audit.install(lambda report: print(json.dumps(dict(report)), flush=True))
"""


def reports(tmp_path: Path, code: str) -> list[dict[str, str]]:
    script = tmp_path / "agent.py"
    script.write_text(SETUP + code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_first_report_says_which_process_is_watched(tmp_path: Path) -> None:
    (hello,) = reports(tmp_path, "")

    assert hello["event"] == "audit.installed"
    assert "agent.py" in hello["cmdline"]
    assert int(hello["pid"]) > 0


def test_a_connect_is_reported_with_target_kind_and_place(tmp_path: Path) -> None:
    _, opened, connect = reports(
        tmp_path, "def agent():\n s = socket.socket()\n s.connect_ex(('127.0.0.1', 1))\nagent()"
    )

    assert (opened["event"], opened["family"], opened["kind"], opened["target"]) == (
        "socket.__new__",
        "AF_INET",
        "SOCK_STREAM",
        "",
    )
    assert (connect["event"], connect["family"], connect["kind"], connect["target"]) == (
        "socket.connect",
        "AF_INET",
        "SOCK_STREAM",
        "127.0.0.1:1",
    )
    assert connect["where"].endswith("agent.py:7 in agent")


def test_addresses_of_every_form_are_written_as_the_kernel_report_writes_them(tmp_path: Path) -> None:
    found = reports(
        tmp_path,
        """
u = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for address in ("/nowhere", b"/bytes", "\\0abstract"):
    u.connect_ex(address)
d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
d.sendto(b"", ("127.0.0.1", 9))
d.sendmsg([b""], [], 0, ("127.0.0.2", 9))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET6)
s.setblocking(False)
s.connect_ex(("::1", 9))
""",
    )

    assert [(r["event"], r["target"]) for r in found if r.get("target")] == [
        ("socket.connect", "/nowhere"),
        ("socket.connect", "/bytes"),
        ("socket.connect", "@abstract"),
        ("socket.sendto", "127.0.0.1:9"),
        ("socket.sendmsg", "127.0.0.2:9"),
        ("socket.bind", "127.0.0.1:0"),
        ("socket.connect", "[::1]:9"),
    ]


def test_look_ups_keep_the_name_that_was_asked_for(tmp_path: Path) -> None:
    found = reports(
        tmp_path,
        """
socket.getaddrinfo("localhost", 80)
socket.getaddrinfo(b"127.0.0.1", None)
socket.gethostbyname("localhost")
socket.getnameinfo(("127.0.0.1", 80), socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)
""",
    )

    assert [(r["event"], r["target"]) for r in found[1:]] == [
        ("socket.getaddrinfo", "localhost:80"),
        ("socket.getaddrinfo", "127.0.0.1"),
        ("socket.gethostbyname", "localhost"),
        ("socket.getnameinfo", "127.0.0.1:80"),
    ]


def test_the_same_call_from_the_same_line_is_reported_once(tmp_path: Path) -> None:
    found = reports(
        tmp_path, "for _ in range(5):\n socket.getaddrinfo('localhost', 80)\nsocket.getaddrinfo('localhost', 80)"
    )

    assert [r["event"] for r in found[1:]] == ["socket.getaddrinfo", "socket.getaddrinfo"]
    assert found[1]["where"] != found[2]["where"]


def test_pairs_and_accepted_sockets_are_no_new_sockets(tmp_path: Path) -> None:
    assert len(reports(tmp_path, "import asyncio\nasyncio.run(asyncio.sleep(0))\nsocket.socketpair()")) == 1


def test_a_fork_announces_itself_and_reports_under_its_own_number(tmp_path: Path) -> None:
    found = reports(
        tmp_path,
        """
socket.gethostbyname("localhost")
pid = os.fork()
if pid == 0:
    socket.gethostbyname("localhost")
    os._exit(0)
os.waitpid(pid, 0)
""",
    )
    parent, child = found[0]["pid"], found[2]["pid"]

    assert [(r["event"], r["pid"]) for r in found] == [
        ("audit.installed", parent),
        ("socket.gethostbyname", parent),
        ("audit.installed", child),
        ("socket.gethostbyname", child),
    ]
    assert parent != child


def test_threads_are_told_apart(tmp_path: Path) -> None:
    found = reports(
        tmp_path,
        """
import threading
thread = threading.Thread(target=socket.gethostbyname, args=("localhost",)); thread.start(); thread.join()
""",
    )

    assert found[1]["thread"] != found[1]["pid"]


def test_sockets_of_the_reporter_itself_are_not_reported(tmp_path: Path) -> None:
    code = """
said = []
def report(facts):
    said.append(facts["event"])
    socket.getaddrinfo("127.0.0.1", 1)
audit.install(report)
socket.gethostbyname("127.0.0.1")
assert said == ["audit.installed", "socket.gethostbyname"], said
"""
    # The first hook, from the set-up, is another one: it sees the second one's own look-ups.
    assert {r["event"] for r in reports(tmp_path, code)} >= {"audit.installed", "socket.gethostbyname"}


def test_the_agents_own_frames_are_told_from_the_inside_beside_the_nearest_line(tmp_path: Path) -> None:
    code = "def inner():\n socket.create_connection(('127.0.0.1', 1))\ndef outer():\n inner()\n"

    found = reports(tmp_path, f"{code}try: outer()\nexcept OSError: pass\n")

    connect = next(report for report in found if report["event"] == "socket.connect")
    places = [place.rpartition("agent.py:")[2] for place in connect["stack"].split("\n")]
    assert places == ["6 in inner", "8 in outer", "9 in <module>"]
    assert connect["where"].endswith("agent.py:6 in inner")
    assert int(connect["ns"]) > 0


def test_a_thread_of_a_pool_is_told_by_what_the_main_thread_waits_for(tmp_path: Path) -> None:
    found = reports(
        tmp_path,
        "import asyncio\ntry: asyncio.run(asyncio.open_connection('leak.invalid', 80))\nexcept OSError: pass\n",
    )

    lookup = next(report for report in found if report["event"] == "socket.getaddrinfo")
    assert lookup["stack"].endswith("agent.py:6 in <module>, the main thread")
