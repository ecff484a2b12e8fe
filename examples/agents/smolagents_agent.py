"""smolagents' `ToolCallingAgent`. Scenario `code`: its `CodeAgent`; `managed`: an agent that another one has.
`--classes` makes every tool a class of its own."""

import telemetry
import tools

options = telemetry.options()
tracers, loggers = telemetry.set_up()
if options.instrumentation == "genai":  # which leaves model calls to the instrumentation of the client
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
    from opentelemetry.instrumentation.genai.smolagents import SmolagentsInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)
else:
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor
SmolagentsInstrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)

from smolagents import CodeAgent, OpenAIModel, Tool, ToolCallingAgent, tool


class Own(Tool):
    """A tool that is no function to the framework."""

    skip_forward_signature_validation = True

    def __init__(self, function):
        like = tool(function)
        self.name, self.description = like.name, like.description
        self.inputs, self.output_type, self.function = like.inputs, like.output_type, function
        super().__init__()

    def forward(self, **arguments):
        return self.function(**arguments)


model = OpenAIModel("gpt-4o-mini", temperature=0, seed=7)
kind = CodeAgent if options.scenario == "code" else ToolCallingAgent
worker = kind(
    tools=[Own(one) if options.classes else tool(one) for one in tools.TOOLS],
    model=model,
    max_steps=4,
    name="weather_agent",
    description="Knows the weather.",
    stream_outputs=options.stream,
    verbosity_level=0,
)
first = worker
if options.scenario == "managed":
    first = ToolCallingAgent(tools=[], model=model, managed_agents=[worker], name="desk", verbosity_level=0)
print("FINAL", first.run(tools.prompt(options.scenario)))
