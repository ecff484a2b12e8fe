"""Secrets on command lines: after options with a telling name, and where well-known programs take a password.

The same judgement serves a line of text and a list of arguments, an option in one item and its value in the next.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from runreel.semconv.secret_names import sensitive_key, sensitive_word
from runreel.semconv.secret_values import TRAILING, Span, is_placeholder, is_word, looks_random


class _Option(NamedTuple):
    """An option of a program. `kind`: `value` (the next word, or what is glued on), `next` (only the next word),
    `glued` (only glued on), `user` (a user and a password, `:` or `%` between), `prefix` (`pass:x`), `cookie`."""

    name: str
    kind: str = "value"
    after: str = ""  # a word that must stand before it


_P, _GLUED = (_Option("-p"),), (_Option("-p", "glued"),)
_CURL = (
    _Option("-u", "user"), _Option("--user", "user"), _Option("-U", "user"), _Option("--proxy-user", "user"),
    _Option("-b", "cookie"), _Option("--cookie", "cookie"),
)  # fmt: skip
_HTTPIE = (_Option("-a", "user"), _Option("--auth", "user"))
_LOGIN = (_Option("-p", "next", "login"),)
_OPENSSL = tuple(_Option(name, "prefix") for name in ("-pass", "-passin", "-passout"))
_KEYTOOL = tuple(_Option(name, "next") for name in ("-storepass", "-keypass", "-srcstorepass", "-deststorepass"))
COMMANDS: Mapping[str, tuple[_Option, ...]] = {
    "curl": _CURL, "http": _HTTPIE, "https": _HTTPIE, "xh": _HTTPIE,
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlshow", "mariadb",
                     "mariadb-dump", "mariadb-admin", "7z", "7za"), _GLUED),
    **dict.fromkeys(("sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"), _P),
    **dict.fromkeys(("docker", "podman", "helm", "nerdctl", "buildah", "az", "oc"), _LOGIN),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami"), (_Option("-w"),)),
    **dict.fromkeys(("mosquitto_pub", "mosquitto_sub", "sqlcmd", "bcp", "ipmitool", "zip", "unzip"), (_Option("-P"),)),
    **dict.fromkeys(("smbclient", "rpcclient", "smbmap"), (_Option("-U", "user"),)),
    "redis-cli": (_Option("-a"),), "openssl": _OPENSSL, "keytool": _KEYTOOL, "jarsigner": _KEYTOOL,
}  # fmt: skip
"""Programs that take a secret under a name that says nothing: `mysql -pX`, `curl -u user:X`."""


def is_command(word: str) -> bool:
    """Tell whether a word, with or without a folder before it, is one of these programs."""
    return word in COMMANDS or ("/" in word and word.rpartition("/")[2] in COMMANDS)


_NAMES = "|".join(sorted(map(re.escape, COMMANDS), key=len, reverse=True))
COMMAND_GATE = rf"(?:^|[^A-Za-z0-9_.\-])(?:{_NAMES})[ \t]"
COMMAND_HINTS = tuple(sorted(f"{name} " for name in COMMANDS))
_COMMAND = re.compile(rf"(?<![A-Za-z0-9_.\-])({_NAMES})(?=[ \t])")
_LONGEST = 1000  # characters of a command line that are looked at
_LINE_END = re.compile(r"(?<!\\)[\r\n\0\1]|[|;&]")
_SHELL_WORD = re.compile(r"(?:[^\s\"'\\]|\\.|\"(?:[^\"\\]|\\.){0,500}\"?|'[^']{0,500}'?)+", re.DOTALL)
_USER = re.compile(r"(?P<user>[^\s:%\"'/]{1,64})[:%](?P<secret>[^\s\"']{1,256})")
_IDS = re.compile(r"\d+:\d+|[a-z_][\w-]*:[a-z_][\w-]*")


def find_commands(text: str, pos: int) -> Iterator[Span]:
    """Yield the secrets on the command lines of known programs, from a place on."""
    return commands_near(text, [match.span() for match in _COMMAND.finditer(text, pos)])


def commands_near(text: str, hits: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Yield the same from where COMMAND_GATE hits."""
    done = 0
    for start, end in hits:
        match = _COMMAND.search(text, max(start, done), end + 1)
        if match is None:
            continue
        words = list(_words(text, match.start()))
        if words:
            done = words[-1][1] + len(words[-1][0])  # a command among the words was judged with them
            for number, first, last, rule in command_values([word for word, _ in words]):
                yield words[number][1] + first, words[number][1] + last, rule


