"""One run as a page: its verdict and how to better it, its time line, and each step as the model saw it."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from runreel.canonical import dumps
from runreel.pages.budget import Budget
from runreel.pages.content import Contents, calls_in
from runreel.pages.markup import Markup, Text, element, joined, said
from runreel.pages.shell import badge, page
from runreel.runs.document import iso, plain, summarise
from runreel.text import many, one_line
from runreel.values import Gap, Run, Step, Value

COLOURS: Final = {
    "full": "good", "partial": "warn", "none": "bad", "ok": "good", "error": "bad", "interrupted": "warn",
    "same": "good", "diverged": "bad", "not_comparable": "warn", "aborted": "warn", "user_flagged": "warn",
    "admit": "good", "coerce": "warn", "reject": "bad",
}  # fmt: skip
_DEEPEST: Final = 6
_PLACES: Final = 12
# Fields that a step shows in places of their own; the rest stands below, folded.
_SAID: Final = ("usage", "params", "tool_definitions", "contract")


def report(run: Run) -> str:
    """Return the page of a run. Pure; all text of the run is escaped."""
    contents = Contents(Budget(f"runreel runs show {shlex.quote(one_line(run.run_id))} --json --payloads"))
    depths = _depths(run)
    return page(
        f"run {run.run_id}",
        _head(run),
        _verdict(run),
        element("h2", Text("Time line")),
        element("ul", *(_row(run, step, depths[step.seq]) for step in run.steps), class_="rows"),
        element("h2", Text("Steps, as the model and the tools saw them")),
        *(_step(run, step, contents) for step in run.steps),
    )


def _head(run: Run) -> Markup:
    summary = summarise(run)
    counts = [many(summary.model_calls, "model call"), many(summary.tool_calls, "tool call")]
    counts += [many(summary.retrievals, "retrieval")] if summary.retrievals else []
    tokens = [f"{many(one.input_tokens, 'token')} in, {one.output_tokens:,} out" for one in summary.usage]
    facts: list[tuple[str, Markup]] = [("agent", said(one_line(run.agent_id)))]
    facts += [
        ("started", element("span", Text(f"{(iso(run.started_ns) or 'unknown')[:19].replace('T', ' ')} UTC"))),
        ("took", element("span", Text(took(run.ended_ns - run.started_ns)))),
        ("calls", element("span", Text(", ".join(counts)))),
    ]
    facts += [
        (one_line(one.model, 60), element("span", Text(text))) for one, text in zip(summary.usage, tokens, strict=True)
    ]
    facts += [(label, said(one_line(text, 400))) for label, text in _about(run)]
    rows = [piece for label, value in facts for piece in (element("dt", said(label)), element("dd", value))]
    outcome = "open" if run.open else run.outcome
    return joined(
        element("h1", Text("Run "), said(one_line(run.run_id, 120))),
        element("p", badge(outcome, COLOURS.get(outcome, "")), Text(" "),
                badge(f"replayable: {run.replayable}", COLOURS[run.replayable])),
        element("dl", *rows),
    )  # fmt: skip


def _about(run: Run) -> Iterator[tuple[str, str]]:
    if run.replay_of:
        yield "replay of", run.replay_of
    if run.parent_run_id:
        yield "parent run", f"{run.parent_run_id} ({run.parent_relation or 'linked'})"
    for label, ref in (("user input", run.user_input), ("final output", run.final_output)):
        if ref.sha256:
            yield label, brief(run.value(ref), 300)
    for label, values in (("versions", run.versions), ("prompts", run.prompt_versions), ("flags", run.flags)):
        if values:
            yield label, _listed(values)
    yield from (("flagged", str(flag.get("reason") or "without a reason")) for flag in run.flagged)
    yield from (("score", _listed(one)) for one in run.scores)
    yield from (("note", note) for note in run.notes)


def _listed(values: Mapping[str, Value]) -> str:
    said_ = (
        (name, dumps(value) if isinstance(value, (tuple, Mapping)) else plain(value)) for name, value in values.items()
    )
    return ", ".join(f"{name} {value}" for name, value in said_)


def _verdict(run: Run) -> Markup:
    """Say what is missing, each thing to do once."""
    if not run.gaps:
        words = "Nothing is missing: a frozen replay answers every call from this record."
        return element("div", element("p", Text(words)), class_=f"verdict {COLOURS[run.replayable]}")
    fixes: dict[str, dict[tuple[str, str, str], list[Gap]]] = {}
    for gap in run.gaps:
        fixes.setdefault(gap.fix, {}).setdefault((gap.field, gap.needed_for, gap.cause), []).append(gap)
    items = [
        element("li", *(_gap(what, gaps) for what, gaps in missing.items()), said(fix, "p", "fix"))
        for fix, missing in fixes.items()
    ]
    head = element("p", Text("Missing, and what to do about it:"))
    return element("div", head, element("ul", *items, class_="gaps"), class_=f"verdict {COLOURS[run.replayable]}")


def _gap(what: tuple[str, str, str], gaps: Sequence[Gap]) -> Markup:
    field, needed_for, cause = what
    links = [_link(gap.step) for gap in gaps[:_PLACES]]
    more = Text(f"and {len(gaps) - _PLACES} more ") if len(gaps) > _PLACES else None
    return element("p", *links, more, said(field), Text(f" (for {needed_for}): "), said(cause))


def _link(seq: int | None) -> Markup:
    if seq is None:
        return joined(Text("run "))
    return joined(element("a", Text(f"step {seq}"), href=f"#s{seq}"), Text(" "))


def _depths(run: Run) -> dict[int, int]:
    above = {step.seq: step.parent for step in run.steps}
    out: dict[int, int] = {}
    for step in run.steps:
        depth, at = 0, step.parent
        while at is not None and depth < _DEEPEST:
            depth, at = depth + 1, above.get(at)
        out[step.seq] = depth
    return out


def _row(run: Run, step: Step, depth: int) -> Markup:
    name = element("a", *title(step), href=f"#s{step.seq}")
    cell = element("div", name, Text(" "), said(_gist(run, step), "span", "aside"), class_=f"d{depth}")
    return element("li", cell, element("span", Text(took(step.end_ns - step.start_ns)), class_="took"), _bar(run, step))


def _bar(run: Run, step: Step) -> Markup:
    """Draw when a step ran, in thousandths of the run: attributes of SVG, since the policy allows no inline style."""
    whole = max(run.ended_ns - run.started_ns, 1)
    start = min(max((step.start_ns - run.started_ns) * 1000 // whole, 0), 995)
    width = min(max((step.end_ns - step.start_ns) * 1000 // whole, 5), 1000 - start)
    colour = "bar error" if step.status == "error" else f"bar {step.kind}"
    return element(
        "svg",
        element("rect", x=0, y=5, width=1000, height=2, class_="all"),
        element("rect", x=start, y=0, width=width, height=12, class_=colour),
        viewBox="0 0 1000 12",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def title(step: Step) -> tuple[Markup | Text, ...]:
    """Return a step's number, kind and name."""
    error = (Text(" "), badge(step.status, COLOURS[step.status])) if step.status != "ok" else ()
    return Text(f"{step.seq} "), badge(step.kind, step.kind), Text(" "), said(one_line(step.name, 80)), *error


