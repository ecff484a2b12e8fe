"""The forms that one value may have in stored bytes: plain, escaped, encoded."""

import base64
import html
import json
from collections.abc import Iterator, Mapping
from urllib.parse import quote

ALIGNMENTS = 3
"""A value starts at any of three places in base64's groups of three bytes."""


def forms(value: str) -> Mapping[str, bytes]:
    """Return the bytes to look for, by the name of the form; forms that look the same are there once.

    In base64 only what does not depend on the neighbours can be looked for: values of fewer than five bytes are not.
    """
    data = value.encode(errors="surrogatepass")
    found: dict[str, bytes] = {"plain": data}
    escaped = json.dumps(value)[1:-1].encode()
    found["json"] = escaped
    found["json in json"] = json.dumps(escaped.decode())[1:-1].encode()
    found["percent"] = quote(value, safe="").encode(errors="surrogatepass")
    found["html"] = html.escape(value).encode(errors="surrogatepass")
    found["utf-16-le"], found["utf-16-be"] = (
        value.encode(codec, "surrogatepass") for codec in ("utf-16-le", "utf-16-be")
    )
    found["hex"] = data.hex().encode()
    found.update(_base64(data))
    unique: dict[bytes, str] = {}
    for name, needle in found.items():
        unique.setdefault(needle, name)
    return {name: needle for needle, name in unique.items() if len(needle) > 1}


def _base64(data: bytes) -> Iterator[tuple[str, bytes]]:
    for shift in range(ALIGNMENTS):
        # Of the first and the last group only what the value alone decides.
        start = (ALIGNMENTS - shift) % ALIGNMENTS
        body = data[start : start + (len(data) - start) // 3 * 3]
        if len(body) >= 3:
            encoded = base64.b64encode(body)
            yield f"base64/{shift}", encoded
            yield f"base64url/{shift}", encoded.replace(b"+", b"-").replace(b"/", b"_")


def samples(value: str) -> Iterator[tuple[str, bytes]]:
    """Yield bytes that hold a value in each form, as somebody's program would have written them."""
    data = value.encode()
    yield "plain", b"see " + data + b" ok"
    yield "json", json.dumps({"note": f"see {value}"}).encode()
    yield "json in json", json.dumps({"note": json.dumps({"v": value})}).encode()
    yield "percent", f"https://ex.example.com/?q={quote(value, safe='')}&x=1".encode()
    yield "html", f"<p>{html.escape(value)}</p>".encode()
    yield "utf-16-le", f"see {value}".encode("utf-16-le")
    yield "utf-16-be", f"see {value}".encode("utf-16-be")
    yield "hex", b"x" + data.hex().encode()
    for shift in range(ALIGNMENTS):
        yield f"base64/{shift}", base64.b64encode(b"x" * shift + data + b" tail")
        yield f"base64url/{shift}", base64.urlsafe_b64encode(b"x" * shift + data + b" tail")
