"""Blocks that carry a signature or hash of their own content, which redaction makes untrue."""

import json
import re
from collections.abc import Mapping

from runreel.processors.redact.jsontext import looks_like_json

_KEY = re.compile(
    r"(?:thought_?|content_?|payload_?|body_?|message_?)?(?:signature|hash|checksum|digest|etag|integrity|hmac)"
    r"|sha-?(?:1|256|384|512)|md5|encrypted_content",
    re.IGNORECASE,
)
_MAYBE = re.compile(rf"\"(?:{_KEY.pattern})\\*\"\s*:", re.IGNORECASE)
_SHORTEST = 16  # characters of a signature
_DEEPEST = 64


def broken(value: object, clean: object, depth: int = 0) -> bool:
    """Tell whether a block in a value is no longer what its signature or hash was made of."""
    if value is clean or value == clean or depth > _DEEPEST:
        return False
    if isinstance(value, str) and isinstance(clean, str):
        if not looks_like_json(value) or not _MAYBE.search(value):
            return False
        try:
            return broken(json.loads(value, strict=False), json.loads(clean, strict=False), depth + 1)
        except (ValueError, RecursionError):  # no JSON after all
            return False
    if isinstance(value, Mapping) and isinstance(clean, Mapping):
        signed = any(
            isinstance(text, str) and len(text) >= _SHORTEST and _KEY.fullmatch(key) for key, text in value.items()
        )
        return signed or any(
            broken(one, other, depth + 1) for one, other in zip(value.values(), clean.values(), strict=False)
        )
    if isinstance(value, (tuple, list)) and isinstance(clean, (tuple, list)):
        return any(broken(one, other, depth + 1) for one, other in zip(value, clean, strict=False))
    return False
