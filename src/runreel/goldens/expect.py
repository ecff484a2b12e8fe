"""Expectations: one line of text each, that says what must hold of a golden's replay.

outcome is ok                               how the run ended: ok, error, aborted
output contains refunded in full            also: == != lacks matches (a regular expression) exists absent < <= > >=
output/total == 49.5 +- 0.01                inside of an output that is JSON, with a tolerance
tool:refund called 1                        also: called, called 0, called 1..3, called >=1, never called
tool:refund input/cents == 4900             each call of it, and at least one; tool:refund#2 is the second one
tool:lookup output $.customer.id == "c-17"  JSON pointers, or JSON paths; retrieval:, llm: and decision: as well
budget tokens <= 3000                       also: model_calls, tool_calls, retrievals, input_tokens, output_tokens
judge checks:polite                         a function of yours, called without a network: True, or why not
"""

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from runreel.canonical import Bindings, dumps, freeze, unify
from runreel.errors import UsageError
from runreel.goldens.values import Check
from runreel.goldens.view import BUDGETS, KINDS, View, places, pointer_of
from runreel.semconv.secrets import is_secret
from runreel.values import Value

_OUTCOMES: Final = ("ok", "error", "aborted")
_COMPARING: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_OPERATORS: Final = ("==", "!=", *_COMPARING, "contains", "lacks", "matches", "exists", "absent")
_TARGET: Final = re.compile(
    rf"(?:(?P<output>output)|(?P<kind>{'|'.join(KINDS)}):(?P<name>[^\s#]+)(?:#(?P<number>[1-9]\d*))?\s+"
    r"(?P<side>input|output))(?P<place>[/$]\S*|\s+\$\S*)?\s+"
    rf"(?P<operator>{'|'.join(map(re.escape, _OPERATORS))})(?:\s+(?P<value>.*))?",
    re.DOTALL,
)
_CALLED: Final = re.compile(
    rf"(?P<kind>{'|'.join(KINDS)}):(?P<name>[^\s#]+)\s+(?P<never>never\s+)?called(?:\s+(?P<count>\S+))?"
)
_COUNT: Final = re.compile(r"(?P<exact>\d+)|(?P<least>\d+)\.\.(?P<most>\d+)|>=(?P<from>\d+)|<=(?P<to>\d+)")
_BUDGET: Final = re.compile(rf"budget\s+(?P<of>{'|'.join(BUDGETS)})\s*<=\s*(?P<most>\d+)")
_JUDGE: Final = re.compile(r"judge\s+(?P<function>[A-Za-z_][\w.]*:[A-Za-z_][\w.]*)")
_TOLERANCE: Final = re.compile(r"(?P<number>\S+)\s+\+-\s+(?P<tolerance>\S+)")
_EXAMPLES: Final = "such as: outcome is ok; output contains TEXT; tool:NAME input/FIELD == VALUE; tool:NAME called 1"

Judge = Callable[[str, View], str]
"""Asks a judge by its `module:function`: returns why the run is not as it should be; empty where it is."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One line, understood. `of` is what it looks at: outcome, output, a kind of call, budget or judge."""

    text: str
    of: str
    name: str = ""
    number: int = 0
    side: str = ""
    pointer: str = ""
    operator: str = ""
    value: Value = None
    tolerance: float = 0.0
    least: int = 0
    most: int | None = None


def parse(text: str) -> Expectation:
    """Read one line. Raises UsageError, with examples, where it is no expectation, or would hold of anything."""
    line = text.strip()
    if found := re.fullmatch(r"outcome\s+(?:is|==)\s+(\w+)", line):
        if found[1] not in _OUTCOMES:
            raise UsageError(f"expectation {line!r}: an outcome is one of {', '.join(_OUTCOMES)}")
        return Expectation(line, "outcome", value=found[1])
    if found := _BUDGET.fullmatch(line):
        return Expectation(line, "budget", found["of"], most=int(found["most"]))
    if found := _JUDGE.fullmatch(line):
        return Expectation(line, "judge", found["function"])
    if found := _CALLED.fullmatch(line):
        return _called(line, found)
    if found := _TARGET.fullmatch(line):
        return _target(line, found)
    raise UsageError(f"{line!r} is no expectation; {_EXAMPLES}")


def _called(line: str, found: re.Match[str]) -> Expectation:
    least, most = 1, None
    if found["never"]:
        least, most = 0, 0
    elif found["count"]:
        count = _COUNT.fullmatch(found["count"])
        if count is None:
            raise UsageError(f"expectation {line!r}: a count is 2, 1..3, >=1 or <=3")
        least = int(count["exact"] or count["least"] or count["from"] or 0)
        said = count["exact"] or count["most"] or count["to"]
        most = None if said is None else int(said)
    if least == 0 and most is None:
        raise UsageError(f"expectation {line!r} holds of any run")
    return Expectation(line, found["kind"], found["name"], operator="called", least=least, most=most)


