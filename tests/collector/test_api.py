import zipfile
from dataclasses import replace
from io import BytesIO

import pytest

import otlp_build as build
from collector_kit import NoRuns, Store, ask, collector
from runreel import __version__, otlp
from runreel.errors import CorruptError, LockedError, NotFoundError, StoreError, UsageError
from runreel.exporters.memory import Memory
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs.load import StoreRuns
from runreel.runs.remote import RemoteRuns
from runreel.runs.replayed import replay_id, result_event
from runreel.values import CleanBatch, RawBatch, ReplayResult
from store_kit import a_run, split

LONG = "a long answer, " * 40


def memory():
    """A store with one run in it."""
    request = build.req(
        build.agent(),
        build.llm("00000000000000b1", build.ROOT, [build.msg("user", "hi")], [build.msg("assistant", LONG)]),
    )
    raw = Schema().process(otlp.decode("traces", request.SerializeToString(), "protobuf", "default"))
    store = Memory()
    store.export(Split().process(CleanBatch(raw.tenant, raw.spans, raw.logs, raw.facts)))
    return store


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    store = memory()
    with collector(tmp_path_factory.mktemp("home"), Store(), runs=StoreRuns(store, store)) as found:
        yield found


def get(running, path, token=None):
    return ask(running.at.api + path, Authorization=f"Bearer {token or running.at.token}")


@pytest.mark.parametrize("path", ["/api/v1/health", "/api/v1/runs", "/api/v1/runs/last", "/nothing", "/"])
@pytest.mark.parametrize(
    "given", [None, "Bearer", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x", "Bearer ñ"]
)
def test_nothing_is_answered_without_the_token(running, path, given):
    headers = {} if given is None else {"Authorization": given.replace("{token}", running.at.token)}

    answer = ask(running.at.api + path, **headers)

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "error" in answer.json()


def test_it_says_that_it_is_well(running):
    said = {"status": "ok", "version": __version__, "otlp_http": running.at.otlp_http}
    assert get(running, "/api/v1/health").json() == said
    assert ask(f"{running.at.api}/api/v1/health", authorization=f"bearer  {running.at.token} ").status == 200


def test_runs_are_listed(running):
    (found,) = get(running, "/api/v1/runs").json()["runs"]

    assert found["run_id"] == found["trace_ids"][0] == build.TID
    assert found["model_calls"] == 1
    assert found["agent_id"] == "demo"


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("?since_ns=0", 1),
        (f"?since_ns={2**63}", 0),
        ("?agent=demo", 1),
        ("?agent=other", 0),
        ("?outcome=error", 0),
        ("?replays=true&limit=5", 0),
        ("?replay_of=nothing", 0),
    ],
)
def test_lists_can_be_narrowed(running, query, count):
    assert len(get(running, f"/api/v1/runs{query}").json()["runs"]) == count


@pytest.mark.parametrize("query", ["?limit=many", "?since_ns=-1", "?limit=1e3", "?agnet=demo"])
def test_a_question_that_makes_no_sense_is_refused(running, query):
    answer = get(running, f"/api/v1/runs{query}")

    assert answer.status == 400
    assert answer.json()["error"]


@pytest.mark.parametrize("name", [build.TID, build.TID[:8], "last"])
def test_a_run_is_found_by_id_prefix_or_last(running, name):
    found = get(running, f"/api/v1/runs/{name}")

    assert found.status == 200
    assert found.json()["run_id"] == build.TID
    assert [step["kind"] for step in found.json()["steps"]] == ["agent", "llm"]
    assert found.headers["cache-control"] == "no-store"


def test_a_run_comes_as_a_reel(running):
    answer = get(running, f"/api/v1/runs/{build.TID}/reel")

    assert (answer.status, answer.content_type) == (200, "application/zip")
    assert "manifest.json" in zipfile.ZipFile(BytesIO(answer.body)).namelist()


def test_a_part_comes_as_it_is(running):
    reel = zipfile.ZipFile(BytesIO(get(running, f"/api/v1/runs/{build.TID}/reel").body))
    (name,) = (name for name in reel.namelist() if reel.read(name) == LONG.encode())
    sha256 = name.removeprefix("parts/")

    for path in (sha256, f"sha256:{sha256}"):
        answer = get(running, f"/api/v1/parts/{path}")
        assert (answer.status, answer.body) == (200, LONG.encode())


@pytest.mark.parametrize(
    "path", ["/api/v1/runs/ffff", "/api/v1/runs/ffff/reel", f"/api/v1/parts/{'0' * 64}", "/api/v2/x", "/"]
)
def test_what_is_not_there_is_404(running, path):
    answer = get(running, path)

    assert answer.status == 404
    assert answer.json()["error"]


def test_only_get_is_answered(running):
    answer = ask(f"{running.at.api}/api/v1/runs", b"{}", Authorization=f"Bearer {running.at.token}")

    posted = "/api/v1/redact, /api/v1/goldens and /api/v1/runs/RUN/flag"
    assert (answer.status, answer.json()) == (405, {"error": f"the read API answers GET, and POST to {posted} alone"})


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UsageError("ab is no unique prefix"), 409, "ab is no unique prefix"),
        (CorruptError("part sha256:0 is damaged"), 422, "part sha256:0 is damaged"),
        (LockedError("in use"), 503, "in use"),
        (StoreError("gone"), 503, "gone"),
        (ValueError("dana.fields@example.com"), 500, "reading failed unexpectedly: see the collector's log"),
    ],
)
def test_errors_have_their_status(tmp_path, caplog, error, status, said):
    class Failing(NoRuns):
        def resolve(self, tenant, text):
            raise error

    with collector(tmp_path, Store(), runs=Failing()) as running:
        answer = get(running, "/api/v1/runs/ab")

    assert (answer.status, answer.json()) == (status, {"error": said})
    assert "dana" not in caplog.text


