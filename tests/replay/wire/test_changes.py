"""Whatever of a request is changed, the recorded answer is not given to it, or the change is said not to be seen."""

import base64
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from run_kit import capture
from runreel.canonical import Bindings
from runreel.replay.host import model_call
from runreel.replay.tape import build
from runreel.replay.unifying import Rules, compare, not_compared
from runreel.replay.wire import HttpRequest, parse
from runreel.runs.assemble import assemble
from runreel.semconv.secrets import is_secret

HERE = Path(__file__).parent
RULES = Rules(None, is_secret)
APIS = ("chat", "responses", "anthropic", "gemini")
# What no instrumentation records: a change of it is not seen, and the report says so ("not compared").
UNSEEN = {
    "chat": {"strict", "detail", "tool_choice"},
    "responses": {"strict", "detail", "tool_choice", "effort", "summary", "id"},
    "anthropic": {"tool_choice", "cache_control", "budget_tokens", "thinking"},
    "gemini": {"include_thoughts"},
}
# How an answer travels, what only the provider reads, and names that stand beside a call's id.
OF_NO_MATTER = {"signature", "annotations", "logprobs", "status"}
OF_NO_MATTER_BELOW = {"tool_calls": {"type"}, "systemInstruction": {"role"}, "functionResponse": {"name"}}
# What counts the same said or not.
KNOWN_WITHOUT = {"gemini": {"id"}}  # calls are known by their name and order where a request has no ids
AT_DEFAULT = {"role", "type", "media_type", "responseMimeType", "response_mime_type"}


@cache
def requests(api):
    """Return (recorded entry, url, body) of every request that the real SDK sends in a replay of a capture."""
    done = subprocess.run(
        [sys.executable, HERE / "drive.py", api, "sync", "plain"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    run = assemble(*capture(HERE.parents[1] / "data" / "wire" / f"{api}-plain"))
    entries = {entry.seq: entry for entry in build(run).entries}
    sent = json.loads(done.stdout)
    return [(entries[one["step"]], one["url"], json.loads(base64.b64decode(one["body"]))) for one in sent]


def asked(url, body):
    return model_call(parse(HttpRequest("POST", url, (), json.dumps(body).encode())))


def same(entry, call):
    return isinstance(compare(entry, call, Bindings(), RULES), Bindings)


def leaves(value, path=()):
    """Yield the path of every text, number and truth value in a body."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield path
        return
    for key, one in inner:
        yield from leaves(one, (*path, key))


def changed(body, path, change):
    out = json.loads(json.dumps(body))
    at = out
    for key in path[:-1]:
        at = at[key]
    change(at, path[-1])
    return out


def other(at, key):
    value = at[key]
    at[key] = not value if isinstance(value, bool) else value + 1 if isinstance(value, int | float) else f"{value}x"


def is_of_no_matter(path):
    return path[-1] in OF_NO_MATTER or any(path[-1] in OF_NO_MATTER_BELOW.get(key, ()) for key in path[:-1])


def gone(at, key):
    del at[key]


@pytest.mark.parametrize("api", APIS)
def test_the_request_itself_is_the_recorded_one(api):
    assert len(requests(api)) >= 9
    assert all(same(entry, asked(url, body)) for entry, url, body in requests(api))


@pytest.mark.parametrize("change", [other, gone])
@pytest.mark.parametrize("api", APIS)
def test_a_change_anywhere_in_a_request_is_not_given_the_recorded_answer(api, change):
    taken, unseen = [], set()
    for entry, url, body in requests(api):
        for path in leaves(body):
            without = AT_DEFAULT | KNOWN_WITHOUT.get(api, set())
            if is_of_no_matter(path) or (change is gone and (isinstance(path[-1], int) or path[-1] in without)):
                continue
            made = changed(body, path, change)
            if parse(HttpRequest("POST", url, (), json.dumps(made).encode())) is None:
                continue  # without that field it is no request to this API
            call = asked(url, made)
            if not same(entry, call):
                continue
            known = UNSEEN[api] & {*map(str, path)}
            if not known or not (change is gone or "cache_control" in path or not_compared(entry, call)):
                taken.append((entry.seq, path))
            unseen |= known
    assert taken == []
    assert unseen <= UNSEEN[api]


@pytest.mark.parametrize("api", APIS)
def test_a_message_more_or_less_is_not_given_the_recorded_answer(api):
    key = {"responses": "input", "gemini": "contents"}.get(api, "messages")
    for entry, url, body in requests(api):
        if not isinstance(body[key], list):
            continue
        assert not same(entry, asked(url, {**body, key: [*body[key], body[key][0]]}))
        assert not same(entry, asked(url, {**body, key: body[key][1:]}))


ADDED = {
    "chat": [("temperature", 0.9), ("stop", "END"), ("top_p", 0.3), ("seed", 1), ("n", 2), ("frequency_penalty", 1)],
    "responses": [("temperature", 0.9), ("top_p", 0.3), ("max_output_tokens", 3)],
    "anthropic": [("temperature", 0.9), ("stop_sequences", ["END"]), ("top_p", 0.3), ("top_k", 3), ("max_tokens", 3)],
    "gemini": [
        ("generationConfig", {"temperature": 0.5, "maxOutputTokens": 1024, name: 3}) for name in ("seed", "topK")
    ],
}


@pytest.mark.parametrize(("api", "name", "value"), [(api, *one) for api, added in ADDED.items() for one in added])
def test_a_parameter_that_was_not_there_is_not_given_the_recorded_answer(api, name, value):
    entry, url, body = requests(api)[-1]

    assert not same(entry, asked(url, {**body, name: value}))


@pytest.mark.parametrize("api", APIS)
def test_another_model_is_not_given_the_recorded_answer(api):
    entry, url, body = requests(api)[0]
    if api == "gemini":
        assert not same(entry, asked(url.replace("gemini-2.5-flash", "gemini-2.5-pro"), body))
    else:
        assert not same(entry, asked(url, {**body, "model": "another"}))


@pytest.mark.parametrize("api", APIS)
def test_tools_in_another_order_or_one_more_are_not_given_the_recorded_answer(api):
    entry, url, body = next(one for one in requests(api) if one[2].get("tools"))
    tool = body["tools"][0]
    text = json.dumps(tool).replace("get_weather", "get_time")

    assert not same(entry, asked(url, {**body, "tools": [tool, json.loads(text)]}))
    assert not same(entry, asked(url, {name: one for name, one in body.items() if name != "tools"}))
