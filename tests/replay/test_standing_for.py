"""A changed request has something in common with the recorded one; one more request need not."""

import pytest

from runreel.replay.standing_for import may_stand_for
from tape_kit import ask_model, model, text, with_result

DESK = (text("system", "You handle refunds for the shop."), text("user", "Order A-1042 arrived broken, please help."))
TOOLS = ({"name": "refund", "description": "Pay back."},)


@pytest.mark.parametrize(
    ("recorded", "live", "stands"),
    [
        (model(0, DESK), ask_model((text("system", "Other words"), text("user", "entirely new"))), True),
        (model(0, DESK), ask_model(DESK[1:]), True),
        (model(0, DESK), ask_model((text("user", "Order A-1042 arrived broken, help please."),)), True),
        (model(0, DESK), ask_model((text("user", "Is this safe? Yes or no."),)), False),
        (model(0, DESK, tools=TOOLS), ask_model((text("system", "x"), text("user", "y")), tools=()), False),
        (model(0, DESK, tools=TOOLS), ask_model((text("system", "x"), text("user", "y")), tools=TOOLS), True),
        (model(0, DESK), ask_model((text("system", "x"), text("user", "y")), tools=TOOLS), True),
        (model(0, with_result("c1", "21")), ask_model((*with_result("c1", "other"), text("user", "go on"))), True),
        (model(0, "no messages"), ask_model(DESK), True),
    ],
)
def test_what_has_the_same_form_or_half_its_messages_in_common_stands_for_it(recorded, live, stands):
    assert may_stand_for(recorded, live) is stands
