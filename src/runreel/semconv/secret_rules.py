"""The table of secret rules: how each is found in text, and what a scanner may look for first."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from runreel.semconv.pem import BEGIN_OR_END, LIMIT, find_private_keys
from runreel.semconv.secret_names import sensitive_key, sensitive_parameter

Span = tuple[int, int, str]

INERT = "\0"
"""Stands for each character of a mark while text is searched: no rule matches it, and it joins nothing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to recognise secrets.

    Attributes:
        find: Yields (start, end, rule name) in order of start, from a place in the text on.
        hints: Lower-case literals; whatever `find` yields has one of them in it or just before it.
        gate: A regex for scanners, without look-around or captures, caseless where `caseless`. Each secret comes with a
            match of it, which ends at most `reach` characters behind the place where `find` must start.
        near: The same as `find`, but from the (start, end) of every match of the gate. None: it takes what it takes.
    """

    name: str
    find: Callable[[str, int], Iterator[Span]]
    hints: tuple[str, ...]
    gate: str
    caseless: bool = False
    reach: int = 512
    near: Callable[[str, Sequence[tuple[int, int]]], Iterator[Span]] | None = None


def _searched(name: str, pattern: str, hints: tuple[str, ...], gate: str, *, caseless: bool = False) -> Rule:
    """A rule whose pattern is searched for. Its first group, where it has one, is the secret."""
    compiled = re.compile(pattern, re.IGNORECASE if caseless else 0)
    group = 1 if compiled.groups else 0

    def find(text: str, pos: int) -> Iterator[Span]:
        return ((*match.span(group), name) for match in compiled.finditer(text, pos))

    return Rule(name, find, hints, gate, caseless)


def _key(name: str, pattern: str, hints: tuple[str, ...], gate: str) -> Rule:
    """A key that starts where its gate starts, and with no letter or digit before it."""
    rule = _searched(name, pattern, hints, gate)
    match_at = re.compile(f"(?<![A-Za-z0-9]){pattern}").match

    def near(text: str, hits: Sequence[tuple[int, int]]) -> Iterator[Span]:
        done = 0
        for start in sorted({start for start, _ in hits}):
            match = match_at(text, start) if start >= done else None
            if match is not None:
                done = match.end()
                yield (*match.span(), name)

    return replace(rule, near=near)


def _prefixed(name: str, prefix: str, body: str, gate: str = "") -> Rule:
    """A key with a fixed start. The look-behind stands after the literal, which keeps the search for it quick."""
    literal = re.escape(prefix)
    return _key(name, f"{literal}(?<![A-Za-z0-9]{literal}){body}", (prefix.lower(),), literal + gate)


# --- values under a telling name in running text: `password = "x"`, `API_KEY: x`, `"token": "x"` in broken JSON ----

_NAMED = (
    r"pass(?:word|wd|phrase|code|wort)|pwd|secrets?|(?:api|access|account|secret|private|signing|encryption|master|auth"
    r"|subscription|license|shared)[ _.-]?key|token|credentials?|bearer|cvv2?|cvc"
)
_ASSIGNED = re.compile(
    rf"(?:{_NAMED})(?P<tail>[\w-]{{0,12}})[\"'`\\\])]{{0,6}}(?P<sep>[ \t]{{0,8}}(?:=>|[:=]=?)[ \t]{{0,8}})"
    r"(?:(?P<open>\\{0,7}[\"'`])(?P<quoted>(?:\\[^\r\n\0\1]|(?!(?P=open))[^\r\n\0\1]){1,4096}?)(?P=open)"
    r"|\\{0,7}[\"'`]?(?P<bare>[^\s\"'`,;&|<>(){}\[\]\\\0\1]{3,4096}))",
    re.IGNORECASE,
)
_NAMED_PATTERN = re.compile(_NAMED, re.IGNORECASE)
_NAME_REACH = 64
_NAME_HEAD = re.compile(r"(?P<url>://)?(?P<name>[A-Za-z0-9_.%-]{0,48})\Z")
_PLACEHOLDER = re.compile(
    r"none|null|nil|true|false|undefined|string|\*+|\$\{?[\w.]+\}?|\$?\{\{?[^{}]*\}?\}|<[^<>]*>|%\(?\w+\)?s?|__redacted__"
    r"|\[redacted\]",
    re.IGNORECASE,
)
_CODE_GOES_ON = (",", ")")  # `connect(password=password, token=tok)` names variables
_TRAILING = ".,:;!?"


def _find_assigned(text: str, pos: int) -> Iterator[Span]:
    match = _ASSIGNED.search(text, pos)
    while match is not None:
        found = _judge_assigned(text, match)
        # What was taken for a value may be a name with a value (`token: password: x`): go on behind the separator, or,
        # where it goes anyway, near its end.
        pos = match.end("sep")
        if found is not None:
            yield found
            pos = max(pos, found[1] - _NAME_REACH)
        match = _ASSIGNED.search(text, pos)


def _assigned_near(text: str, hits: Sequence[tuple[int, int]]) -> Iterator[Span]:
    pos = 0
    for _, end in hits:
        # The gate ends behind the separator's first sign. What stands before it is short, and holds the name.
        for name in _NAMED_PATTERN.finditer(text, max(pos, end - _NAME_REACH), end):
            match = _ASSIGNED.match(text, name.start())
            found = None if match is None else _judge_assigned(text, match)
            if found is not None:
                yield found
        pos = max(pos, end - 1)


def _judge_assigned(text: str, match: re.Match[str]) -> Span | None:
    """Tell whether what follows a telling name is a value; prose and code say `token` and `key` all the time."""
    start = match.start()
    head = _NAME_HEAD.search(text, max(0, start - 52), start)
    name = (head["name"] if head else "") + text[start : match.end("tail")]
    rule = sensitive_key(name)
    if rule is None or (head and head["url"]):  # `https://token:x@host`: another rule's, which knows where it ends
        return None
    if match["quoted"] is not None:
        return None if _PLACEHOLDER.fullmatch(match["quoted"]) else (*match.span("quoted"), rule)
    value = match["bare"].rstrip(_TRAILING)
    end = match.start("bare") + len(value)
    if len(value) < 3 or _PLACEHOLDER.fullmatch(value) or text[end : end + 1] in ("(", "["):
        return None
    return (match.start("bare"), end, rule) if _is_value(text, match, value, end, rule) else None


def _is_value(text: str, match: re.Match[str], value: str, end: int, rule: str) -> bool:
    """Without quotes a value needs a digit or a sign in it, `name=value` without blanks, or a line of its own."""
    if any(char.isdigit() for char in value):
        return rule in ("password", "secret") or len(value) >= 6
    if not re.fullmatch(r"[\w.]+", value):
        return len(value) >= 6
    if match["sep"] in ("=", "=="):
        return "." not in value and len(value) >= 4 and text[end : end + 1] not in _CODE_GOES_ON
    return rule in ("password", "secret") and "." not in value and text[end : end + 1] in ("", "\r", "\n", LIMIT)


# --- headers and URLs ---------------------------------------------------------------------------------------------

_HEADER = re.compile(
    r"(?:authorization|x-auth-token)[\"'`\\]{0,6}[ \t]{0,4}[:=][ \t]{0,4}[\"'`\\\[]{0,6}"
    r"(?:(?P<scheme>bearer|basic|token|apikey|bot|negotiate|ntlm)[ \t]+(?P<token>[^\s\"'`\\<>\0\1]+)"
    r"|(?:digest|oauth|aws4-hmac-sha256|hawk)[ \t]+(?P<line>[^\"'`\\\r\n\0\1][^\r\n\\\0\1]*)"
    r"|(?P<bare>[^\s\"'`\\<>,;{}()\[\]\0\1]{6,}))",
    re.IGNORECASE,
)


def _find_headers(text: str, pos: int) -> Iterator[Span]:
    for match in _HEADER.finditer(text, pos):
        group = "token" if match["token"] else "line" if match["line"] else "bare"
        value = match[group].rstrip(_TRAILING + ")]}")
        if value and (group != "bare" or any(char.isdigit() for char in value)):
            yield match.start(group), match.start(group) + len(value), "authorization"


_PARAMETER = re.compile(r"(?:\A|(?<=[?&#;\1]))([A-Za-z0-9_.%\-]{1,64})=([^&#\s\"'`<>\\)\]},;\0\1]+)")


def _find_parameters(text: str, pos: int) -> Iterator[Span]:
    for match in _PARAMETER.finditer(text, pos):
        value = match[2].rstrip(".!?:")
        if value and sensitive_parameter(match[1]):
            yield match.start(2), match.start(2) + len(value), "url-param"


_AWS = r"(?:AKIA|ASIA|ABIA|ACCA)"
_B64 = "[A-Za-z0-9+/=_-]"

RULES: tuple[Rule, ...] = (
    Rule("private-key", find_private_keys, ("private key",), BEGIN_OR_END, caseless=True, reach=1 << 40),
    _key(
        "aws-access-key",
        rf"(?<![A-Za-z0-9]){_AWS}[A-Z0-9]{{16}}(?![A-Z0-9])",
        ("akia", "asia", "abia", "acca"),
        f"{_AWS}[A-Z0-9]{{16}}",
    ),
    _prefixed("anthropic-key", "sk-ant-", r"[A-Za-z0-9_-]{16,}"),
    _prefixed("openai-key", "sk-", r"(?=[A-Za-z_-]{0,80}[0-9])[A-Za-z0-9_-]{16,}", "[A-Za-z0-9_-]{16}"),
    _key(
        "github-token",
        r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20}",
    ),
    _key(
        "gitlab-token",
        r"(?<![A-Za-z0-9])gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas)-[A-Za-z0-9_.-]{16,}",
        ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glft-", "glsoat-", "glagent-", "gloas-"),
        "gl[a-z]{2,5}-[A-Za-z0-9_.-]{16}",
    ),
    _key(
        "slack-token",
        r"(?<![A-Za-z0-9])(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})",
        ("xox", "xapp-"),
        "(?:xox[abeoprs]-|xapp-)[A-Za-z0-9-]{10}",
    ),
    _searched(
        "webhook",
        r"(?:hooks\.slack\.com/[a-z]{5,10}/|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9/_-]{16,})",
        ("hooks.slack.com/", "/api/webhooks/"),
        r"(?:hooks\.slack\.com/|/api/webhooks/)",
    ),
    _key("jwt", r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}", ("eyj",), "eyJ[A-Za-z0-9_-]{8}"),
    _prefixed("google-key", "AIza", "[0-9A-Za-z_-]{35}"),
    _prefixed("google-oauth", "ya29.", "[0-9A-Za-z_-]{20,}"),
    _prefixed("google-oauth", "GOCSPX-", "[0-9A-Za-z_-]{20,}"),
    _key(
        "stripe-key",
        r"(?<![A-Za-z0-9])(?:[rs]k_(?:live|test)_[0-9a-zA-Z]{10,}|whsec_[A-Za-z0-9+/=]{20,})",
        ("k_live_", "k_test_", "whsec_"),
        "(?:[rs]k_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{10}",
    ),
    _prefixed("sendgrid-key", "SG.", r"[\w-]{16,32}\.[\w-]{16,64}", r"[\w-]{16}"),
    _prefixed("npm-token", "npm_", "[A-Za-z0-9]{36}"),
    _prefixed("pypi-token", "pypi-", "[A-Za-z0-9_-]{50,}", "[A-Za-z0-9_-]{50}"),
    _prefixed("huggingface-token", "hf_", "[A-Za-z0-9]{20,}", "[A-Za-z0-9]{20}"),
    _key(
        "telegram-token",
        r"(?<![A-Za-z0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
        (":aa",),
        "[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
    ),
    _key("twilio-key", r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])", ("sk",), "SK[0-9a-f]{32}"),
    _key("digitalocean-token", r"do[opr]_v1_[a-f0-9]{64}", ("_v1_",), "do[opr]_v1_[a-f0-9]{16}"),
    _key(
        "shopify-token",
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{16}",
    ),
    _prefixed("databricks-token", "dapi", "[a-f0-9]{32}", "[a-f0-9]{16}"),
    _key(
        "llm-provider-key",
        r"(?<![A-Za-z0-9])(?:gsk_|xai-|pplx-|r8_|tgp_v1_|fw_)[A-Za-z0-9_-]{20,}",
        ("gsk_", "xai-", "pplx-", "r8_", "tgp_v1_", "fw_"),
        "(?:gsk_|xai-|pplx-|r8_|tgp_v1_|fw_)[A-Za-z0-9_-]{20}",
    ),
    _key(
        "vault-token",
        r"(?<![A-Za-z0-9])hv[sbr]\.[A-Za-z0-9_-]{20,}",
        ("hvs.", "hvb.", "hvr."),
        r"hv[sbr]\.[A-Za-z0-9_-]{20}",
    ),
    _prefixed("age-key", "AGE-SECRET-KEY-1", "[0-9A-Z]{50,}"),
    _key("grafana-token", rf"(?<![A-Za-z0-9])gl(?:sa|c)_{_B64}{{20,}}", ("glsa_", "glc_"), "gl(?:sa|c)_"),
    _key("langsmith-key", r"lsv2_(?:pt|sk)_[a-f0-9_]{20,}", ("lsv2_",), "lsv2_"),
    _key(
        "saas-key",
        r"(?<![A-Za-z0-9])(?:lin_api_|ntn_|PMAK-|NRAK-|figd_|ATATT3|dp\.(?:pt|st|ct|sa)\.)"
        r"[A-Za-z0-9_=-]{20,}",
        ("lin_api_", "ntn_", "pmak-", "nrak-", "figd_", "atatt3", "dp."),
        r"(?:lin_api_|ntn_|PMAK-|NRAK-|figd_|ATATT3|dp\.[a-z]{2}\.)[A-Za-z0-9_=-]{20}",
    ),
    _searched(
        "url-userinfo",
        r":(?:\\?/){2}([^\s/?#\"'`<>\\:@\0\1]{0,128}:[^\s/?#\"'`<>\\\0\1]{1,256})@",
        ("://", ":\\/"),
        r":(?:\\?/){2}[^\s/?#\"'`<>\\:@]{0,128}:[^\s/?#\"'`<>\\]{1,256}@",
    ),
    Rule("url-param", _find_parameters, ("=",), r"(?:^|[?&#;\x01])[A-Za-z0-9_.%\-]{1,64}=[^&#\s\"'`<>\\)\]},;]"),
    Rule(
        "authorization",
        _find_headers,
        ("authorization", "x-auth-token"),
        r"(?:authorization|x-auth-token)[\"'`\\]{0,6}[ \t]{0,4}[:=]",
        caseless=True,
    ),
    _searched(
        "bearer",
        r"\bbearer[ \t]+([A-Za-z0-9._~+/=-]{16,})",
        ("bearer",),
        "bearer[ \t]+[A-Za-z0-9._~+/=-]{16}",
        caseless=True,
    ),
    _searched(
        "cookie",
        r"\b(?:set-)?cookie[\"'`\\]{0,6}[ \t]{0,4}:[ \t]{0,4}[\"'`\\]{0,6}"
        r"([^\s\"'`\\\0\1=;,{}\[\]]{1,128}=[^\r\n\"'`\\\0\1]*[^\s\"'`\\\0\1])",
        ("cookie",),
        "cookie[\"'`\\\\]{0,6}[ \t]{0,4}:",
        caseless=True,
    ),
    Rule(
        "assigned",
        _find_assigned,
        ("pass", "pwd", "secret", "key", "token", "credential", "bearer", "cvv", "cvc"),
        rf"(?:{_NAMED})[\w\-]{{0,12}}[\"'`\\\])]{{0,6}}[ \t]{{0,8}}[:=]",
        caseless=True,
        near=_assigned_near,
    ),
)