def _words(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield the words of a command line, as written, with their places."""
    place, end = start, min(len(text), start + _LONGEST)
    while place < end:
        word = _SHELL_WORD.match(text, place, end)
        if word is not None:
            stop = _LINE_END.search(word[0]) if word[0][0] not in "\"'" else None
            if stop:
                if stop.start():
                    yield word[0][: stop.start()], place
                return
            if word[0] != "\\\n":
                yield word[0], place
            place = word.end()
        elif text[place] in "\r\n\0\1":
            return
        else:
            place += 1


def command_values(words: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield (number of the word, start, end, rule) of the secrets that known programs are given."""
    options: tuple[_Option, ...] = ()
    seen: set[str] = set()
    for number, word in enumerate(words):
        if is_command(word):
            options = COMMANDS[word.rpartition("/")[2]]
        seen.add(word)
        for option in options:
            if word.startswith(option.name) and (not option.after or option.after in seen):
                found = _option_value(words, number, option)
                if found is not None:
                    yield found
                    break


def _option_value(words: Sequence[str], number: int, option: _Option) -> tuple[int, int, int, str] | None:
    word, glued = words[number], len(option.name)
    if len(word) > glued:
        if option.kind == "next" or (option.name.startswith("--") and word[glued] != "="):
            return None
        start = glued + (word[glued] == "=")
    else:
        if option.kind == "glued" or number + 1 == len(words):
            return None
        number, word, start = number + 1, words[number + 1], 0
    end = len(word)
    while end - start > 1 and word[start] in "\"'" and word[end - 1] == word[start]:
        start, end = start + 1, end - 1
    return _judged(number, word, start, end, option)


def _judged(number: int, word: str, start: int, end: int, option: _Option) -> tuple[int, int, int, str] | None:
    value = word[start:end]
    if option.kind == "user":
        match = _USER.fullmatch(value)
        if match is None or is_placeholder(match["secret"]) or (_IDS.fullmatch(value) and value[0].isdigit()):
            return None
        return number, start, end, "basic-auth"
    if option.kind == "cookie":
        return (number, start, end, "cookie") if "=" in value and len(value) > 4 else None
    if option.kind == "prefix":
        if not value.startswith("pass:"):
            return None
        start, value = start + 5, value[5:]
    if len(value) < 2 or value.startswith("-") or is_placeholder(value) or value == "assword":
        return None
    return number, start, end, "password"


# --- options with a telling name -----------------------------------------------------------------------------------

_OPTION = re.compile(
    r"(?<![\w-])--?(?P<name>[A-Za-z][\w.-]{1,48})[ \t]+"
    r"(?:(?P<open>\\{0,7}[\"'`])(?P<quoted>(?:(?!(?P=open))[^\r\n\0\1]){1,4096}?)(?P=open)"
    r"|(?P<bare>[^\s\"'`|;&<>(){}\[\]\\\0\1-][^\s\"'`|;&<>(){}\[\]\\\0\1]{2,4095}))"
)
_OPTION_START = re.compile(r"(?<![\w-])--?[A-Za-z]")
_GOES_ON = re.compile(r"[ \t]*(?:\Z|[\r\n\"'`|;&>\\\0\1)]|[ \t]-)")
_REACH = 96


def find_options(text: str, pos: int) -> Iterator[Span]:
    """Yield the values of options such as `--password x`, from a place on."""
    for match in _OPTION.finditer(text, pos):
        found = _judge_option(text, match)
        if found is not None:
            yield found


def options_near(text: str, hits: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Yield the same from where the rule's gate hits: at the first character of the value."""
    done = 0
    for _, end in hits:
        for start in _OPTION_START.finditer(text, max(done, end - _REACH), end):
            match = _OPTION.match(text, start.start())
            found = None if match is None else _judge_option(text, match)
            if found is not None:
                yield found
                done = found[1]
        done = max(done, end - 1)


def _judge_option(text: str, match: re.Match[str]) -> Span | None:
    rule = sensitive_key(match["name"])
    if rule is None:
        return None
    if match["quoted"] is not None:
        return None if is_placeholder(match["quoted"]) else (*match.span("quoted"), rule)
    value = match["bare"].rstrip(TRAILING)
    if len(value) < 3 or is_placeholder(value) or is_word(value):
        return None
    end = match.start("bare") + len(value)
    if looks_random(value) or (len(value) >= 4 and _GOES_ON.match(text, end)):
        return match.start("bare"), end, rule
    return None


_OPTION_NAME = re.compile(r"--?[A-Za-z][\w.-]{0,62}")
# A placeholder in a list of arguments: there, any other word is a value.
_PLACED = re.compile(r"<[^<>]*>|\$\{?\w+\}?|\$\(.*\)|\{\{?[^{}]*\}?\}")


def is_option(word: str) -> bool:
    """Tell whether a word is an option that has its value, where it has one, in the next word."""
    return _OPTION_NAME.fullmatch(word) is not None


def argument_values(words: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield (number of the word, start, end, rule) of the secrets in a list of arguments."""
    for number, word in enumerate(words[:-1]):
        if is_option(word):
            rule, value = sensitive_word(word), words[number + 1]
            if rule is not None and value and not value.startswith("-") and not _PLACED.fullmatch(value):
                yield number + 1, 0, len(value), rule
    yield from command_values(words)
