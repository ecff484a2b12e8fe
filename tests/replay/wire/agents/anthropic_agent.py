"""An agent without a framework on Anthropic's SDK."""

import anthropic
from agent_kit import PICTURE, PIXEL, SCHEMA, SYSTEM, failure, kinds, main, prompt, use
from anthropic import Anthropic, AsyncAnthropic

TOOLS = [{"name": "get_weather", "description": "The weather of a city.", "input_schema": SCHEMA}]
COMMON = {
    "model": "claude-example",
    "max_tokens": 1024,
    "system": SYSTEM,
    "extra_body": {"temperature": 0.5, "top_k": 40},  # which this version of the SDK has no names for
}


def make(is_async, is_stream):
    client = (AsyncAnthropic if is_async else Anthropic)(max_retries=1)

    async def ask(messages, **more):
        body = {**COMMON, "messages": messages, **more}
        if not is_stream:
            made = client.messages.create(**body)
            return told(await made if is_async else made)
        if not is_async:
            with client.messages.stream(**body) as events:
                events.until_done()
                return told(events.get_final_message())
        async with client.messages.stream(**body) as events:
            await events.until_done()
            return told(await events.get_final_message())

    async def loop(scenario, **more):
        messages, seen = [{"role": "user", "content": prompt(scenario)}], []
        for _ in range(6):
            answer, about = await ask(messages, tools=TOOLS, **more)
            seen.append(about)
            calls = [block for block in answer if block["type"] == "tool_use"]
            if not calls:
                return seen
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": one["id"],
                    "content": kinds(use("get_weather", one["input"], one["id"])),
                }
                for one in calls
            ]
            messages = [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": results}]
        return seen

    async def image():
        sources = ({"type": "base64", "media_type": "image/png", "data": PIXEL}, {"type": "url", "url": PICTURE})
        content = [{"type": "image", "source": source} for source in sources]
        content.append({"type": "text", "text": prompt("plain"), "cache_control": {"type": "ephemeral"}})
        return (await ask([{"role": "user", "content": content}]))[1]

    async def wrong(scenario):
        try:
            return (await ask([{"role": "user", "content": prompt(scenario)}]))[1]
        except anthropic.APIError as error:
            return failure(error)
        except Exception as error:  # in the middle of a stream the SDK hands on what its transport raises
            return type(error).__name__

    async def early():
        body = {**COMMON, "messages": [{"role": "user", "content": prompt("plain")}], "stream": True}
        if is_async:
            async with await client.messages.create(**body) as events:
                async for event in events:
                    return event.type
        with client.messages.create(**body) as events:
            return next(iter(events)).type

    cases = {
        "text": lambda: loop("plain"),
        "tools": lambda: loop("weather"),
        "reasoning": lambda: loop("reasoning", thinking={"type": "enabled", "budget_tokens": 1024}),
        "mixed": lambda: loop("mixed", tool_choice={"type": "auto"}, stop_sequences=["END"]),
        "image": image,
        "missing": lambda: wrong("missing"),
        "retried": lambda: wrong("flaky"),
        "busy": lambda: wrong("busy"),
    }
    return {**cases, "early": early, "dropped": lambda: wrong("dropped")} if is_stream else cases


def told(message):
    """Return an answer as it goes back to the model, and what is to be the same in a replay."""
    content = [block.model_dump(exclude_none=True, mode="json") for block in message.content]
    usage = [message.usage.input_tokens, message.usage.output_tokens]
    shown = [{**block, "signature": "..."} if block["type"] == "thinking" else block for block in content]
    return content, [type(message).__name__, message.id, message.model, message.stop_reason, usage, shown]


if __name__ == "__main__":
    main("opentelemetry.instrumentation.genai.anthropic:AnthropicInstrumentor", make)
