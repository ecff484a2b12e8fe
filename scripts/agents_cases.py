"""The rows of the table of agents: each agent under each instrumentation, with what is set for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@dataclass(frozen=True, slots=True)
class Case:
    """One row: an agent under an instrumentation. `packages` is the file of pins that its environment is made of.

    `server` is a script with its arguments that runs while the agent is recorded, and not while it is replayed. The
    agent finds the address that it prints in MCP_URL.
    """

    agent: str
    instrumentation: str
    packages: str
    script: str
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    server: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return what --only is matched with."""
        return f"{self.packages} {self.script} {self.agent} {self.instrumentation}"


SPAN, BOTH = {CONTENT: "SPAN_ONLY"}, {CONTENT: "SPAN_AND_EVENT"}
TRUE = {CONTENT: "true"}
LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
ONE_RUN = {"OTEL_RESOURCE_ATTRIBUTES": "replay.run.id=one-run-of-three-processes"}
LLMETRY = {"TRACELOOP_TRACE_CONTENT": "true"}
_GENAI, _LLMETRY = ("--instrumentation", "genai"), ("--instrumentation", "openllmetry")
_HANDOFF, _STREAM, _OPENAI = ("--scenario", "handoff"), ("--stream",), ("--also-openai",)
_BADARGS, _POLL, _FAILS = (("--scenario", name) for name in ("badargs", "poll", "toolerror"))
_ALSO = ", and on the OpenAI SDK"
_GRAPH, _RAG = ("langgraph", "langgraph_agent.py"), ("langgraph", "retrieval_agent.py")
_AGENTS, _PYDANTIC = ("openai-agents", "openai_agents_agent.py"), ("pydantic-ai", "pydantic_ai_agent.py")
_SDK, _CLAUDE = ("openai", "openai_agent.py"), ("anthropic", "anthropic_agent.py")
_V2, _SDK_V2 = ("--instrumentation", "v2"), ("openai-v2", "openai_agent.py")
_STRANDS, _SMOL = ("strands", "strands_agent.py"), ("smolagents", "smolagents_agent.py")
_TEAM, _SWARM, _REPORT, _CODE, _MANAGED = (
    ("--scenario", name) for name in ("team", "swarm", "report", "code", "managed")
)
_CLASSES = ("--classes",)
_PROCESSES = ("openai", "multi_process_agent.py")
_LLAMA, _QUERY = ("llamaindex", "llamaindex_agent.py"), ("llamaindex", "llamaindex_retrieval_agent.py")
_ADK = ("google-adk", "google_adk_agent.py")
_NATIVE, _OWN = ("--instrumentation", "native"), ("--instrumentation", "own")
_TRANSFER, _EXPERT, _PLAIN, _POLICIES = (("--scenario", name) for name in ("transfer", "expert", "plain", "policies"))
_MCP = ("mcp", "mcp_agent.py")
_HTTP, _SSE, _RECORD = ("--transport", "http"), ("--transport", "sse"), ("--record", "yes")
_MCP_SERVER = ("mcp_server.py", "--http")
ADK_1 = {"ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN": "1"}

