"""Runs that lack content, and a collector that puts them aside soon: here, or as a program until it is killed.

As a program: `content_kit.py HOME` prints where its read API and its receiver are, and the token.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import otlp_build as build
from collector_kit import SPOOLED, Running, collector
from otlp_build import ROOT
from runreel.collector import content, run_list
from runreel.components import open_database
from runreel.processors.chain import Chain
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.redactor import Redactor
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs.load import Settings, StoreRuns

POLICY = 'schema: {required_fields: {"*": {llm.input: quarantine, tool.output: flag}}},'
OTHER = "1" * 32  # a trace
LONG = "A long answer about trains. " * 30
QUICK = Settings(quiet_s=0.1, idle_s=0.2)


def llm(sid: str, tid: str, *, asked: bool = True) -> build.Span:
    made = build.llm(sid, ROOT, [build.msg("user", "hi")], [build.msg("assistant", LONG)], tid=tid, at=1)
    if not asked:
        kept = [one for one in made.attributes if one.key != "gen_ai.input.messages"]
        del made.attributes[:]
        made.attributes.extend(kept)
    return made


def a_run(tid: str, *, asked: bool = True) -> tuple[build.Span, ...]:
    return build.agent(tid=tid), llm("00000000000000b1", tid, asked=asked), llm("00000000000000b2", tid)


@contextmanager
def running(home: Path, text: str) -> Iterator[tuple[Running, StoreRuns]]:
    database = open_database(home)
    runs = StoreRuns(database, database._blobs, QUICK)
    chain = Chain(Schema(), Redactor(TenantKey("k1", b"0" * 32)), Split())
    with collector(home, database, text.replace("schema: ,", POLICY), chain, runs) as started:  # type: ignore[arg-type]
        yield started, runs


if __name__ == "__main__":
    content.INTERVAL_S = run_list._MARGIN_S = 0.05
    with running(Path(sys.argv[1]), SPOOLED) as (started, _):
        print(started.at.api, started.http, started.at.token, flush=True)
        signal.pause()
