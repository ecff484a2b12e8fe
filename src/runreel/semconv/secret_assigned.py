"""Secrets in text that a name beside them announces: assignments, pairs of name and value, headers, parameters of URLs.

`password = "x"`, `API_KEY: x`, `('x-api-key', 'x')`, `<token>x</token>`, `name: API_TOKEN, value: x`, `login u password
x`, `Authorization: Bearer x`, `?sig=x`; also where JSON around them is broken.
"""

import binascii
import re
from collections.abc import Iterator, Sequence

from runreel.semconv.pem import LIMIT
from runreel.semconv.secret_names import sensitive_key, sensitive_parameter
from runreel.semconv.secret_values import PLACEHOLDER, TRAILING, Span, is_placeholder, is_word, looks_random

_KINDS = (
    "api access account secret private signing encryption master auth subscription license shared app consumer service"
)
NAMED = "|".join(
    [
        r"pass(?:word|wd|phrase|code|wort)?|pwd|secrets?|token|credentials?|bearer|jwt|otp|cvv2?|cvc",
        *(rf"{kind}[ _.-]?key" for kind in (*_KINDS.split(), "deploy", "functions")),
    ]
)
"""A regex, to be used caseless: what is in every name that `sensitive_key` knows, headers aside."""
NAMED_HINTS = ("pass", "pwd", "secret", "key", "token", "credential", "bearer", "jwt", "otp", "cvv", "cvc")

_OPEN = r"[bfruBFRU]{0,2}(?P<open>\\{0,7}[\"'`])"
_QUOTED = _OPEN + r"(?P<quoted>(?:\\[^\r\n\0\1]|(?!(?P=open))[^\r\n\0\1]){1,4096}?)(?P=open)"
_BARE = r"[^\s\"'`,;&|<>(){}\[\]\\\0\1]{3,4096}"
_ASSIGNED = re.compile(
    rf"(?:{NAMED})(?P<tail>[\w-]{{0,12}})"
    r"(?:[\"'`\\\])]{0,6}(?P<sep>[ \t]{0,8}(?:=>|[:=]=?)[ \t]{0,8})"
    rf"(?:{_QUOTED}|\\{{0,7}}[\"'`]?(?P<bare>{_BARE}))"
    r"|\\{0,7}[\"'`](?P<comma>[ \t]{0,4},[ \t]{0,4})[bfru]?(?P<open2>\\{0,7}[\"'`])"
    r"(?P<second>(?:(?!(?P=open2))[^\r\n\0\1]){4,4096}?)(?P=open2)"
    r"|>(?P<element>[^<>\0\1]{1,4096})</)"
)  # for texts in lower case: four times as quick as a search that ignores it
ASSIGNED_GATE = (
    rf"(?:{NAMED})[\w\-]{{0,12}}(?:[\"'`\\\])]{{0,6}}[ \t]{{0,8}}[:=]"
    r"|\\{0,7}[\"'`][ \t]{0,4},[ \t]{0,4}[bfru]?\\{0,7}[\"'`]|>[^<>])"
)
_NAMED_PATTERN = re.compile(NAMED)
_NAME_REACH = 72
_NAME_HEAD = re.compile(r"(?P<url>://)?(?P<tag><(?:[\w.-]{1,32}:)?)?(?P<name>[A-Za-z0-9_.%-]{0,48})\Z")
_CODE_GOES_ON = (",", ")")  # `connect(password=password, token=tok)` names variables
_DIGIT_OR_SIGN = re.compile(r"\d|[^\w.\- :]")
_FOLDER = re.compile(r"(?:/|~|[A-Za-z]:\\)")


def find_assigned(text: str, pos: int) -> Iterator[Span]:
    """Yield values that a telling name is given, from a place on."""
    low = lowered(text)
    match = _ASSIGNED.search(low, pos)
    while match is not None:
        found = _judge_assigned(text, match)
        # What was taken for a value may be a name with a value (`token: password: x`): go on behind the separator, or,
        # where it goes anyway, near its end.
        pos = _behind(match)
        if found is not None:
            yield found
            pos = max(pos, found[1] - _NAME_REACH)
        match = _ASSIGNED.search(low, pos)


