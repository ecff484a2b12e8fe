"""What a comparison lets pass: masks, and values that are drawn anew."""

import uuid

from runreel.replay.masks import parse
from runreel.replay.unifying import Call
from tape_kit import matcher, tool


def test_a_mask_hides_a_field_and_counts_how_often_it_hid_one():
    tape = matcher(
        *(tool(n, "note", {"id": n, "tmp": f"/tmp/{n}"}, "") for n in range(3)),
        masks=(parse("tool:note/tmp"), parse("tool:other/tmp")),
    )

    assert [tape.ask(Call("tool", "note", {"id": n, "tmp": f"/var/{n % 2}"})).seq for n in range(3)] == [0, 1, 2]
    assert tape.finish(stopped=False) == ((), 0)
    assert dict(tape.masked) == {"tool:note/tmp": 3, "tool:other/tmp": 0}


def test_what_needs_no_mask_is_answered_first():
    entries = [tool(n, "note", {"id": "same", "tmp": tmp}, tmp) for n, tmp in enumerate(("/a", "/b"))]
    tape = matcher(*entries, masks=(parse("tool:note/tmp"),))

    assert tape.ask(Call("tool", "note", {"id": "same", "tmp": "/b"})).seq == 1
    assert tape.masked["tool:note/tmp"] == 0


def test_masks_that_would_hide_the_whole_request_of_a_call_are_not_used_there_and_said():
    tape = matcher(tool(0, "poll", {"job": "a"}, ""), masks=(parse("tool:poll/job"),))

    found = tape.ask(Call("tool", "poll", {"job": "b"}))

    assert (found.type, found.path) == ("input_mismatch", "/job")
    assert any("would hide a whole request: tool:poll/job" in note for note in tape.notes)


def test_a_drawn_id_stands_for_the_recorded_one_and_is_listed():
    old, new = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
    tape = matcher(tool(0, "put", {"id": old}, ""), tool(1, "get", {"id": old}, "", [0]))
    tape.drawn.add("uuid", new)

    assert tape.ask(Call("tool", "put", {"id": new})).seq == 0
    assert tape.ask(Call("tool", "get", {"id": str(uuid.UUID(int=3))})).type == "input_mismatch"
    assert tape.ask(Call("tool", "get", {"id": new})).seq == 1
    assert list(tape.drawn.assumed) == [f"uuid {old}"]


def test_a_process_id_in_a_request_is_nondeterminism_and_names_the_mask():
    tape = matcher(tool(0, "note", {"id": 1, "tmp": "/tmp/4711"}, ""))
    tape.drawn.pids.add(99)

    found = tape.ask(Call("tool", "note", {"id": 1, "tmp": "/tmp/99"}))

    assert (found.type, found.recorded, found.path) == ("nondeterminism", 0, "/tmp")
    assert (found.was, found.now) == ("/tmp/4711", "/tmp/99")
    assert "--mask tool:note/tmp" in found.advice


def test_a_real_change_beside_a_process_id_is_a_change():
    tape = matcher(tool(0, "note", {"tmp": "/tmp/4711", "id": 1}, ""))
    tape.drawn.pids.add(99)

    assert tape.ask(Call("tool", "note", {"tmp": "/tmp/99", "id": 2})).path == "/id"
