import pytest

from runreel.semconv import secret_names
from runreel.semconv.secret_names import sensitive_key, sensitive_parameter


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("password", "password"), ("DB_PASSWORD", "password"), ("newPassword", "password"), ("passwd1", "password"),
        ("password_hash", "password"), ("pass", "password"), ("api_key", "api-key"), ("X-Api-Key", "api-key"),
        ("openaiApiKey", "api-key"), ("AWS_SECRET_ACCESS_KEY", "api-key"), ("private_key", "api-key"),
        ("token", "token"), ("accessToken", "token"), ("X-Amz-Security-Token", "token"), ("client_secret", "secret"),
        ("secrets", "secret"), ("Authorization", "authorization"), ("Set-Cookie", "cookie"),
        ("http.request.header.cookie", "cookie"), ("credentials", "credential"), ("cvv", "card-code"),
        ("PGPASSWORD", "password"), ("clientsecret", "secret"), ("bottoken", "token"), ("SMTP_PASS", "password"),
    ],
)  # fmt: skip
def test_names_that_announce_a_secret(name: str, rule: str) -> None:
    assert sensitive_key(name) == rule


@pytest.mark.parametrize(
    "name",
    ["key", "max_tokens", "input_tokens", "gen_ai.usage.input_tokens", "next_page_token", "nextToken", "token_count",
     "password_policy", "tokenizer", "gen_ai.server.time_to_first_token", "time_per_output_token", "compass",
     "primary_key", "content", "", "4", "x" * 300, "see <SECRET:api-key>", "nexttoken"],
)  # fmt: skip
def test_names_that_announce_nothing(name: str) -> None:
    assert sensitive_key(name) is None


@pytest.mark.parametrize(
    "name", ["sig", "X-Amz-Signature", "x_amz_signature", "API%5FKEY", "access_token", "code", "key"]
)
def test_parameters_that_carry_a_credential(name: str) -> None:
    assert sensitive_parameter(name)


@pytest.mark.parametrize(
    "name", ["page", "next", "se", "sv", "Policy", "Key-Pair-Id", "page_token", "X-Amz-Algorithm", "q"]
)
def test_parameters_that_carry_none(name: str) -> None:
    assert not sensitive_parameter(name)


def test_a_word_that_may_be_a_value_is_judged_as_a_name_is_and_not_remembered() -> None:
    held = secret_names._remembered.cache_info().currsize

    assert [secret_names.sensitive_word(word) for word in ("zq_api_key", "zq_max_tokens", "x" * 300)] == [
        "api-key",
        None,
        None,
    ]
    assert secret_names._remembered.cache_info().currsize == held
