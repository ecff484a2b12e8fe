"""A small agent with a recorder, run as a program by test_setup.py."""

import sys

import runreel.record as rr

if sys.argv[1] == "own-provider":
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": "mine"}))
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
    trace.set_tracer_provider(provider)

rr.configure(agent="parcel-desk", code_version="abc1234", endpoint=sys.argv[2] if len(sys.argv) > 2 else None)


@rr.tool
def track(parcel: str) -> str:
    return f"{parcel} is on its way"


with rr.run(user_input="Where is P-1?") as run:
    run.answer(track("P-1"))
print(run.id, dict(rr.losses()))
