"""Frames arrive whole, in order, whoever sends them, and an end in the middle is an end."""

import os
import socket
import threading

import pytest

from runreel.replay.protocol import Channel, ForkedError, Frame, Link, LostError


@pytest.fixture
def pair():
    left, right = socket.socketpair()
    channels = Channel(left.detach()), Channel(right.detach())
    yield channels
    for channel in channels:
        channel.close()


def answering(channel, answer):
    """Answer every question on a thread until the other end goes."""

    def serve():
        while (frame := channel.receive()) is not None:
            if "id" in frame.head:
                channel.send(Frame("answer", {"id": frame.get("id")}, answer(frame)))

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_a_frame_arrives_with_its_head_and_its_bytes(pair):
    left, right = pair

    left.send(Frame("http", {"url": "é", "n": 3}, bytes(range(256))))

    frame = right.receive()
    assert frame == Frame("http", {"url": "é", "n": 3}, bytes(range(256)))


def test_a_frame_larger_than_the_buffer_arrives_whole(pair):
    left, right = pair
    body = os.urandom(3_000_000)
    sender = threading.Thread(target=left.send, args=(Frame("otlp", {}, body),))
    sender.start()

    frame = right.receive()

    sender.join()
    assert frame.body == body


def test_a_stream_that_ends_inside_a_frame_ends(pair):
    left, right = pair
    os.write(left._descriptor, b"\x00\x00\x00\x10\x00\x00\x00\x00{")
    left.close()

    assert right.receive() is None


def test_a_length_that_no_frame_has_ends_the_stream(pair):
    left, right = pair
    os.write(left._descriptor, b"\xff" * 8)

    assert right.receive() is None


def test_threads_that_ask_at_once_each_get_their_own_reply(pair):
    left, right = pair
    server = answering(right, lambda frame: frame.body)
    link = Link(left)
    got = {}
    threads = [
        threading.Thread(target=lambda n=n: got.setdefault(n, link.ask(Frame("call", {}, b"%d" % n)).body))
        for n in range(20)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    left.close()
    server.join()
    assert got == {n: b"%d" % n for n in range(20)}


def test_a_reply_that_comes_early_waits_for_whoever_asked(pair):
    left, right = pair
    link = Link(left)
    right.send(Frame("answer", {"id": 2}, b"second"))
    right.send(Frame("answer", {"id": 1}, b"first"))

    assert [link.ask(Frame("call")).body, link.ask(Frame("call")).body] == [b"first", b"second"]


def test_asking_when_the_parent_is_gone_says_so_and_telling_does_nothing(pair):
    left, right = pair
    right.close()
    link = Link(left)

    with pytest.raises(LostError):
        link.ask(Frame("call"))
    link.tell(Frame("note"))


def test_a_forked_process_is_told_that_it_cannot_ask_and_the_parent_hears_of_it(pair):
    left, right = pair
    link = Link(left)
    child = os.fork()
    if child == 0:
        try:
            link.ask(Frame("call", {"name": "search"}))
        except ForkedError:
            os._exit(7)
        os._exit(1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    frame = right.receive()
    assert (frame.type, frame.head) == ("forked", {"what": "call", "name": "search"})


def test_a_frame_shows_neither_head_nor_body_when_it_is_printed():
    assert "secret" not in repr(Frame("call", {"text": "secret"}, b"secret"))


def test_a_number_that_is_another_file_by_now_is_neither_written_nor_read(tmp_path):
    left, right = socket.socketpair()
    number = left.detach()
    channel = Channel(number)
    (tmp_path / "own").write_bytes(bytes(64))
    with (tmp_path / "own").open("r+b") as own:
        os.dup2(own.fileno(), number)

        with pytest.raises(BrokenPipeError):
            channel.send(Frame("http"))
        assert channel.receive() is None

    assert (tmp_path / "own").read_bytes() == bytes(64)
    right.close()
    channel.close()


def test_a_forked_process_cannot_say_how_its_parent_ended(pair):
    left, right = pair
    link = Link(left)
    pid = os.fork()
    if pid == 0:
        link.tell(Frame("ended", {"how": "returned"}))
        link.tell(Frame("note", {"text": "from the fork"}))
        os._exit(0)
    os.waitpid(pid, 0)
    link.tell(Frame("ended", {"how": "raised"}))

    assert [right.receive().type for _ in range(2)] == ["note", "ended"]
