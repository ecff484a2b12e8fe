"""Blocks that carry a signature or hash of their own content, which redaction makes untrue."""

import re
from collections.abc import Mapping

BROKEN = "signature_broken"
"""What such a block is counted and marked as."""

SHORTEST = 16  # characters of a signature
_KEY = re.compile(
    r"(?:thought_?|content_?|payload_?|body_?|message_?)?(?:signature|hash|checksum|digest|etag|integrity|hmac)"
    r"|sha-?(?:1|256|384|512)|md5|encrypted_content",
    re.IGNORECASE,
)
_DEEPEST = 64


def is_signature_key(name: str) -> bool:
    """Tell whether a signature or hash of what stands beside it stands under a name."""
    return len(name) < 32 and _KEY.fullmatch(name) is not None


def broken(value: object, clean: object, depth: int = 0) -> bool:
    """Tell whether a map in a value is no longer what its signature or hash was made of. What JSON texts hold is told
    where they are redacted."""
    if value is clean or isinstance(value, (str, bytes)) or depth > _DEEPEST:
        return False
    if isinstance(value, Mapping) and isinstance(clean, Mapping):
        texts = ((key, text) for key, text in value.items() if isinstance(text, str) and len(text) >= SHORTEST)
        if any(is_signature_key(key) for key, text in texts) and value != clean:
            return True
        return any(broken(one, other, depth + 1) for one, other in zip(value.values(), clean.values(), strict=False))
    if isinstance(value, (tuple, list)) and isinstance(clean, (tuple, list)):
        return any(broken(one, other, depth + 1) for one, other in zip(value, clean, strict=False))
    return False
