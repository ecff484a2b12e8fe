"""The table of secret rules: how each is found in text, and what a scanner may look for first."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runreel.semconv.pem import BEGIN_OR_END, find_private_keys
from runreel.semconv.secret_assigned import (
    ASSIGNED_GATE,
    BASIC_GATE,
    HEADER_GATE,
    LOGIN_FILE_GATE,
    NAMED,
    NAMED_HINTS,
    PAIR_GATE,
    PARAMETER_GATE,
    assigned_near,
    find_assigned,
    find_basic,
    find_headers,
    find_login_files,
    find_pairs,
    find_parameters,
)
from runreel.semconv.secret_commands import (
    COMMAND_GATE,
    COMMAND_HINTS,
    commands_near,
    find_commands,
    find_options,
    options_near,
)
from runreel.semconv.secret_values import Span, entropy

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


def _listed(name: str, bodies: Mapping[str, str]) -> Rule:
    """Keys with one of many fixed starts, each with a pattern of what follows; without one, 20 or more of the usual."""
    usual = "[A-Za-z0-9_=-]{20,}"
    each = "|".join(re.escape(prefix) + (body or usual) for prefix, body in bodies.items())
    starts = "|".join(re.escape(prefix) for prefix in bodies)
    gate = rf"(?:{starts})[A-Za-z0-9_=+/.:,\-]{{16}}"
    return _key(name, rf"(?<![A-Za-z0-9])(?:{each})", tuple(prefix.lower() for prefix in bodies), gate)


_AWS = r"(?:AKIA|ASIA|ABIA|ACCA)"
_AWS_ID = re.compile(f"{_AWS}[A-Z0-9]{{16}}")
_AWS_PAIR = re.compile(
    rf"{_AWS}[A-Z0-9]{{16}}[\s,;:|\"'/\\]{{1,8}}(?:[\w ]{{0,40}}[=:,][\s\"'\\]{{0,6}})?"
    r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
_RANDOM = 3.5  # bits a character: forty of base 64 have about 4.7, words and hashes fewer than 4


def _find_aws_secrets(text: str, pos: int) -> Iterator[Span]:
    """Yield the secret that stands beside its id, as in the files that one downloads with the pair in them."""
    return _aws_secrets_near(text, [match.span() for match in _AWS_ID.finditer(text, pos)])


def _aws_secrets_near(text: str, hits: Sequence[tuple[int, int]]) -> Iterator[Span]:
    for start in sorted({start for start, _ in hits}):
        match = _AWS_PAIR.match(text, start)
        if match is not None and entropy(match[1]) > _RANDOM:
            yield (*match.span(1), "aws-secret-key")


_DISCORD = r"[MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27}"
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
        r"(?:hooks\.slack\.com/[a-z]{5,10}/|discord(?:app)?\.com/api/webhooks/|hooks\.zapier\.com/hooks/catch/"
        r"|webhook\.office\.com/webhookb2/)([A-Za-z0-9/_@-]{16,})",
        ("hooks.slack.com/", "/api/webhooks/", "hooks.zapier.com/", "webhook.office.com/"),
        r"(?:hooks\.slack\.com/|/api/webhooks/|hooks\.zapier\.com/|webhook\.office\.com/)",
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
    _listed(
        "llm-provider-key",
        {
            "gsk_": "",
            "xai-": "",
            "pplx-": "",
            "r8_": "",
            "tgp_v1_": "",
            "fw_": "",
            "csk-": "",
            "nvapi-": "",
            "tvly-": "",
            "pcsk_": "",
            "fc-": "[0-9a-f]{32}",
            "sk_": "[0-9a-f]{40,}",
            "wandb_v1_": "",
            "jina_": "",
            "bedrock-api-key-": "",
            "ABSK": "[A-Za-z0-9+/=]{60,}",
        },
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
    _listed(
        "saas-key",
        {
            "lin_api_": "",
            "ntn_": "",
            "PMAK-": "",
            "NRAK-": "",
            "figd_": "",
            "ATATT3": "",
            "ATCTT3": "",
            "ATBB": "",
            "dp.pt.": "",
            "dp.st.": "",
            "dp.ct.": "",
            "dp.sa.": "",
            "dckr_pat_": "",
            "dckr_oat_": "",
            "sntrys_": "",
            "sntryu_": "",
            "sq0atp-": "",
            "sq0csp-": "",
            "pscale_tkn_": "",
            "pscale_pw_": "",
            "pscale_oauth_": "",
            "sbp_": "[0-9a-f]{40}",
            "sb_secret_": "",
            "nfp_": "",
            "pul-": "[0-9a-f]{40}",
            "rubygems_": "",
            "oy2": "[a-z0-9]{43}",
            "cio": "[A-Za-z0-9]{32}(?![A-Za-z0-9])",
            "CLOJARS_": "",
            "phx_": "",
            "phs_": "",
            "HRKU-": "",
            "pat-na1-": "",
            "pat-eu1-": "",
            "shippo_live_": "",
            "EZAK": "[A-Za-z0-9]{54}",
            "fio-u-": "",
            "sk.eyJ": "[A-Za-z0-9_.-]{40,}",
            "vercel_blob_rw_": "",
            "fo1_": "",
            "FlyV1 fm2_": r"[A-Za-z0-9+/=,_-]{20,}",
            "tskey-": "",
            "rdme_": "",
            "ops_eyJ": "[A-Za-z0-9_-]{60,}",
            "AZDO": "",
            "akp_": "",
            "ghcr_": "",
            "key-": "[0-9a-f]{32}(?![0-9a-z])",
            "sl.u.": "",
            "EAAC": "[A-Za-z0-9]{40,}",
            "fpk_": "",
            "CFPAT-": "",
            "cloudinary://": r"[0-9]{8,}:[\w-]{10,}(?=@)",
            "dd-app-": "",
            "ddp_": "",
            "ATTA": "[0-9a-f]{60,}",
        },
    ),
    _searched(
        "azure-secret",
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
        ("q~",),
        r"[0-9]Q~[A-Za-z0-9_~.\-]{31}",
    ),
    _searched("discord-token", r"\b[MNO][A-Za-z0-9]{23,25}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])", (".",), _DISCORD),
    _searched("mailchimp-key", r"(?<![0-9a-z])[0-9a-f]{32}-us[0-9]{1,2}(?![0-9a-z])", ("-us",), "[0-9a-f]{32}-us[0-9]"),
    _searched(
        "terraform-token",
        r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}",
        (".atlasv1.",),
        r"\.atlasv1\.[A-Za-z0-9_\-]{40}",
    ),
    _searched("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}", ("pat",), r"pat[A-Za-z0-9]{14}\.[0-9a-f]{16}"),
    Rule(
        "aws-secret-key", _find_aws_secrets, ("akia", "asia", "abia", "acca"), _AWS_ID.pattern, near=_aws_secrets_near
    ),
    _searched(
        "url-userinfo",
        r":(?:\\?/){2}([^\s/?#\"'`<>\\:@\0\1]{0,128}:[^\s/?#\"'`<>\\\0\1]{1,256})@",
        ("://", ":\\/"),
        r":(?:\\?/){2}[^\s/?#\"'`<>\\:@]{0,128}:[^\s/?#\"'`<>\\]{1,256}@",
    ),
    Rule("url-param", find_parameters, ("=",), PARAMETER_GATE),
    Rule("authorization", find_headers, ("authorization", "x-auth-token"), HEADER_GATE, caseless=True),
    _searched(
        "bearer",
        r"\bbearer(?:[ \t]+|%20)([A-Za-z0-9._~+/=-]{16,})",
        ("bearer",),
        "bearer(?:[ \t]+|%20)[A-Za-z0-9._~+/=-]{16}",
        caseless=True,
    ),
    Rule("basic-auth", find_basic, ("basic", "auth"), BASIC_GATE, caseless=True),
    _searched(
        "cookie",
        r"\b(?:set-)?cookie(?:[\"'`\\]{0,6}[ \t]{0,4}:|\\{0,7}[\"'`][ \t]{0,4},)[ \t]{0,4}(?:[bfru](?=[\"'`\\]))?"
        r"[\"'`\\]{0,6}([^\s\"'`\\\0\1=;,{}\[\]]{1,128}=[^\r\n\"'`\\\0\1]*[^\s\"'`\\\0\1])",
        ("cookie",),
        "cookie[\"'`\\\\]{0,7}[ \t]{0,4}[:,]",
        caseless=True,
    ),
    Rule("assigned", find_assigned, NAMED_HINTS, ASSIGNED_GATE, caseless=True, near=assigned_near),
    Rule("paired", find_pairs, ("value",), PAIR_GATE, caseless=True),
    Rule("login-file", find_login_files, ("login", ":5432:", ":5433:", ":6432:"), LOGIN_FILE_GATE),
    Rule(
        "option",
        find_options,
        NAMED_HINTS,
        rf"-[\w.\-]{{0,40}}(?:{NAMED})[\w\-]{{0,12}}[ \t]{{1,8}}[^ \t\r\n]",
        caseless=True,
        near=options_near,
    ),
    Rule("command", find_commands, COMMAND_HINTS, COMMAND_GATE, near=commands_near),
)
