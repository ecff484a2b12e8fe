"""The recorded calls that wait to be asked for: found by what they are, by call id and by request, in causal order."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from runreel.replay.tape import key_of
from runreel.replay.unifying import Call, turns
from runreel.replay.values import Entry
from runreel.values import Kind

_Group = tuple[Kind, str]


class Waiting:
    """The entries of a tape. One that was answered waits no longer; one that a changed call stood for still does, but
    nothing has to wait for it.

    Looking a call up costs no more in a long run than in a short one, as long as calls come as they were recorded.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._like: dict[_Group, list[Entry]] = defaultdict(list)
        self._waits: dict[_Group, dict[int, Entry]] = defaultdict(dict)
        self._by_id: dict[tuple[_Group, str], dict[int, Entry]] = defaultdict(dict)
        self._by_key: dict[tuple[_Group, str], dict[int, Entry]] = defaultdict(dict)
        self._by_turns: dict[str, dict[int, list[Entry]]] = {}
        self._keys: dict[int, str] = {}
        self._missed: set[int] = set()  # nobody asked for them yet, in any form
        self._order = sorted(entry.seq for entry in entries)
        self._first = 0  # place in the order of the first one missed
        for entry in entries:
            group = _group(entry.kind, entry.name)
            self._keys[entry.seq] = key = entry.key or key_of(entry.request)
            self._like[group].append(entry)
            self._waits[group][entry.seq] = entry
            self._by_key[group, key][entry.seq] = entry
            self._missed.add(entry.seq)
            if entry.call_id:
                self._by_id[group, entry.call_id][entry.seq] = entry

    # --- looking ------------------------------------------------------------------------------------------------------

    def like(self, call: Call) -> Sequence[Entry]:
        """Return the entries that a call can be compared with. A model's name is part of its request."""
        return self._like.get(_group(call.kind, call.name), ())

    def waiting(self, call: Call) -> Sequence[Entry]:
        """Return those of them that wait, in recorded order."""
        return list(self._waits.get(_group(call.kind, call.name), {}).values())

    def candidates(self, call: Call) -> Iterator[Entry]:
        """Yield the waiting entries that may answer a call: of its id, of an equal request, then the rest in order."""
        group = _group(call.kind, call.name)
        waits = self._waits.get(group, {})
        if call.kind == "llm":
            yield from (entry for entry in self.of_length(call) if entry.seq in waits)
            return
        seen: set[int] = set()
        of_id = self._by_id.get((group, call.call_id), {}) if call.call_id else {}
        equal = self._by_key.get((group, key_of(call.request)), {})
        for entry in chain(of_id.values(), equal.values(), waits.values()):
            if entry.seq not in seen:
                seen.add(entry.seq)
                yield entry

    def of_length(self, call: Call) -> Sequence[Entry]:
        """Return the model calls, answered or not, with as many messages as this one."""
        by_turns = self._by_turns.get(call.api)
        if by_turns is None:
            by_turns = self._by_turns[call.api] = defaultdict(list)
            for entry in self.like(call):
                by_turns[turns(entry.request, call.api)].append(entry)
        return by_turns.get(turns(call.request, call.api), ())

    def has_id(self, call: Call) -> bool:
        """Say whether an entry with the call's id waits."""
        return bool(call.call_id) and bool(self._by_id.get((_group(call.kind, call.name), call.call_id)))

    def twins(self, entry: Entry) -> Iterator[Entry]:
        """Yield the waiting entries with the same request, in recorded order."""
        equal = self._by_key[_group(entry.kind, entry.name), self._keys[entry.seq]]
        return (other for other in equal.values() if other.seq != entry.seq)

    def key(self, entry: Entry) -> str:
        """Return the index of an entry's request."""
        return self._keys[entry.seq]

    # --- causal order -------------------------------------------------------------------------------------------------

    def could_come(self, entry: Entry) -> bool:
        """Say whether everything has come whose answer the recorded call could have seen."""
        while self._first < len(self._order) and self._order[self._first] not in self._missed:
            self._first += 1
        # Steps follow from earlier ones: where all of those have come, there is nothing to look up.
        first = self._order[self._first] if self._first < len(self._order) else None
        return first is None or first >= entry.seq or self._missed.isdisjoint(entry.after)

    def late(self, entry: Entry) -> set[int]:
        """Return the calls whose answers the recorded call could have seen, and that have not come, nor diverged."""
        return self._missed & entry.after

    # --- what happened ------------------------------------------------------------------------------------------------

    def settle(self, entry: Entry) -> None:
        """Say that an entry waits no longer."""
        group = _group(entry.kind, entry.name)
        self._waits[group].pop(entry.seq, None)
        self._by_key[group, self._keys[entry.seq]].pop(entry.seq, None)
        if entry.call_id:
            self._by_id[group, entry.call_id].pop(entry.seq, None)
        self._missed.discard(entry.seq)

    def stood_for(self, entry: Entry) -> None:
        """Say that a changed call came in an entry's place."""
        self._missed.discard(entry.seq)


def _group(kind: Kind, name: str) -> _Group:
    return kind, "" if kind == "llm" else name
