"""Brings messages, parts, tool definitions and documents of any spelling to one shape.

A message is `{"role", "parts", "name"?, "finish_reason"?}`; parts are
`{"type": "text", "content"}`, `{"type": "tool_call", "id", "name", "arguments"}`,
`{"type": "tool_call_response", "id", "response"}`, `{"type": "reasoning", "content"}`,
`{"type": "blob", "modality", "mime_type", "content"}` (base64), `{"type": "uri", "modality", "uri"}`, or any other
part as it came. Optional keys that are null are left out; a key that the sender left out stays out, so that missing
content can be told from empty content. Nothing here fails: what is not understood is kept.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from runreel.semconv.provider_parts import provider_part
from runreel.semconv.view import Memo, withheld
from runreel.values import Value

Message = Mapping[str, Value]

_FINISH: Final[Mapping[str, str]] = {
    "tool_calls": "tool_call",
    "tool-calls": "tool_call",
    "tool_use": "tool_call",
    "toolUse": "tool_call",
    "function_call": "tool_call",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "content-filter": "content_filter",
}
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.ASCII)
_CONTENT_KEYS: Final[Mapping[str, str]] = {
    "text": "content",
    "reasoning": "content",
    "blob": "content",
    "uri": "uri",
    "tool_call": "arguments",
    "tool_call_response": "response",
}
_TEXT_KEYS: Final = frozenset({"type", "content"})
_SCHEMA_KEYS: Final = ("parameters", "inputSchema", "input_schema", "json_schema", "parameters_json_schema")


def finish(reason: Value) -> Value:
    """Return the conventions' word for a provider's finish reason; unknown ones as they are."""
    if not isinstance(reason, str):
        return reason
    word = reason.rsplit(".", 1)[-1]
    return _FINISH.get(word) or (word.lower() if word.isupper() else word)


def arguments(value: Value, memo: Memo) -> Value:
    """Return the object that a text holds, else the value as it is: broken JSON stays as the model wrote it."""
    if isinstance(value, str):
        ok, parsed = memo.parse(value)
        if ok and isinstance(parsed, Mapping):
            return parsed
    return value


def messages(value: Value, role: str, memo: Memo) -> tuple[Message, ...]:
    """Return normalised messages from a list of messages in any spelling, one message, or a bare text."""
    if isinstance(value, Mapping):
        inner = value.get("messages")
        if isinstance(inner, tuple) and "role" not in value:
            return messages(inner, role, memo)
        return (message(value, role, memo),)
    if isinstance(value, tuple):
        return tuple(_item(item, role, memo) for item in value)
    return () if value is None else (_bare(value, role),)


def _item(item: Value, role: str, memo: Memo) -> Message:
    if isinstance(item, str):
        ok, parsed = memo.parse(item)
        if ok and isinstance(parsed, Mapping):
            return message(parsed, role, memo)
    if isinstance(item, Mapping):
        return message(item, role, memo)
    return _bare(item, role)


def _bare(value: Value, role: str) -> Message:
    kind = "text" if isinstance(value, str) else "data"
    return {"role": role, "parts": ({"type": kind, "content": value},)}


def message(item: Mapping[str, Value], role: str, memo: Memo) -> Message:
    """Return one message, from `{role, parts}` or from a provider's `{role, content, tool_calls}`."""
    if "role" not in item and "parts" not in item and "content" not in item:
        return _bare(item, role)
    out: dict[str, Value] = {"role": _role(item.get("role")) or role}
    if "parts" in item:
        out["parts"] = parts(item["parts"], memo)
        used = {"role", "parts"}
    else:
        out["parts"] = _provider_parts(item, memo)
        used = {"role", "content", "tool_calls", "tool_call_id", "refusal"}
    for key, value in item.items():
        if key not in used and value is not None:
            out[key] = finish(value) if key == "finish_reason" else value
    return out


def _role(said: Value) -> Value:
    """Return a role; one that a sender wrote as the member of an enumeration that it was (`MessageRole.USER`) as its
    value."""
    return said.rpartition(".")[2].lower() if isinstance(said, str) and "." in said else said


