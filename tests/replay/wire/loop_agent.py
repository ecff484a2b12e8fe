"""Record a hand-written agent loop against a real HTTP server, answer it again from that record, compare the two runs.

Prints for each scenario what the loop saw of each answer, before and after, and what differs between the two runs.
Run by test_fidelity.py in a process of its own: transports and instrumentation stay patched until it ends.
"""

import json
import os

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"

import openai
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

from model_server import SCENARIOS, serving
from record_kit import exporter, run_of
from runreel.replay import transports, wire
from runreel.replay.diff import diff
from runreel.replay.tape import build

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "loop"}


def loop(url, scenario, stream):
    """Talk to the model until it asks for no tool; return each answer as the SDK gave it."""
    client = OpenAI(base_url=url, api_key="none", max_retries=1)
    messages = [{"role": "user", "content": f"[scenario:{scenario}] What is the weather?"}]
    seen = []
    with trace.get_tracer("loop").start_as_current_span("invoke_agent loop", attributes=AGENT):
        for _ in range(6):
            try:
                message = (streamed if stream else plain)(client, messages)
            except openai.APIError as error:
                return [*seen, [type(error).__name__, str(error)]]
            seen.append(message)
            if not message["tool_calls"]:
                return seen
            messages.append(message)
            results = ({"role": "tool", "tool_call_id": call["id"], "content": "{}"} for call in message["tool_calls"])
            messages.extend(results)
    return seen


def create(client, messages, **options):
    return client.chat.completions.create(
        model="gpt-4o-mini", messages=messages, tools=TOOLS, temperature=0, seed=7, **options
    )


def call(call_id, name, arguments):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def plain(client, messages):
    got = create(client, messages).choices[0].message
    calls = [call(one.id, one.function.name, one.function.arguments) for one in got.tool_calls or []]
    return {"role": "assistant", "content": got.content, "tool_calls": calls or None}


def streamed(client, messages):
    text, calls = None, {}
    for chunk in create(client, messages, stream=True, stream_options={"include_usage": True}):
        for choice in chunk.choices:
            if choice.delta.content is not None:
                text = (text or "") + choice.delta.content
            for part in choice.delta.tool_calls or []:
                one = calls.setdefault(part.index, call(part.id, part.function.name, ""))
                one["function"]["arguments"] += part.function.arguments or ""
    return {"role": "assistant", "content": text, "tool_calls": list(calls.values()) or None}


def main():
    spans = exporter()
    OpenAIInstrumentor().instrument()
    # The pauses between the SDK's own tries say nothing here.
    openai._base_client.SyncAPIClient._sleep_for_retry = lambda *args, **kwargs: None

    def told(*case):
        spans.clear()
        seen = loop(*case)
        return seen, run_of(spans)

    cases = [(scenario, stream) for scenario in SCENARIOS for stream in (False, True)]
    with serving() as server:
        live = [told(server.url, *case) for case in cases]
    tape = []

    def handler(request):
        entry = tape[0]
        try:
            return wire.respond(request, lambda asked: entry.answer)
        finally:
            if len(tape) > 1:  # the SDK asks again after a failure without an answer
                tape.pop(0)

    transports.install(handler)
    out = {}
    for (scenario, stream), (before, run) in zip(cases, live, strict=True):
        tape[:] = [entry for entry in build(run).entries if entry.kind == "llm"]
        after, again = told("https://nobody.example.com/v1", scenario, stream)
        found = diff(run, again)
        differences = [
            [one.type, one.a, [repr((c.path, c.was, c.now)) for c in one.changes]] for one in found.differences
        ]
        told_of = {"before": before, "after": after, "calls": found.a.model_calls, "differences": differences}
        out[f"{scenario} {'stream' if stream else 'plain'}"] = told_of
    print(json.dumps(out))


if __name__ == "__main__":
    main()
