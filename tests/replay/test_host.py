"""The parent answers frames, and what it says to the agent's process holds no value."""

import socket
import threading

import pytest

from runreel.canonical import dumps, loads
from runreel.replay.host import MOST_REFUSALS, Host, explain
from runreel.replay.matching import Matcher
from runreel.replay.protocol import Channel, Frame, Link
from runreel.replay.tape import Tape
from runreel.replay.unifying import Rules
from runreel.replay.values import Divergence, Entry, Raised, Returned
from runreel.semconv.secrets import is_secret
from runreel.values import Run

EMAIL = "dana.fields@example.com"


class Served:
    """A host on a thread, and the child's end of its channel."""

    def __init__(self, *entries):
        ours, theirs = socket.socketpair()
        self.channel, self.link = Channel(ours.detach()), Link(Channel(theirs.detach()))
        run = Run("default", "r" * 32, "", (), "agent")
        self.host = Host(Matcher(Tape(run, entries), Rules(None, is_secret)), self.channel)
        self.whole = []
        self.thread = threading.Thread(target=lambda: self.whole.append(self.host.serve()))
        self.thread.start()

    def end(self):
        self.link._channel.close()
        self.thread.join()
        self.channel.close()
        return self.host

    def call(self, name, arguments):
        body = dumps({"arguments": arguments, "defaults": {}}).encode()
        return self.link.ask(Frame("call", {"kind": "tool", "name": name, "call_id": ""}, body))

    def http(self, url, body=b"{}", method="POST"):
        return self.link.ask(Frame("http", {"method": method, "url": url, "headers": [["a", "b"]]}, body))


@pytest.fixture
def serve():
    served = []

    def make(*entries):
        served.append(Served(*entries))
        return served[-1]

    yield make
    for one in served:
        if one.thread.is_alive():
            one.end()


def chat(*answers):
    asked = {"model": "m", "messages": ({"role": "user", "parts": ({"type": "text", "content": "q"},)},)}
    return [
        Entry(n, "llm", "m", {**asked, "tools": None, "params": {}}, given, end_ns=1000 * (n + 1))
        for n, given in enumerate(answers)
    ]


CHAT = "https://gateway.example.com/openai/v1/chat/completions"
QUESTION = b'{"model": "m", "messages": [{"role": "user", "content": "q"}]}'
STREAMED = b'{"model": "m", "stream": true, "messages": [{"role": "user", "content": "q"}]}'
ANSWER = Returned(({"role": "assistant", "parts": ({"type": "text", "content": "hello"},), "finish_reason": "stop"},))


def test_a_tool_gets_its_answer_and_the_time_at_which_it_came(serve):
    one = serve(Entry(0, "tool", "get", {"city": "Oslo"}, Returned({"n": (1, b"x")}), end_ns=77))

    reply = one.call("get", {"city": "Oslo"})

    assert (reply.get("how"), reply.get("clock_ns"), loads(reply.body.decode())) == (
        "returned",
        77,
        {"n": (1, b"x")},
    )
    assert one.end().matcher.answered == {("tool", "get"): 1}


def test_what_the_agent_draws_stands_for_what_the_record_has_in_its_place(serve):
    old, new = "6f9619ff-8b86-4011-b42d-00cf4fc964ff", "0e984725-c51c-4bf4-9960-e1c80e27aba0"
    one = serve(Entry(0, "tool", "put", {"id": old}, Returned("")))
    one.link.tell(Frame("drew", {"kind": "uuid", "value": new}))

    assert one.call("put", {"id": new}).get("how") == "returned"
    assert list(one.end().matcher.drawn.assumed) == [f"uuid {old}"]


def test_the_boundary_that_asks_is_named(serve):
    one = serve(*chat(ANSWER), Entry(7, "tool", "get", {}, Returned("")))
    body = dumps({"arguments": {}, "defaults": {}}).encode()

    one.http(CHAT, QUESTION)
    one.link.ask(Frame("call", {"kind": "tool", "name": "get", "call_id": "", "via": "recorder"}, body))

    assert one.end().matcher.coverage == {0: "wire openai.chat", 7: "recorder"}


def test_a_recorded_failure_is_told_by_type_and_text(serve):
    reply = serve(Entry(0, "tool", "get", {}, Raised("KeyError", "'x'"))).call("get", {})

    assert (reply.get("how"), reply.get("error_type"), loads(reply.body.decode())) == ("raised", "KeyError", "'x'")