def _provider_parts(item: Mapping[str, Value], memo: Memo) -> tuple[Value, ...]:
    content = item.get("content")
    call_id = item.get("tool_call_id")
    if item.get("role") == "tool" and call_id is not None:
        return ({"type": "tool_call_response", "id": call_id, "response": content},)
    out = list(parts(content, memo))
    calls = item.get("tool_calls")
    listed = calls if isinstance(calls, tuple) else ()
    out += [tool_call(call, memo) for call in listed if isinstance(call, Mapping)]
    if isinstance(item.get("refusal"), str):
        out.append({"type": "refusal", "content": item["refusal"]})
    return tuple(out)


def parts(value: Value, memo: Memo) -> tuple[Value, ...]:
    """Return normalised parts; null is no part, a bare text is one."""
    if value is None:
        return ()
    if isinstance(value, tuple):
        return tuple(part(one, memo) for one in value)
    return (part(value, memo),)


def part(value: Value, memo: Memo) -> Value:
    """Return one normalised part."""
    if isinstance(value, str):
        return {"type": "text", "content": value}
    if not isinstance(value, Mapping):
        return {"type": "data", "content": value}
    made = provider_part(value)
    if made is not None:
        if "arguments" in made:
            made["arguments"] = arguments(made["arguments"], memo)
        return made
    kind = value.get("type")
    if kind in ("tool_call", "tool_use", "function", "function_call") and ("name" in value or "function" in value):
        return tool_call(value, memo)
    if kind in ("tool_call_response", "tool_result"):
        return _tool_response(value)
    if kind in ("text", "input_text", "output_text", None) and ("text" in value or "content" in value or kind):
        return _renamed(value, "text", "content" if "content" in value else "text")
    if kind in ("reasoning", "thinking"):
        return _renamed(value, "reasoning", "content" if "content" in value else "thinking")
    if kind in ("image_url", "image") and "image_url" in value:
        return _image(value)
    if kind == "blob" and "content" not in value and "data" in value:
        return _renamed(value, "blob", "data")
    return {key: one for key, one in value.items() if one is not None or key == "content"}


def _renamed(value: Mapping[str, Value], kind: str, content: str) -> Value:
    out: dict[str, Value] = {"type": kind}
    if content in value:
        out["content"] = value[content]
    out.update({key: one for key, one in value.items() if key not in ("type", content) and one is not None})
    return out


def _image(value: Mapping[str, Value]) -> Value:
    inner = value["image_url"]
    url = inner.get("url") if isinstance(inner, Mapping) else inner
    detail = inner.get("detail") if isinstance(inner, Mapping) else None
    made = media(url, "image")
    return made if detail is None else {**made, "detail": detail}


def media(url: Value, modality: str) -> dict[str, Value]:
    """Return a blob part for a data URL, else a uri part."""
    found = _DATA_URL.match(url) if isinstance(url, str) else None
    if found is None or not isinstance(url, str):
        return {"type": "uri", "modality": modality, "uri": url}
    return {"type": "blob", "modality": modality, "mime_type": found[1] or "", "content": url[found.end() :]}


def tool_call(value: Mapping[str, Value], memo: Memo) -> Value:
    """Return a tool call from the flat or from OpenAI's nested form."""
    nested = value.get("function")
    inner = nested if isinstance(nested, Mapping) else value
    out: dict[str, Value] = {"type": "tool_call", "id": value.get("id") or value.get("call_id") or ""}
    out["name"] = inner.get("name")
    for key in ("arguments", "input", "args"):
        if key in inner:
            out["arguments"] = arguments(inner[key], memo)
            break
    used = {"type", "id", "call_id", "name", "arguments", "input", "args", "function", "index"}
    out.update({key: one for key, one in value.items() if key not in used and one is not None})
    return out


def _tool_response(value: Mapping[str, Value]) -> Value:
    out: dict[str, Value] = {
        "type": "tool_call_response",
        "id": value.get("id") or value.get("call_id") or value.get("tool_use_id") or "",
    }
    for key in ("response", "result", "content"):
        if key in value:
            out["response"] = value[key]
            break
    used = {"type", "id", "call_id", "tool_use_id", "response", "result", "content"}
    out.update({key: one for key, one in value.items() if key not in used and one is not None})
    return out


def embedded(vectors: Value) -> tuple[Message, ...]:
    """Return the answer that a list of vectors is, one for each text that was embedded."""
    return ({"role": "assistant", "parts": ({"type": "embeddings", "content": vectors},)},)


