"""With redaction on, a replay matches what it matches without: every recorded call, asked for again with raw values.

A driver takes the place of the agent: it asks for each call as it was before redaction. It is given the answers of the
redacted tape, and never uses them.
"""

import base64
from pathlib import Path

import pytest

from otlp_build import agent, req
from recorded_runs import KEY, tool_step
from runreel import otlp
from runreel.errors import RefusedError
from runreel.processors.redact import Redactor
from runreel.replay import tape
from runreel.replay.matching import Matcher
from runreel.replay.unifying import Call, Rules
from runreel.replay.values import Divergence, Entry
from runreel.runs.assemble import assemble
from runreel.runs.identity import group
from runreel.semconv.secrets import is_secret
from runreel.values import RawBatch
from span_kit import CAPTURES, SAMPLES, capture, sample

# Other projects' samples are read where they stand, if they are there.
ELSEWHERE = Path(__file__).resolve().parents[3] / "shared" / "samples"
SECRET = "sk-test-51HxFAKE0000000000000000"
OTHER_SECRET = "sk-test-77QwFAKE1111111111111111"


def samples(folder):
    names = (path.relative_to(folder).as_posix() for path in folder.glob("*/*.traces.json"))
    return {name.removesuffix(".traces.json"): folder for name in names}


RECORDED = {
    **{f"captures/{path.relative_to(CAPTURES)}": None for path in sorted(CAPTURES.glob("*/*")) if path.is_dir()},
    **{f"samples/{name}": folder for name, folder in sorted({**samples(ELSEWHERE), **samples(SAMPLES)}.items())},
}


@pytest.fixture(scope="module")
def redactor():
    return Redactor(KEY)


def runs(spans, logs):
    return [assemble(*members, run_id=run_id) for run_id, members in sorted(group(spans, logs).items())]


def asked_again(recorded, over, key):
    """Ask for each call of one run over the tape of another; return the steps that answered, or why none did."""
    arranged = tape.build(over)
    matcher = Matcher(arranged, Rules(key, is_secret))
    matcher.serve(over.value(over.user_input))
    found = [matcher.ask(Call(one.kind, one.name, one.request, one.call_id)) for one in tape.build(recorded).entries]
    return [one.seq if isinstance(one, Entry) else (one.type, one.recorded, one.path, one.reason) for one in found]


@pytest.mark.parametrize("path", RECORDED)
def test_every_call_matches_with_redaction_on_as_with_redaction_off(path, redactor):
    name, folder = path.partition("/")[2], RECORDED[path]
    spans, logs = capture(name) if folder is None else sample(name, folder)
    clean = redactor.process(RawBatch("default", spans, logs))

    for raw, redacted in zip(runs(spans, logs), runs(clean.spans, clean.logs), strict=True):
        try:
            entries = tape.build(raw).entries
        except RefusedError:
            with pytest.raises(RefusedError):
                tape.build(redacted)
            continue
        every = [entry.seq for entry in entries]
        assert asked_again(raw, raw, None) == every
        assert asked_again(raw, redacted, KEY.secret) == every
        assert asked_again(raw, redacted, None) == every


def personal(email="dana.fields@example.com", secret=SECRET):
    """A call with personal values of every kind, in every place that has one."""
    inside = base64.b64encode(f"write to {email} at once, please".encode()).decode()
    return {
        "to": email,
        "text": f"Dana <{email}>, +1 202-555-0143, card 4242 4242 4242 4242, from 203.0.113.7",
        "card": 4242424242424242,
        "phones": ["+1 202-555-0143", "+44 20 7946 0958"],
        "account": "DE89 3704 0044 0532 0130 00",
        "link": f"https://example.com/a?to={email.replace('@', '%40')}&page=2",
        "body": inside,
        "json": f'{{"to": "{email}", "n": 1}}',
        "by_address": {email: "customer"},
        "api_key": secret,
        "command": f"deploy --token {secret} --verbose",
        "order": "A-1042",
    }


def batch_with(*arguments):
    steps = (tool_step(n, "mail", given, {"ok": n}, at=10 * n, call_id=f"c{n}") for n, given in enumerate(arguments, 1))
    return otlp.decode("traces", req(agent(), *steps).SerializeToString(), "protobuf", "default")


def run_with(*arguments):
    return assemble(batch_with(*arguments).spans)


def redacted_of(redactor, *arguments):
    clean = redactor.process(batch_with(*arguments))
    return assemble(clean.spans, clean.logs)


def test_personal_values_of_every_kind_in_every_place_are_found_again(redactor):
    arguments = [personal(), personal("omar@example.org", OTHER_SECRET)]
    raw, redacted = run_with(*arguments), redacted_of(redactor, *arguments)

    assert "dana.fields" not in repr(redacted.payloads)
    assert "4242" not in repr(redacted.payloads)
    assert SECRET not in repr(redacted.payloads)
    assert asked_again(raw, redacted, KEY.secret) == asked_again(raw, raw, None) == [1, 2]


def one_call(redactor, recorded, live, key):
    matcher = Matcher(tape.build(redacted_of(redactor, recorded)), Rules(key, is_secret))
    return matcher.ask(Call("tool", "mail", live))


@pytest.mark.parametrize("key", [KEY.secret, None], ids=["key", "no-key"])
def test_two_secrets_under_one_rule_do_not_diverge(redactor, key):
    found = one_call(redactor, {"api_key": SECRET, "n": 1}, {"api_key": OTHER_SECRET, "n": 1}, key)

    assert isinstance(found, Entry)


def test_two_addresses_under_one_token_diverge(redactor):
    recorded = {"to": "dana.fields@example.com", "copy": "dana.fields@example.com"}

    proved = one_call(redactor, recorded, {**recorded, "copy": "omar@example.org"}, KEY.secret)
    assumed = one_call(redactor, recorded, {"to": "omar@example.org", "copy": "eve@example.org"}, None)

    assert (proved.type, proved.path, proved.reason) == ("input_mismatch", "/copy", "token")
    assert isinstance(assumed, Divergence)
    assert (assumed.type, assumed.path, assumed.reason) == ("input_mismatch", "/copy", "token")


def test_another_address_is_told_with_the_key_and_assumed_without(redactor):
    recorded, live = {"to": "dana.fields@example.com"}, {"to": "omar@example.org"}

    assert one_call(redactor, recorded, live, KEY.secret).type == "input_mismatch"
    assert isinstance(one_call(redactor, recorded, live, None), Entry)
