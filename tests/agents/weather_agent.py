"""A hand-written agent loop on the OpenAI SDK, with spans of its own for the agent and its tools.

SDK instrumentations see the model calls only; the spans around them follow the GenAI conventions by hand. The agent
knows nothing of RunReel. `--closure` and the other switches are the ways in which tests let it go another way.
"""

import argparse
import json

import telemetry
import weather_tools as tools
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenario", default="weather")
    parser.add_argument("--instrumentation", choices=["genai", "openinference"], default="genai")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--system", default=tools.SYSTEM, help="another system prompt")
    parser.add_argument("--model", default="gpt-4o-mini")
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--argument", nargs=2, metavar=("NAME", "VALUE"), help="set this argument of every tool call")
    parser.add_argument(
        "--swallow", action="store_true", help="go on after any error of the model call, as if all were well"
    )
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--again", action="store_true", help="call the first tool once more at the end")
    parser.add_argument("--reverse", action="store_true", help="make the calls of a turn in reversed order")
    return parser.parse_args()


def instrument(name, tracers, loggers):
    if name == "genai":
        from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
    else:
        from openinference.instrumentation.openai import OpenAIInstrumentor
    OpenAIInstrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)


def request(arguments, messages):
    return {
        "model": arguments.model,
        "messages": messages,
        "tools": tools.SCHEMAS,
        "temperature": int(arguments.temperature) if arguments.temperature == 0 else arguments.temperature,
        "top_p": 1,
        "max_tokens": 256,
        "seed": 7,
    }


def complete(client, wanted):
    """Ask the model; return its text and its calls (id, name, arguments as text)."""
    message = client.chat.completions.create(**wanted).choices[0].message
    return message.content, [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or []]


def complete_streaming(client, wanted):
    text, calls = "", {}
    with client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **wanted) as chunks:
        for chunk in chunks:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    call = calls.setdefault(part.index, [None, None, ""])
                    call[0], call[1] = part.id or call[0], part.function.name or call[1]
                    call[2] += part.function.arguments or ""
    return text, [tuple(call) for call in calls.values()]


def use_tool(tracer, arguments, call_id, name, text):
    """Run one tool call under a span of its own; return the text for the model."""
    about = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": text,
    }
    with tracer.start_as_current_span(
        f"execute_tool {name}", attributes=about, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            given = json.loads(text)
            if arguments.argument and arguments.argument[0] in given:
                given[arguments.argument[0]] = arguments.argument[1]
            result = tools.BY_NAME[name](**given)
        except Exception as error:
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, str(error)))
            span.set_attribute("error.type", type(error).__name__)
            result = {"error": f"{type(error).__name__}: {error}"}
        answer = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        span.set_attribute("gen_ai.tool.call.result", answer)
        return answer


def main():
    arguments = options()
    tracers, loggers = telemetry.set_up("weather-agent")
    instrument(arguments.instrumentation, tracers, loggers)
    client, tracer = OpenAI(max_retries=2), trace.get_tracer("hand-written-agent", "0.1.0")
    ask = complete_streaming if arguments.stream else complete
    messages = [
        {"role": "system", "content": arguments.system},
        {"role": "user", "content": tools.prompt(arguments.scenario)},
    ]
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "weather-agent",
        "gen_ai.conversation.id": "conv-0001",
    }
    text, first = "", None
    with tracer.start_as_current_span("invoke_agent weather-agent", attributes=about):
        for _ in range(arguments.turns):
            try:
                text, calls = ask(client, request(arguments, messages))
            except Exception:
                if not arguments.swallow:
                    raise
                text, calls = "", []
            if not calls:
                break
            messages.append(
                {
                    "role": "assistant",
                    "content": text or None,
                    "tool_calls": [
                        {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}
                        for call_id, name, given in calls
                    ],
                }
            )
            results = {}
            for call_id, name, given in reversed(calls) if arguments.reverse else calls:
                first = first or (name, given)
                results[call_id] = use_tool(tracer, arguments, call_id, name, given)
            for call_id, _, _ in calls:
                messages.append({"role": "tool", "tool_call_id": call_id, "content": results[call_id]})
        if arguments.again and first:
            use_tool(tracer, arguments, "", *first)
    print("FINAL", text)


if __name__ == "__main__":
    main()
