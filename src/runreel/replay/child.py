"""The agent's process: prepare everything, then run the agent's entry as if it had been started by hand.

Started as `python -P -m runreel.replay.child DESCRIPTOR` behind the walls. The plan arrives as the first frame. Nothing
of the agent is imported before clock, randomness, transports, exporters and tools are in place, and a recorded tool
that cannot be found ends the process before any of it runs.
"""

import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from runreel.canonical import dumps, loads
from runreel.errors import DivergedError, EntryPointError, RefusedError
from runreel.record.convert import thaw
from runreel.replay import adapters, capture, determinism, entry, frames, parsers, transports
from runreel.replay.boundaries import finding, functions, recorder, swapping
from runreel.replay.clock import Clock
from runreel.replay.descendants.broker import Broker
from runreel.replay.imports import when_imported
from runreel.replay.protocol import Channel, Frame, Link
from runreel.replay.sandbox import audit
from runreel.replay.wire.values import HttpRequest, HttpResponse
from runreel.values import Kind, Value


@dataclass(frozen=True, slots=True)
class _Through:
    """Asks through the child, and names the boundary that asks: the report says what was answered by what."""

    child: "Child"
    via: str

    def call(
        self,
        kind: Kind,
        name: str,
        arguments: Value,
        *,
        call_id: str = "",
        defaults: Mapping[str, Value] | None = None,
        contract: str = "",
        known: Mapping[str, Value] | None = None,
    ) -> Value:
        asked: dict[str, Any] = {"call_id": call_id, "defaults": defaults, "contract": contract, "known": known}
        return self.child.call(kind, name, arguments, via=self.via, **asked)


REFUSED, NO_ENTRY = RefusedError.exit_code, EntryPointError.exit_code


def main(arguments: Sequence[str]) -> int:
    """Run the plan; return the exit code of the agent, or REFUSED or NO_ENTRY where it did not start."""
    descriptor = int(arguments[0])
    os.set_inheritable(descriptor, False)
    channel = Channel(descriptor)
    plan = channel.receive()
    return REFUSED if plan is None else Child(Link(channel), plan).run()


