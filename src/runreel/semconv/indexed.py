"""Reads lists that senders flatten into attribute keys: `llm.tools.0.tool.json_schema`, `llm.tools.1...`."""

from collections.abc import Mapping

from runreel.semconv.view import View
from runreel.values import Value


def indexed(view: View, prefix: str) -> tuple[str, list[dict[str, Value]], bool]:
    """Return (layer, entries in order, whether none is missing) of the first layer that has any.

    An entry is a tree of dicts by key segment; indexes inside it are segments too, see `branches`.
    """
    start = prefix + "."
    for layer, attributes in view.layers:
        entries: dict[int, dict[str, Value]] = {}
        for key, value in attributes.items():
            if not key.startswith(start):
                continue
            segments = key[len(start) :].split(".")
            if segments[0].isdecimal() and len(segments[0]) < 10:
                _put(entries.setdefault(int(segments[0]), {}), segments[1:], value)
        if entries:
            order = sorted(entries)
            return layer, [entries[index] for index in order], order == list(range(len(order)))
    return "", [], True


def branches(value: Value) -> list[Mapping[str, Value]]:
    """Return the entries of a list inside an entry, in the order of their indexes."""
    if not isinstance(value, Mapping):
        return []
    order = sorted((int(key), key) for key in value if key.isdecimal() and len(key) < 10)
    found = [value[key] for _, key in order]
    return [one for one in found if isinstance(one, Mapping)]


def _put(tree: dict[str, Value], segments: list[str], value: Value) -> None:
    """Set a leaf; a leaf that stands where a branch should be gives way, so that no key can make it fail."""
    for segment in segments[:-1]:
        branch = tree.get(segment)
        if not isinstance(branch, dict):
            branch = {}
            tree[segment] = branch
        tree = branch
    if segments and not isinstance(tree.get(segments[-1]), dict):
        tree[segments[-1]] = value
