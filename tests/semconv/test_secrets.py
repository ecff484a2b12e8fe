import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.semconv.secret_rules import RULES
from runreel.semconv.secrets import find_secrets, is_secret, strip_secrets

# One invented example a rule: what is found, and the text around it that makes it one.
EXAMPLES = [
    ("aws-access-key", "AKIAIOSFODNN7EXAMPLE", "id {} ."),
    ("anthropic-key", "sk-ant-api03-abcdefABCDEF0123456789", "key: {}"),
    ("openai-key", "sk-test-51HxFAKE0000000000000000", "use {}, please"),
    ("github-token", "ghp_" + "a1B2" * 9, "{}"),
    ("github-token", "github_pat_" + "11ABCDEFG0_" * 3, "{}"),
    ("gitlab-token", "glpat-abcdEFGH12345678wxyz", "{}"),
    ("slack-token", "xoxb-1234567890-0987654321-abcdefghij", "{}"),
    ("webhook", "T000/B000/XXXXXXXXXXXXXXXX", "https://hooks.slack.com/services/{}"),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl", "{}"),
    ("google-key", "AIza" + "SyA1234567" * 3 + "abcde", "{}"),
    ("google-oauth", "ya29.a0AfH6SMBabcdefghijklmnop", "{}"),
    ("google-oauth", "GOCSPX-abcdefghijklmnopqrstuv", "{}"),
    ("stripe-key", "sk_live_abcdefghijklmnop0123", "{}"),
    ("sendgrid-key", "SG.abcdefghijklmnopqrst.abcdefghijklmnopqrst", "{}"),
    ("npm-token", "npm_" + "a1B2" * 9, "{}"),
    ("pypi-token", "pypi-" + "AgEIcHlwaS5v" * 5, "{}"),
    ("huggingface-token", "hf_abcdefghijklmnopqrstuvwxyz", "{}"),
    ("telegram-token", "123456789:AA" + "abcdefghijk" * 3, "{}"),
    ("twilio-key", "SK" + "0123456789abcdef" * 2, "{}"),
    ("digitalocean-token", "dop_v1_" + "0123456789abcdef" * 4, "{}"),
    ("shopify-token", "shpat_" + "0123456789abcdef" * 2, "{}"),
    ("databricks-token", "dapi" + "0123456789abcdef" * 2, "{}"),
    ("llm-provider-key", "gsk_abcdefghijklmnopqrstuvwx", "{}"),
    ("vault-token", "hvs.CAESIabcdefghijklmnopqrs", "{}"),
    ("age-key", "AGE-SECRET-KEY-1" + "QPZRY9X8GF" * 6, "{}"),
    ("grafana-token", "glsa_abcdefghijklmnopqrstuvwxyz", "{}"),
    ("langsmith-key", "lsv2_pt_0123456789abcdef0123456789abcdef", "{}"),
    ("saas-key", "lin_api_abcdefghijklmnopqrstuvwx", "{}"),
    ("url-userinfo", "user:pa%40ss", "postgres://{}@db.example.com:5432/x?sslmode=on"),
    ("url-userinfo", "user:p@ss", "https://{}@db.example.com/x"),
    ("url-param", "0badc0de", "https://x.example.com/a?X-Amz-Signature={}&page=2"),
    ("url-param", "k-123", "/v1?page=2&API%5FKEY={}"),
    ("url-param", "00ff", "X-Goog-Signature={}&alt=media"),
    ("authorization", "tok_0123456789abcdef", 'curl -H "Authorization: Bearer {}" x'),
    ("authorization", "dXNlcjpwYXNz", "authorization: basic {}"),
    ("authorization", 'username="u", response="0123"', "Authorization: Digest {}"),
    ("bearer", "abcdefgh12345678", "send Bearer {} with it"),
    ("cookie", "sid=abc; theme=dark", "Cookie: {}\nHost: example.com"),
    ("password", "hunter2-not-real", 'password = "{}"'),
    ("password", "hunter2", "password: {}\n"),
    ("password", "swordfish", "DB_PASSWORD={}"),
    ("password", "correct", "login:\n  password: {}\n  user: bob"),
    ("password", "it''s \\\"x\\\" here", '{{"password": "{}", "n": 1}}'),
    ("password", "abc", '"args": "{{\\"password\\": \\"{}\\"}}"'),
    ("password", "p w", "{{'db_password': '{}'}}"),
    ("api-key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "export AWS_SECRET_ACCESS_KEY={}\n"),
    ("api-key", "abc-123-def", "X-Api-Key: {}"),
    ("token", "abcdef123456", "token => '{}'"),
    ("token", "abcd1234", "refreshToken := `{}`"),
    ("secret", "s3cr3t", "client_secret: {}."),
]


@pytest.mark.parametrize(("rule", "secret", "around"), EXAMPLES)
def test_each_rule_finds_its_example_and_nothing_around_it(rule: str, secret: str, around: str) -> None:
    text = around.format(secret)

    found = find_secrets(text)

    start = around.replace("{{", "{").index("{}")
    assert found == [(start, start + len(secret), rule)]
    assert strip_secrets(text) == text.replace(secret, f"<SECRET:{rule}>")


@pytest.mark.parametrize(("rule", "secret", "around"), EXAMPLES)
def test_what_a_rule_removes_is_a_secret_of_that_rule(rule: str, secret: str, around: str) -> None:
    assert is_secret(rule, secret)


def test_every_rule_has_an_example_here() -> None:
    named = {rule for rule, _, _ in EXAMPLES} | {"private-key", "assigned"}  # test_pem.py; named by what it finds

    assert {rule.name for rule in RULES} <= named


@pytest.mark.parametrize(("rule", "secret", "around"), EXAMPLES)
def test_every_find_comes_with_its_gate_and_a_hint(rule: str, secret: str, around: str) -> None:
    text = around.format(secret)

    for one in RULES:
        spans = list(one.find(text, 0))
        if not spans:
            continue
        gate = re.compile(one.gate, re.IGNORECASE if one.caseless else 0)
        hits = [match.span() for match in gate.finditer(text)]
        assert hits
        assert hits[0][1] - one.reach <= spans[0][0]
        assert any(hint in text.lower() for hint in one.hints)
        if one.near is not None:
            assert set(one.near(text, hits)) == set(spans)


@pytest.mark.parametrize(
    "text",
    [
        "the token: it expired. password: please enter a new one",
        "max_tokens=500, token=None, page_token=abc123def",
        "        if token is None: token = self._target.get('notice', 31)",
        "self.key[token] = payload(event, job)  # password policy",
        "connect(user, password=password, token=tok)",
        "<task-notification> disk-usage-for-everything-here",
        "https://example.com/a?next_page_token=abc123&page=2&se=2026-01-02#section",
        "signature = inspect.signature(f)",
        "authorization: required, see below",
        'password = "${DB_PASSWORD}" or <password>',
        '"password": {"type": "string"}, "token": null',
        "ssh://git@github.com/acme/repo.git and http://host:8080/x",
        "0af7651916cd43dd8448eb211c80319c 110bcd25-a55d-453a-8046-1297901ea002",
        "call_dda6f6b3ffcc05d4dca181a9 chatcmpl-29c1 resp_68a1b2c3d4",
        "the cookie banner: accept all",
    ],
)
def test_talk_about_secrets_and_code_that_handles_them_stay(text: str) -> None:
    assert find_secrets(text) == []


@pytest.mark.parametrize(
    ("url", "left"),
    [
        (
            "https://b.example.com/r?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F2026&X-Amz-Signature=0badc0de&X-Amz-Date=1",
            "https://b.example.com/r?X-Amz-Credential=*&X-Amz-Signature=*&X-Amz-Date=1",
        ),
        (
            "https://acct.blob.core.windows.net/c/f?sv=2024-01-01&se=2026-01-02&sig=Zm9vYmFy%2Bfoo%3D",
            "https://acct.blob.core.windows.net/c/f?sv=2024-01-01&se=2026-01-02&sig=*",
        ),
        (
            "https://storage.googleapis.com/b/o?X-Goog-Signature=00ff&X-Goog-Credential=x",
            "https://storage.googleapis.com/b/o?X-Goog-Signature=*&X-Goog-Credential=*",
        ),
        ("https://user:pa%40ss@db.example.com:5432/x?sslmode=on", "https://*@db.example.com:5432/x?sslmode=on"),
        (
            "https://api.example.com/v1?x_amz_signature=aa&API%5FKEY=k-123&page=2#access_token=abc",
            "https://api.example.com/v1?x_amz_signature=*&API%5FKEY=*&page=2#access_token=*",
        ),
        (
            "https://cdn.example.com/f?Policy=eyJ&Signature=abc&Key-Pair-Id=K1",
            "https://cdn.example.com/f?Policy=eyJ&Signature=*&Key-Pair-Id=K1",
        ),
        ("https://example.com/reset?token=abc.def.ghi&next=/home", "https://example.com/reset?token=*&next=/home"),
    ],
)
def test_of_signed_urls_only_the_secret_values_go(url: str, left: str) -> None:
    text = f"saved {url}, see ({url})."

    stripped = re.sub("<SECRET:[a-z-]+>", "*", strip_secrets(text))

    assert stripped == f"saved {left}, see ({left})."


def test_marks_of_an_earlier_redaction_are_not_secrets() -> None:
    text = "password: <SECRET:password> token=<EMAIL_7f3a9c02> api_key: <WITHHELD:redaction_failed>"

    assert find_secrets(text) == []


def test_a_name_in_the_place_of_a_value_does_not_hide_the_value() -> None:
    assert strip_secrets("token: password: abc1 x") == "token: password: <SECRET:password> x"


def test_an_unknown_rule_and_an_empty_text_are_no_secrets() -> None:
    assert not is_secret("no-such-rule", "AKIAIOSFODNN7EXAMPLE")
    assert not is_secret("password", "")


def test_a_secret_with_more_around_it_is_not_what_the_rule_removed() -> None:
    assert not is_secret("aws-access-key", "AKIAIOSFODNN7EXAMPLE and more")


_PIECES = st.sampled_from(
    [around.format(secret) for _, secret, around in EXAMPLES]
    + ["token", "password", ": ", "=", '"', "'", "\n", "\\n", "://", "@", "?", "&", "(", "<EMAIL_7f3a9c02>", "x", "4"]
)


@given(st.lists(_PIECES, max_size=8).map("".join))
def test_stripping_twice_is_stripping_once(text: str) -> None:
    once = strip_secrets(text)

    assert strip_secrets(once) == once
