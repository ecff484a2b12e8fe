import pytest

from runreel.semconv.providers import provider
from runreel.values import Value


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("az.ai.openai", "azure.ai.openai"),
        ("Vertex_AI", "gcp.vertex_ai"),
        ("openai", "openai"),
        ("openai.responses", "openai"),
        ("aws", "aws.bedrock"),
        ("acme", "acme"),
        (None, ""),
    ],
)
def test_providers_have_the_conventions_names(name: Value, known: str) -> None:
    assert provider(name) == known


@pytest.mark.parametrize(
    ("framework", "model", "known"),
    [
        ("gcp.vertex.agent", "gemini-2.5-flash", "gcp.gemini"),
        ("strands-agents", "claude-sonnet-4-5", "anthropic"),
        ("LangChain", "gpt-4o-mini", "openai"),
        ("strands-agents", "a-model-of-our-own", ""),
        ("strands-agents", "us.anthropic.claude-sonnet-4-20250514-v1:0", "aws.bedrock"),
        ("strands-agents", "amazon.nova-pro-v1:0", "aws.bedrock"),
        ("strands-agents", "us-gov.anthropic.claude-3-haiku-20240307-v1:0", "aws.bedrock"),
        ("strands-agents", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/p", "aws.bedrock"),
        ("strands-agents", "openai.gpt-oss-20b-1:0", ""),
        ("crewai", None, ""),
    ],
)
def test_a_frameworks_name_is_no_provider_the_models_name_tells(framework: str, model: Value, known: str) -> None:
    assert provider(framework, model) == known


def test_a_provider_that_is_named_is_not_guessed_from_the_model() -> None:
    assert provider("acme", "gpt-4o-mini") == "acme"
