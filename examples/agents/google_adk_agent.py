"""Google ADK's `LlmAgent` on Gemini, under its own telemetry or OpenInference's instrumentation.

Scenario `transfer` has a first agent that transfers to this one, `expert` has this one as a tool of another, and `job`
calls a long-running tool. Set GOOGLE_GEMINI_BASE_URL to where the model is.
"""

import asyncio

import telemetry
import tools

options = telemetry.options()
tracers, loggers = telemetry.set_up()
if options.instrumentation == "openinference":
    from openinference.instrumentation.google_adk import GoogleADKInstrumentor

    GoogleADKInstrumentor().instrument(tracer_provider=tracers)

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, LongRunningFunctionTool
from google.genai import types

MODEL = "gemini-2.5-flash"


def told(tool, args, tool_context, error):
    """Tell the model of a tool that failed, instead of ending the run."""
    return {"error": f"{type(error).__name__}: {error}"}


settings = types.GenerateContentConfig(temperature=0, seed=7)
worker = LlmAgent(
    name="weather_agent",
    model=MODEL,
    description="Knows the weather.",
    instruction=tools.SYSTEM,
    tools=[tools.get_weather, tools.lookup_customer, LongRunningFunctionTool(tools.poll_job)],
    on_tool_error_callback=told,
    generate_content_config=settings,
)
if options.scenario == "transfer":
    first = LlmAgent(name="triage", model=MODEL, instruction="Hand over.", sub_agents=[worker])
elif options.scenario == "expert":
    first = LlmAgent(name="editor", model=MODEL, instruction="Ask the expert.", tools=[AgentTool(worker)])
else:
    first = worker


async def main() -> str:
    """Run it once."""
    runner = InMemoryRunner(first, app_name="weather")
    session = await runner.session_service.create_session(app_name="weather", user_id="user-1")
    asked = types.Content(role="user", parts=[types.Part(text=tools.prompt(options.scenario))])
    mode = StreamingMode.SSE if options.stream else StreamingMode.NONE
    said = ""
    async for event in runner.run_async(
        user_id="user-1", session_id=session.id, new_message=asked, run_config=RunConfig(streaming_mode=mode)
    ):
        if event.is_final_response() and event.content:
            said = "".join(part.text or "" for part in event.content.parts or ())
    return said


print("FINAL", asyncio.run(main()))
