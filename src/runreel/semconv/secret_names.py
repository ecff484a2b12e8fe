"""The names that announce a secret: of keys in JSON, of variables and headers, of parameters in URLs."""

import re
from functools import lru_cache
from urllib.parse import unquote

KEY_RULES = frozenset(
    {"password", "secret", "api-key", "token", "credential", "authorization", "cookie", "card-code", "url-param",
     "bearer", "url-userinfo", "webhook", "basic-auth", "aws-secret-key"}
)  # fmt: skip
"""Rules that go by the name or the place of a value, so that any value may stand there."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# Words that may follow the telling one (`passwordHash`, `token_value`, `password1`) without changing what it is.
_TAILS = frozenset({"value", "hash", "b64", "base64", "header", "plain", "plaintext", "text", "str", "string", "raw"})
# A token with one of these before it says where a list goes on, or how much was used.
_HARMLESS_TOKENS = frozenset(
    {"next", "page", "pagination", "continuation", "continue", "cursor", "sync", "resume", "max", "min", "num", "total",
     "per", "of", "first", "last", "each", "input", "output", "prompt", "completion", "cached", "reasoning", "stop",
     "eos", "bos", "pad", "sep", "unk", "mask", "special", "cancellation", "cancel", "de", "sub"}
)  # fmt: skip
_KEY_KINDS = frozenset(
    {"api", "access", "account", "secret", "private", "signing", "encryption", "master", "auth", "subscription",
     "license", "shared", "app", "consumer", "service", "deploy", "functions"}
)  # fmt: skip
_LAST: dict[str, str] = {
    **dict.fromkeys(("password", "passwd", "passphrase", "passcode", "passwort", "pwd"), "password"),
    **dict.fromkeys(("secret", "secrets"), "secret"),
    **dict.fromkeys(("apikey", "accesskey", "secretkey", "privatekey", "accountkey", "authkey"), "api-key"),
    **dict.fromkeys(("token", "jwt", "otp", "accesstoken", "authtoken", "refreshtoken", "idtoken"), "token"),
    **dict.fromkeys(("credential", "credentials", "creds"), "credential"),
    **dict.fromkeys(("authorization", "bearer"), "authorization"),
    **dict.fromkeys(("cookie", "cookies"), "cookie"),
    **dict.fromkeys(("cvv", "cvv2", "cvc", "cvc2"), "card-code"),
}
# A word may end in one of these: `PGPASSWORD`, `dbpasswd`, `clientsecret`, `bottoken`.
_ENDINGS = ("password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey", "secret", "token")
# What stands before `pass` where it is a password: `DB_PASS`, but not `low_pass`.
_PASS_KINDS = frozenset(
    {"db", "database", "user", "smtp", "redis", "proxy", "root", "admin", "mysql", "pg", "postgres", "mail", "email",
     "imap", "ftp", "sftp", "ssh", "ldap", "login", "auth", "http", "https", "app", "ssl", "key", "keystore", "wifi",
     "vpn", "sudo", "sql", "mongo", "rabbitmq", "amqp", "registry", "docker", "svc", "service", "rpc", "jenkins",
     "account", "client", "store", "rds", "env"}
)  # fmt: skip
# Of a URL's parameters these are credentials too, by short names that mean something else elsewhere.
_PARAMETERS = frozenset(
    {"signature", "sig", "key", "auth", "code", "pass", "hmac", "sas", "otp", "assertion", "ticket"}
)
_HARMLESS_KEYS = frozenset({"primary", "foreign", "sort", "cache", "partition", "public", "object", "row", "group"})

LONGEST_NAME = 256
"""Characters of the longest name that is looked at as one: what is known of names is remembered, and whoever sends them
must not decide how much that is."""


def sensitive_key(name: str) -> str | None:
    """Return the rule that takes the whole value under a name, None where the name announces nothing.

    `api_key`, `X-Api-Key`, `openaiApiKey`, `DB_PASSWORD`, `Set-Cookie` announce; `max_tokens`, `next_page_token`,
    `password_policy`, `key` do not.
    """
    return _remembered(name) if len(name) <= LONGEST_NAME else None


def sensitive_word(text: str) -> str | None:
    """Return the same for a text that may be a value: nothing of it is remembered, for it may be the secret itself."""
    return _rule(text) if len(text) <= LONGEST_NAME else None


def _rule(name: str) -> str | None:
    if "<SECRET:" in name:  # what a rule left is not its end
        return None
    words = [word.lower() for word in _WORD.findall(name)]
    while words and (words[-1] in _TAILS or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "key":
        return "api-key" if before in _KEY_KINDS else None
    if last == "pass":
        return "password" if len(words) == 1 or before in _PASS_KINDS else None
    if last in ("token", "tokens") and before in _HARMLESS_TOKENS:
        return None
    return _LAST.get(last) or _by_ending(last)


_remembered = lru_cache(maxsize=4096)(_rule)


def _by_ending(word: str) -> str | None:
    for ending in _ENDINGS:
        if word.endswith(ending):
            harmless = ending == "token" and word[: -len(ending)] in _HARMLESS_TOKENS
            return None if harmless else _LAST[ending]
    return None


@lru_cache(maxsize=4096)
def sensitive_parameter(name: str) -> bool:
    """Tell whether a URL's parameter carries a credential: `X-Amz-Signature`, `API%5FKEY`, `sig`, `access_token`."""
    plain = unquote(name)
    if sensitive_key(plain) is not None:
        return True
    words = [word.lower() for word in _WORD.findall(plain)]
    return bool(words) and words[-1] in _PARAMETERS and not (len(words) > 1 and words[-2] in _HARMLESS_KEYS)