class Child:
    """One replay, seen from inside. Everything it finds out goes to the parent, which judges."""

    def __init__(self, link: Link, plan: Frame) -> None:
        self._link, self._plan = link, plan
        self._clock = Clock(int(plan.get("start_ns")))
        # A tool that a model asked for and whose result is not recorded: where it is found, calling it is a finding.
        self._asked_for: frozenset[str] = frozenset(plan.head.get("asked_for", ()))
        self._kinds: dict[str, Kind] = {**dict.fromkeys(self._asked_for, "tool"), **plan.get("names")}
        self._facts: dict[str, Any] = dict(plan.get("mcp", {}))
        self._swapper = swapping.Swapper(self._kinds)

    def run(self) -> int:
        audit.install(lambda facts: self._tell("network", **facts))
        try:
            place = entry.prepare(self._plan.get("entry"), self._plan.get("args"))
            missing = self._find(place)
            if not missing:
                self._install()
                missing = self._swap_targets()
            if not missing:
                return self._run(place)
        except EntryPointError as error:
            self._tell("no_entry", message=str(error))
            return NO_ENTRY
        except RefusedError as error:  # a library is installed that cannot be answered for
            self._tell("refused", message=str(error), missing={})
            return REFUSED
        self._tell("refused", message="", missing=missing)
        return REFUSED

    def _swap_targets(self) -> dict[str, str]:
        if not self._plan.get("part"):
            return self._swapper.swap_targets()
        self._swapper.swap_when_imported()
        return {}

    def boot(self) -> None:
        """Put every boundary in place in a program that the agent started, and that runs by itself."""
        audit.install(lambda facts: self._tell("network", **facts))
        self._swapper.packages = (str(Path.cwd()),)
        self._swapper.targets = self._targets()
        self._install()
        self._swap_targets()

    def _patch_runpy(self, module: ModuleType) -> None:
        """Have a script that another program runs (multiprocessing runs the agent's own again) swapped as well."""
        original = module._run_module_code

        def run_code(
            code: CodeType,
            init_globals: Any = None,
            mod_name: str = "",
            mod_spec: Any = None,
            pkg_name: Any = None,
            script_name: str | None = None,
        ) -> Any:
            if script_name is not None:  # a module's code is seen to where it is imported
                code = self._swapper.rewrite(code, mod_name, script_name)
            return original(code, init_globals, mod_name, mod_spec, pkg_name, script_name)

        module._run_module_code = run_code  # type: ignore[attr-defined]

    def _tell(self, type_: str, **head: Any) -> None:
        self._link.tell(Frame(type_, head))

    # --- before the start ---------------------------------------------------------------------------------------------

    def _targets(self) -> dict[str, swapping.Target]:
        return {name: swapping.Target(*where) for name, where in self._plan.get("targets").items()}

    def _find(self, place: finding.Place) -> dict[str, str]:
        """Find the functions to swap; return why each recorded name without one cannot be answered for."""
        targets = self._targets()
        missing: dict[str, str] = {}
        if place.module == "__main__":
            # The script runs under another name than the one people know it by.
            stem, defined = Path(place.file).stem, set(swapping.paths_in(entry.compiled(place.file)))
            for name, target in targets.items():
                if target.module in ("__main__", stem):
                    targets[name] = swapping.Target("__main__", target.path)
                    if target.path not in defined:
                        missing[name] = f"{place.file} defines no {target.path} of its own"
        self._swapper.targets = targets
        self._swapper.packages = (str(Path(place.file).resolve().parent),)
        wanted = [name for name in self._kinds if name not in targets]
        every = {*wanted, *(one["name"] for one in self._facts.get("tools", ()))}
        found = finding.find(place, every, packages=self._swapper.packages)
        served = [name for name, framework in self._plan.get("frameworks", {}).items() if framework == "MCP"]
        self._facts["own"] = found.of_agent(every, served)
        for name in wanted:
            if not found.has(name) and (name not in self._asked_for or name in found.unclear):
                if why := self._unanswered(name, found):
                    missing[name] = why
            elif len(found.functions.get(name, ())) > 1:
                self._tell("note", text=_several(name, found.functions[name]))
        # A program that the agent started has some of the tools; the agent itself was asked for all of them.
        return {} if self._plan.get("part") else missing

    def _unanswered(self, name: str, found: finding.Found) -> str:
        """Say why a name without a function cannot be answered for; "" where its framework's adapter does that."""
        framework = self._plan.get("frameworks", {}).get(name)
        if framework is None and found.uses_mcp and found.is_unknown(name):
            framework = "MCP"  # nothing of the agent's has that name: it came from a server
        if framework is None:
            return found.told(name)
        problem = adapters.problem(framework)
        return f"it is a tool of {framework}, which is answered in tested versions only: {problem}" if problem else ""

    def _install(self) -> None:
        """Put every boundary in place; libraries are patched when the agent imports them."""
        functions.connect(_Through(self, "function"))

        def note(text: str) -> None:
            self._tell("note", text=text)

        for problem in adapters.install(self._kinds, lambda name: _Through(self, name), self._facts, note):
            self._tell("note", text=f"only functions are answered, and no tools by their framework: {problem}")
        transports.require_tested()
        transports.install(self.http)
        capture.install(self._link)
        when_imported("runreel.record._active", self._under_recorder)
        self._swapper.install()
        when_imported("runpy", self._patch_runpy)
        parsers.watch(lambda broken: self._tell("parser", **parsers.facts(broken)))
        determinism.install(self._plan.get("seed"), lambda kind, value: self._tell("drew", kind=kind, value=value))
        Broker(self._link, self._clock, {name: self._plan.get(name) for name in _SHARED}).install()
        self._clock.start()

    def _under_recorder(self, module: ModuleType) -> None:
        module.current = recorder.Boundary(_Through(self, "recorder"))  # type: ignore[attr-defined]
        seed = self._plan.get("run_seed")
        identity = module.Identity(
            self._plan.get("run_id"), self._plan.get("of"), seed if isinstance(seed, int) else None
        )
        module.identity = identity  # type: ignore[attr-defined]

    # --- the boundaries -----------------------------------------------------------------------------------------------

    def call(
        self,
        kind: Kind,
        name: str,
        arguments: Value,
        *,
        call_id: str = "",
        defaults: Mapping[str, Value] | None = None,
        via: str = "",
        contract: str = "",
        known: Mapping[str, Value] | None = None,
    ) -> Value:
        """Ask for the answer of a tool, retriever, memory or the recorder's model (see functions.Asking)."""
        head = {"kind": kind, "name": name, "call_id": call_id, "via": via, "contract": contract}
        asked: Value = {"arguments": arguments, "defaults": defaults or {}, **({"known": known} if known else {})}
        reply = self._ask(Frame("call", head, dumps(asked).encode()))
        value = loads(reply.body.decode())
        if reply.get("how") == "raised":
            causes = tuple((kind, text) for kind, text in reply.get("causes", ()))
            raise functions.FailedError(reply.get("error_type"), str(value), causes, reply.get("arguments", ""))
        return value

    def http(self, request: HttpRequest) -> HttpResponse:
        """Ask for the response to an HTTP request (see transports.Handler)."""
        head = {"method": request.method, "url": request.url, "headers": [list(pair) for pair in request.headers]}
        head["stack"] = frames.agents_places(sys._getframe(1))
        reply = self._ask(Frame("http", head, request.body))
        headers = tuple((name, value) for name, value in reply.get("headers"))
        chunks = reply.get("chunks")
        return HttpResponse(reply.get("status"), headers, reply.body if chunks is None else _stream(reply, chunks))

    def _ask(self, frame: Frame) -> Frame:
        reply = self._link.ask(frame)
        if "stop" in reply.head:
            self._debug(reply.get("stop"))
        if "clock_ns" in reply.head:
            self._clock.reach(reply.get("clock_ns"))
        error = _ERRORS.get(reply.get("how"))
        if error is not None:
            raise error(reply.get("message"))
        return reply

    def _debug(self, what: str) -> None:
        from runreel.replay import debugger  # pdb is wanted in this replay only

        def left() -> None:
            self._tell("left")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)  # an exception might be swallowed, and the agent would go on

        debugger.stop(what, left)

    # --- the agent ----------------------------------------------------------------------------------------------------

    def _run(self, place: finding.Place) -> int:
        self._tell("started", swapped=self._swapper.done)
        how = self._plan.get("entry")
        try:
            if "script" in how:
                entry.run_script(place.file, self._swapper.rewrite)
            else:
                values = [thaw(loads(self._plan.body.decode()))] if self._plan.body else []
                entry.call(entry.import_callable(how["module"], how["callable"]), values)
        except EntryPointError:
            raise
        except RefusedError as error:  # a library of the agent's that cannot be answered for
            self._tell("refused", message=str(error), missing={})
            return REFUSED
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
            self._tell("ended", how="exit", code=code)
            raise
        except BaseException as error:  # noqa: BLE001 - whatever ends the agent is shown as Python shows it
            broken = parsers.look(error)
            told = {"broken": parsers.facts(broken)} if broken else {}
            self._tell("ended", how="raised", code=1, error_type=type(error).__name__, **told)
            traceback.print_exception(entry.without_our_frames(error))
            return 1
        self._tell("ended", how="returned", code=0)
        return 0


def _several(name: str, places: Sequence[finding.Place]) -> str:
    listed = ", ".join(map(str, places))
    return (
        f"{name} is the name of {len(places)} functions, and each is answered from the record: {listed}. "
        f"Where one of them is no tool, name the tool: --tool {name}={places[0]}"
    )


_SHARED = ("names", "asked_for", "targets", "mcp", "seed", "run_id", "of", "run_seed")
"""What of the plan a program that the agent starts is given, too."""

_ERRORS = {
    "diverged": DivergedError,
    "refused": ConnectionRefusedError,
    "lost": ConnectionError,
    "timeout": TimeoutError,
}


def _stream(reply: Frame, sizes: Sequence[int]) -> Iterator[bytes]:
    """Cut a streamed body into the pieces it was written in; `end` says how it breaks off, if it does."""
    position = 0
    for size in sizes:
        yield reply.body[position : position + size]
        position += size
    error = _ERRORS.get(reply.get("end"))
    if error is not None:
        raise error(reply.get("message"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
