"""Results of recorded calls that reach a model without any boundary having been asked.

A recorded failure came about again in the agent's own code (arguments that do not parse, an unknown argument). A result
of the recorded form is a tool that ran for real. Another one is what the agent said in place of a call.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set

from runreel.canonical import parse_json
from runreel.replay.tape import parts_of
from runreel.replay.values import Entry, Raised
from runreel.values import Value


class Results:
    """What is known of tools by the results that models were told."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._by_id: dict[str, list[Entry]] = defaultdict(list)
        self._settled: set[int] = set()
        self._all: Counter[str] = Counter()
        for entry in entries:
            if entry.kind == "tool" and entry.call_id:
                self._by_id[entry.call_id].append(entry)
        self.reproduced: set[int] = set()
        self.ran: set[int] = set()
        self.told_otherwise: set[int] = set()

    def settle(self, entry: Entry) -> None:
        """Say that a boundary gave this entry's answer."""
        self._settled.add(entry.seq)
        self._all[entry.call_id] += 1

    def seen(self, messages: Value, *, refused: Set[str], changed: Set[int]) -> Iterable[Entry]:
        """Return the entries whose results are in a model's messages though nobody asked for them, each once.

        Local models use one call id again and again: of results with the same id, the first ones are those that were
        answered.
        """
        count: Counter[str] = Counter()
        found: list[Entry] = []
        for part in parts_of(messages, "tool_call_response"):
            call_id = str(part.get("id"))
            count[call_id] += 1
            if call_id not in self._by_id or count[call_id] <= self._all[call_id]:
                continue
            entry = next((one for one in self._by_id[call_id] if one.seq not in self._settled), None)
            if entry is None or entry.seq in changed:
                continue
            self.settle(entry)
            found.append(entry)
            if entry.name not in refused:
                self._judge(entry, part.get("response"))
        return found

    def _judge(self, entry: Entry, response: Value) -> None:
        # A tool without a span of its own shows its failures only in the text of its result: that arguments did not
        # parse is all that can be told.
        answer = entry.answer
        if isinstance(answer, Raised) or (entry.source == "synthesised" and not isinstance(entry.request, Mapping)):
            self.reproduced.add(entry.seq)
        elif _of_one_form(answer.value, response):
            self.ran.add(entry.seq)
        else:
            self.told_otherwise.add(entry.seq)


def _of_one_form(recorded: Value, live: Value) -> bool:
    """Say whether a result may come from the recorded tool: where that returned a map, one with a key in common."""
    before, now = _document(recorded), _document(live)
    if not isinstance(before, Mapping):
        return True
    return isinstance(now, Mapping) and (not before or not before.keys().isdisjoint(now))


def _document(value: Value) -> Value:
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value
