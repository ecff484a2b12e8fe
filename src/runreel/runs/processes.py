"""Says which steps of a run happened in another process than the run itself: a sub-agent behind HTTP, MCP or a queue.

A replay runs one process. What another one did is no part of it: the call that reached it is, as a recorded boundary.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from runreel.runs.draft import Draft
from runreel.values import Value

_HOST: Final = "host.name"
_PID: Final = "process.pid"
_INSTANCE: Final = "service.instance.id"
_SERVICE: Final = "service.name"
_NAMES: Final = (_SERVICE, _INSTANCE, _HOST, _PID)


def mark_processes(ordered: Sequence[Draft], root: Draft | None) -> None:
    """Set the field `process` of every step of another process than the root's: what its resource says it is.

    Two processes are known by their pids, else by their instances, else by their services; what says nothing of these
    is in the root's. A call that was made here and answered for elsewhere (a proxy's span inside the client's) is here.
    """
    if root is None or root.span is None:
        return
    here = root.span.resource.attributes
    made_here: set[Draft] = set()
    for one in ordered:
        if one.span is not None and not _apart(here, one.span.resource.attributes):
            made_here.add(one)
            at = one.shadowed_by
            while at is not None and at not in made_here:
                made_here.add(at)
                at = at.shadowed_by
    for one in ordered:
        owner = one if one.span is not None else one.asked_by  # a step without a span is where its call was asked for
        if owner is not None and owner.span is not None and owner not in made_here:
            found = owner.span.resource.attributes
            one.fields["process"] = {name: found[name] for name in _NAMES if name in found}


def _apart(here: Mapping[str, Value], there: Mapping[str, Value]) -> bool:
    for names in ((_PID, _HOST), (_INSTANCE,), (_SERVICE,)):
        if here.get(names[0]) is not None and there.get(names[0]) is not None:
            return any(here.get(name) != there.get(name) for name in names)
    return False
