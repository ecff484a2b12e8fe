"""Strategies of arbitrary values, for property tests."""

import json

from hypothesis import strategies as st

from runreel.values import Value

# Text with all that gives trouble: lone surrogates, our own markers, quotes, escapes, JSON inside.
ANY_TEXT = st.one_of(
    st.text(max_size=20),
    st.text(st.characters(), max_size=20),
    st.text(st.sampled_from('\ue000\ue001"\\/{}[]:;,aubepjt0123456789\n\u00e9\ud83d\ude42\U0001f642 '), max_size=30),
    st.sampled_from(
        ["$float", "$bytes", "$text", "$map", "$ref", "{}", "[]", "NaN", "\ue000e:", "\ue000p:" + "0" * 64]
    ),
)
SCALARS: st.SearchStrategy[Value] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), ANY_TEXT, st.binary(max_size=20)
)


def _containers(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return st.lists(inner, max_size=4).map(tuple) | st.dictionaries(ANY_TEXT, inner, max_size=4)


VALUES: st.SearchStrategy[Value] = st.recursive(SCALARS, _containers, max_leaves=12)

# What JSON can say, as json.dumps takes it.
_JSON_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), ANY_TEXT)
JSON_DOCUMENTS = st.recursive(
    _JSON_SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=10,
)


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """JSON texts in many hands: other whitespace, other escapes, JSON inside strings inside JSON."""
    document = draw(JSON_DOCUMENTS)
    for _ in range(draw(st.integers(0, 2))):
        document = {"inner": json.dumps(document), "more": draw(ANY_TEXT)}
    text = json.dumps(
        document,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 2, "\t"])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " :")])),
    )
    for old, new in draw(
        st.lists(st.sampled_from([("/", "\\/"), ("<", "\\u003c"), ("\\u00e9", "\\u00E9")]), max_size=2)
    ):
        text = text.replace(old, new)
    return text
