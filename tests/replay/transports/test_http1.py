"""HTTP/1.1 as bytes: however a request is written in pieces, and whatever an answer holds, nothing is lost."""

import http.client
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.replay.transports.http1 import Incoming, written
from runreel.replay.wire.values import HttpResponse

HEAD = b"POST /v1/x?y=1 HTTP/1.1\r\nHost: e.example.com\r\nX-Mine: yes\r\n"
bodies = st.binary(max_size=200)


def chunked(pieces):
    inside = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + inside + b"0\r\n\r\n"


def fed(data, cuts):
    """Feed a request cut at some places; return what came out after each piece."""
    incoming, at, out = Incoming("https://e.example.com"), 0, []
    for cut in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        incoming.feed(data[at:cut])
        at = cut
        out.append(incoming.taken())
    return [one for one in out if one is not None]


@given(bodies, st.lists(st.integers(0, 400), max_size=5))
def test_a_request_comes_out_once_and_whole_however_it_is_cut(body, cuts):
    (got,) = fed(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body, cuts)

    assert (got.method, got.url, got.body) == ("POST", "https://e.example.com/v1/x?y=1", body)
    assert ("X-Mine", "yes") in got.headers


@given(st.lists(bodies, max_size=4), st.lists(st.integers(0, 900), max_size=5))
def test_a_body_in_chunks_is_put_together(pieces, cuts):
    (got,) = fed(chunked(pieces), cuts)

    assert got.body == b"".join(pieces)


def test_a_whole_url_in_the_request_line_is_taken_as_it_is():
    incoming = Incoming("http://proxy.example.com:8080")
    incoming.feed(b"GET http://e.example.com/a HTTP/1.1\r\n\r\n")

    assert incoming.taken().url == "http://e.example.com/a"
    assert incoming.taken() is None


class Readable:
    def __init__(self, data):
        self.data = data

    def makefile(self, mode):
        return io.BytesIO(self.data)


def read(response, keep=True):
    got = http.client.HTTPResponse(Readable(b"".join(written(response, keep=keep))))
    got.begin()
    return got


@given(bodies)
def test_an_answer_is_read_as_it_was_given(body):
    got = read(HttpResponse(404, (("x-two", "a"), ("x-two", "b"), ("content-length", "7")), body))

    assert (got.status, got.read(), got.headers.get_all("x-two")) == (404, body, ["a", "b"])


@given(st.lists(bodies, max_size=4))
def test_a_streamed_answer_is_read_as_it_was_given(pieces):
    assert read(HttpResponse(200, (), iter(pieces))).read() == b"".join(pieces)


@pytest.mark.parametrize("keep", [True, False])
def test_a_connection_says_whether_it_takes_another_request(keep):
    assert read(HttpResponse(200, (), b""), keep).will_close is not keep


def test_a_status_that_nobody_knows_is_written_without_a_phrase():
    assert read(HttpResponse(529, (), b"busy")).reason == ""