def _gist(run: Run, step: Step) -> str:
    if step.error is not None:
        return f"{one_line(step.error.type, 40)}: {one_line(step.error.message, 80)}"
    calls = list(calls_in(run.value(step.output)))[:_PLACES] if step.kind == "llm" else []
    if calls:
        return f"calls {', '.join(calls)}"
    return brief(run.value(step.output), 90) if step.output.sha256 else ""


def brief(value: Value, width: int) -> str:
    """Return a value on one line, cut; of messages the last text."""
    last = value[-1] if isinstance(value, tuple) and value else None
    parts = last.get("parts") if isinstance(last, Mapping) else None
    texts = [part.get("content") for part in parts if isinstance(part, Mapping)] if isinstance(parts, tuple) else []
    text = next((one for one in texts if isinstance(one, str)), None)
    whole = text if text is not None else value if isinstance(value, str) else str(plain(value))
    return one_line(whole[: 8 * width], width)


def _step(run: Run, step: Step, contents: Contents) -> Markup:
    tokens = usage(step)
    head = element(
        "summary", *title(step), Text(" "), _decision(step),
        element("span", Text(f" {took(step.end_ns - step.start_ns)}{tokens and ', ' + tokens}"), class_="aside"),
    )  # fmt: skip
    inside = element(
        "div",
        *_facts(step),
        *_asked(step, contents),
        element("h3", Text("Input")),
        contents.step(run, step, "input", f"step {step.seq}, input"),
        element("h3", Text("Output")),
        contents.step(run, step, "output", f"step {step.seq}, output"),
        *_failed(step, contents),
        contents.fields({name: value for name, value in step.fields.items() if name not in _SAID}),
        class_="inside",
    )
    is_open = step.status == "error"
    return element("details", head, inside, id=f"s{step.seq}", class_="stop", open=is_open)


