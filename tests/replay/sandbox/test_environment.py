"""What an agent's environment keeps, loses and is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.replay.sandbox.environment import DUMMY, QUIET, SDK_KEYS, scrub

SECRET = "planted-credential-7"


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "STRIPE_APIKEY",
        "GITHUB_TOKEN",
        "HF_TOKEN",
        "CLIENT_SECRET",
        "DJANGO_SECRET_KEY",
        "DB_PASSWORD",
        "MYSQL_PWD",
        "PGPASSWORD",
        "SSH_PRIVATE_KEY",
        "LANGSMITH_API_KEY",
        "GOOGLE_CREDENTIALS",
        "api_key",
        "TOKEN",
        "OPENAI_KEY",
        "DB_PASS",
        "LDAP_BIND_PW",
        "BASIC_AUTH",
        "HTTP_AUTHORIZATION",
        "CREDS",
        "SECRET_KEY_BASE",
        "API_KEY_PROD",
        "R2_ACCESS_KEY_ID",
        "PASS",
        "REDISCLI_AUTH",
        "ORACLE_PWD",
        "SSH_KEY_PASSPHRASE",
        "CLIENTSECRET",
        "DBT_ENV_SECRET_WAREHOUSE",
    ],
)
def test_a_credential_is_replaced_by_a_dummy(name: str) -> None:
    assert scrub({name: SECRET})[name] == DUMMY


@pytest.mark.parametrize(
    "name",
    [
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AZURE_CLIENT_SECRET",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "HTTPS_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "NO_PROXY",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "DOCKER_HOST",
        "SENTRY_DSN",
        "KUBECONFIG",
        "KRB5CCNAME",
        "DOCKER_CONFIG",
        "DOCKER_AUTH_CONFIG",
        "REGISTRY_AUTH_FILE",
        "NETRC",
        "PGPASSFILE",
        "BOTO_CONFIG",
        "CLOUDSDK_CONFIG",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        "RUNREEL_TENANT_KEY",
    ],
)
def test_what_leads_to_credentials_proxies_and_agents_is_removed(name: str) -> None:
    assert name not in scrub({name: SECRET})


@pytest.mark.parametrize(
    "name",
    ["PATH", "HOME", "PWD", "OLDPWD", "LANG", "PYTHONPATH", "PYTHONHASHSEED", "VIRTUAL_ENV", "MONKEY",
     "MAX_TOKENS", "SORT_KEY", "COMPASS", "TOKEN_FILE", "OPENAI_API_KEY_PATH", "TOKENIZERS_PARALLELISM",
     "OTEL_SERVICE_NAME", "KEYBOARD", "SECRETARY"],
)  # fmt: skip
def test_everything_else_is_kept(name: str) -> None:
    assert scrub({name: "value"})[name] == "value"


def test_a_password_inside_a_url_is_replaced() -> None:
    kept = scrub({"DATABASE_URL": f"postgres://bob:{SECRET}@db.example:5432/x", "API_URL": "https://api.example/v1"})

    assert kept["DATABASE_URL"] == f"postgres://bob:{DUMMY}@db.example:5432/x"
    assert kept["API_URL"] == "https://api.example/v1"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (f"postgres://bob:{SECRET}@db/x", f"postgres://bob:{DUMMY}@db/x"),
        (f"redis://:{SECRET}@h:6379/0", f"redis://:{DUMMY}@h:6379/0"),
        (f"mongodb+srv://bob:{SECRET}@c/x", f"mongodb+srv://bob:{DUMMY}@c/x"),
        ("amqp://bob:p@ss@h//", f"amqp://bob:{DUMMY}@h//"),
        (f"https://{SECRET}@errors.example.com/1", f"https://{DUMMY}@errors.example.com/1"),
        (f"jdbc:mysql://h/db?user=bob&password={SECRET}", f"jdbc:mysql://h/db?user=bob&password={DUMMY}"),
    ],
)
def test_what_a_dsn_opens_is_replaced_and_where_it_leads_is_kept(value: str, kept: str) -> None:
    assert scrub({"APP_DSN": value})["APP_DSN"] == kept


def test_a_password_inside_a_connection_string_is_replaced() -> None:
    assert scrub({"PG_DSN": f"host=db password={SECRET} user=bob"})["PG_DSN"] == f"host=db password={DUMMY} user=bob"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("AKIAIOSFODNN7EXAMPLE", DUMMY),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", DUMMY),
        ("Authorization: Bearer abc123abc123", f"Authorization: Bearer {DUMMY}"),
        (
            "https://hooks.slack.com/services/T0/B0/XXXXXXXXXXXXXXXXXXXXXXXX",
            f"https://hooks.slack.com/services/{DUMMY}",
        ),
    ],
)
def test_a_credential_is_known_by_its_look_under_whatever_name(value: str, kept: str) -> None:
    assert scrub({"SOMETHING": value})["SOMETHING"] == kept


@pytest.mark.parametrize("value", ["", "0", "true", "No"])
def test_a_switch_is_no_credential(value: str) -> None:
    assert scrub({"USE_API_KEY": value})["USE_API_KEY"] == value


def test_every_sdk_that_demands_a_key_finds_one() -> None:
    kept = scrub({})

    assert {kept[name] for names in SDK_KEYS.values() for name in names} == {DUMMY}


def test_keys_can_be_limited_to_the_providers_of_the_run() -> None:
    kept = scrub({"GROQ_API_KEY": SECRET}, providers=["anthropic", "unheard-of"])

    assert kept["ANTHROPIC_API_KEY"] == DUMMY
    assert kept["GROQ_API_KEY"] == DUMMY
    assert "OPENAI_API_KEY" not in kept


def test_a_region_is_kept_beside_dummy_keys_of_aws() -> None:
    kept = scrub({"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET})

    assert kept["AWS_REGION"] == "eu-west-1"
    assert kept["AWS_ACCESS_KEY_ID"] == kept["AWS_SECRET_ACCESS_KEY"] == DUMMY


def test_telemetry_is_switched_off() -> None:
    kept = scrub({"LANGSMITH_TRACING": "true"})

    assert {name: kept[name] for name in QUIET} == QUIET


NAMES = st.sampled_from(["A_API_KEY", "B_TOKEN", "PATH", "AWS_X", "X_PROXY", "DATABASE_URL", "C"])


@given(st.dictionaries(NAMES, st.text(max_size=20)))
def test_scrubbing_twice_changes_nothing_more_and_the_original_is_left_alone(env: dict[str, str]) -> None:
    before = dict(env)
    once = scrub(env)

    assert scrub(once, providers=SDK_KEYS) == once
    assert env == before