@pytest.fixture(scope="module")
def lending(tmp_path_factory):
    """A collector that lends a redactor which knows one word."""

    def redact(text):
        if "broken" in text:
            raise ValueError(text)
        return text.replace("dana", "<NAME>")

    with collector(tmp_path_factory.mktemp("home"), Store(), runs=NoRuns(), redact=redact) as found:
        yield found


def test_a_text_is_redacted_for_a_client(lending):
    assert RemoteRuns(lending.at.api, lending.at.token).redacted("dana \ud800 ❄") == "<NAME> \ud800 ❄"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"dana"', b"{}", b'{"text": 1}', b"\xff"])
def test_what_is_no_text_to_redact_is_400(lending, body):
    answer = ask(f"{lending.at.api}/api/v1/redact", body or b" ", Authorization=f"Bearer {lending.at.token}")

    assert (answer.status, answer.json()) == (400, {"error": 'send {"text": "..."}'})


def test_a_text_that_could_not_be_redacted_is_in_no_answer_and_no_log(lending, caplog):
    with pytest.raises(StoreError, match="see the collector's log"):
        RemoteRuns(lending.at.api, lending.at.token).redacted("broken dana")

    assert "dana" not in caplog.text


def test_a_text_without_end_is_refused(lending):
    with pytest.raises(StoreError, match="may have 16777216 bytes"):
        RemoteRuns(lending.at.api, lending.at.token).redacted("x" * (16 * 1024 * 1024))


def test_a_collector_without_a_redactor_says_so(running):
    with pytest.raises(NotFoundError, match="no redactor to lend"):
        RemoteRuns(running.at.api, running.at.token).redacted("dana")


# --- names that a sender chose ---


def odd_store(run_id, tool="search"):
    request = build.req(
        build.agent(**{"replay.run.id": run_id}),
        build.tool("00000000000000c1", build.ROOT, "search", {"q": "x"}, "y"),
    )
    raw = otlp.decode("traces", request.SerializeToString(), "protobuf", "default")
    spans = [replace(span, attributes={**span.attributes, "gen_ai.tool.name": tool}) for span in raw.spans[1:]]
    known = Schema().process(replace(raw, spans=(raw.spans[0], *spans)))
    store = Memory()
    store.export(Split().process(CleanBatch(known.tenant, known.spans, known.logs, known.facts)))
    return StoreRuns(store, store)


@pytest.mark.parametrize("run_id", ["team/7", "a/reel", "a/flag", "50%2Foff", "ü/ß", "a b"])
def test_a_run_with_a_slash_in_its_name_is_answered_as_any_other(tmp_path, run_id):
    with collector(tmp_path, Store(), runs=odd_store(run_id)) as up:
        remote = RemoteRuns(up.at.api, up.at.token)
        name = remote.resolve("default", run_id)

        assert name == run_id
        assert remote.run("default", name).run_id == run_id


def test_a_name_that_is_not_quoted_is_found_too(tmp_path):
    with collector(tmp_path, Store(), runs=odd_store("team/7")) as up:
        assert get(up, "/api/v1/runs/team/7").json()["run_id"] == "team/7"


def test_a_tool_with_a_lone_surrogate_in_its_name_is_shown(tmp_path):
    with collector(tmp_path, Store(), runs=odd_store("r", "se\ud800arch")) as up:
        (listed,) = get(up, "/api/v1/runs").json()["runs"]
        shown = get(up, "/api/v1/runs/r").json()

    assert listed["tools"] == ["se\ud800arch"]
    assert [step["name"] for step in shown["steps"] if step["kind"] == "tool"] == ["se\ud800arch"]


def test_a_run_is_shown_with_its_replays_and_they_are_listed_apart(tmp_path):
    store = Memory()
    name = replay_id(build.TID, "7f3a")
    result = ReplayResult("frozen", "diverged", 1, {"type": "missing_call", "step": 3})
    for trace_id, attributes in ((build.TID, {}), ("7" * 32, {"replay.run.id": name, "replay.of_run": build.TID})):
        store.export(a_run(trace_id, **attributes))
    store.export(split(RawBatch("default", logs=(result_event("default", "7" * 32, name, build.TID, result, 1),))))
    with collector(tmp_path, Store(), runs=StoreRuns(store, store)) as up:
        shown = get(up, f"/api/v1/runs/{build.TID}").json()
        listed = [
            get(up, f"/api/v1/runs{query}").json()["runs"] for query in ("", "?replays=1", f"?replay_of={build.TID}")
        ]

    expected = {"mode": "frozen", "verdict": "diverged", "divergences": 1, "first_divergence": dict(result.first)}
    assert [(one["run_id"], one["replay_result"]) for one in shown["replays"]] == [(name, expected)]
    assert [[one["run_id"] for one in runs] for runs in listed] == [[build.TID], [name], [name]]
