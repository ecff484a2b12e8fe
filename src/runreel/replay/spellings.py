"""How a model spelt the arguments of its tool calls: agents put that text back into the next request."""

from collections.abc import Iterable, Mapping

from runreel.canonical import parse_json
from runreel.values import Step, Value


class Spellings:
    """The texts that tool steps were recorded with, by call id. Ids come again (local models number from 1 at every
    turn, threads each have a `call_1`): of several texts it is the one that says what the call says."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._texts: dict[str, list[str]] = {}
        for step in steps:
            text = step.fields.get("arguments_text")
            if step.kind == "tool" and step.call_id and isinstance(text, str):
                self._texts.setdefault(step.call_id, []).append(text)

    def of(self, calls: Iterable[Mapping[str, Value]]) -> tuple[str, ...]:
        """Return the text of each call (a `tool_call` part), none at all where one of them is not known."""
        found = [self._of(one) for one in calls]
        return tuple(text for text in found if text is not None) if None not in found else ()

    def _of(self, call: Mapping[str, Value]) -> str | None:
        said = call.get("arguments")
        texts = [text for text in self._texts.get(str(call.get("id")), ()) if _may_say(text, said)]
        if len(set(texts)) == 1:
            return texts[0]
        return next((text for text in texts if text == said or _parsed(text) == said), None)


def _may_say(text: str, said: Value) -> bool:
    """Some frameworks record a tool's only argument bare: that is no text that a model wrote."""
    return not isinstance(said, Mapping) or text.lstrip().startswith("{")


def _parsed(text: str) -> Value:
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return text
