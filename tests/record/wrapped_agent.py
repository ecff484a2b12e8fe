"""An agent with a model of the recorder around an instrumented client; run as a program by test_wrapped.py."""

import sys

from openai import OpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

import runreel.record as rr

rr.configure(agent="wrapped", code_version="abc1234")
OpenAIInstrumentor().instrument()
client = OpenAI()


@rr.model("gpt-4o-mini", provider="openai")
def ask(messages, model="gpt-4o-mini", temperature=0):
    answer = client.chat.completions.create(model=model, messages=messages, temperature=temperature)
    return answer.choices[0].message.content


@rr.model("gpt-4o-mini", provider="openai")
def stream(messages, model="gpt-4o-mini"):
    for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
        yield chunk.choices[0].delta.content or "" if chunk.choices else ""


with rr.run(user_input="Hello.") as run:
    asked = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello."}]
    said = "".join(stream(asked)) if sys.argv[1:] == ["stream"] else ask(asked)
    more = [*asked, {"role": "assistant", "content": said}, {"role": "user", "content": "And now?"}]
    print(said, ask(more))
    run.answer(said)
