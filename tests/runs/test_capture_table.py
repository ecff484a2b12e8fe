# ruff: noqa: E501
"""What each capture and sample of a real client is understood as.

`weather` captures hold 3 model calls and 3 tool calls in 1 run; where a row says less, the sender sent less. Samples
marked EXTRACTED are other projects' and are read where they stand, if they are there.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from runreel.values import Run
from span_kit import CAPTURES, SAMPLES, capture, of_kind, runs_of, sample

ELSEWHERE = Path(__file__).resolve().parents[3] / "shared" / "samples"
EXTRACTED = frozenset(
    {
        "openinference/langfuse-test-agno-cache",
        "openllmetry-legacy/langfuse-test-openai-chat",
        "openlit/langfuse-test-openai-chat",
        "vercel-ai-sdk/langfuse-test-embed",
    }
)


class Row(NamedTuple):
    """One capture or sample: numbers over all its runs, the verdict of each run, the first causes of gaps.

    `gaps` are `field:cause` of the first three different ones that a replay needs, frozen or live.
    """

    path: str
    runs: int
    models: int
    tools: int
    retrievals: int
    usage: tuple[int, int]
    verdicts: str
    gaps: str = ""


# fmt: off
ROWS = (
    Row("captures/anthropic/content-both", 1, 3, 3, 0, (628, 129), "full"),
    Row("captures/anthropic/content-off", 1, 3, 3, 0, (628, 129), "none", "input:content_off output:content_off"),
    Row("captures/anthropic/reasoning", 1, 2, 1, 0, (224, 93), "full", "output:no_signature"),
    Row("captures/anthropic/stream", 1, 3, 3, 0, (628, 129), "full"),
    Row("captures/crewai/native", 1, 3, 3, 0, (894, 187), "full", "model:model_alias"),
    Row("captures/genkit/flow", 1, 3, 3, 0, (651, 187), "full"),
    Row("captures/google-adk/content-both", 1, 3, 3, 0, (591, 120), "full", "model:model_alias"),
    Row("captures/google-adk/content-span", 1, 3, 3, 0, (591, 120), "full", "model:model_alias"),
    Row("captures/google-adk/default", 1, 3, 3, 0, (591, 120), "none", "input:content_off output:content_off model:model_alias"),
    Row("captures/google-adk/legacy-schema", 1, 3, 3, 0, (591, 120), "full"),
    Row("captures/langgraph/openinference", 1, 3, 3, 0, (704, 187), "full"),
    Row("captures/langgraph/openinference-double", 1, 3, 3, 0, (704, 187), "full"),
    Row("captures/langgraph/openinference-stream", 1, 3, 3, 0, (0, 0), "full"),
    Row("captures/langgraph/otel-genai-badargs", 1, 1, 0, 0, (72, 50), "none", "output:content_off"),
    Row("captures/langgraph/otel-genai-both", 1, 3, 3, 0, (704, 187), "full"),
    Row("captures/langgraph/otel-genai-off", 1, 3, 3, 0, (704, 187), "none", "input:content_off output:content_off"),
    Row("captures/langgraph/otel-genai-span", 1, 3, 3, 0, (704, 187), "full"),
    Row("captures/langgraph/rag-openinference", 1, 1, 0, 1, (65, 16), "full"),
    Row("captures/langgraph/rag-otel-genai", 1, 1, 0, 1, (65, 16), "partial", "output:no_document_text"),
    Row("captures/langgraph/rag-traceloop", 1, 1, 0, 1, (65, 16), "full"),
    Row("captures/langgraph/traceloop", 1, 3, 3, 0, (704, 187), "full"),
    Row("captures/langgraph/traceloop-off", 1, 3, 3, 0, (704, 187), "none", "input:content_off output:content_off"),
    Row("captures/openai-agents/openinference", 1, 3, 3, 0, (636, 228), "full"),
    Row("captures/openai-agents/openinference-handoff", 1, 3, 1, 0, (395, 143), "full"),
    Row("captures/openai-agents/openinference-stream", 1, 3, 3, 0, (636, 228), "full"),
    Row("captures/openai-agents/otel-genai", 1, 0, 3, 0, (0, 0), "partial", "model_call:no_model_calls"),
    Row("captures/openai-agents/otel-genai-handoff", 1, 3, 1, 0, (395, 143), "full"),
    Row("captures/openai-agents/otel-genai-plus-openai", 1, 3, 3, 0, (636, 228), "full"),
    Row("captures/openinference-openai/content-off", 1, 3, 3, 0, (685, 187), "none", "input:placeholder output:placeholder"),
    Row("captures/openinference-openai/content-on", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/openinference-openai/count-limit-40", 1, 3, 3, 0, (685, 187), "partial", "attributes:dropped_attributes"),
    Row("captures/openinference-openai/image", 1, 1, 0, 0, (120, 16), "full"),
    Row("captures/openinference-openai/scenario-badargs", 1, 3, 2, 0, (486, 119), "full"),
    Row("captures/openinference-openai/stream", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/openinference-openai/stream-abandoned", 1, 1, 0, 0, (0, 0), "full"),
    Row("captures/openlit/off", 1, 3, 3, 0, (685, 187), "none", "input:content_off output:content_off"),
    Row("captures/openlit/on", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/openlit/stream", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-genai-openai/big-5mb", 1, 1, 0, 0, (1250072, 16), "full"),
    Row("captures/otel-genai-openai/content-both", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-genai-openai/content-event", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-genai-openai/content-off", 1, 3, 3, 0, (685, 187), "none", "input:content_off output:content_off"),
    Row("captures/otel-genai-openai/content-span", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-genai-openai/content-true-is-invalid", 1, 3, 3, 0, (685, 187), "none", "input:content_off output:content_off"),
    Row("captures/otel-genai-openai/http-json", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-genai-openai/image", 1, 1, 0, 0, (120, 16), "full"),
    Row("captures/otel-genai-openai/multi-process", 2, 6, 4, 0, (1000, 244), "full full"),
    Row("captures/otel-genai-openai/retry-duplicate", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-genai-openai/scenario-badargs", 1, 3, 2, 0, (486, 119), "full"),
    Row("captures/otel-genai-openai/scenario-empty", 1, 2, 1, 0, (235, 64), "full"),
    Row("captures/otel-genai-openai/scenario-mixed", 1, 2, 1, 0, (239, 74), "full"),
    Row("captures/otel-genai-openai/scenario-numbers", 1, 2, 1, 0, (222, 75), "full"),
    Row("captures/otel-genai-openai/scenario-poll", 1, 4, 3, 0, (761, 170), "full"),
    Row("captures/otel-genai-openai/scenario-reasoning", 1, 2, 1, 0, (237, 98), "full"),
    Row("captures/otel-genai-openai/scenario-secret", 1, 2, 1, 0, (287, 114), "full"),
    Row("captures/otel-genai-openai/scenario-toolerror", 1, 2, 1, 0, (229, 71), "full"),
    Row("captures/otel-genai-openai/stream", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-genai-openai/stream-abandoned", 1, 1, 0, 0, (0, 0), "full"),
    Row("captures/otel-genai-openai/truncated-200", 1, 3, 3, 0, (685, 187), "none", "input:not_json output:not_json"),
    Row("captures/otel-genai-openai/upload-hook", 1, 3, 3, 0, (685, 187), "none", "input:external output:external tool_definitions:external"),
    Row("captures/otel-openai-v2/2.1b0-content-off", 1, 3, 3, 0, (685, 187), "none", "input:content_off output:content_off"),
    Row("captures/otel-openai-v2/2.1b0-content-on", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-openai-v2/2.4b0-latest-both", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-openai-v2/2.4b0-latest-stream", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/otel-openai-v2/2.4b0-legacy-default", 1, 3, 3, 0, (685, 187), "none", "input:content_off output:content_off"),
    Row("captures/otel-openai-v2/2.4b0-legacy-true", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/pydantic-ai/content-off", 1, 3, 3, 0, (674, 187), "none", "input:content_off output:content_off"),
    Row("captures/pydantic-ai/content-on", 1, 3, 3, 0, (674, 187), "full"),
    Row("captures/pydantic-ai/format-v2", 1, 3, 3, 0, (674, 187), "full"),
    Row("captures/pydantic-ai/scenario-badargs", 1, 3, 2, 0, (534, 119), "full"),
    Row("captures/pydantic-ai/scenario-poll", 1, 4, 3, 0, (755, 170), "full"),
    Row("captures/pydantic-ai/scenario-secret", 1, 2, 1, 0, (287, 114), "full"),
    Row("captures/pydantic-ai/scenario-toolerror", 1, 1, 1, 0, (73, 52), "full"),
    Row("captures/pydantic-ai/stream", 1, 3, 3, 0, (674, 187), "full"),
    Row("captures/smolagents/codeagent", 1, 1, 1, 0, (2480, 37), "full", "model:model_alias"),
    Row("captures/smolagents/toolcalling", 1, 3, 3, 0, (4008, 225), "full", "model:model_alias"),
    Row("captures/strands/default", 1, 3, 3, 0, (693, 187), "full", "model:model_alias"),
    Row("captures/strands/latest-experimental", 1, 3, 3, 0, (693, 187), "full", "model:model_alias"),
    Row("captures/strands/scenario-poll", 1, 4, 3, 0, (763, 170), "full", "model:model_alias"),
    Row("captures/traceloop-openai/content-off", 1, 3, 3, 0, (685, 187), "none", "input:content_off output:content_off"),
    Row("captures/traceloop-openai/content-on", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/traceloop-openai/image", 1, 1, 0, 0, (120, 16), "none", "input:content_off"),
    Row("captures/traceloop-openai/stream", 1, 3, 3, 0, (685, 187), "full"),
    Row("captures/traceloop-openai/stream-abandoned", 1, 1, 0, 0, (0, 0), "full"),
    Row("samples/agent-framework/agent-latest", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/agent-framework/agent-legacy", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/claude-code/SYNTHETIC", 1, 1, 1, 0, (15252, 57), "none", "input:content_off output:content_off"),
    Row("samples/google-adk/agent-v1", 1, 2, 1, 0, (100, 20), "full", "model:model_alias"),
    Row("samples/google-adk/agent-v2", 1, 2, 1, 0, (100, 20), "full", "model:model_alias"),
    Row("samples/langfuse-sdk/python-sdk", 1, 1, 1, 1, (50, 6), "full"),
    Row("samples/langsmith-otel/langgraph", 1, 2, 1, 1, (100, 20), "full"),
    Row("samples/litellm/agent", 1, 3, 3, 0, (672, 187), "full"),
    Row("samples/litellm/agent-stream", 1, 3, 3, 0, (683, 187), "full"),
    Row("samples/llamaindex-native/agent", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/llamaindex-native/agent-stream", 2, 3, 1, 0, (50, 10), "none full", "output:content_off model:model_alias input:content_off"),
    Row("samples/llamaindex-native/llamaindex-rag", 2, 3, 0, 1, (0, 0), "full full", "model:model_alias"),
    Row("samples/mcp/fastmcp", 2, 0, 2, 0, (0, 0), "none none", "input:content_off output:content_off"),
    Row("samples/openinference/crewai", 1, 0, 1, 0, (0, 0), "full"),
    Row("samples/openinference/langfuse-test-agno-cache", 1, 1, 0, 0, (50000, 200), "none", "input:content_off output:content_off model:model_alias"),
    Row("samples/openinference/langgraph", 1, 2, 1, 1, (100, 20), "full"),
    Row("samples/openinference/llamaindex-rag", 3, 4, 0, 1, (0, 0), "none full partial", "steps:no_calls input:content_off output:content_off"),
    Row("samples/openinference/openai-agents", 1, 2, 1, 0, (120, 24), "full"),
    Row("samples/openinference/openai-chat", 4, 4, 0, 0, (104, 20), "full full full full"),
    Row("samples/openlit/langfuse-test-openai-chat", 1, 1, 0, 0, (14, 96), "full", "model:model_alias"),
    Row("samples/openllmetry-legacy/langfuse-test-openai-chat", 1, 1, 0, 0, (14, 173), "full"),
    Row("samples/openllmetry-legacy/openai-0.52.0", 3, 3, 0, 0, (104, 20), "full full none", "output:content_off"),
    Row("samples/openllmetry/crewai", 1, 0, 0, 0, (0, 0), "none", "steps:no_calls"),
    Row("samples/openllmetry/langgraph", 1, 2, 1, 1, (100, 20), "full"),
    Row("samples/openllmetry/openai-agents", 1, 2, 1, 0, (120, 24), "full"),
    Row("samples/openllmetry/openai-chat", 4, 4, 0, 0, (104, 20), "full full none full", "output:content_off"),
    Row("samples/otel-current-events/openai-chat", 4, 4, 0, 0, (104, 20), "full full none full", "input:content_off output:content_off"),
    Row("samples/otel-current/langgraph", 1, 2, 1, 1, (100, 20), "partial", "output:no_document_text"),
    Row("samples/otel-current/llamaindex-rag", 1, 0, 0, 1, (0, 0), "none", "output:no_document_text"),
    Row("samples/otel-current/openai-agents", 1, 2, 1, 0, (120, 24), "full"),
    Row("samples/otel-current/openai-chat", 4, 4, 0, 0, (104, 20), "full full none full", "input:content_off output:content_off"),
    Row("samples/otel-legacy/openai-v2-2.1b0", 2, 2, 0, 0, (100, 20), "full full"),
    Row("samples/pydantic-ai/agent-v2", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/pydantic-ai/agent-v5", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/pydantic-ai/agent-v6", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/semantic-kernel/python-agent", 1, 2, 1, 0, (100, 20), "full", "model:model_alias"),
    Row("samples/strands/agent-attrs", 1, 2, 1, 0, (100, 20), "full", "model:model_alias"),
    Row("samples/strands/agent-latest", 1, 2, 1, 0, (100, 20), "full", "model:model_alias"),
    Row("samples/strands/agent-legacy", 1, 2, 1, 0, (100, 20), "full", "model:model_alias"),
    Row("samples/vercel-ai-sdk/generateText-v6", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/vercel-ai-sdk/generateText-v7", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/vercel-ai-sdk/generateText-v7l", 1, 2, 1, 0, (100, 20), "full"),
    Row("samples/vercel-ai-sdk/langfuse-test-embed", 1, 1, 0, 0, (0, 0), "none", "input:content_off output:content_off model:model_alias"),
)
# fmt: on


def understood(path: str) -> Row:
    """Return what is made of a capture or sample now."""
    kind, _, name = path.partition("/")
    if kind == "captures":
        found = runs_of(*capture(name))
    else:
        found = runs_of(*sample(name, ELSEWHERE if name in EXTRACTED else SAMPLES))
    counts = [sum(len(of_kind(run, kind)) for run in found) for kind in ("llm", "tool", "retrieval")]
    usage = (sum(tokens(run, "input_tokens") for run in found), sum(tokens(run, "output_tokens") for run in found))
    causes = dict.fromkeys(
        f"{gap.field}:{gap.cause.removeprefix('withheld: ').removeprefix('cut: ').partition(':')[0]}"
        for run in found
        for gap in run.gaps
        if gap.needed_for != "diagnose"
    )
    verdicts = " ".join(run.replayable for run in found)
    return Row(path, len(found), counts[0], counts[1], counts[2], usage, verdicts, " ".join(list(causes)[:3]))


def tokens(run: Run, name: str) -> int:
    total = 0
    for step in of_kind(run, "llm"):
        usage = step.fields.get("usage")
        value = usage.get(name) if isinstance(usage, dict) else None
        total += value if isinstance(value, int) else 0
    return total


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_a_capture_is_understood_as_its_row_says(row: Row) -> None:
    name = row.path.partition("/")[2]
    if name in EXTRACTED and not (ELSEWHERE / f"{name}.traces.json").exists():
        pytest.skip("another project's sample: it is not part of this repository")

    assert understood(row.path) == row


def test_rows_are_in_order_and_each_is_there_once() -> None:
    paths = [row.path for row in ROWS]

    assert paths == sorted(set(paths))


def test_no_sample_of_another_project_is_kept_here() -> None:
    assert [name for name in EXTRACTED if (SAMPLES / f"{name}.traces.json").exists()] == []


def test_every_capture_and_sample_that_is_kept_has_its_row() -> None:
    kept = {f"captures/{path.relative_to(CAPTURES)}" for path in CAPTURES.glob("*/*")}
    kept |= {
        f"samples/{path.relative_to(SAMPLES)}".removesuffix(".traces.json") for path in SAMPLES.glob("*/*.traces.json")
    }

    assert kept - {row.path for row in ROWS} == set()
