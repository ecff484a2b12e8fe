"""Recognises message parts in the words of a provider or framework: Gemini's, Bedrock's, Anthropic's and the AI SDK's.

Gemini and Bedrock tell parts apart by the one key that is set; the AI SDK by types with a dash; Anthropic's images and
documents have a source.
"""

from collections.abc import Mapping

from runreel.values import Value

Made = dict[str, Value]
_CALLS = ("function_call", "functionCall", "toolUse")
_ANSWERS = ("function_response", "functionResponse", "toolResult")


def provider_part(value: Mapping[str, Value]) -> Made | None:
    """Return the conventions' part for a provider's, None where it is none of theirs."""
    if "type" in value:
        return _ai_sdk(value) or _anthropic(value)
    for key in _CALLS:
        if isinstance(inner := value.get(key), Mapping):
            return _with_rest(_call(inner), value, key)
    for key in _ANSWERS:
        if isinstance(inner := value.get(key), Mapping):
            return _with_rest(_answer(inner), value, key)
    if isinstance(text := value.get("text"), str) and value.get("thought") is True:
        return _with_rest({"type": "reasoning", "content": text}, value, "text", "thought")
    if isinstance(inner := value.get("reasoningContent"), Mapping):
        return _bedrock_reasoning(inner)
    return _media(value)


def _call(inner: Mapping[str, Value]) -> Made:
    out: Made = {"type": "tool_call", "id": _first(inner, "id", "toolUseId") or "", "name": inner.get("name")}
    for key in ("args", "input", "arguments"):
        if inner.get(key) is not None:
            out["arguments"] = inner[key]
            break
    return out


def _answer(inner: Mapping[str, Value]) -> Made:
    out: Made = {"type": "tool_call_response", "id": _first(inner, "id", "toolUseId") or ""}
    for key in ("response", "content"):
        if inner.get(key) is not None:
            out["response"] = inner[key]
            break
    for key in ("name", "status"):
        if inner.get(key) is not None:
            out[key] = inner[key]
    return out


def _bedrock_reasoning(inner: Mapping[str, Value]) -> Made:
    text = inner.get("reasoningText")
    found = text if isinstance(text, Mapping) else inner
    out: Made = {"type": "reasoning"}
    if "text" in found:
        out["content"] = found["text"]
    out.update({key: one for key, one in found.items() if key != "text" and one is not None})
    return out


def _media(value: Mapping[str, Value]) -> Made | None:
    for key in ("inline_data", "inlineData"):
        if isinstance(inner := value.get(key), Mapping) and "data" in inner:
            kind = _first(inner, "mime_type", "mimeType")
            return {"type": "blob", "modality": _modality(kind), "mime_type": kind or "", "content": inner["data"]}
    for key in ("file_data", "fileData"):
        if isinstance(inner := value.get(key), Mapping):
            kind, uri = _first(inner, "mime_type", "mimeType"), _first(inner, "file_uri", "fileUri")
            return {"type": "uri", "modality": _modality(kind), "mime_type": kind or "", "uri": uri}
    return None


def _ai_sdk(value: Mapping[str, Value]) -> Made | None:
    kind = value["type"]
    if kind == "tool-call":
        out: Made = {"type": "tool_call", "id": value.get("toolCallId") or "", "name": value.get("toolName")}
        key = next((key for key in ("input", "args") if key in value), "")
        if key:
            out["arguments"] = value[key]
        return _with_rest(out, value, "type", "toolCallId", "toolName", key)
    if kind == "tool-result":
        out = {"type": "tool_call_response", "id": value.get("toolCallId") or ""}
        key = next((key for key in ("output", "result") if key in value), "")
        if key:
            output = value[key]
            typed = isinstance(output, Mapping) and "type" in output and "value" in output
            out["response"] = output["value"] if typed and isinstance(output, Mapping) else output
        if isinstance(value.get("toolName"), str):
            out["name"] = value["toolName"]
        return _with_rest(out, value, "type", "toolCallId", "toolName", key)
    if kind == "reasoning" and "text" in value and "content" not in value:
        return _with_rest({"type": "reasoning", "content": value["text"]}, value, "type", "text")
    return None


def _anthropic(value: Mapping[str, Value]) -> Made | None:
    kind, source = value["type"], value.get("source")
    if kind not in ("image", "document") or not isinstance(source, Mapping):
        return None
    of, mime = source.get("type"), source.get("media_type")
    typed: Made = {"modality": kind} if mime is None else {"modality": kind, "mime_type": mime}
    if of == "base64" and "data" in source:
        return _with_rest({"type": "blob", **typed, "content": source["data"]}, value, "type", "source")
    if of == "url":
        return _with_rest({"type": "uri", **typed, "uri": source.get("url")}, value, "type", "source")
    if of == "file":
        return _with_rest({"type": "file", **typed, "file_id": source.get("file_id")}, value, "type", "source")
    return None


def _with_rest(made: Made, value: Mapping[str, Value], *used: str) -> Made:
    made.update({key: one for key, one in value.items() if key not in used and one is not None})
    return made


def _first(value: Mapping[str, Value], *keys: str) -> Value:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _modality(kind: Value) -> str:
    top = kind.partition("/")[0] if isinstance(kind, str) else ""
    return top if top in ("image", "audio", "video") else "document"
