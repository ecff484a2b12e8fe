"""Thousands of invented secrets and personal values, in every field of OTLP and every encoding; and how to find them.

The same numbers give the same requests. What is planted under which number, in which field and how written, is told.
"""

import base64
import hashlib
import html
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest as LogsReq
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as TraceReq

from otlp_build import T0, av, kv

_LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_AREAS = (202, 212, 213, 305, 312, 404, 415, 503, 617, 702, 713, 818, 917, 646, 919, 614)
_PUBLIC = [first for first in range(11, 223) if first not in (100, 127, 169, 172, 192, 198, 203)]


class Plant(NamedTuple):
    """One value. `value` is what must not be left; `text` is what it is written in."""

    number: int
    kind: str
    value: str
    text: str
    encoding: str = ""
    field: str = ""


def _word(rng: random.Random, size: int) -> str:
    return "x" + "".join(rng.choice(_LETTERS) for _ in range(size - 3)) + "7Q"


def _luhn(head: str) -> str:
    total = sum(sum(divmod(int(digit) * (2 - place % 2), 10)) for place, digit in enumerate(reversed(head)))
    return head + str(-total % 10)


def _digits(rng: random.Random, size: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(size))


def _card(rng: random.Random) -> str:
    digits = _luhn(rng.choice(["4", "51", "52", "55"]).ljust(2, "2") + _digits(rng, 13))
    return rng.choice(["", " ", "-"]).join(digits[place : place + 4] for place in range(0, 16, 4))


def _iban(rng: random.Random) -> str:
    account = _digits(rng, 18)
    check = 98 - int(account + "131400") % 97  # DE00
    return f"DE{check:02d}{account}"


def _crypto(rng: random.Random) -> str:
    data = b"\0\x07" + rng.randbytes(19)
    number = int.from_bytes(data + hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4], "big")
    out = ""
    while number:
        number, rest = divmod(number, 58)
        out = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[rest] + out
    return "1" + out


def _phone(rng: random.Random, number: int) -> str:
    return f"+1 {_AREAS[number // 100 % len(_AREAS)]}-555-01{number % 100:02d}"


PERSONAL: dict[str, Callable[[random.Random, int], str]] = {
    "email": lambda rng, n: f"dana{n}.{_word(rng, 6).lower()}@mail{n % 89}.example.com",
    "phone": _phone,
    "card": lambda rng, _: _card(rng),
    "iban": lambda rng, _: _iban(rng),
    "ip": lambda rng, _: f"{rng.choice(_PUBLIC)}.{rng.randint(20, 250)}.{rng.randint(20, 250)}.{rng.randint(100, 250)}",
    "ssn": lambda rng, _: f"{rng.randint(101, 665)}-{rng.randint(10, 99)}-{rng.randint(1001, 9999)}",
    "crypto": lambda rng, _: _crypto(rng),
}

# `{}` is the secret, which these tell from other text.
ANNOUNCED = {
    "password": "password={}",
    "api-key": 'api_key: "{}"',
    "token": "export SHOP_TOKEN={}",
    "bearer": "Authorization: Bearer {}",
    "cookie": "Cookie: sid={}; theme=dark",
    "userinfo": "postgres://bob:{}@db.example.com:5432/x",
    "option": "tool --password {} -v",
    "signature": "https://b.example.com/r?X-Amz-Signature={}&page=2",
    "curl": "curl -u bob:{} https://x.example.com",
    "mysql": "mysql -h db -p{} shop",
    "environment": "PGPASSWORD={} psql",
    "pair": '{{"name": "X-Api-Key", "value": "{}"}}',
    "argv": '["tool", "--api-key", "{}"]',
    "header": '[["authorization", "Custom {}"]]',
    "connection": "Server=d;Uid=s;Pwd={};x=y",
    "json": '{{"db_password": "{}"}}',
    "xml": "<password>{}</password>",
}
SECRETS: dict[str, Callable[[random.Random], str]] = {
    "aws": lambda rng: "AKIA" + _word(rng, 16).upper().replace("8", "7"),
    "openai": lambda rng: "sk-proj-" + _word(rng, 32),
    "github": lambda rng: "ghp_" + _word(rng, 36),
    "gitlab": lambda rng: "glpat-" + _word(rng, 20),
    "slack": lambda rng: f"xoxb-{_digits(rng, 12)}-{_word(rng, 24)}",
    "google": lambda rng: "AIza" + _word(rng, 35),
    "jwt": lambda rng: f"eyJhbGciOiJIUzI1NiJ9.eyJ{_word(rng, 20)}.{_word(rng, 24)}",
    "huggingface": lambda rng: "hf_" + _word(rng, 34),
    "sendgrid": lambda rng: f"SG.{_word(rng, 22)}.{_word(rng, 43)}",
    "npm": lambda rng: "npm_" + _word(rng, 36),
}
KINDS = (*PERSONAL, *SECRETS, *ANNOUNCED, "private-key")