def assigned_near(text: str, hits: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Yield the same from where ASSIGNED_GATE hits."""
    pos = 0
    low = lowered(text)
    for _, end in hits:
        # The gate ends behind the separator's first sign. What stands before it is short, and holds the name.
        for name in _NAMED_PATTERN.finditer(low, max(pos, end - _NAME_REACH), end):
            match = _ASSIGNED.match(low, name.start())
            found = None if match is None else _judge_assigned(text, match)
            if found is not None:
                yield found
        pos = max(pos, end - 1)


def lowered(text: str) -> str:
    """Return a text in lower case, at the same length: a few capitals would grow, and stay."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join([one if len(one := char.lower()) == 1 else char for char in text])


def _behind(match: re.Match[str]) -> int:
    if match["sep"] is not None:
        return match.end("sep")
    return match.end("comma") if match["comma"] is not None else match.start("element")


def _judge_assigned(text: str, match: re.Match[str]) -> Span | None:
    """Tell whether what follows a telling name is a value; prose and code say `token` and `key` all the time."""
    if match["second"] is not None and not _is_second(text[slice(*match.span("second"))]):
        return None
    start = match.start()
    head = _NAME_HEAD.search(text, max(0, start - 84), start)
    name = (head["name"] if head else "") + text[start : match.end("tail")]
    rule = sensitive_key(name)
    if rule is None or (head and head["url"]):  # `https://token:x@host`: another rule's, which knows where it ends
        return None
    if match["second"] is not None:  # `('x-api-key', 'x')`, but not `["password", "username"]`
        return (*match.span("second"), rule)
    if match["element"] is not None:
        value = text[slice(*match.span("element"))]
        closed = (
            head
            and head["tag"]
            and re.match(rf"(?:[\w.-]{{1,32}}:)?{re.escape(name)}>", text[match.end() : match.end() + 128])
        )
        return (*match.span("element"), rule) if closed and not is_placeholder(value.strip()) else None
    if match["quoted"] is not None:
        value = text[slice(*match.span("quoted"))]
        return None if PLACEHOLDER.fullmatch(value) else (*match.span("quoted"), rule)
    value = text[slice(*match.span("bare"))].rstrip(TRAILING)
    end = match.start("bare") + len(value)
    if len(value) < 3 or PLACEHOLDER.fullmatch(value) or text[end : end + 1] in ("(", "["):
        return None
    if name in ("PWD", "OLDPWD") and _FOLDER.match(value):  # the shell's folder, not ODBC's password
        return None
    return (match.start("bare"), end, rule) if _is_value(text, match, value, end, rule) else None


def _is_second(value: str) -> bool:
    return len(value) >= 8 and looks_random(value) and _DIGIT_OR_SIGN.search(value) is not None


def _is_value(text: str, match: re.Match[str], value: str, end: int, rule: str) -> bool:
    """Without quotes a value needs a digit or a sign in it, `name=value` without blanks, or a line of its own."""
    if any(char.isdigit() for char in value):
        return rule in ("password", "secret", "card-code") or len(value) >= 6
    if not re.fullmatch(r"[\w.]+", value):
        return len(value) >= 6
    if match["sep"] in ("=", "=="):
        return "." not in value and len(value) >= 4 and text[end : end + 1] not in _CODE_GOES_ON
    return rule in ("password", "secret") and "." not in value and text[end : end + 1] in ("", "\r", "\n", LIMIT)


# --- the name under `name`, the value under `value` ------------------------------------------------------------------

_VALUE = re.compile(
    r"value\\{0,7}[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}"
    rf"(?:{_QUOTED}|(?P<bare>{_BARE}))",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(
    r"(?:name|key|header|id|field)\\{0,7}[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}\\{0,7}[\"'`]?"
    r"(?P<name>[\w.-]{2,64})\\{0,7}[\"'`]?"
    r"[\s,;]{1,40}\\{0,7}[\"'`]?[a-z]{0,8}\Z",
    re.IGNORECASE,
)
PAIR_GATE = (
    rf"(?:{NAMED}|authorization|cookie)[\w.\-]{{0,12}}"
    r"[\"'`\\]{0,8}[ \t\r\n,;]{1,40}[\"'`\\]{0,8}[a-z]{0,8}value"
    r"[\"'`\\]{0,8}[ \t]{0,4}[:=]"
)


def find_pairs(text: str, pos: int) -> Iterator[Span]:
    """Yield values whose name stands before them in a field of its own, from a place on."""
    for match in _VALUE.finditer(text, pos):
        before = _NAME_BEFORE.search(text, max(0, match.start() - 160), match.start())
        rule = sensitive_key(before["name"]) if before else None
        group = "quoted" if match["quoted"] is not None else "bare"
        if rule is not None and not is_placeholder(match[group]):
            yield (*match.span(group), rule)


_LOGIN_FILES = re.compile(
    r"\blogin[ \t\r\n]{1,8}\S{1,128}[ \t\r\n]{1,8}password[ \t\r\n]{1,8}([^\s\0\1]{1,512})"
    r"|:(?:5432|5433|6432):[^:\s\0\1]{1,64}:[^:\s\0\1]{1,64}:([^\s:\0\1]{1,256})"
)
LOGIN_FILE_GATE = (
    r"(?:login[ \t\r\n]{1,8}[^ \t\r\n]{1,128}[ \t\r\n]{1,8}password[ \t\r\n]"
    r"|:(?:5432|5433|6432):[^: \t\r\n]{1,64}:[^: \t\r\n]{1,64}:)"
)


def find_login_files(text: str, pos: int) -> Iterator[Span]:
    """Yield the passwords of `.netrc` and `.pgpass` files, from a place on."""
    for match in _LOGIN_FILES.finditer(text, pos):
        value = match[match.lastindex or 0]
        if not is_placeholder(value) and not is_word(value):
            yield (*match.span(match.lastindex or 0), "password")


# --- headers and URLs ------------------------------------------------------------------------------------------------

_HEADER_NAME = r"(?:authorization|x-auth-token)"
_HEADER = re.compile(
    rf"{_HEADER_NAME}(?:[\"'`\\]{{0,6}}\s{{0,4}}(?:=>|[:=])|\\{{0,7}}[\"'`][ \t]{{0,4}},)"
    r"\s{0,8}(?:[bfru](?=[\"'`\\]))?[\"'`\\\[]{0,6}"
    r"(?:(?P<scheme>bearer|basic|token|apikey|bot|negotiate|ntlm|key|sso-key|googlelogin)(?:\s{1,4}|%20|\+)"
    r"(?P<token>[^\s\"'`\\<>\0\1]+)"
    r"|(?:digest|oauth|aws4-hmac-sha256|hawk)[ \t]+(?P<line>[^\"'`\\\r\n\0\1][^\r\n\\\0\1]*)"
    r"|[A-Za-z][\w-]{1,30}[ \t]+(?P<other>[^\s\"'`\\<>,;{}()\[\]\0\1]{8,})"
    r"|(?P<bare>[^\s\"'`\\<>,;{}()\[\]\0\1]{6,}))",
    re.IGNORECASE,
)
HEADER_GATE = rf"{_HEADER_NAME}[\"'`\\]{{0,7}}[ \t\r\n]{{0,4}}[:=,]"


_TEMPLATE = ("{", "${", "$(", "%(")


def find_headers(text: str, pos: int) -> Iterator[Span]:
    """Yield what authorization headers carry, in every spelling of a header, from a place on."""
    for match in _HEADER.finditer(text, pos):
        group = next(name for name in ("token", "line", "other", "bare") if match[name])
        value = match[group].rstrip(TRAILING + ")]}")
        if not value or value.startswith(_TEMPLATE) or value.endswith("%20"):
            continue
        if group in ("token", "line") or any(char.isdigit() for char in value):
            yield match.start(group), match.start(group) + len(value), "authorization"


_BASIC = re.compile(
    r"(?:\bbasic[ \t]+|\bauth[\"'`\\]{0,4}[ \t]{0,4}[:=][ \t]{0,4}[\"'`\\]{0,4})"
    r"([A-Za-z0-9+/]{8,1024}={0,2})(?![A-Za-z0-9+/=])",
    re.IGNORECASE,
)
BASIC_GATE = r"(?:basic[ \t]{1,4}|auth[\"'`\\]{0,4}[ \t]{0,4}[:=][ \t]{0,4}[\"'`\\]{0,4})[A-Za-z0-9+/]{8}"


def find_basic(text: str, pos: int) -> Iterator[Span]:
    """Yield base64 of `user:password` behind the words that announce it, from a place on."""
    for match in _BASIC.finditer(text, pos):
        code = match[1].rstrip("=")
        if len(code) % 4 == 1:
            continue
        try:
            plain = binascii.a2b_base64(code + "=" * (-len(code) % 4)).decode("latin-1")
        except binascii.Error:
            continue
        if 0 < plain.find(":") < len(plain) - 1 and plain.isprintable():
            yield (*match.span(1), "basic-auth")


_PARAMETER = re.compile(r"(?:\A|(?<=[?&#;\1]))([A-Za-z0-9_.%\-]{1,64})=([^&#\s\"'`<>\\)\]},;\0\1]+)")
PARAMETER_GATE = r"(?:^|[?&#;\x01])[A-Za-z0-9_.%\-]{1,64}=[^&#\s\"'`<>\\)\]},;]"


def find_parameters(text: str, pos: int) -> Iterator[Span]:
    """Yield the values of URL parameters that are credentials, from a place on."""
    for match in _PARAMETER.finditer(text, pos):
        value = match[2].rstrip(".!?:")
        if value and sensitive_parameter(match[1]):
            yield match.start(2), match.start(2) + len(value), "url-param"