def _facts(step: Step) -> Iterator[Markup]:
    words = []
    if step.after:
        latest = sorted(step.after)[-_PLACES:]
        words.append(f"after {'…, ' if len(step.after) > _PLACES else ''}{', '.join(map(str, latest))}")
    if step.shadowed_by is not None:
        words.append(f"the same call as step {step.shadowed_by}")
    if step.synthesised:
        words.append("no span of its own: taken from the messages")
    if words:
        yield element("p", Text("; ".join(words)), class_="aside")
    if step.call_id:
        yield element("p", Text("call "), said(one_line(step.call_id, 200), "code"), class_="aside")


def _asked(step: Step, contents: Contents) -> Iterator[Markup]:
    """Show what went along with the input: parameters, the tools on offer; what the contract made of a tool call."""
    if params := step.fields.get("params"):
        yield element("h3", Text("Parameters"))
        yield contents.shared(params, f"step {step.seq}, parameters")
    if tools := step.fields.get("tool_definitions"):
        yield element("h3", Text("Tools on offer"))
        yield contents.shared(tools, f"step {step.seq}, tools")
    if contract := step.fields.get("contract"):
        yield element("h3", Text("Contract"))
        yield contents.value(contract)


def _decision(step: Step) -> Markup | None:
    """Show what the contract of a tool said of the call, and whether the call has effects outside."""
    words: list[Markup] = []
    effect = step.fields.get("side_effect")
    if step.kind == "tool" and effect is not None and effect is not False:
        words.append(badge("side effect" if effect is True else f"side effect: {one_line(str(effect), 20)}", "warn"))
    contract = step.fields.get("contract")
    decision = contract.get("decision") if isinstance(contract, Mapping) else None
    if isinstance(decision, str):
        words.append(badge(f"contract: {one_line(decision, 20)}", COLOURS.get(decision, "")))
    return joined(*words) if words else None


def _failed(step: Step, contents: Contents) -> Iterator[Markup]:
    if step.error is not None:
        yield element("h3", Text("Error"))
        yield contents.value(f"{step.error.type}: {step.error.message}")
        if step.error.stack:
            stack = contents.value(step.error.stack)
            yield element("details", element("summary", Text("stack")), stack, class_="fields")


def usage(step: Step) -> str:
    """Return the tokens of a model call in words, empty where they are not known."""
    told = step.fields.get("usage")
    if not isinstance(told, Mapping):
        return ""
    counts = [told.get(name) for name in ("input_tokens", "output_tokens")]
    known = [f"{count:,}" if type(count) is int else "?" for count in counts]
    return f"{known[0]} → {known[1]} tokens" if known != ["?", "?"] else ""


def took(ns: int) -> str:
    """Return a duration for people; clocks that disagree give none below 0."""
    ms = max(ns, 0) / 1e6
    return f"{ms:.1f} ms" if ms < 10 else f"{ms:,.0f} ms" if ms < 1000 else f"{ms / 1000:,.2f} s"
