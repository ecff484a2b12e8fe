"""`rr.model` around a client that is instrumented, too: each call counts once, and the recorder's boundary answers."""

from pathlib import Path

import pytest

from otlp_sink import record
from redaction import KEY, redactor
from runreel.demo.model_server import Turn, serving
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble
from runreel.runs.document import count

AGENT = str(Path(__file__).with_name("wrapped_agent.py"))


@pytest.mark.parametrize("switches", [(), ("stream",)], ids=["whole", "streamed"])
def test_a_model_around_an_instrumented_client_is_one_call_not_two(switches, tmp_path):
    with serving({"plain": (Turn("Understood."),)}) as model:
        batch, printed = record(AGENT, *switches, model_url=model.url)
        clean = redactor().process(batch)
        run = assemble(clean.spans, clean.logs)
        asked = len(model.bodies)

        with (tmp_path / "out").open("w+b") as out:
            replayed = replay(run, AGENT, args=switches, key=KEY.secret, stdout=out)
            out.seek(0)
            shown = out.read().decode()

        calls = [step for step in run.steps if step.kind == "llm"]
        assert count(run.steps, "llm") == 2
        assert [step.shadowed_by is None for step in calls] == [False, True, False, True]
        assert run.replayable == "full"
        assert (replayed.verdict, replayed.divergences, shown) == ("same", (), printed)
        assert sum(count for (kind, _), count in replayed.answered.items() if kind == "llm") == 2
        assert {replayed.coverage[step.seq] for step in calls if step.seq in replayed.coverage} == {"recorder"}
        assert len(model.bodies) == asked == 2
