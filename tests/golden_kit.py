"""Recorded runs for tests of goldens: the example's agent, run once against the scripted model, and goldens of it."""

import shutil
from functools import cache
from pathlib import Path

from otlp_sink import record
from recorded_runs import KEY
from runreel.demo import model_server
from runreel.goldens import promote
from runreel.goldens.values import Settings
from runreel.processors.redact import Redactor
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs import reel
from runreel.runs.assemble import assemble

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
BUG = "${one['refunded_cents']:.2f}"
FIX = "${one['refunded_cents'] / 100:.2f}"
EXPECT = "output contains R-A-1042: $49.00"
TICKET = "https://tickets.example/1042"


def packed(batch):
    """Return what an agent exported as a reel, as a collector would have stored it."""
    clean = Redactor(KEY).process(Schema().process(batch))
    return reel.write(assemble(clean.spans, clean.logs).run_id, Split().process(clean))


@cache
def receipt_reel():
    """Record the example's agent, with its bug."""
    with model_server.serving(model_server.DEMO) as model:
        batch, _ = record("agent.py", cwd=EXAMPLES / "receipt", model_url=model.url)
    return packed(batch)


def project(tmp_path, change=()):
    """Return a project's folder with the example's agent in it; `change` are (old, new) texts in its code."""
    shutil.copy(EXAMPLES / "receipt" / "agent.py", tmp_path / "agent.py")
    edit(tmp_path, *change)
    return tmp_path


def edit(folder, *change):
    """Change the agent's code."""
    code = (folder / "agent.py").read_text(encoding="utf-8")
    for old, new in change:
        assert old in code
        code = code.replace(old, new)
    (folder / "agent.py").write_text(code, encoding="utf-8")


def golden_in(folder, *expectations, name="receipt", **settings):
    """Promote the recorded run."""
    place = folder / "goldens" / name
    return promote.promote(
        receipt_reel(), place, expectations=expectations, settings=Settings(**settings), ticket=TICKET
    )
