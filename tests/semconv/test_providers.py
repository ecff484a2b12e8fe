import pytest

from runreel.semconv.providers import provider
from runreel.values import Value


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("az.ai.openai", "azure.ai.openai"),
        ("Vertex_AI", "gcp.vertex_ai"),
        ("openai", "openai"),
        ("acme", "acme"),
        (None, ""),
    ],
)
def test_providers_have_the_conventions_names(name: Value, known: str) -> None:
    assert provider(name) == known
