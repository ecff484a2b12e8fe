"""The environment of a sandboxed agent: no credential, no way to an agent of the desktop, no vendor's telemetry."""

import re
from collections.abc import Iterable, Mapping

from runreel.semconv.secrets import find_secrets

DUMMY = "runreel-replay"
"""What stands in for every credential: libraries that only ask whether there is one are content."""

SDK_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "aws": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
}
"""Variables that an SDK wants before it makes a client, by provider."""

QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "AWS_EC2_METADATA_DISABLED": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_TELEMETRY": "False",
    "SCARF_NO_ANALYTICS": "true",
    "TRACELOOP_TELEMETRY": "false",
}
"""Switches that keep libraries from calling home; what they still try is a note in the report."""

_CREDENTIAL = re.compile(
    r"(PASSWORD|PASSWD|PASSPHRASE|APIKEY|CLIENTSECRET"
    r"|(^|_)(API_KEYS?|ACCESS_?KEYS?|ACCESS_KEY_ID|SECRET(_?KEYS?|S|_ACCESS_KEY)?|TOKEN|PWD|PAT|BEARER|COOKIES?"
    r"|PRIVATE_?KEYS?|CREDENTIALS?|CREDS|AUTH_?KEYS?|SIGNING_?KEYS?|ENCRYPTION_?KEYS?|MASTER_?KEYS?|PASS|PW|USERPASS"
    r"|AUTH|AUTHORIZATION|JWT)"
    r"|(^|_)(API_?KEY|SECRET_?KEY|PRIVATE_?KEY|PASSWORD|ACCESS_TOKEN|AUTH_TOKEN|CREDENTIALS|SECRET)_[A-Z0-9]+)$",
    re.IGNORECASE,
)
# What says where a credential is, or how one looks, is none.
_ABOUT = re.compile(
    r"_(FILE|PATH|DIR|NAME|URL|URI|HEADER|PREFIX|LENGTH|TTL|LIFETIME|TIMEOUT|ALGORITHM|POLICY)$", re.IGNORECASE
)
_MAYBE_KEY = re.compile(r"(^|_)KEY$", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_.-]{1,24}")  # SORT_KEY=created_at
_REMOVED = re.compile(
    r"^(AWS_.*|AZURE_(CLIENT|TENANT|FEDERATED|USERNAME|AUTHORITY).*|(BOTO|CLOUDSDK)_.*|GOOGLE_APPLICATION_CREDENTIALS"
    r"|.*_PROXY|SSH_(AUTH_SOCK|AGENT_PID|ASKPASS|CONNECTION|CLIENT)|DBUS_.*|GPG_AGENT_INFO|GNOME_KEYRING_.*"
    r"|KRB5CCNAME|DOCKER_(HOST|CERT_PATH|CONTEXT|TLS_VERIFY|CONFIG|AUTH_CONFIG)|REGISTRY_AUTH_FILE"
    r"|CONTAINER_HOST|KUBECONFIG|KUBERNETES_.*|VAULT_ADDR"
    r"|RUNREEL_TENANT_KEY|NETRC|SENTRY_DSN|PGPASSFILE|PGSERVICEFILE|VSCODE_(IPC|GIT_IPC)_.*|GIT_ASKPASS|SUDO_ASKPASS"
    r"|OTEL_EXPORTER_OTLP_(.*_)?(HEADERS|CERTIFICATE|CLIENT_KEY|CLIENT_CERTIFICATE))$",
    re.IGNORECASE,
)
_NO_CREDENTIAL = frozenset({"PWD", "OLDPWD"})
_SWITCHES = frozenset({"", "0", "1", "true", "false", "yes", "no", "on", "off"})
_PASSWORD_IN_URL = re.compile(r"([a-z][a-z0-9+.-]*://[^\s/@:]*:)[^\s/]+(?=@)", re.IGNORECASE)
_KEY_IN_DSN = re.compile(r"(https?://)[^\s/@:]+(?=@)", re.IGNORECASE)
_PASSWORD_IN_DSN = re.compile(r"\b((?:password|pwd)=)[^\s;&]+", re.IGNORECASE)


def scrub(env: Mapping[str, str], *, providers: Iterable[str] | None = None) -> dict[str, str]:
    """Return a copy of an environment that opens nothing.

    Credentials (told by their names, and by how they look) get a dummy value, so that an agent which asks whether it
    has one behaves as recorded; a password inside a URL or a connection string likewise. Variables that lead to
    credentials, proxies and agents (`AWS_PROFILE`, `HTTPS_PROXY`, `SSH_AUTH_SOCK`...) are removed. Telemetry is
    switched off.

    Args:
        providers: Whose SDKs get a dummy key even where none was set (keys of SDK_KEYS); None means all of them.
            Unknown names are no error: a provider without an SDK of its own needs no key.
    """
    kept = {name: _harmless(name, value) for name, value in env.items() if not _REMOVED.match(name)}
    for provider in SDK_KEYS if providers is None else providers:
        for name in SDK_KEYS.get(provider, ()):
            kept[name] = DUMMY
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        if name in env:
            kept[name] = env[name]  # where a service is, not how to get in; clients refuse to be made without
    return {**kept, **QUIET}


def _harmless(name: str, value: str) -> str:
    if _names_credential(name, value):
        return value if value.lower() in _SWITCHES else DUMMY
    if name.upper().endswith("DSN"):  # of an error tracker: its user name is its key
        value = _KEY_IN_DSN.sub(rf"\g<1>{DUMMY}", value)
    value = _PASSWORD_IN_DSN.sub(rf"\g<1>{DUMMY}", _PASSWORD_IN_URL.sub(rf"\g<1>{DUMMY}", value))
    for start, end, _ in sorted(find_secrets(value), reverse=True):
        if DUMMY not in value[start:end]:
            value = f"{value[:start]}{DUMMY}{value[end:]}"
    return value


def _names_credential(name: str, value: str) -> bool:
    if name in _NO_CREDENTIAL or _ABOUT.search(name):
        return False
    if _MAYBE_KEY.search(name) and not _WORD.fullmatch(value):
        return True
    return _CREDENTIAL.search(name) is not None
