"""Check goldens without running anything: whole, readable, replayable, and with something to fail."""

from collections.abc import Iterator
from pathlib import Path

from runreel.errors import RunReelError
from runreel.goldens import expect, folder
from runreel.goldens.running import project_of
from runreel.goldens.values import Golden
from runreel.replay import tape
from runreel.replay.engine import entry_of


def problems(place: Path) -> Iterator[str]:
    """Yield what is wrong with a golden: files that changed, expectations that are none, an agent that is gone."""
    try:
        golden = folder.read(place)
        tape.build(golden.run)
    except RunReelError as error:
        yield str(error)
        return
    for line in golden.expect:
        try:
            expect.parse(line)
        except RunReelError as error:
            yield str(error)
    yield from _entry(golden)
    if golden.failure and not golden.expect:
        yield f"its run is a failure ({golden.failure}), and nothing is expected: it passes while the agent fails"


def _entry(golden: Golden) -> Iterator[str]:
    try:
        entry, _ = entry_of(golden.run, golden.settings.agent or None, golden.settings.args)
    except RunReelError as error:
        yield str(error)
        return
    if entry.script and not (project_of(golden.folder) / entry.script).is_file():
        yield f"there is no script {entry.script} in {project_of(golden.folder)}"
