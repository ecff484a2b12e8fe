"""Recorded tokens in requests: one value a token, proved by the key, and secrets by their rule."""

from runreel.replay.unifying import Call, Rules
from tape_kit import EMAIL, KEY, TOKEN, ask_model, matcher, model, text, tool


def test_a_recorded_token_is_one_value_in_the_whole_run():
    tape = matcher(tool(0, "find", {"email": TOKEN}, ""), tool(1, "mail", {"to": TOKEN}, ""))

    assert tape.ask(Call("tool", "find", {"email": EMAIL})).seq == 0
    found = tape.ask(Call("tool", "mail", {"to": "other@example.com"}))

    assert (found.type, found.path, found.reason) == ("input_mismatch", "/to", "token")
    assert tape.bindings.assumed == {TOKEN}


def test_with_the_key_a_value_is_proved_and_another_one_is_a_change():
    tape = matcher(tool(0, "find", {"email": TOKEN}, ""), key=KEY)

    assert tape.ask(Call("tool", "find", {"email": "other@example.com"})).type == "input_mismatch"
    assert tape.ask(Call("tool", "find", {"email": EMAIL})).seq == 0
    assert (dict(tape.bindings.tokens), tape.bindings.assumed) == ({TOKEN: EMAIL}, frozenset())


def test_a_token_that_the_tape_served_equals_itself_while_the_agents_own_value_binds_it():
    asks = model(0, (text("user", f"I am {TOKEN}"),), (text("assistant", TOKEN),))
    uses = tool(1, "find", {"email": TOKEN}, "", after=[0])
    tape = matcher(asks, uses, key=KEY)

    assert tape.ask(ask_model((text("user", f"I am {EMAIL}"),))).seq == 0
    assert tape.ask(Call("tool", "find", {"email": TOKEN})).seq == 1
    assert dict(tape.bindings.tokens) == {TOKEN: EMAIL}


def test_a_secret_matches_what_its_rule_finds_and_binds_nothing():
    tape = matcher(tool(0, "login", {"key": "<SECRET:openai-key>"}, ""))
    tape.rules = Rules(None, lambda rule, value: rule == "openai-key" and value.startswith("sk-"))

    assert tape.ask(Call("tool", "login", {"key": "sk-anything"})).seq == 0
    assert not tape.bindings.tokens
