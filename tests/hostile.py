"""Values that no sender should put under a key, and one will: for tests that nothing raises on them."""

from runreel.canonical import freeze
from runreel.semconv.dialects import DIALECTS, OWN
from runreel.values import Value


def _deep(levels: int, leaf: Value) -> Value:
    value = leaf
    for level in range(levels):
        value = (value,) if level % 2 else {"content": value}
    return value


# What OTLP can carry: 64-bit numbers, 30 levels; JSON texts hold more.
HOSTILE: tuple[Value, ...] = (
    2**63 - 1,
    -(2**63),
    1.8e308,
    float("nan"),
    float("inf"),
    float("-inf"),
    b"\x00\xff" * 9,
    "\x00",
    "\ud800",
    "9" * 5000,
    "1e999999",
    "-",
    "nan",
    "NaN",
    "Infinity",
    "[" * 100_000,
    '{"a":' * 5000,
    '[{"role":"user","parts":' + "[" * 300 + "]" * 300 + "}]",
    '{"role": {"role": []}, "parts": 7, "content": {"type": {}}}',
    '[{"role": 1, "parts": {"type": 1}}, {"parts": [null, 1, "x", {"type": null}, {"type": "tool_call"}]}]',
    '[{"type": "tool_call", "id": {}, "name": [], "arguments": 1e400}]',
    '{"messages": 5, "input": [], "kwargs": null, "usage": {"inputTokens": "x", "outputTokens": NaN}}',
    '{"message": {"content": {"toolRequest": 1}}, "raw": [], "finishReason": {}}',
    '{"choices": [1, {"finish_reason": {}}], "generations": [[{"message": {"kwargs": 1}}]], "documents": [[]]}',
    _deep(29, None),
    _deep(29, "x"),
    freeze([{"role": "tool", "parts": [{"type": "tool_call_response", "id": 3, "response": {"a": [float("nan")]}}]}]),
    freeze([{"role": ["user"], "content": [{"type": ["text"], "text": 1}], "tool_calls": [{"function": "f"}, 3]}]),
    {str(number): number for number in range(200)},
    tuple(range(200)),
)

KEYS: tuple[str, ...] = tuple(
    sorted(
        {
            key.replace("*", tail)
            for one in (OWN, *DIALECTS)
            for keys in (
                *one.scalars.values(),
                *one.coded.values(),
                *(source.keys for source in one.contents.values()),
            )
            for key in keys
            for tail in (("0.message.content", "0", "x.y", "18446744073709551616.a") if "*" in key else ("",))
        }
    )
)
"""Every key that a dialect's tables name; indexed ones with indices that are good and bad."""

SCOPES: tuple[str, ...] = tuple(
    sorted(
        {switch.scope for one in DIALECTS for switch in one.switches} | {"", "agents", "genkit-tracer", "langfuse-sdk"}
    )
)
