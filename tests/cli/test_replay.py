"""`runreel replay`: exit codes, the report on the terminal and as JSON, and what is said of a run that cannot be."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from collector_kit import Store, collector
from recorded_runs import batch_of
from runreel.cli import main
from runreel.processors.redact import Redactor, load_key
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs import reel
from runreel.runs.assemble import assemble

AGENT = str(Path(__file__).parents[1] / "agents" / "weather_agent.py")
RUN = "82225b683440b92329495eef38ab8ca3"  # the trace of the capture
EMAIL = "dana.fields@example.com"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with a tenant's key, and reels of what that tenant's collector would have stored."""
    home = tmp_path_factory.mktemp("home")
    redactor = Redactor(load_key(home, "default"))
    for name, capture in {"weather": "content-span", "off": "content-off"}.items():
        batch = redactor.process(Schema().process(batch_of(f"otel-genai-openai/{capture}")))
        run_id = assemble(batch.spans).run_id
        (home / f"{name}.reel").write_bytes(reel.write(run_id, Split().process(batch)))
    return home


def runs_of(path):
    store, _ = reel.open_path(path)
    return store


def run(home, *arguments, status=0):
    """Run the command as a person does; return what it printed on standard output and on standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "runreel", "replay", *arguments],
        cwd=home,
        env={**os.environ, "RUNREEL_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def test_an_identical_replay_ends_with_0_and_says_so(home):
    out, _ = run(home, "weather.reel", "--agent", AGENT)

    assert "FINAL Lisbon is 21.5 C" in out
    assert f"frozen replay of {RUN}: identical" in out
    assert "3 model calls (gpt-4o-mini 3), 3 tool calls (get_weather 2, lookup_customer 1); live calls: 0" in out
    assert EMAIL not in out


def test_a_changed_agent_ends_with_2_and_the_first_divergence_is_named(home):
    out, err = run(home, "weather.reel", "--agent", AGENT, "--", "--argument", "email", "new@example.com", status=2)

    assert "1. input_mismatch at step 5, tool lookup_customer, field /email" in out
    assert "new@example.com" not in out + err.replace(AGENT, "")


def test_the_collector_that_runs_redacts_what_the_agent_said_live(home):
    # As in an agent's environment, which has no detectors: a word of its own says that it was the collector.
    with (
        collector(home, Store(), runs=runs_of(home / "weather.reel"), redact=lambda text: f"COLLECTOR {len(text)}"),
    ):
        out, _ = run(home, "last", "--agent", AGENT, "--", "--argument", "email", "new@example.com", status=2)

    assert "now  COLLECTOR 15" in out
    assert "told by their length" not in out


def test_without_a_key_it_is_said_why_live_texts_are_not_shown(home):
    out, _ = run(home, "weather.reel", "--agent", AGENT, "--", "--argument", "email", "new@example.com", status=2)

    assert "live texts are told by their length, since nothing here could redact them" in out


def test_the_json_report_is_all_that_is_on_standard_output(home):
    out, err = run(home, "weather.reel", "--agent", AGENT, "--json", "--", "--temperature", "0.5", status=2)

    document = json.loads(out)
    assert (document["run_id"], document["verdict"]) == (RUN, "diverged")
    first = document["divergences"][0]
    assert (first["type"], first["path"], first["was"], first["now"]) == (
        "input_mismatch",
        "/params/temperature",
        "0",
        "0.5",
    )
    assert "Traceback" in err  # the agent's own words go to standard error


def test_a_run_without_content_ends_with_125_and_the_setting(home):
    _, err = run(home, "off.reel", "--agent", AGENT, status=125)

    assert "cannot be replayed frozen" in err
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["weather.reel"], "give --agent script.py or --agent module:callable"),
        (["weather.reel", "--agent", "nowhere:main"], "there is no module nowhere"),
        (["weather.reel", "--agent", "a.py", "--tool", "get_weather"], "give it as NAME=module:function"),
        (["weather.reel", "--agent", "a.py", "--input", "{"], "--input is no JSON"),
        (["weather.reel", "--agent", "a.py", "--mask", "tool:get_weather/*"], "would hide a whole request"),
        ([], "the following arguments are required: RUN"),
    ],
)
def test_a_command_that_makes_no_sense_ends_with_64(home, arguments, problem, capsys, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setenv("RUNREEL_HOME", str(home))
    try:
        status = main(["replay", *arguments])
    except SystemExit as error:
        status = error.code

    assert status == 64
    assert problem in capsys.readouterr().err


def test_the_order_of_sets_is_checked_by_a_second_replay(home):
    out, _ = run(home, "weather.reel", "--agent", AGENT, "--check-order")

    assert "identical" in out
    assert "replayed under the hash seeds 0 and 1: no difference" in out


def test_a_second_replay_and_a_debugger_do_not_go_together(home):
    _, err = run(home, "weather.reel", "--agent", AGENT, "--check-order", "--break-at", "1", status=64)

    assert "--check-order and --break-at do not go together" in err


def test_a_replay_that_is_not_stored_has_a_page_of_what_it_found(home, tmp_path):
    page = tmp_path / "replay.html"

    run(
        home,
        "weather.reel",
        "--agent",
        AGENT,
        "--no-store",
        "--html",
        str(page),
        "--",
        "--temperature",
        "0.5",
        status=2,
    )

    text = page.read_text(encoding="utf-8")
    assert "There are no steps side by side: the replay was not stored (--no-store)." in text
    assert "/params/temperature" in text


def test_a_live_value_is_no_more_in_the_page_than_on_the_terminal(home, tmp_path):
    page = tmp_path / "replay.html"
    changed = ["--", "--argument", "email", "new@example.com"]

    run(home, "weather.reel", "--agent", AGENT, "--no-store", "--html", str(page), *changed, status=2)

    assert "input_mismatch" in page.read_text(encoding="utf-8")
    assert "new@example.com" not in page.read_text(encoding="utf-8")
