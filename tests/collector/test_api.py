import zipfile
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
from runreel.values import CleanBatch

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

    assert (answer.status, answer.json()) == (
        405,
        {"error": "the read API answers GET, and POST to /api/v1/redact and /api/v1/runs/RUN/flag alone"},
    )


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
