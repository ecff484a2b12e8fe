"""Run one of the agents here, answered from its capture without any walls, and print the requests that its SDK sent.

`python drive.py API sync|async plain|stream`, by test_changes.py in a process of its own: the transports stay patched.
"""

import asyncio
import base64
import json
import os
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "agents"), str(HERE.parents[1])]

from run_kit import capture
from runreel.replay import transports, wire
from runreel.replay.host import model_call
from runreel.replay.matching import Matcher
from runreel.replay.tape import build
from runreel.replay.unifying import Rules
from runreel.replay.values import Divergence
from runreel.runs.assemble import assemble
from runreel.semconv.secrets import is_secret


def main(api, how, shape):
    tape = build(assemble(*capture(HERE.parents[1] / "data" / "wire" / f"{api}-{shape}")))
    matcher, sent = Matcher(tape, Rules(None, is_secret)), []

    def handler(request):
        asked = wire.parse(request)
        call = model_call(asked)
        again = matcher.again(call) if wire.is_own_retry(request) else None
        found = again or matcher.ask(call)
        assert not isinstance(found, Divergence), found
        if not again:
            sent.append({"step": found.seq, "url": request.url, "body": base64.b64encode(request.body).decode()})
        matcher.expect_again(call, found)
        return wire.render(asked, found.answer)

    transports.install(handler)
    made = import_module(f"{api}_agent").make(how == "async", shape == "stream")

    async def every():
        for case in made.values():
            await case()

    asyncio.run(every())
    print(json.dumps(sent))


if __name__ == "__main__":
    urls = {"OPENAI": "/v1", "ANTHROPIC": "", "GEMINI": ""}
    os.environ |= {f"{name}_BASE_URL": f"https://models.example.com{end}" for name, end in urls.items()}
    os.environ |= {f"{name}_API_KEY": "none" for name in urls} | {"TOOL_CALLS": os.devnull}
    main(*sys.argv[1:])
