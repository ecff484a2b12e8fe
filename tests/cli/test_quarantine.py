"""`runreel quarantine` on a real store, with a collector and without one."""

import json
from pathlib import Path

import pytest

import otlp_build as build
from collector_kit import SPOOLED, ask, until
from e2e_kit import runreel
from serve_kit import Serving, serve
from stored_bytes import found

POLICY = SPOOLED.replace("schema: ,", 'schema: {required_fields: {"*": {service.version: quarantine}}},')
PLANTED = {"e-mail": b"dana.fields@example.com", "card": b"4242 4242 4242 4242"}


def bare(number: int) -> bytes:
    result = f"write to dana.fields@example.com, card 4242 4242 4242 4242, about trains {'x' * 400}"
    return build.req(build.tool(f"{number:016x}", "", f"look_up_{number}", {}, result)).SerializeToString()


def whole() -> bytes:
    res = {"service.name": "billing", "service.version": "1"}
    return build.req(build.tool("f" * 16, "", "fine", {}, "x", tid="1" * 32), res=res).SerializeToString()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with three spans in quarantine and one stored, after its collector ended."""
    folder = tmp_path_factory.mktemp("quarantine") / "home"
    with serve(folder, POLICY) as serving:
        for number in (1, 2, 3):
            assert ask(f"{serving.at.otlp_http}/v1/traces", bare(number)).status == 200
        assert ask(f"{serving.at.otlp_http}/v1/traces", whole()).status == 200
        until(lambda: len(listed(folder)) == 3)
        told_by_doctor(folder)
        assert "2 records" not in serving.log
        serving.end()
    return folder


def listed(folder: Path) -> list[dict[str, object]]:
    return runreel(folder, "quarantine", "ls", "--json").json()["items"]


def told_by_doctor(folder: Path) -> None:
    told = until(lambda: out if "missing_field" in (out := runreel(folder, "doctor", code=None).out) else None, 60)
    words = " ".join(told.split())
    assert "of default: missing_field:service.version" in words
    assert "4 spans acknowledged = 1 stored + 0 waiting + 3 quarantined" in words


def test_what_is_there_is_listed_with_its_reason(home: Path) -> None:
    lines = runreel(home, "quarantine", "ls").out

    assert lines.count("missing_field:service.version") == 3
    assert {one["name"] for one in listed(home)} == {f"execute_tool look_up_{n}" for n in (3, 2, 1)}
    assert runreel(home, "quarantine", "ls", "--limit", "1", "--json").json()["items"] == listed(home)[:1]


def test_one_is_shown_whole_and_redacted(home: Path) -> None:
    shown = runreel(home, "quarantine", "show", str(listed(home)[0]["id"])[:10]).json()

    text = json.dumps(shown)
    assert "about trains" in text
    assert "<EMAIL_" in text
    assert "dana.fields" not in text


def test_no_byte_of_spool_or_quarantine_is_raw(home: Path) -> None:
    assert found(home.parent, PLANTED) == {}
    assert found(home.parent, {"kept": b"about trains"})  # the scan sees into it


def test_one_is_released_and_is_a_run_and_another_dropped(home: Path) -> None:
    ids = {str(one["name"])[-1]: str(one["id"]) for one in listed(home)}
    first, second, third = ids["1"], ids["2"], ids["3"]

    assert "1 record released" in runreel(home, "quarantine", "release", third).out
    assert "1 record dropped" in runreel(home, "quarantine", "drop", second[:12]).out

    assert [one["id"] for one in listed(home)] == [first]
    steps = runreel(home, "runs", "show", build.TID, "--json").json()["steps"]
    assert [step["name"] for step in steps] == ["look_up_3"]
    assert found(home.parent, PLANTED) == {}


def test_a_collector_that_runs_does_it(home: Path) -> None:
    with serve(home, POLICY) as serving:
        assert ask(f"{serving.at.otlp_http}/v1/traces", bare(7)).status == 200
        until(lambda: "execute_tool look_up_7" in [one["name"] for one in listed(home)])
        before = len(listed(home))
        told = runreel(home, "quarantine", "release", "--all", "--reason", "missing_field:", "--json").json()
        assert told == {"released": before, "stay": []}
        assert "nothing is in quarantine" in runreel(home, "quarantine", "ls").out
        names = until(lambda: n if len(n := names_of(serving, home)) == 3 else None)

    assert names == {"look_up_3", "look_up_1", "look_up_7"}


def test_those_of_one_trace_are_chosen_and_no_others(home: Path) -> None:
    other = build.req(build.tool("a" * 16, "", "elsewhere", {}, "x", tid="2" * 32)).SerializeToString()
    with serve(home, POLICY) as serving:
        for body in (other, bare(9)):
            assert ask(f"{serving.at.otlp_http}/v1/traces", body).status == 200
        until(
            lambda: {"execute_tool elsewhere", "execute_tool look_up_9"} <= {str(one["name"]) for one in listed(home)}
        )
        told = runreel(home, "quarantine", "drop", "--all", "--trace", "2222", "--reason", "missing", "--json").json()
        assert told == {"dropped": 1}
        assert "execute_tool elsewhere" not in {one["name"] for one in listed(home)}
        assert runreel(home, "quarantine", "drop", "--all", "--trace", "2222", "--json").json() == {"dropped": 0}
        assert runreel(home, "quarantine", "drop", "--all", "--json").json()["dropped"] >= 1


def names_of(serving: Serving, home: Path) -> set[str]:
    assert serving.process.poll() is None
    return {step["name"] for step in runreel(home, "runs", "show", build.TID, "--json").json()["steps"]}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("release",), 64, "--all"),
        (("drop", "abc", "--all"), 64, "--all"),
        (("drop", "abc", "--reason", "x"), 64, "--reason"),
        (("release", "abc", "--trace", "x"), 64, "--trace"),
        (("show", "nothing-has-this-id"), 1, "quarantine ls"),
    ],
)
def test_a_wrong_command_says_what_is_right(home: Path, words: tuple[str, ...], code: int, says: str) -> None:
    assert says in runreel(home, "quarantine", *words, code=code).err


def test_a_folder_where_nothing_is_recorded_says_so(tmp_path: Path) -> None:
    assert "nothing is recorded" in runreel(tmp_path / "none", "quarantine", "ls", code=1).err
