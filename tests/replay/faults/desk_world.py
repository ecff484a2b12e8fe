"""The world of the desk agent: what its tools, its index and its model answer. All values are invented."""

import os

from runreel.demo.model_server import Turn


def ran(name):
    """Leave a trace outside of the process: in a replay no body may run."""
    if "DESK_RAN" in os.environ:
        with open(os.environ["DESK_RAN"], "a", encoding="utf-8") as bodies:
            bodies.write(name + "\n")


DOCUMENTS = [
    {"id": "kb-17", "score": 0.91, "content": "Broken goods are refunded in full within 30 days of delivery."},
    {"id": "kb-22", "score": 0.42, "content": "Shipping costs are refunded only where the whole order goes back."},
    {"id": "kb-31", "score": 0.17, "content": "Gift cards are never refunded in cash."},
]
ORDER = {"order_id": "A-1042", "status": "delivered", "total_cents": 4900, "items": ["vase", "lamp"]}
CUSTOMER = {"name": "Dana Fields", "email": "dana.fields@example.com", "tier": "gold", "language": "en"}
RECEIPT = {"receipt": "R-1042", "refunded_cents": 4900}
STATES = ["queued", "running", "done"]
NOTICE = "Refunds take three days."
MODEL = (
    Turn(
        "Let me look that up.",
        calls=(
            ("lookup_order", '{"order_id": "A-1042", "region": "eu"}'),
            ("lookup_customer", '{"email": "dana.fields@example.com"}'),
        ),
    ),
    Turn(
        calls=(("refund", '{"order_id": "A-1042", "cents": 4900, "lines": [{"sku": "vase", "n": 1}], "notify": true}'),)
    ),
    Turn("Your refund of $49.00 is on its way, Dana. I have written to dana.fields@example.com."),
)
