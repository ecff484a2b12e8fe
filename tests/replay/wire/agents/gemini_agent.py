"""An agent without a framework on Google's SDK."""

import base64
import os

from agent_kit import PICTURE, PIXEL, SYSTEM, failure, main, prompt, use
from google import genai
from google.genai import errors, types

MODEL = "gemini-2.5-flash"
SCHEMA = {"type": "OBJECT", "properties": {"city": {"type": "STRING", "max_length": 40}}, "required": ["city"]}
DECLARED = {"name": "get_weather", "description": "The weather of a city.", "parameters": SCHEMA}
TOOLS = [types.Tool(function_declarations=[DECLARED])]


def make(is_async, is_stream):
    base = os.environ["GEMINI_BASE_URL"]
    options = types.HttpOptions(base_url=base, retry_options=types.HttpRetryOptions(attempts=2, initial_delay=0.01))
    client = genai.Client(api_key="none", http_options=options)

    def models():
        return client.aio.models if is_async else client.models  # neither keeps its client alive

    async def ask(contents, **more):
        config = types.GenerateContentConfig(system_instruction=SYSTEM, temperature=0.5, max_output_tokens=1024, **more)
        asked = {"model": MODEL, "contents": contents, "config": config}
        if not is_stream:
            made = models().generate_content(**asked)
            return told([await made if is_async else made])
        if is_async:
            return told([chunk async for chunk in await models().generate_content_stream(**asked)])
        return told(list(models().generate_content_stream(**asked)))

    async def loop(scenario, **more):
        contents, seen = [types.Content(role="user", parts=[types.Part(text=prompt(scenario))])], []
        for _ in range(6):
            answer, about = await ask(contents, tools=TOOLS, **more)
            seen.append(about)
            calls = [part.function_call for part in answer.parts if part.function_call]
            if not calls:
                return seen
            results = [
                types.Part(function_response=types.FunctionResponse(id=one.id, name=one.name, response=result))
                for one in calls
                if (result := use(one.name, one.args, one.id or ""))
            ]
            contents = [*contents, answer, types.Content(role="user", parts=results)]
        return seen

    async def image():
        parts = [
            types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png"),
            types.Part.from_uri(file_uri=PICTURE, mime_type="image/png"),
            types.Part(text=prompt("plain")),
        ]
        return (await ask([types.Content(role="user", parts=parts)]))[1]

    async def wrong(scenario):
        try:
            return (await ask(prompt(scenario)))[1]
        except errors.APIError as error:
            return failure(error)
        except Exception as error:  # the SDK hands on what its transport raises
            return type(error).__name__

    async def early():
        asked = {"model": MODEL, "contents": prompt("plain")}
        if is_async:
            async for chunk in await models().generate_content_stream(**asked):
                return chunk.text[:2]
            return ""
        for chunk in models().generate_content_stream(**asked):
            return chunk.text[:2]
        return ""

    cases = {
        "text": lambda: loop("plain", seed=7, stop_sequences=["END"], response_mime_type="text/plain"),
        "tools": lambda: loop("weather"),
        "no_ids": lambda: loop("noids"),
        "reasoning": lambda: loop("reasoning", thinking_config=types.ThinkingConfig(include_thoughts=True)),
        "mixed": lambda: loop("mixed", top_k=40, top_p=0.9),
        "image": image,
        "missing": lambda: wrong("missing"),
        "retried": lambda: wrong("flaky"),
        "busy": lambda: wrong("busy"),
    }
    return {**cases, "early": early, "dropped": lambda: wrong("dropped")} if is_stream else cases


def told(chunks):
    """Return an answer as it goes back to the model, and what is to be the same in a replay."""
    parts = []
    for part in (part for chunk in chunks for part in chunk.candidates[0].content.parts or []):
        last = parts[-1] if parts else None
        if last is not None and part.text is not None and last.text is not None and part.thought == last.thought:
            last.text += part.text
        else:
            parts.append(part.model_copy())
    last = chunks[-1]
    usage = last.usage_metadata
    shown = [part.model_dump(exclude_none=True, mode="json") for part in parts]
    counts = [usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count]
    about = [type(last).__name__, last.response_id, last.model_version, last.candidates[0].finish_reason.name, counts]
    return types.Content(role="model", parts=parts), [*about, shown]


if __name__ == "__main__":
    main("opentelemetry.instrumentation.google_genai:GoogleGenAiSdkInstrumentor", make)
