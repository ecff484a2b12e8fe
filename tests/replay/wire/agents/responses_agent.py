"""An agent without a framework on OpenAI's responses."""

import json

import openai
from agent_kit import PICTURE, PIXEL, SCHEMA, SYSTEM, failure, kinds, main, prompt, use
from openai import AsyncOpenAI, OpenAI

TOOLS = [
    {"type": "function", "name": "get_weather", "description": "The weather.", "parameters": SCHEMA, "strict": True},
]
COMMON = {"model": "gpt-4o-mini", "instructions": SYSTEM, "temperature": 0.5, "max_output_tokens": 1024}


def make(is_async, is_stream):
    client = (AsyncOpenAI if is_async else OpenAI)(max_retries=1)

    async def ask(given, **more):
        body = {**COMMON, "input": given, **more}
        if not is_stream:
            made = client.responses.create(**body)
            return told(await made if is_async else made)
        if not is_async:
            with client.responses.stream(**body) as events:
                return told(events.until_done().get_final_response())
        async with client.responses.stream(**body) as events:
            return told(await (await events.until_done()).get_final_response())

    async def loop(scenario, **more):
        items, seen = [{"role": "user", "content": prompt(scenario)}], []
        for _ in range(6):
            output, about = await ask(items, tools=TOOLS, **more)
            seen.append(about)
            calls = [item for item in output if item["type"] == "function_call"]
            if not calls:
                return seen
            results = [
                {
                    "type": "function_call_output",
                    "call_id": one["call_id"],
                    "output": kinds(use("get_weather", json.loads(one["arguments"]), one["call_id"])),
                }
                for one in calls
            ]
            items = [*items, *output, *results]
        return seen

    async def image():
        urls = (f"data:image/png;base64,{PIXEL}", PICTURE)
        content = [{"type": "input_image", "image_url": url, "detail": "auto"} for url in urls]
        content.append({"type": "input_text", "text": prompt("plain")})
        return (await ask([{"role": "user", "content": content}]))[1]

    async def wrong(scenario):
        try:
            return (await ask(prompt(scenario)))[1]
        except openai.APIError as error:
            return failure(error)

    async def early():
        body = {**COMMON, "input": prompt("plain"), "stream": True}
        if is_async:
            async with await client.responses.create(**body) as events:
                async for event in events:
                    return event.type
        with client.responses.create(**body) as events:
            return next(iter(events)).type

    cases = {
        "text": lambda: loop("plain", text={"format": {"type": "text"}}),
        "tools": lambda: loop("weather"),
        "reasoning": lambda: loop("reasoning", reasoning={"effort": "low", "summary": "auto"}),
        "mixed": lambda: loop("mixed", tool_choice="auto", top_p=0.9),
        "image": image,
        "missing": lambda: wrong("missing"),
        "retried": lambda: wrong("flaky"),
        "busy": lambda: wrong("busy"),
    }
    return {**cases, "early": early, "dropped": lambda: wrong("dropped")} if is_stream else cases


def told(response):
    """Return an answer as it goes back to the model, and what is to be the same in a replay."""
    output = [item.model_dump(exclude_none=True, mode="json") for item in response.output]
    # Items that the SDK's helper has parsed carry what no request may.
    for item in output:
        item.pop("parsed_arguments", None)
        for part in item.get("content", []):
            part.pop("parsed", None)
    shown = [{key: one for key, one in item.items() if key != "id"} for item in output if item["type"] != "reasoning"]
    usage = response.usage and [response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens]
    kind = type(response).__name__.partition("[")[0]
    return output, [kind, response.id, response.model, response.status, usage, response.output_text, shown]


if __name__ == "__main__":
    main("opentelemetry.instrumentation.genai.openai:OpenAIInstrumentor", make)