def plant(number: int) -> Plant:
    """Return the value of a number: always the same, and no other's."""
    rng = random.Random(f"planted {number}")
    kind = KINDS[number % len(KINDS)]
    if kind in PERSONAL:
        value = PERSONAL[kind](rng, number // len(KINDS))
        return Plant(number, kind, value, f"please see {value} today")
    if kind in SECRETS:
        value = SECRETS[kind](rng)
        return Plant(number, kind, value, f"please see {value} today")
    value = _word(rng, 16)
    if kind == "private-key":
        body = [base64.b64encode(rng.randbytes(48)).decode() for _ in range(3)]
        lines = ["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"]
        return Plant(number, kind, body[1], "\n".join(lines))
    return Plant(number, kind, value, ANNOUNCED[kind].format(value))


def _json(text: str, depth: int) -> str:
    out = text
    for _ in range(depth):
        out = json.dumps({"note": out, "n": 1})
    return out


def _base64(text: str, before: int, codec: str = "utf-8") -> str:
    return base64.b64encode(("~" * before + " " + text + " .").encode(codec)).decode()


def _entities(text: str) -> str:
    return "".join(char if char.isalnum() or char == " " else f"&#{ord(char)};" for char in text)


ENCODINGS: dict[str, Callable[[str], str | bytes]] = {
    "plain": lambda text: text,
    "json": lambda text: _json(text, 1),
    "json in json": lambda text: _json(text, 3),
    "percent": lambda text: quote(text, safe=""),
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "html": lambda text: html.escape(text).replace("@", "&#64;"),
    "entities": _entities,
    **{f"base64 {before}": lambda text, before=before: _base64(text, before) for before in range(3)},  # type: ignore[misc]
    "base64url": lambda text: base64.urlsafe_b64encode(f"?>~ {text}".encode()).decode().rstrip("="),
    "base64 of utf-16": lambda text: _base64(text, 0, "utf-16-le"),
    "base64 in json": lambda text: _json(_base64(text, 1), 1),
    "utf-16 as text": lambda text: text.encode("utf-16-le").decode("latin-1"),
    "bytes": lambda text: text.encode(),
    "latin-1 bytes": lambda text: f"\u00e9t\u00e9 {text}".encode("latin-1"),
    "utf-16 bytes": lambda text: text.encode("utf-16-le"),
    "utf-16 bytes with a mark": lambda text: text.encode("utf-16"),
}
_BYTES = {name for name in ENCODINGS if "bytes" in name}


class Request:
    """One request to come, with a place for a value in each of its fields."""

    def __init__(self, number: int) -> None:
        self.traces, self.logs = TraceReq(), LogsReq()
        group, logs = self.traces.resource_spans.add(), self.logs.resource_logs.add()
        scoped, logged = group.scope_spans.add(), logs.scope_logs.add()
        trace, span_id = hashlib.md5(f"t{number}".encode()).digest(), hashlib.md5(f"s{number}".encode()).digest()[:8]
        span = scoped.spans.add(
            trace_id=trace, span_id=span_id, name="x", start_time_unix_nano=T0, end_time_unix_nano=T0 + 1
        )
        span.attributes.append(kv("gen_ai.operation.name", "execute_tool"))
        event = span.events.add(name="event", time_unix_nano=T0)
        link = span.links.add(trace_id=trace, span_id=span_id)
        record = logged.log_records.add(time_unix_nano=T0, trace_id=trace, span_id=span_id)
        named = {
            "span name": (span, "name"), "status": (span.status, "message"), "trace state": (span, "trace_state"),
            "event name": (event, "name"), "link trace state": (link, "trace_state"),
            "scope name": (scoped.scope, "name"),
            "scope version": (scoped.scope, "version"),
            "resource schema": (group, "schema_url"),
            "scope schema": (scoped, "schema_url"), "log severity": (record, "severity_text"),
            "log event name": (record, "event_name"), "log scope name": (logged.scope, "name"),
        }  # fmt: skip
        bags = {
            "span": span.attributes, "event": event.attributes, "link": link.attributes,
            "scope": scoped.scope.attributes,
            "resource": group.resource.attributes, "log": record.attributes,
            "log resource": logs.resource.attributes,
            "log scope": logged.scope.attributes,
        }  # fmt: skip
        self._texts = named
        self._bags = bags
        self._record = record
        self._keys = 0

    def fields(self) -> list[str]:
        """Return the names of all fields; those of bags take any value, the others a text."""
        shapes = ("value", "key", "list", "map", "content")
        return [*self._texts, *(f"{bag} {shape}" for bag in self._bags for shape in shapes), "log body"]

    def put(self, field: str, value: str | bytes) -> None:
        """Put a value into a field."""
        if field in self._texts:
            owner, name = self._texts[field]
            setattr(owner, name, value if isinstance(value, str) else value.decode("latin-1"))
        elif field == "log body":
            self._record.body.CopyFrom(av({"text": value}))
        else:
            bag, _, shape = field.rpartition(" ")
            self._keys += 1
            key = f"app.f{self._keys}"
            pairs: dict[str, Any] = {
                "value": {key: value}, "list": {key: ["a b", value]}, "map": {key: {"inner": {"text": value}}},
                "content": {"gen_ai.tool.call.result" if bag == "span" else key: value},
                "key": {value if isinstance(value, str) else value.decode("latin-1"): 1},
            }[shape]  # fmt: skip
            self._bags[bag].extend(kv(name, one) for name, one in pairs.items())

    def bodies(self) -> list[tuple[str, bytes]]:
        """Return signal and body of the requests as they are sent."""
        return [("traces", self.traces.SerializeToString()), ("logs", self.logs.SerializeToString())]


def garden(count: int) -> tuple[list[Plant], list[Request]]:
    """Plant values, each in another field and encoding than its neighbours; return them and the requests."""
    plants: list[Plant] = []
    requests: list[Request] = []
    rng = random.Random("garden")
    waiting: list[str] = []
    encodings: list[str] = []
    for number in range(count):
        if not waiting:
            requests.append(Request(len(requests)))
            waiting = requests[-1].fields()
            rng.shuffle(waiting)
        if not encodings:
            encodings = list(ENCODINGS)
            rng.shuffle(encodings)
        one = plant(number)
        one = one._replace(field=waiting.pop(), encoding=encodings.pop())
        requests[-1].put(one.field, ENCODINGS[one.encoding](one.text))
        plants.append(one)
    return plants, requests


# --- finding them again ------------------------------------------------------------------------------------------


def forms(one: Plant) -> Iterator[bytes]:
    """Yield how a value may be written in stored bytes: plain and in every encoding, base64 at three alignments."""
    value = one.value
    behind = value + one.text[one.text.index(value) + len(value) :][:2]  # base64 of the value alone loses its last bits
    once = quote(value, safe="")
    written = {value, json.dumps(value)[1:-1], once, quote(once, safe=""), html.escape(value), _entities(value)}
    written |= {html.escape(value).replace("@", "&#64;"), *_bare(value)}
    yield from (text.encode() for text in written)
    for codec in ("utf-8", "utf-16-le", "utf-16-be"):
        data, longer = value.encode(codec), behind.encode(codec)
        if codec != "utf-8":
            yield from (data, data.decode("latin-1").encode(), json.dumps(data.decode("latin-1"))[1:-1].encode())
        for before in range(3):
            size = before + min(len(longer), len(data) + 2)
            code = base64.b64encode(b"\0" * before + longer)[(0, 2, 3)[before] : size * 8 // 6]
            yield from (code, code.translate(bytes.maketrans(b"+/", b"-_")))


def _bare(value: str) -> list[str]:
    """Return the digits of a card or phone number, however they were grouped."""
    digits = value.replace(" ", "").replace("-", "").lstrip("+")
    return [digits] if digits.isdigit() else []


class Scan:
    """Looks for all values in bytes, in all their forms: whatever starts like one of them is compared with it."""

    _HEAD = 8
    _BITS = 22

    def __init__(self, plants: Sequence[Plant]) -> None:
        import numpy as np

        self._forms: dict[bytes, list[tuple[bytes, int]]] = {}
        for place, one in enumerate(plants):
            for form in set(forms(one)):
                self._forms.setdefault(form[: self._HEAD], []).append((form, place))
        heads = np.frombuffer(b"".join(self._forms), dtype="<u8")
        self._maybe = np.zeros(1 << self._BITS, dtype=bool)
        self._maybe[self._hashes(heads)] = True

    def _hashes(self, heads: Any) -> Any:
        import numpy as np

        return (heads * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - self._BITS)

    def found(self, contents: Iterable[bytes]) -> set[int]:
        """Return the places, in the list of plants, of what is somewhere in the contents."""
        import numpy as np

        seen: set[int] = set()
        for data in contents:
            for shift in range(self._HEAD):
                count = (len(data) - shift) // self._HEAD
                if count <= 0:
                    continue
                heads = np.frombuffer(data, dtype="<u8", offset=shift, count=count)
                for hit in np.flatnonzero(self._maybe[self._hashes(heads)]).tolist():
                    start = shift + hit * self._HEAD
                    for form, place in self._forms.get(data[start : start + self._HEAD], ()):
                        if data.startswith(form, start):
                            seen.add(place)
        return seen
