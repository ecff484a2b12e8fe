"""An agent without a framework on OpenAI's chat completions."""

import json

import openai
from agent_kit import PICTURE, PIXEL, SCHEMA, SYSTEM, failure, kinds, main, prompt, use
from openai import AsyncOpenAI, OpenAI

FUNCTION = {"name": "get_weather", "description": "The weather of a city.", "parameters": SCHEMA, "strict": True}
TOOLS = [{"type": "function", "function": FUNCTION}]
COMMON = {"model": "gpt-4o-mini", "temperature": 0.5, "max_completion_tokens": 1024}


def make(is_async, is_stream):
    client = (AsyncOpenAI if is_async else OpenAI)(max_retries=1)

    async def ask(messages, **more):
        body = {**COMMON, "messages": [{"role": "system", "content": SYSTEM}, *messages], **more}
        if not is_stream:
            made = client.chat.completions.create(**body)
            return told(await made if is_async else made)
        body["stream_options"] = {"include_usage": True}
        if not is_async:
            with client.chat.completions.stream(**body) as events:
                return told(events.until_done().get_final_completion())
        async with client.chat.completions.stream(**body) as events:
            return told(await (await events.until_done()).get_final_completion())

    async def loop(scenario, **more):
        messages, seen = [{"role": "user", "content": prompt(scenario)}], []
        for _ in range(6):
            answer, about = await ask(messages, tools=TOOLS, **more)
            seen.append(about)
            calls = answer.get("tool_calls")
            if not calls:
                return seen
            results = [
                {
                    "role": "tool",
                    "tool_call_id": one["id"],
                    "content": kinds(use("get_weather", json.loads(one["function"]["arguments"]), one["id"])),
                }
                for one in calls
            ]
            messages = [*messages, answer, *results]
        return seen

    async def image():
        urls = (f"data:image/png;base64,{PIXEL}", PICTURE)
        content = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in urls]
        content.append({"type": "text", "text": prompt("plain")})
        return (await ask([{"role": "user", "content": content}]))[1]

    async def wrong(scenario):
        try:
            return (await ask([{"role": "user", "content": prompt(scenario)}]))[1]
        except openai.APIError as error:
            return failure(error)

    async def early():
        body = {**COMMON, "messages": [{"role": "user", "content": prompt("plain")}], "stream": True}
        if is_async:
            async with await client.chat.completions.create(**body) as events:
                async for event in events:
                    return event.choices[0].delta.role
        with client.chat.completions.create(**body) as events:
            return next(iter(events)).choices[0].delta.role

    cases = {
        "text": lambda: loop("plain", seed=7, stop=["END"]),
        "tools": lambda: loop("weather"),
        "mixed": lambda: loop("mixed", tool_choice="auto", top_p=0.9),
        "image": image,
        "missing": lambda: wrong("missing"),
        "retried": lambda: wrong("flaky"),
        "busy": lambda: wrong("busy"),
    }
    return {**cases, "early": early, "dropped": lambda: wrong("dropped")} if is_stream else cases


def told(completion):
    """Return an answer as it goes back to the model, and what is to be the same in a replay."""
    message = completion.choices[0].message.model_dump(exclude_none=True, mode="json")
    message.pop("parsed", None)
    for call in message.get("tool_calls", []):
        call["function"].pop("parsed_arguments", None)
        call.pop("index", None)
    usage = completion.usage and [completion.usage.prompt_tokens, completion.usage.completion_tokens]
    about = [completion.id, completion.model, completion.choices[0].finish_reason, usage]
    kind = type(completion).__name__.partition("[")[0]
    return message, [kind, *about, {key: one for key, one in message.items() if key != "parsed"}]


if __name__ == "__main__":
    main("opentelemetry.instrumentation.genai.openai:OpenAIInstrumentor", make)
