"""The page on the recorder: its example runs, is recorded whole and replays; its table names what there is."""

import re
import tempfile
from pathlib import Path

import runreel.record as rr
from otlp_sink import record
from redaction import KEY, redactor
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

PAGE = (Path(__file__).resolve().parents[2] / "docs/recorder.md").read_text(encoding="utf-8")


def test_the_example_runs_is_recorded_whole_and_replays(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    script = tmp_path / "refund_desk.py"
    script.write_text(example)

    batch, _ = record(str(script), model_url="http://127.0.0.1:9")
    clean = redactor().process(batch)
    run = assemble(clean.spans, clean.logs)
    with tempfile.TemporaryFile() as out:
        replayed = replay(run, str(script), key=KEY.secret, stdout=out)

    assert (run.agent_id, run.replayable, run.flags) == ("refund-desk", "full", {"use-kb": True})
    assert [(step.kind, step.name) for step in run.steps] == [
        ("agent", "refund-desk"),
        ("memory", "prompts"),
        ("memory", "flags"),
        ("retrieval", "kb"),
        ("memory", "profile"),
        ("memory", "profile"),
        ("decision", "route"),
        ("tool", "refund"),
    ]
    assert (replayed.verdict, replayed.divergences) == ("same", ())


def test_the_table_names_everything_that_there_is():
    rows = re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE)
    named = {name.partition(".")[0] for row in rows for name in re.findall(r"`([\w.]+)`", row)}

    assert named == set(rr.__all__) - {"ContractError", "RunHandle"}
    assert "rr.ContractError" in PAGE