def test_a_call_that_was_not_recorded_is_told_without_its_values(serve):
    one = serve(Entry(0, "tool", "get", {"to": "x"}, Returned("")))

    reply = one.call("get", {"to": EMAIL})

    assert (reply.get("how"), reply.body) == ("diverged", b"")
    assert reply.get("message") == "runreel replay: input_mismatch of step 0 (tool get) at /to"
    assert EMAIL not in str(one.end().matcher.divergences)


def test_a_model_request_is_answered_in_the_apis_own_words_on_any_host(serve):
    reply = serve(*chat(ANSWER)).http(CHAT, QUESTION)

    assert (reply.get("status"), reply.get("clock_ns")) == (200, 1000)
    assert b'"content":"hello"' in reply.body


def test_a_stream_arrives_in_the_pieces_it_was_written_in(serve):
    reply = serve(*chat(ANSWER)).http(CHAT, STREAMED)

    assert len(reply.get("chunks")) > 2
    assert sum(reply.get("chunks")) == len(reply.body)
    assert reply.body.endswith(b"data: [DONE]\n\n")


def test_a_stream_that_broke_off_breaks_off_again(serve):
    partial = Raised("APIConnectionError", "lost", {"partial": ANSWER.value})

    reply = serve(*chat(partial)).http(CHAT, STREAMED)

    assert reply.get("end") == "lost"


@pytest.mark.parametrize(("error", "how"), [("APIConnectionError", "lost"), ("APITimeoutError", "timeout")])
def test_a_call_that_got_no_answer_gets_none_at_every_try_of_the_sdk(serve, error, how):
    one = serve(*chat(Raised(error, "no answer")))

    tries = [one.http(CHAT, QUESTION).get("how") for _ in range(3)]

    assert tries == [how] * 3
    host = one.end()
    assert (host.matcher.answered, host.matcher.finish(stopped=True)) == ({("llm", "m"): 1}, ((), 0))


def test_a_model_request_that_diverged_is_refused_so_that_no_sdk_tries_again(serve):
    reply = serve().http(CHAT, QUESTION)

    assert reply.get("status") == 400
    assert ["x-should-retry", "false"] in reply.get("headers")
    assert b"unrecorded_call" in reply.body


def test_any_other_request_is_refused_and_is_a_network_attempt_without_its_path(serve):
    one = serve()

    reply = one.http(f"https://api.example.com/customers/{EMAIL}", method="GET")

    assert reply.get("how") == "refused"
    (found,) = one.end().matcher.divergences
    assert (found.type, found.name) == ("network_attempt", "GET api.example.com")


def test_telemetry_of_a_vendor_is_refused_and_only_noted(serve):
    one = serve()

    assert one.http("https://eu.posthog.com/capture").get("how") == "refused"
    host = one.end()
    assert host.matcher.divergences == []
    assert list(host.notes) == ["telemetry of a vendor was not sent: POST eu.posthog.com"]


def test_what_the_child_tells_is_kept(serve):
    one = serve()
    for frame in (
        Frame("otlp", {"signal": "traces", "encoding": "protobuf"}, b"x"),
        Frame("network", {"event": "socket.connect", "target": "h:1", "pid": "5"}),
        Frame("note", {"text": "a note"}),
        Frame("ended", {"how": "returned", "code": 0}),
        Frame("forked", {"what": "call", "name": "get"}),
    ):
        one.link.tell(frame)

    host = one.end()

    assert host.otlp == [("traces", "protobuf", b"x")]
    assert host.network == [{"event": "socket.connect", "target": "h:1", "pid": "5"}]
    assert host.told["ended"] == {"how": "returned", "code": 0}
    assert "a note" in host.notes
    assert [one.type for one in host.matcher.divergences] == ["unrecorded_call"]


def test_a_child_that_only_asks_for_what_it_cannot_have_is_given_up(serve):
    one = serve()
    for n in range(MOST_REFUSALS):
        one.call("get", {"n": n})
    one.link.tell(Frame("note", {"text": "one more"}))
    one.thread.join()

    assert one.whole == [False]


def test_an_explanation_names_step_path_and_reason_but_no_value():
    found = Divergence("unrecorded_call", kind="tool", name="mail", now=EMAIL, has_now=True, reason="never recorded")

    assert explain(found) == "runreel replay: unrecorded_call (tool mail): never recorded"
