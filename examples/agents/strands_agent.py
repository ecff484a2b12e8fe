"""Strands Agents under its own tracing. Scenario `team`: an agent as a tool; `swarm`: two that hand over; `report`: an
answer in a form. `--classes` makes every tool a class of its own, `--provider anthropic` asks another model."""

import asyncio
import json

import telemetry
import tools
from pydantic import BaseModel
from strands import Agent, tool
from strands.multiagent import Swarm
from strands.types.tools import AgentTool

options = telemetry.options("--provider")
telemetry.set_up()
if options.provider == "anthropic":
    from strands.models.anthropic import AnthropicModel

    model = AnthropicModel(model_id="claude-sonnet-4-5", max_tokens=1000)
else:
    from strands.models.openai import OpenAIModel

    model = OpenAIModel(model_id="gpt-4o-mini", params={"temperature": 0, "seed": 7})


class Own(AgentTool):
    """A tool that is no function to the framework."""

    tool_type = "own"

    def __init__(self, function):
        super().__init__()
        self._function, self._like = function, tool(function)

    @property
    def tool_name(self):
        return self._like.tool_name

    @property
    def tool_spec(self):
        return self._like.tool_spec

    async def stream(self, tool_use, invocation_state, **_):
        found = self._function(**tool_use["input"])
        yield {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"json": found}]}


class Report(BaseModel):
    """How it is somewhere."""

    city: str
    temp_c: float


worker = Agent(
    model=model,
    name="weather_agent",
    description="Knows the weather.",
    system_prompt=tools.SYSTEM,
    tools=[Own(one) if options.classes else tool(one) for one in tools.TOOLS],
    structured_output_model=Report if options.scenario == "report" else None,
    callback_handler=None,
)
first = worker
if options.scenario == "team":
    first = Agent(model=model, name="desk", system_prompt="Ask.", tools=[worker.as_tool()], callback_handler=None)
elif options.scenario == "swarm":
    first = Swarm([Agent(model=model, name="desk", system_prompt="Hand over.", callback_handler=None), worker])


async def main() -> str:
    """Run it once."""
    asked = tools.prompt(options.scenario)
    if not options.stream:
        result = await first.invoke_async(asked)
    else:
        async for event in first.stream_async(asked):
            result = event.get("result")
    report = getattr(result, "structured_output", None)
    return json.dumps(report.model_dump()) if report else str(result)


print("FINAL", asyncio.run(main()))
