"""From a bad run to a test: a golden fails while its agent fails, passes when mended, and says when it is stale."""

import dataclasses

import pytest

from golden_kit import BUG, EXPECT, FIX, edit, golden_in, packed, project, receipt_reel
from otlp_sink import record
from runreel.demo import model_server
from runreel.errors import CorruptError, UsageError
from runreel.goldens import folder as goldens
from runreel.goldens import promote, running
from runreel.goldens.values import Settings
from runreel.runs import reel
from runreel.runs.scores import flag_event


@pytest.fixture
def folder(tmp_path):
    return project(tmp_path)


def test_a_bad_run_fails_its_golden_until_the_code_is_mended(folder):
    golden = golden_in(folder, EXPECT)

    before = running.run(golden.folder, stdout=running.QUIET)
    edit(folder, (BUG, FIX))
    after = running.run(golden.folder, stdout=running.QUIET)

    assert (before.verdict, [one.passed for one in before.checks]) == ("failed", [False])
    assert before.replayed.verdict == "same"
    assert (after.verdict, after.exit_status) == ("passed", 0)
    assert [one.type for one in after.notes] == ["output_mismatch"]


def test_a_good_run_without_expectations_passes_as_it_is_and_fails_where_it_differs(folder):
    golden = golden_in(folder)

    same = running.run(golden.folder, stdout=running.QUIET)
    edit(folder, (BUG, FIX))
    other = running.run(golden.folder, stdout=running.QUIET)

    assert same.verdict == "passed"
    assert (other.verdict, other.exit_status, [one.type for one in other.findings]) == (
        "failed",
        2,
        ["output_mismatch"],
    )


@pytest.mark.parametrize(
    ("what", "old", "new"),
    [
        ("prompt", "You handle refunds.", "You handle refunds with care."),
        ("model", '"gpt-4o-mini"', '"gpt-4o"'),
        ("tools", '"lookup_order", order_id="string"', '"lookup_order", order_id="string", note="string"'),
        ("tools", "TOOLS = [", "TOOLS = ["),
        ("parameters", "temperature=0", "temperature=0.2"),
    ],
)
def test_a_golden_whose_prompt_tools_or_model_changed_is_stale(folder, what, old, new):
    golden = golden_in(folder, EXPECT)
    edit(folder, (BUG, FIX), (old, new))
    if old == new:  # the order of the tools alone
        edit(folder, ("\n\n\n@rr.tool(side_effect=False)", "\nTOOLS.reverse()\n\n\n@rr.tool(side_effect=False)"))

    result = running.run(golden.folder, stdout=running.QUIET)

    assert (result.verdict, result.exit_status) == ("stale", 125)
    assert result.reason.startswith(f"the {what} changed: ")
    assert "runreel golden update receipt --from RUN" in result.reason


def test_another_call_is_a_note_where_an_expectation_speaks_of_it_and_a_finding_elsewhere(folder):
    spoken_of = golden_in(folder, "tool:refund input/cents == 2450", name="spoken-of")
    silent = golden_in(folder, "tool:refund called 1", name="silent")
    halved = (
        "{key: value // 2 if key == 'cents' else value for key, value in json.loads(call.function.arguments).items()}"
    )
    edit(folder, ("**json.loads(call.function.arguments)", f"**{halved}"))

    noted = running.run(spoken_of.folder, stdout=running.QUIET)
    found = running.run(silent.folder, stdout=running.QUIET)

    assert (noted.verdict, [one.path for one in noted.notes], noted.findings) == ("passed", ["/cents"], ())
    assert (found.verdict, [one.path for one in found.findings]) == ("failed", ["/cents"])
    assert [one.passed for one in found.checks] == [True]


def test_an_agent_that_asks_for_nothing_fails_however_little_is_expected(folder):
    golden = golden_in(folder, "outcome is ok")
    edit(folder, ("        text = handle(QUESTION)", "        text = 'all is well'"))

    result = running.run(golden.folder, stdout=running.QUIET)

    assert result.verdict == "failed"
    assert {one.type for one in result.findings} >= {"missing_call"}


def test_a_file_that_was_changed_by_hand_is_no_golden_any_more(folder):
    golden = golden_in(folder, EXPECT)
    payloads = golden.folder / "payloads.json"
    payloads.write_text(payloads.read_text().replace("A-1042", "A-1043"))

    with pytest.raises(CorruptError, match=r"payloads\.json is not what was recorded"):
        running.run(golden.folder)


def test_a_run_that_broke_in_its_own_code_is_red_until_it_ends_well(folder):
    edit(folder, ("one['refunded_cents']", "one['cents']"))
    # What starts the agent in production goes on when it breaks.
    (folder / "service.py").write_text(
        "import contextlib, runpy\n"
        "with contextlib.suppress(KeyError):\n"
        "    runpy.run_path('agent.py', run_name='__main__')\n"
    )
    with model_server.serving(model_server.DEMO) as model:
        batch, _ = record("service.py", cwd=folder, model_url=model.url)
    place = folder / "goldens" / "broken"
    wanted = ["outcome is ok", EXPECT]
    golden = promote.promote(packed(batch), place, expectations=wanted, settings=Settings(agent="agent.py"))

    before = running.run(place, stdout=running.QUIET, stderr=running.QUIET)
    edit(folder, ("one['cents']", "one['refunded_cents'] / 100"))
    after = running.run(place, stdout=running.QUIET)

    assert golden.failure == "outcome error"
    assert (before.verdict, before.replayed.verdict) == ("failed", "same")
    assert (after.verdict, after.findings) == ("passed", ())


def test_an_edited_message_of_the_users_fails_and_says_what_to_do_if_it_was_meant(folder):
    golden = golden_in(folder)
    edit(folder, ('{"role": "user", "content": question}', '{"role": "user", "content": "Please: " + question}'))

    result = running.run(golden.folder, stdout=running.QUIET)

    assert result.verdict == "failed"
    assert "its recorded answers are stale: runreel golden update receipt --from RUN" in result.reason


def test_a_flag_is_no_failure_that_a_replay_could_show(folder):
    flagged = flag(receipt_reel())

    with pytest.raises(UsageError, match="each of them holds of the recorded run"):
        promote.promote(flagged, folder / "goldens" / "flagged", expectations=["outcome is ok"])


def flag(data):
    """Return the reel of a run with somebody's flag on it."""
    run_id, batch = goldens.batch_of(data, "receipt")
    trace_id = batch.rows[0].span.key.trace_id
    event = flag_event(batch.tenant, trace_id, run_id, "wrong", 1)
    return reel.write(run_id, dataclasses.replace(batch, logs=(*batch.logs, event)))


def test_what_an_agent_made_of_having_no_answer_never_becomes_the_record(folder):
    golden = golden_in(folder)
    edit(folder, ('    return f"{message.content}', '    refund_again()\n            return f"{message.content}'))
    edit(
        folder,
        (
            "def handle(",
            "def refund_again():\n    try: lookup_order('A-9')\n    except BaseException: ...\n\n\ndef handle(",
        ),
    )
    result = running.run(golden.folder, stdout=running.QUIET)

    with pytest.raises(UsageError, match="has no recorded answer"):
        promote.replayed_reel(result, lambda batch: batch)
