import pytest

from runreel.semconv.messages import parts
from runreel.semconv.view import Memo
from runreel.values import Value


@pytest.mark.parametrize(
    ("came", "wanted"),
    [
        # Gemini: one key is set, the others may be null
        ({"text": "hi", "thought": None, "function_call": None}, {"type": "text", "content": "hi"}),
        ({"text": "hm", "thought": True}, {"type": "reasoning", "content": "hm"}),
        (
            {"function_call": {"id": "f1", "name": "get", "args": {"a": 1}, "will_continue": None}, "text": None},
            {"type": "tool_call", "id": "f1", "name": "get", "arguments": {"a": 1}},
        ),
        (
            {"functionCall": {"name": "get", "args": {}}, "thoughtSignature": "c2ln"},
            {"type": "tool_call", "id": "", "name": "get", "arguments": {}, "thoughtSignature": "c2ln"},
        ),
        (
            {"function_response": {"id": "f1", "name": "get", "response": {"b": 2}}},
            {"type": "tool_call_response", "id": "f1", "response": {"b": 2}, "name": "get"},
        ),
        (
            {"inline_data": {"mime_type": "image/png", "data": "aGk="}},
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aGk="},
        ),
        (
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/f.pdf"}},
            {"type": "uri", "modality": "document", "mime_type": "application/pdf", "uri": "gs://b/f.pdf"},
        ),
        # Anthropic: images and documents have a source
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aGk="},
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://e.example.com/a.png"}},
            {"type": "uri", "modality": "image", "uri": "https://e.example.com/a.png"},
        ),
        (
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "title": "t"},
            {"type": "file", "modality": "document", "file_id": "file_1", "title": "t"},
        ),
        (
            {"type": "document", "source": {"type": "text", "data": "hi"}},
            {"type": "document", "source": {"type": "text", "data": "hi"}},
        ),
        # Bedrock
        ({"text": "hi"}, {"type": "text", "content": "hi"}),
        (
            {"toolUse": {"toolUseId": "t1", "name": "get", "input": {"a": 1}}},
            {"type": "tool_call", "id": "t1", "name": "get", "arguments": {"a": 1}},
        ),
        (
            {"toolResult": {"toolUseId": "t1", "status": "error", "content": ({"text": "no"},)}},
            {"type": "tool_call_response", "id": "t1", "response": ({"text": "no"},), "status": "error"},
        ),
        (
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
            {"type": "reasoning", "content": "hm", "signature": "sig"},
        ),
        # AI SDK
        (
            {"type": "tool-call", "toolCallId": "c1", "toolName": "get", "input": '{"a": 1}'},
            {"type": "tool_call", "id": "c1", "name": "get", "arguments": {"a": 1}},
        ),
        (
            {"type": "tool-result", "toolCallId": "c1", "toolName": "get", "output": {"type": "json", "value": (1,)}},
            {"type": "tool_call_response", "id": "c1", "response": (1,), "name": "get"},
        ),
        (
            {"type": "tool-result", "toolCallId": "c1", "toolName": "get", "result": {"type": "a word"}},
            {"type": "tool_call_response", "id": "c1", "response": {"type": "a word"}, "name": "get"},
        ),
        ({"type": "reasoning", "text": "hm"}, {"type": "reasoning", "content": "hm"}),
        # what says nothing stays as it came
        ({"toolUse": "text"}, {"toolUse": "text"}),
        ({"image": {"format": "png"}}, {"image": {"format": "png"}}),
    ],
)
def test_a_providers_part_becomes_that_of_the_conventions(came: Value, wanted: Value) -> None:
    assert parts((came,), Memo()) == (wanted,)


def test_a_call_without_its_arguments_has_none() -> None:
    assert parts(({"type": "tool-call", "toolCallId": "c", "toolName": "t"},), Memo()) == (
        {"type": "tool_call", "id": "c", "name": "t"},
    )
