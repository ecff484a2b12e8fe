"""An agent that prints what it did, and at the end what its recorder lost; run as a program by test_sending.py."""

import sys

import runreel.record as rr

rr.configure(agent="parcel-desk", endpoint=sys.argv[1])


@rr.tool(contract={"properties": {"parcel": {"type": "integer"}}})
def track(parcel):
    return {"parcel": parcel, "where": b"\x00at sea"}


with rr.run(user_input="Where are they?") as run:
    for number in range(12):
        print(track(str(number)), rr.flag("slow", False), flush=True)
    run.answer("at sea")
print("finished", flush=True)
if sys.argv[2:] == ["flush"]:
    flushed = rr.flush(20.0)
    print(f"flushed {flushed}, lost {rr.losses().get('spans', 0)}", file=sys.stderr)
sys.stdin.readline()
print(f"lost {rr.losses().get('spans', 0)}", file=sys.stderr)
