import json
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = Path(__file__).with_name("transport_agent.py")
HTTPX = ("httpx", "httpx2")
LIBRARIES = (*HTTPX, "requests", "urllib3", "aiohttp")
_results: dict[tuple[str, str], dict] = {}


def run(case: str, library: str) -> dict:
    """Run one case of the agent in a process without sockets, once, and return what it got."""
    if (case, library) not in _results:
        done = subprocess.run([sys.executable, AGENT, case, library], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["attempts"] == []
        _results[case, library] = said["result"]
    return _results[case, library]


SYNC = [
    ("httpx_sync", "httpx"),
    ("httpx_sync", "httpx2"),
    ("requests_sync", "requests"),
    ("urllib3_sync", "urllib3"),
    ("standard_library", "http"),
]
ALL = [*SYNC, ("aiohttp_async", "aiohttp")]
TYPES = {
    "requests": "requests.models.Response",
    "urllib3": "urllib3.response.HTTPResponse",
    "http": "http.client.HTTPResponse",
    "aiohttp": "aiohttp.client_reqrep.ClientResponse",
}


@pytest.mark.parametrize(("case", "library"), ALL)
def test_the_caller_gets_its_own_librarys_response(case, library):
    got = run(case, library)

    assert got["type"] == TYPES.get(library, f"{library}.Response")
    assert got["plain"] == {"ok": True}
    assert got["two"] in (["a", "b"], "a, b")


@pytest.mark.parametrize(("case", "library"), ALL)
def test_the_handler_sees_the_whole_request(case, library):
    method, url, headers, body = run(case, library)["seen"]

    assert (method, url.partition("?")[0]) == ("POST", "https://models.example.com/plain")
    assert {name.lower(): value for name, value in headers.items()}["x-mine"] == "yes"
    assert json.loads(body) == {"a": "é"}


@pytest.mark.parametrize(("case", "library"), ALL)
def test_an_error_status_keeps_its_headers(case, library):
    missing = run(case, library)["missing"]

    assert (missing[0], missing[-1]) == (404, "false")


@pytest.mark.parametrize(("case", "library"), [*ALL, ("httpx_async", "httpx"), ("httpx_async", "httpx2")])
def test_a_stream_arrives_chunk_by_chunk_and_is_closed_when_the_caller_leaves_early(case, library):
    got = run(case, library)

    assert got["chunks"] == ["one ", "two ", "three"]
    assert got["early"] == "one "
    assert got["closed"] == 2


@pytest.mark.parametrize("library", HTTPX)
def test_httpx_raises_its_own_errors_for_lost_and_late_connections(library):
    expected = {"lost": "ConnectError", "late": "ReadTimeout", "slow": "ReadTimeout", "bug": "LookupError"}
    names = {path: name.partition(".")[2] for path, name in run("httpx_sync", library)["errors"].items()}
    in_async = {path: name.partition(".")[2] for path, name in run("httpx_async", library)["errors"].items()}

    assert names == expected
    assert in_async == {**expected, "broken": "RemoteProtocolError"}
    assert run("httpx_sync", library)["broken"] == [f"{library}.RemoteProtocolError", ["one "]]


def test_requests_raises_its_own_errors_for_lost_and_late_connections():
    got = run("requests_sync", "requests")

    assert got["errors"] == {
        "lost": "requests.ConnectionError",
        "late": "requests.ReadTimeout",
        "slow": "requests.ConnectionError",  # as requests reports a timeout in the middle of a body
        "bug": "builtins.LookupError",
    }
    assert got["broken"] == ["requests.ChunkedEncodingError", ["one "]]


def test_urllib3_raises_its_own_errors_for_lost_and_late_connections():
    got = run("urllib3_sync", "urllib3")

    assert got["errors"] == {
        "lost": "urllib3.ProtocolError",
        "late": "urllib3.ReadTimeoutError",
        "slow": "urllib3.ReadTimeoutError",
        "bug": "builtins.LookupError",
    }
    assert got["broken"] == ["urllib3.ProtocolError", ["one "]]
    assert got["warnings"] == []


def test_the_standard_library_raises_its_own_errors_for_lost_and_late_connections():
    got = run("standard_library", "http")

    assert got["errors"] == {
        "lost": "builtins.ConnectionRefusedError",
        "late": "builtins.TimeoutError",
        "slow": "builtins.TimeoutError",
        "broken": "builtins.ConnectionResetError",
        "bug": "builtins.LookupError",
    }


def test_aiohttp_raises_its_own_errors_for_lost_and_late_connections():
    assert run("aiohttp_async", "aiohttp")["errors"] == {
        "lost": "aiohttp.ClientOSError",
        "late": "aiohttp.SocketTimeoutError",
        "slow": "aiohttp.SocketTimeoutError",
        "broken": "aiohttp.ClientPayloadError",
        "bug": "builtins.LookupError",
    }


def test_a_request_through_a_proxy_is_known_by_whom_it_is_for():
    assert run("urllib3_sync", "urllib3")["proxied"] == [
        "https://models.example.com/plain",
        "http://models.example.com:81/plain",
    ]
    assert run("standard_library", "http")["port"] == "http://models.example.com:8080/plain"


def test_every_kind_of_request_body_is_read():
    assert run("requests_sync", "requests")["bodies"] == {
        "none": "",
        "text": "é",
        "bytes": "raw",
        "file": "from a file",
        "generator": "in parts",
        "form": "k=v",
    }
    assert run("httpx_sync", "httpx")["upload"] == "in parts"
    assert run("urllib3_sync", "urllib3")["chunked"] == "in parts"
    assert run("aiohttp_async", "aiohttp")["bodies"] == run("requests_sync", "requests")["bodies"]


@pytest.mark.parametrize("library", HTTPX)
def test_concurrent_requests_take_turns_as_they_do_with_a_real_server(library):
    assert run("httpx_async", library)["order"] == ["a1", "b1", "a2", "b2"]


def test_an_aiohttp_session_takes_turns_and_uses_its_connections_again():
    got = run("aiohttp_async", "aiohttp")

    assert got["order"] == ["a1", "b1", "a2", "b2"]
    assert got["reused"] == '{"ok": true}'


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_version_outside_the_tested_range_is_refused_by_name(library):
    kind, message = run("untested", library)

    assert kind == "RefusedError"
    assert f"for {library} " in message
    assert "99 to below 100" in message


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_installed_version_outside_the_tested_range_is_refused_before_anything_is_imported(library):
    kind, message = run("ranges", library)

    assert kind == "RefusedError"
    assert f"for {library} " in message
    assert "99 to below 100" in message


def test_nothing_is_imported_that_the_agent_does_not_use():
    assert run("imports", "nothing") == []
