"""An agent that asks OpenAI for vectors, as retrievals do."""

import openai
from agent_kit import failure, main
from openai import AsyncOpenAI, OpenAI

MODEL = "text-embedding-3-small"


def make(is_async, is_stream):
    client = (AsyncOpenAI if is_async else OpenAI)(max_retries=0)

    async def ask(texts, **more):
        made = client.embeddings.create(model=MODEL, input=texts, **more)
        got = await made if is_async else made
        vectors = [[round(number, 4) for number in one.embedding] for one in got.data]
        return [type(got).__name__, got.model, vectors, got.usage.total_tokens]

    async def missing():
        try:
            return await ask("[scenario:missing]")
        except openai.APIError as error:
            return failure(error)

    return {
        "one": lambda: ask("Where is the heron?"),
        "two": lambda: ask(["The heron flies.", '{"a": "stork"}'], encoding_format="float"),
        "missing": missing,
    }


if __name__ == "__main__":
    main("openinference.instrumentation.openai:OpenAIInstrumentor", make)
