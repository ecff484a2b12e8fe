"""Tokens: what stands in the place of a personal value or a secret."""

import hmac
import ipaddress
import re
import unicodedata

ENTITIES = ("EMAIL", "PHONE", "CARD", "IBAN", "IP", "SSN", "CRYPTO")

TOKEN_RE = re.compile("<([A-Z][A-Z0-9]*)_([0-9a-f]{8,64})>")
SECRET_RE = re.compile("<SECRET:([a-z0-9-]+)>")

_NO_DIGIT = re.compile("[^0-9]")
_DIGITS = {"PHONE", "CARD", "SSN"}
_EXACT = {"FIELD", "HASH", "REGULATED"}  # declared values: nobody knows which spellings of them are equal


def make_token(key: bytes, entity: str, text: str, digits: int = 8) -> str:
    """Return the token of a value: the same for the same value of one tenant, and nothing without the key.

    `digits` of the HMAC are kept, 8 to 64; more of them where two values of one run would share a token.
    """
    if not 8 <= digits <= 64:
        raise ValueError(f"a token has 8 to 64 digits, not {digits}")
    return f"<{entity}_{token_digest(hmac.new(key, digestmod='sha256'), entity, text)[:digits]}>"


def token_digest(keyed: hmac.HMAC, entity: str, text: str) -> str:
    """Return all 64 digits that a token may have. `keyed` is an HMAC-SHA256 with the key and no data, and stays so."""
    mac = keyed.copy()
    mac.update(f"{entity}\0{normalise(entity, text)}".encode(errors="surrogatepass"))
    return mac.hexdigest()


def normalise(entity: str, text: str) -> str:
    """Return the form in which spellings of one value are equal: `Dana@Example.com ` and `dana@example.com`."""
    if text.isascii():
        folded = text.strip()
    else:
        folded = unicodedata.normalize("NFKC", text)
        folded = "".join(char for char in folded if unicodedata.category(char) != "Cf").strip()
    if entity in _DIGITS:
        if folded.isascii():
            return _NO_DIGIT.sub("", folded)
        return "".join(str(unicodedata.digit(char)) for char in folded if char.isdigit())
    if entity == "IBAN":
        return "".join(char for char in folded if char.isalnum()).upper()
    if entity == "IP":
        return _address(folded)
    if entity == "CRYPTO":
        return folded  # case is part of an address
    if entity in _EXACT:
        return text
    return " ".join(folded.casefold().split())


def _address(text: str) -> str:
    if text.isascii() and text.replace(".", "").isdigit():
        return text  # such an address has one spelling
    try:
        return ipaddress.ip_address(text).compressed
    except ValueError:
        return text.lower()
