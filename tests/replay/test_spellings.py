"""The text of a call's arguments is the one that belongs to this call, also where ids come again."""

from otlp_build import call, msg
from recorded_runs import model_step, run_of, tool_step
from runreel.replay.spellings import Spellings
from runreel.replay.tape import build


def spellings(*texts):
    return Spellings(
        run_of(*(tool_step(n + 1, "search", text, "r", at=n, call_id="call_1") for n, text in enumerate(texts))).steps
    )


def part(arguments, call_id="call_1"):
    return {"type": "tool_call", "id": call_id, "name": "search", "arguments": arguments}


def test_a_text_is_the_one_that_says_what_the_call_says():
    known = spellings('{"q":  "one"}', '{"q": "two"}', '{"q": "thr')

    assert known.of([part({"q": "two"})]) == ('{"q": "two"}',)
    assert known.of([part({"q": "one"}), part('{"q": "thr')]) == ('{"q":  "one"}', '{"q": "thr')


def test_where_one_is_not_known_there_is_none():
    known = spellings('{"q": "one"}', '{"q": "two"}')

    assert known.of([part({"q": "one"}), part({"q": "four"})]) == ()
    assert known.of([part({"q": "one"}, "call_2")]) == ()


def test_an_id_that_comes_once_needs_no_comparison():
    assert spellings('{"q": "one"}').of([part({"q": "<EMAIL_1>"})]) == ('{"q": "one"}',)


def test_an_argument_that_a_framework_recorded_bare_is_no_text_of_a_model():
    known = spellings("Lisbon")

    assert known.of([part({"city": "Lisbon"})]) == ()
    assert known.of([part("Lisbon")]) == ("Lisbon",)


def test_conversations_that_use_the_same_id_get_their_own_arguments():
    cities = ("Lisbon", "Oslo")
    models = [
        model_step(n + 1, [msg("user", city)], [call("weather", {"city": city}, "call_1")], at=n)
        for n, city in enumerate(cities)
    ]
    tools = [
        tool_step(n + 1, "weather", {"city": city}, "ok", at=20 + n, call_id="call_1") for n, city in enumerate(cities)
    ]
    asked = [entry for entry in build(run_of(*models, *tools)).entries if entry.kind == "llm"]

    assert [entry.answer.fields["tool_call_texts"] for entry in asked] == [
        (f'{{"city": "{city}"}}',) for city in cities
    ]