CASES = (
    Case("OpenAI SDK", "OpenTelemetry genai", *_SDK, _GENAI, SPAN),
    Case("OpenAI SDK, streaming", "OpenTelemetry genai", *_SDK, (*_GENAI, *_STREAM), SPAN),
    Case("OpenAI SDK", "OpenInference", *_SDK),
    Case("OpenAI SDK, streaming", "OpenInference", *_SDK, _STREAM),
    Case("OpenAI SDK, malformed arguments", "OpenInference", *_SDK, _BADARGS),
    Case("OpenAI SDK", "OpenLLMetry", *_SDK, _LLMETRY, LLMETRY),
    Case("OpenAI SDK, streaming", "OpenLLMetry", *_SDK, (*_LLMETRY, *_STREAM), LLMETRY),
    Case("OpenAI SDK", "openai-v2 2.4b0", *_SDK_V2, _V2, TRUE),
    Case("OpenAI SDK", "openai-v2 2.4b0, latest conventions", *_SDK_V2, _V2, LATEST | BOTH),
    Case("OpenAI SDK, streaming", "openai-v2 2.4b0, latest conventions", *_SDK_V2, (*_V2, *_STREAM), LATEST | SPAN),
    Case("OpenAI SDK, three processes, two traces", "OpenTelemetry genai", *_PROCESSES, _GENAI, SPAN | ONE_RUN),
    Case("Anthropic SDK", "OpenTelemetry genai", *_CLAUDE, _GENAI, SPAN),
    Case("Anthropic SDK, streaming", "OpenTelemetry genai", *_CLAUDE, (*_GENAI, *_STREAM), BOTH),
    Case("Anthropic SDK", "OpenInference", *_CLAUDE),
    Case("Anthropic SDK", "OpenLLMetry", *_CLAUDE, _LLMETRY, LLMETRY),
    Case("LangGraph", "OpenInference", *_GRAPH),
    Case("LangGraph, streaming", "OpenInference", *_GRAPH, _STREAM),
    Case("LangGraph", f"OpenInference{_ALSO}", *_GRAPH, _OPENAI),
    Case("LangGraph", "OpenTelemetry genai", *_GRAPH, _GENAI, SPAN),
    Case("LangGraph, malformed arguments", "OpenTelemetry genai", *_GRAPH, (*_GENAI, *_BADARGS), SPAN),
    Case("LangGraph", "OpenLLMetry", *_GRAPH, _LLMETRY, LLMETRY),
    Case("LangChain retriever", "OpenInference", *_RAG),
    Case("LangChain retriever", "OpenTelemetry genai", *_RAG, _GENAI, SPAN),
    Case("LangChain retriever", "OpenLLMetry", *_RAG, _LLMETRY, LLMETRY),
    Case("OpenAI Agents", "OpenInference", *_AGENTS),
    Case("OpenAI Agents, streaming", "OpenInference", *_AGENTS, _STREAM),
    Case("OpenAI Agents, hand-off", "OpenInference", *_AGENTS, _HANDOFF),
    Case("OpenAI Agents", "OpenTelemetry genai", *_AGENTS, _GENAI, BOTH),
    Case("OpenAI Agents", f"OpenTelemetry genai{_ALSO}", *_AGENTS, (*_GENAI, *_OPENAI), BOTH),
    Case("OpenAI Agents, hand-off", f"OpenTelemetry genai{_ALSO}", *_AGENTS, (*_GENAI, *_OPENAI, *_HANDOFF), SPAN),
    Case("Pydantic AI", "its own", *_PYDANTIC),
    Case("Pydantic AI", "its own, format 2", *_PYDANTIC, ("--instrumentation", "v2")),
    Case("Pydantic AI, streaming", "its own", *_PYDANTIC, _STREAM),
    Case("Pydantic AI, a tool fails", "its own", *_PYDANTIC, _FAILS),
    Case("Pydantic AI, polling", "its own", *_PYDANTIC, _POLL),
    Case("Strands", "its own", *_STRANDS),
    Case("Strands", "its own, latest conventions", *_STRANDS, (), LATEST),
    Case("Strands, a model of Anthropic's", "its own", *_STRANDS, ("--provider", "anthropic")),
    Case("Strands, streaming", "its own", *_STRANDS, _STREAM),
    Case("Strands, a tool fails", "its own", *_STRANDS, _FAILS),
    Case("Strands, malformed arguments", "its own", *_STRANDS, _BADARGS),
    Case("Strands, polling", "its own", *_STRANDS, _POLL),
    Case("Strands, tools that are classes", "its own", *_STRANDS, _CLASSES),
    Case("Strands, an answer in a form", "its own", *_STRANDS, _REPORT),
    Case("Strands, an agent as a tool", "its own", *_STRANDS, _TEAM),
    Case("Strands, a swarm", "its own", *_STRANDS, _SWARM),
    Case("smolagents", "OpenInference", *_SMOL),
    Case("smolagents, streaming", "OpenInference", *_SMOL, _STREAM),
    Case("smolagents, a tool fails", "OpenInference", *_SMOL, _FAILS),
    Case("smolagents, malformed arguments", "OpenInference", *_SMOL, _BADARGS),
    Case("smolagents, polling", "OpenInference", *_SMOL, _POLL),
    Case("smolagents, tools that are classes", "OpenInference", *_SMOL, _CLASSES),
    Case("smolagents, code", "OpenInference", *_SMOL, _CODE),
    Case("smolagents, code, streaming", "OpenInference", *_SMOL, (*_CODE, *_STREAM)),
    Case("smolagents, a managed agent", "OpenInference", *_SMOL, _MANAGED),
    Case("smolagents", "OpenTelemetry genai", *_SMOL, _GENAI, SPAN),
    Case("LlamaIndex", "OpenInference", *_LLAMA),
    Case("LlamaIndex", f"OpenInference{_ALSO}", *_LLAMA, _OPENAI),
    Case("LlamaIndex, a tool fails", "OpenInference", *_LLAMA, _FAILS),
    Case("LlamaIndex, malformed arguments", "OpenInference", *_LLAMA, _BADARGS),
    Case("LlamaIndex, polling", "OpenInference", *_LLAMA, _POLL),
    Case("LlamaIndex retriever", "OpenInference", *_QUERY, _PLAIN),
    Case("LlamaIndex, a query engine as a tool", "OpenInference", *_QUERY, _POLICIES),
    Case("LlamaIndex", "its own", *_LLAMA, _NATIVE),
    Case("LlamaIndex retriever", "its own", *_QUERY, (*_NATIVE, *_PLAIN)),
    Case("LlamaIndex, a query engine as a tool", "its own", *_QUERY, (*_NATIVE, *_POLICIES)),
    Case("Google ADK", "its own", *_ADK, _OWN, SPAN),
    Case("Google ADK", "its own, older schema", *_ADK, _OWN, ADK_1),
    Case("Google ADK, streaming", "its own", *_ADK, (*_OWN, *_STREAM), SPAN),
    Case("Google ADK, streaming", "its own, older schema", *_ADK, (*_OWN, *_STREAM), ADK_1),
    Case("Google ADK, a tool fails", "its own", *_ADK, (*_OWN, *_FAILS), SPAN),
    Case("Google ADK, malformed arguments", "its own", *_ADK, (*_OWN, *_BADARGS), SPAN),
    Case("Google ADK, a long-running tool", "its own", *_ADK, (*_OWN, *_POLL), SPAN),
    Case("Google ADK, transfer", "its own", *_ADK, (*_OWN, *_TRANSFER), SPAN),
    Case("Google ADK, an agent as a tool", "its own", *_ADK, (*_OWN, *_EXPERT), SPAN),
    Case("MCP over stdio", "its own, OpenInference on the OpenAI SDK", *_MCP),
    Case("MCP over stdio", "its own, OpenTelemetry genai on the OpenAI SDK", *_MCP, _GENAI, SPAN),
    Case("MCP over stdio", "runreel.record, OpenInference on the OpenAI SDK", *_MCP, _RECORD),
    Case("MCP over streamable HTTP", "its own, OpenInference on the OpenAI SDK", *_MCP, _HTTP, {}, _MCP_SERVER),
    Case("MCP over SSE", "its own, OpenInference on the OpenAI SDK", *_MCP, _SSE, {}, (*_MCP_SERVER, "--sse")),
)
