import pytest

from runreel.processors.redact.names import is_structural, numbers_are, personal_number, says_personal


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gen_ai.tool.call.id", "call_dda6f6b3ffcc05d4dca181a9"), ("gen_ai.response.id", "chatcmpl-29c1"),
        ("gen_ai.request.model", "gpt-4o-mini-2024-07-18"), ("llm.model_name", "gpt-4o-mini"),
        ("gen_ai.conversation.id", "conv-2025550143"), ("trace_id", "0af7651916cd43dd8448eb211c80319c"),
        ("payload.sha256", "sha256:9f86d0"), ("gen_ai.provider.name", "openai"),
        ("llm.input_messages.2.message.tool_call_id", "call_2025550143x"),
    ],
)  # fmt: skip
def test_identifiers_and_model_names_are_structural(name: str, value: str) -> None:
    assert is_structural(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gen_ai.conversation.id", "dana@example.com"), ("gen_ai.conversation.id", "+1 202-555-0143"),
        ("gen_ai.conversation.id", "12025550143"), ("call_id", "203.0.113.7"), ("run_id", "2001:db8::7334"),
        ("user.id", "u-812"), ("session.id", "abc123"), ("id", "abc123"), ("gen_ai.agent.name", "billing"),
        ("gen_ai.tool.call.arguments", "call_1"), ("modelled", "abc"),
    ],
)  # fmt: skip
def test_what_may_be_personal_is_not(name: str, value: str) -> None:
    assert not is_structural(name, value)


@pytest.mark.parametrize(
    ("written", "name", "digits"),
    [
        ("4242424242424242", "v", "4242424242424242"), ("4242424242424242.0", "", "4242424242424242"),
        ("12025550143", "phone", "12025550143"), ("123456780", "customerSsn", "123456780"),
        ("12025550143", "count", None), ("4242424242424242", "created_at", None), ("4242424242424242", "seed", None),
        ("12345678", "phone", None), ("-4242424242424242", "v", "4242424242424242"),
        ("4.242424242424242e+15", "v", "4242424242424242"), ("0.9134567890", "v", None), ("1e15", "v", None),
    ],
)  # fmt: skip
def test_few_numbers_may_be_personal(written: str, name: str, digits: str | None) -> None:
    assert personal_number(written, name) == digits


def test_names_of_people_s_numbers() -> None:
    assert says_personal("mobilePhone")
    assert not says_personal("telemetry")


@pytest.mark.parametrize(
    ("name", "kind"), [("phone_ms", "personal"), ("created_at", "counts"), ("n", "any"), ("", "any")]
)
def test_all_that_a_name_says_of_numbers(name: str, kind: str) -> None:
    assert numbers_are(name) == kind


@pytest.mark.parametrize("value", ["wa:12025550143", "tel:+12025550143", "whatsapp_4915112345678", "x:+4915112345678"])
def test_an_id_made_of_a_phone_number_is_not_structural(value: str) -> None:
    assert not is_structural("gen_ai.conversation.id", value)


@pytest.mark.parametrize("value", ["resp-2025550143-x", "call_12025550143", "run:1747731000123", "msg+abc"])
def test_an_id_with_digits_is_structural(value: str) -> None:
    assert is_structural("gen_ai.conversation.id", value)
