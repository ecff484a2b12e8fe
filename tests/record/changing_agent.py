"""An agent whose code changes between two runs, as its environment says; run as a program by test_replayed.py.

It asks a server of its own for the weather over pipes, as an MCP client does: the request's `_meta` has the run.
"""

import json
import os
import subprocess
import sys

import runreel.record as rr

NEW = os.environ.get("NEW", "")
LEAST = {"properties": {"cents": {"type": "integer", "minimum": 100 if NEW == "contract" else 1}}}


def ran(what):
    with open(os.environ["TOOL_CALLS"], "a", encoding="utf-8") as calls:
        calls.write(f"{what}\n")


@rr.tool(contract=LEAST)
def refund(cents):
    ran("refund")
    return f"refunded {cents}"


def greet(user):
    ran("recall")
    return f"hello {user}"


recall = greet if NEW == "memory" else rr.memory("profile")(greet)


@rr.tool
def weather(city):
    ran("weather")
    return f"{city}: -3"


def serve():
    """Answer requests, each in the run of whoever asks."""
    for line in sys.stdin:
        asked = json.loads(line)
        with rr.joined(asked["_meta"]), rr.agent("weather-server"):
            print(json.dumps({"result": weather(asked["city"])}), flush=True)


def ask(server, city):
    server.stdin.write(json.dumps({"city": city, "_meta": rr.carrier()}) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())["result"]


def main():
    command, pipe = [sys.executable, os.path.abspath(__file__), "--serve"], subprocess.PIPE
    with rr.run(user_input="Refund it.") as run:
        try:
            said = refund("50")
        except rr.ContractError as error:
            said = str(error)
        print(said, recall("u-1"))
        print(rr.prompt("planner", f"Plan{NEW}."), rr.flag("beta", NEW or "off"))
        if NEW == "flag":
            print(rr.flag("unheard-of", 1))
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
            print([ask(server, city) for city in ("Oslo", "Rome")])
            server.stdin.close()
        print(rr.prompt("critic", lambda: "Be short.", version="v2" if NEW == "version" else "v1"))
        print(rr.decide("route", "ask" if NEW == "decision" else "refund"))
        run.answer("done")


if __name__ == "__main__":
    rr.configure(agent="changing", code_version="abc1234")
    serve() if sys.argv[1:] == ["--serve"] else main()
