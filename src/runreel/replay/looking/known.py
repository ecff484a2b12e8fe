"""What a dry look knows of libraries: model clients, agent frameworks, and the instrumentations that record them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Final

from runreel.replay.looking.sources import Sources
from runreel.semconv.switches import content_switch

_CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_MODES: Final = ("SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT")
_OPENINFERENCE: Final = "openinference.instrumentation."
_GENAI: Final = "opentelemetry.instrumentation.genai."
_OTEL: Final = "opentelemetry.instrumentation."
_HIDE: Final = ("INPUTS", "OUTPUTS", "INPUT_MESSAGES", "OUTPUT_MESSAGES", "INPUT_TEXT", "OUTPUT_TEXT")
_FALSE: Final = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, slots=True)
class Library:
    """A model client or an agent framework: the modules by which code shows that it uses it, and its package.

    `api` is how its requests to models are answered; "" where no protocol here does. `below` are the clients that a
    framework may ask through. `own` says how it records itself, where it does; `switched` are names of calls and
    keywords one of which switches that on (none: it is always on).
    """

    key: str
    title: str
    modules: tuple[str, ...]
    package: str
    api: str = ""
    below: tuple[str, ...] = ()
    instrument: str = ""
    own: str = ""
    switched: tuple[str, ...] = ()


_WIRE: Final = "answered on the wire"
_OI: Final = "pip install openinference-instrumentation-{0}, then {1}().instrument() at the start"


def _openinference(name: str, instrumentor: str) -> str:
    return _OI.format(name, instrumentor)


LIBRARIES: Final = (
    Library(
        "openai",
        "OpenAI SDK",
        ("openai",),
        "openai",
        f"chat completions, responses, embeddings: {_WIRE}",
        instrument="pip install opentelemetry-instrumentation-genai-openai, then OpenAIInstrumentor().instrument() at "
        "the start",
    ),
    Library(
        "anthropic",
        "Anthropic SDK",
        ("anthropic",),
        "anthropic",
        f"messages: {_WIRE}",
        instrument="pip install opentelemetry-instrumentation-genai-anthropic, then "
        "AnthropicInstrumentor().instrument() at the start",
    ),
    Library(
        "google_genai",
        "Gen AI SDK",
        ("google.genai", "google.generativeai"),
        "google-genai",
        f"generateContent, plain and streaming: {_WIRE}",
        instrument=_openinference("google-genai", "GoogleGenAIInstrumentor"),
    ),
    Library("bedrock", "Bedrock (boto3)", ("boto3", "botocore", "aiobotocore", "langchain_aws"), "boto3"),
    Library("cohere", "Cohere SDK", ("cohere", "langchain_cohere"), "cohere"),
    Library("watsonx", "watsonx SDK", ("ibm_watsonx_ai", "langchain_ibm"), "ibm-watsonx-ai"),
    Library(
        "langchain",
        "LangChain",
        (
            "langchain",
            "langchain_core",
            "langgraph",
            "langchain_openai",
            "langchain_anthropic",
            "langchain_google_genai",
        ),
        "langchain-core",
        f"its OpenAI, Anthropic and Gemini models: {_WIRE}",
        ("openai", "anthropic", "google_genai"),
        _openinference("langchain", "LangChainInstrumentor"),
    ),
    Library(
        "openai_agents",
        "OpenAI Agents",
        ("agents",),
        "openai-agents",
        f"responses and chat completions: {_WIRE}",
        ("openai",),
        _openinference("openai-agents", "OpenAIAgentsInstrumentor"),
    ),
    Library(
        "pydantic_ai",
        "Pydantic AI",
        ("pydantic_ai",),
        "pydantic-ai-slim",
        f"its OpenAI, Anthropic and Gemini models: {_WIRE}",
        ("openai", "anthropic", "google_genai"),
        "call Agent.instrument_all() at the start",
        "pydantic-ai",
        ("instrument_all", "InstrumentationSettings", "instrument_pydantic_ai", "instrument"),
    ),
    Library(
        "google_adk",
        "Google ADK",
        ("google.adk",),
        "google-adk",
        f"generateContent, plain and streaming: {_WIRE}",
        ("google_genai",),
        own="gcp.vertex.agent",
    ),
    Library(
        "strands",
        "Strands",
        ("strands",),
        "strands-agents",
        f"its OpenAI, Anthropic and Gemini models: {_WIRE}; Bedrock is not answered",
        ("openai", "anthropic", "google_genai"),
        own="strands.telemetry.tracer",
    ),
    Library(
        "smolagents",
        "smolagents",
        ("smolagents",),
        "smolagents",
        f"OpenAI-compatible models: {_WIRE}",
        ("openai",),
        _openinference("smolagents", "SmolagentsInstrumentor"),
    ),
    Library(
        "llama_index",
        "LlamaIndex",
        ("llama_index",),
        "llama-index-core",
        f"its OpenAI, Anthropic and Gemini models: {_WIRE}",
        ("openai", "anthropic", "google_genai"),
        _openinference("llama-index", "LlamaIndexInstrumentor"),
    ),
)
BESIDE: Final = {"mcp": ("mcp", "fastmcp"), "langgraph-checkpoint": ("langgraph",)}
"""Packages that have adapters and no models of their own, by the modules that show that they are used."""

BY_KEY: Final = {one.key: one for one in LIBRARIES}
_ALIASES: Final = {
    "openai_v2": "openai",
    "llamaindex": "llama_index",
    "botocore": "bedrock",
    "vertexai": "google_genai",
    "google_generativeai": "google_genai",
}


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """One that is installed, or part of a framework: what it records (a key of LIBRARIES, or another name);
    `sure` where nothing but starting the agent decides that it is switched on."""

    module: str
    package: str
    covers: str
    sure: bool = True

    @property
    def scope(self) -> str:
        """Return the name of its spans' scope, as far as the settings for content go by it."""
        return f"{self.module}.v1" if self.module == f"{_OTEL}openai" else self.module

    @property
    def title(self) -> str:
        """Return it as people know it."""
        return f"{self.package} {version_of(self.package)}".strip()


