"""What makes values comparable and storable: the canonical form, refs, skeletons and parts, tokens, unification."""

from runreel.canonical.form import (
    MAX_NESTING,
    SCHEME,
    canonical,
    document_in,
    dumps,
    exact_ref,
    freeze,
    loads,
    make_ref,
    parse_json,
)
from runreel.canonical.parts import (
    THRESHOLD_BYTES,
    escape_own,
    join_value,
    payload_marker,
    payload_ref,
    sniff_media_type,
    split_value,
    unescape_own,
)
from runreel.canonical.payloads import join_payload, split_payload
from runreel.canonical.tokens import ENTITIES, SECRET_RE, TOKEN_RE, make_token, normalise
from runreel.canonical.unify import Bindings, Mismatch, Tolerance, surely_equal, unify

__all__ = [
    "ENTITIES",
    "MAX_NESTING",
    "SCHEME",
    "SECRET_RE",
    "THRESHOLD_BYTES",
    "TOKEN_RE",
    "Bindings",
    "Mismatch",
    "Tolerance",
    "canonical",
    "document_in",
    "dumps",
    "escape_own",
    "exact_ref",
    "freeze",
    "join_payload",
    "join_value",
    "loads",
    "make_ref",
    "make_token",
    "normalise",
    "parse_json",
    "payload_marker",
    "payload_ref",
    "sniff_media_type",
    "split_payload",
    "split_value",
    "surely_equal",
    "unescape_own",
    "unify",
]
