"""The page on frameworks says what captures say and names every switch; its pictures are what `runs show` draws."""

import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from runreel.semconv.dialect import Dialect
from runreel.semconv.dialects import DIALECTS
from runreel.values import Gap, Run
from span_kit import capture, of_kind, runs_of, sample

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/frameworks.md").read_text(encoding="utf-8")
PICTURES = sorted(ROOT / "docs" / name for name in re.findall(r"\((pictures/[\w-]+\.svg)\)", PAGE))
SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
# A variable, alone or with its value; an argument with its value.
_SETTING = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b(?:=\w+)?|\b[a-z_]+=(?:True|False)\b|\b\w+: true\b")
_OF_FRAMEWORKS = (
    "OpenAI SDK",
    "Anthropic SDK",
    "LangChain and LangGraph",
    "OpenAI Agents",
    "Pydantic AI",
    "Google ADK",
    "Strands",
    "smolagents",
    "LlamaIndex",
    "CrewAI",
    "Vercel AI SDK",
    "Microsoft Agent Framework",
    "Semantic Kernel",
    "LangSmith",
    "Langfuse",
    "MCP",
)


class Row(NamedTuple):
    """A capture in a section: runs with their model calls, tool calls and retrievals; verdicts; what a replay lacks."""

    section: str
    path: str
    counts: str
    verdicts: str
    lacks: str


def rows() -> list[Row]:
    found = []
    for section, text in SECTIONS.items():
        for line in re.findall(r"^\| .*`(?:captures|samples)/.*$", text, re.MULTILINE):
            _, _, path, counts, verdicts, lacks = (cell.strip() for cell in line.strip("|").split("|"))
            found.append(Row(section, path.strip("`"), counts, verdicts, lacks))
    return found


def runs_at(path: str) -> list[Run]:
    kind, _, name = path.partition("/")
    return runs_of(*(capture(name) if kind == "captures" else sample(name)))


def lacking(runs: list[Run]) -> list[Gap]:
    return [gap for run in runs for gap in run.gaps if gap.needed_for != "diagnose"]


def cause(gap: Gap) -> str:
    return gap.cause.removeprefix("withheld: ").removeprefix("cut: ").partition(":")[0]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.path)
def test_a_row_says_what_the_capture_is_understood_as(row: Row) -> None:
    runs = runs_at(row.path)
    numbers = [sum(len(of_kind(run, kind)) for run in runs) for kind in ("llm", "tool", "retrieval")]
    lacks = sorted({f"`{gap.field}:{cause(gap)}`" for gap in lacking(runs)})

    assert row.counts == f"{len(runs)}: {', '.join(map(str, numbers))}"
    assert row.verdicts == ", ".join(run.replayable for run in runs)
    assert row.lacks == (", ".join(lacks) or "-")


@pytest.mark.parametrize("row", [row for row in rows() if "`" in row.lacks], ids=lambda row: row.path)
def test_what_a_gap_tells_to_set_stands_in_the_section_of_its_row(row: Row) -> None:
    told = {setting for gap in lacking(runs_at(row.path)) for setting in _SETTING.findall(gap.fix)}

    assert {setting for setting in told if setting not in SECTIONS[row.section]} == set()


def test_every_framework_has_its_section_and_each_section_a_capture() -> None:
    assert [name for name in _OF_FRAMEWORKS if name not in SECTIONS] == []
    assert {*_OF_FRAMEWORKS, "Others"} - {row.section for row in rows()} == set()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_every_setting_that_a_dialect_names_is_on_the_page(dialect: Dialect) -> None:
    texts = [text for one in dialect.switches for text in (one.inputs, one.outputs, one.models)]

    assert {setting for text in texts for setting in _SETTING.findall(text) if setting not in PAGE} == set()


def test_what_no_real_export_backs_is_marked() -> None:
    for dialect in DIALECTS:
        if not dialect.verified:
            assert f"{dialect.title} is **unverified**" in PAGE


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_of_the_page_loads_nothing(picture: Path) -> None:
    svg = picture.read_text(encoding="utf-8")

    assert set(re.findall(r"\w+://[^\"' <)]*", svg)) == {"http://www.w3.org/2000/svg"}
    assert "@font-face" not in svg
    assert "@import" not in svg


def test_the_pictures_are_what_runs_show_draws_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts/pictures.py")
    assert spec is not None
    assert spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    monkeypatch.setenv(pictures.VARIABLE, "0" * 64)

    pictures.main(tmp_path)

    drawn = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert drawn == {file.name: file.read_text(encoding="utf-8") for file in PICTURES}