def holes(found: Sequence[Message]) -> str:
    """Return why messages lack content, else "": parts without content, or with a placeholder in its place."""
    for one in found:
        inner = one.get("parts")
        for item in inner if isinstance(inner, tuple) else ():
            if isinstance(item, Mapping) and (reason := _hole(item)):
                return reason
    return ""


def _hole(item: Mapping[str, Value]) -> str:
    kind = item.get("type")
    key = _CONTENT_KEYS.get(kind) if isinstance(kind, str) else None
    if key is None:
        return withheld(item.get("content"))
    if key not in item:
        return f"content_off: a {kind!s} part came without its {key}"
    return withheld(item[key])


def wire_order(found: Sequence[Message]) -> tuple[Message, ...]:
    """Put prose before tool calls, as OpenAI's wire has it: its instrumentation writes the calls first."""
    out: list[Message] = []
    for one in found:
        inner = one.get("parts")
        if one.get("role") == "assistant" and isinstance(inner, tuple) and len(inner) > 1:
            calls = [item for item in inner if isinstance(item, Mapping) and item.get("type") == "tool_call"]
            rest = [item for item in inner if not (isinstance(item, Mapping) and item.get("type") == "tool_call")]
            one = {**one, "parts": (*rest, *calls)}
        out.append(one)
    return tuple(out)


def joined(pieces: Sequence[Value]) -> tuple[Value, ...]:
    """Return the parts that the pieces of a stream make: texts of one type that follow each other are one."""
    out: list[Value] = []
    for piece in pieces:
        last = out[-1] if out else None
        if isinstance(last, Mapping) and isinstance(piece, Mapping) and last.keys() == piece.keys() == _TEXT_KEYS:
            one, two = last["content"], piece["content"]
            if last["type"] == piece["type"] and isinstance(one, str) and isinstance(two, str):
                out[-1] = {**last, "content": one + two}
                continue
        out.append(piece)
    return tuple(out)


def definitions(value: Value, memo: Memo) -> tuple[Value, ...]:
    """Return tool definitions as `{"type", "name", "description", "parameters"}`, each key only where it came."""
    return tuple(_definition(item, memo) for item in (value if isinstance(value, tuple) else (value,)))


def _definition(item: Value, memo: Memo) -> Value:
    if isinstance(item, str):
        ok, parsed = memo.parse(item)
        item = parsed if ok else item
    if not isinstance(item, Mapping):
        return item
    nested = item.get("function")
    inner = nested if isinstance(nested, Mapping) else item
    out: dict[str, Value] = {"type": item.get("type") or "function"}
    for key in ("name", "description"):
        if inner.get(key) is not None:
            out[key] = inner[key]
    for key in _SCHEMA_KEYS:
        if inner.get(key) is not None:
            out["parameters"] = inner[key]
            break
    used = {"type", "name", "description", "function", *_SCHEMA_KEYS}
    out.update({key: one for key, one in inner.items() if key not in used and one is not None})
    return out


def documents(value: Value, memo: Memo) -> tuple[Value, ...]:
    """Return documents as `{"id", "score", "content", "metadata", ...}`, each key only where it came."""
    return tuple(document(item, memo) for item in (value if isinstance(value, tuple) else (value,)))


def document(item: Value, memo: Memo) -> Value:
    """Return one document, from the conventions' or a framework's form. Without an id, its text names it."""
    if isinstance(item, str):
        ok, parsed = memo.parse(item)
        item = parsed if ok and isinstance(parsed, Mapping) else {"content": item}
    if not isinstance(item, Mapping):
        return {"content": item}
    nested = item.get("node") or item.get("document")
    inner = nested if isinstance(nested, Mapping) else item
    out: dict[str, Value] = {}
    for name, keys in (("id", ("id", "id_")), ("score", ("score",)), ("content", ("content", "page_content", "text"))):
        for key in keys:
            one = inner.get(key, item.get(key))
            if one is not None:
                out[name] = one
                break
    metadata = inner.get("metadata")
    if metadata is not None:
        out["metadata"] = arguments(metadata, memo)
        noted = out["metadata"].get("score") if isinstance(out["metadata"], Mapping) else None
        if isinstance(noted, int | float) and "score" not in out:
            out["score"] = noted
    text = out.get("content")
    if "id" not in out and isinstance(text, str) and not withheld(text):
        out["id"] = "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    used = {"id", "id_", "score", "content", "page_content", "text", "metadata", "node", "document"}
    out.update({key: one for key, one in item.items() if key not in used and one is not None})
    return out
