"""The recorder, for the agent's side: names runs, and gives what an agent reaches for its boundaries.

Plain OpenTelemetry instrumentation is enough to be recorded. This adds what it cannot know, as ordinary spans of the
GenAI conventions: which call has a side effect, which index was asked, what exactly came back. In a replay the same
decorated functions do not run: the record answers.

    import runreel.record as rr

    rr.configure(agent="billing")

    @rr.tool(side_effect=True, version="3", sensitive=["/customer/iban"])
    def refund(order_id: str, cents: int) -> dict: ...

    search = rr.retriever("kb", index_version="2026-10")(search)

    with rr.run(user_input=text, user="u-812") as run:
        run.answer(agent(text))

It never breaks the agent: what cannot be recorded is counted (`losses`) and said on the run. Importing it needs
opentelemetry-api and nothing heavier.
"""

from runreel.record.boundaries import decide, flag, memory, model, prompt, retriever, tool
from runreel.record.calls import calling
from runreel.record.checkpoints import checkpointer
from runreel.record.contract import ContractError
from runreel.record.handle import RunHandle, agent, run
from runreel.record.losses import losses
from runreel.record.sessions import mcp
from runreel.record.setup import configure, flush
from runreel.record.together import carrier, carry, environment, joined

__all__ = [
    "ContractError",
    "RunHandle",
    "agent",
    "calling",
    "carrier",
    "carry",
    "checkpointer",
    "configure",
    "decide",
    "environment",
    "flag",
    "flush",
    "joined",
    "losses",
    "mcp",
    "memory",
    "model",
    "prompt",
    "retriever",
    "run",
    "tool",
]