def _target(line: str, found: re.Match[str]) -> Expectation:
    wanted, given = found["operator"], (found["value"] or "").strip()
    if (not given) != (wanted in ("exists", "absent")):
        raise UsageError(f"expectation {line!r}: {wanted} takes {'a value' if not given else 'no value'}")
    try:
        pointer = pointer_of((found["place"] or "").strip())
        value, tolerance = _value(wanted, given)
    except (ValueError, re.error) as error:
        raise UsageError(f"expectation {line!r}: {error}") from None
    return Expectation(
        line,
        found["kind"] or "output",
        found["name"] or "",
        int(found["number"] or 0),
        found["side"] or "",
        pointer,
        wanted,
        value,
        tolerance,
    )


def _value(wanted: str, given: str) -> tuple[Value, float]:
    if wanted == "matches":
        re.compile(given)
        return given, 0.0
    if wanted in _COMPARING:
        return float(given), 0.0
    if wanted == "==" and (found := _TOLERANCE.fullmatch(given)):
        return float(found["number"]), float(found["tolerance"])
    try:
        value = freeze(json.loads(given))
    except ValueError:  # a text needs no quotes
        value = given
    if wanted in ("contains", "lacks") and not isinstance(value, str):
        value = given
    return value, 0.0


# --- checking ---------------------------------------------------------------------------------------------------------


def check(expectation: Expectation, seen: View, judge: Judge) -> Check:
    """Check one expectation on a run."""
    text = expectation.text
    if expectation.of == "outcome":
        held = seen.outcome == expectation.value
        return Check(text, held, "" if held else f"the run ended with outcome {seen.outcome}")
    if expectation.of == "budget":
        used = seen.used[expectation.name]
        if not used and "tokens" in expectation.name and seen.used["model_calls"]:
            return Check(text, False, "no model call says how many tokens it used")
        held = expectation.most is not None and used <= expectation.most
        return Check(text, held, "" if held else f"the run used {used:,}")
    if expectation.of == "judge":
        why = judge(expectation.name, seen)
        return Check(text, not why, why)
    if expectation.operator == "called":
        count = len(seen.of(expectation.of, expectation.name))
        held = count >= expectation.least and (expectation.most is None or count <= expectation.most)
        return Check(text, held, "" if held else f"it was called {count} times")
    if expectation.of == "output":
        if not seen.has_output:
            return Check(text, False, "the run gave no output")
        return _all([seen.output], expectation)
    calls: Sequence[object] = seen.of(expectation.of, expectation.name)
    if expectation.number:
        calls = calls[expectation.number - 1 : expectation.number]
    if not calls:
        return Check(text, False, "there was no such call")
    return _all([getattr(call, expectation.side) for call in calls], expectation)


def _all(values: Sequence[Value], expectation: Expectation) -> Check:
    """Check each value. What a pointer with `*` finds must hold everywhere, and be there at all."""
    for value in values:
        found = list(places(value, expectation.pointer))
        if expectation.operator in ("exists", "absent"):
            if bool(found) != (expectation.operator == "exists"):
                return Check(expectation.text, False, "there is something" if found else "there is nothing")
            continue
        if not found:
            return Check(expectation.text, False, "there is nothing at that place")
        wrong = next((one for one in found if not _holds(one, expectation)), _NONE)
        if wrong is not _NONE:
            return Check(expectation.text, False, "it is another value", expectation.value, wrong, True)
    return Check(expectation.text, True)


_NONE: Final = ("no value is like this one",)


def _holds(value: Value, expectation: Expectation) -> bool:
    wanted, expected = expectation.operator, expectation.value
    if wanted in _COMPARING or expectation.tolerance:
        if not isinstance(value, int | float) or isinstance(value, bool) or not isinstance(expected, int | float):
            return False
        if wanted in _COMPARING:
            return _COMPARING[wanted](value, expected)
        return abs(value - expected) <= expectation.tolerance
    if wanted in ("==", "!="):
        # Tokens in the expectation stand for what they stand for in the record.
        same = isinstance(unify(expected, value, secret=is_secret), Bindings)
        return same == (wanted == "==")
    text = value if isinstance(value, str) else dumps(value)
    if wanted == "matches":
        return re.search(str(expected), text) is not None
    return (str(expected) in text) == (wanted == "contains")