def version_of(package: str) -> str:
    """Return the version that is installed, "" where none is."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def instrumentation_of(imported: str) -> str:
    """Return the module of the instrumentation that an import takes something from; "" where it is none for GenAI."""
    prefix = next((one for one in (_GENAI, _OPENINFERENCE, _OTEL) if imported.startswith(one)), "")
    name = imported[len(prefix) :].partition(".")[0]
    known = _ALIASES.get(name, name) in BY_KEY or name in _OPENLLMETRY
    return f"{prefix}{name}" if prefix and (prefix != _OTEL or known) else ""


def instrumentations() -> Iterator[Instrumentation]:
    """Yield the GenAI instrumentations that are installed, as their packages register them."""
    for point in entry_points(group="opentelemetry_instrumentor"):
        module = point.value.partition(":")[0]
        own = instrumentation_of(module)
        if own:  # others are for databases, web servers, HTTP clients
            name = own.rpartition(".")[2]
            yield Instrumentation(own, point.dist.name if point.dist else own, _ALIASES.get(name, name))


_OPENLLMETRY: Final = frozenset({"mcp", "crewai", "groq", "mistralai", "ollama", "chromadb", "pinecone", "together"})


def content_problem(scope: str, settings: Mapping[str, str], sources: Sources) -> tuple[str, str]:
    """Say why content would not be sent, and what to set; two times "" where it is sent."""
    rule = next(rule for start, rule in _RULES if scope.startswith(start))
    says = rule(settings, sources)
    return (says, content_switch(scope, "input")) if says else ("", "")


def _by_mode(settings: Mapping[str, str], _: Sources) -> str:
    value = settings.get(_CAPTURE, "")
    if value.upper() in _MODES:
        return ""
    return f"content is off: {_CAPTURE} is {value!r}" if value else f"content is off: {_CAPTURE} is not set"


def _by_switch(settings: Mapping[str, str], sources: Sources) -> str:
    if "gen_ai_latest_experimental" in settings.get("OTEL_SEMCONV_STABILITY_OPT_IN", ""):
        return _by_mode(settings, sources)
    return "" if settings.get(_CAPTURE, "").lower() == "true" else _by_mode({}, sources)


def _unless_hidden(settings: Mapping[str, str], sources: Sources) -> str:
    names = [f"OPENINFERENCE_HIDE_{one}" for one in _HIDE]
    said = next((f"{name}={settings[name]}" for name in names if settings.get(name, "").lower() == "true"), "")
    keyword = next((f"{one.lower()}=True" for one in _HIDE if (f"hide_{one.lower()}", True) in sources.keywords), "")
    hidden = said or (f"hide_{keyword} in the code" if keyword else "")
    return f"content is hidden: {hidden}" if hidden else ""


def _unless_off(settings: Mapping[str, str], _: Sources) -> str:
    value = settings.get("TRACELOOP_TRACE_CONTENT", "")
    return f"content is off: TRACELOOP_TRACE_CONTENT={value}" if value.lower() in _FALSE else ""


def _unless_left_out(_: Mapping[str, str], sources: Sources) -> str:
    place = sources.keywords.get(("include_content", False), "")
    return f"content is off: include_content=False at {place}" if place else ""


def _always(_: Mapping[str, str], __: Sources) -> str:
    return ""


_RULES: Final[tuple[tuple[str, Callable[[Mapping[str, str], Sources], str]], ...]] = (
    (_GENAI, _by_mode),
    (_OPENINFERENCE, _unless_hidden),
    (f"{_OTEL}openai_v2", _by_switch),
    (f"{_OTEL}vertexai", _by_switch),
    (f"{_OTEL}botocore", _by_switch),
    (f"{_OTEL}google_genai", _by_mode),
    (_OTEL, _unless_off),
    ("gcp.vertex.agent", _by_mode),
    ("pydantic-ai", _unless_left_out),
    ("", _always),
)
