"""An agent whose fault is in its prompt: it promises what nobody may promise."""

from openai import OpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

import runreel.record as rr

QUESTION = "When will my refund arrive?"
# The scripted model of this example has two answers, and is told by a mark in the prompt which one to give.
PROMPT = "You answer customers kindly and with a date. [scenario:promises]"


def handle(question: str) -> str:
    answer = OpenAI().chat.completions.create(
        model="gpt-4o-mini",
        messages=[{"role": "system", "content": PROMPT}, {"role": "user", "content": question}],
        temperature=0,
    )
    return answer.choices[0].message.content or ""


if __name__ == "__main__":
    rr.configure(agent="refund-dates")
    OpenAIInstrumentor().instrument()
    with rr.run(user_input=QUESTION) as run:
        text = handle(QUESTION)
        run.answer(text)
    print(text)
