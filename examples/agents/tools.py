"""The tools that every example agent has, and what it is asked. All values are invented.

Each tool notes that it ran in the file that TOOL_CALLS names, if it names one: that is how a replay shows that none
did.
"""

import itertools
import os
from pathlib import Path

WEATHER = {"Lisbon": {"temp_c": 21.5, "sky": "sunny"}, "Oslo": {"temp_c": -3, "sky": "snow ❄️"}}
SYSTEM = "You are a concise assistant. Use the tools. Never guess."
_states = itertools.cycle(["queued", "running", "done"])


def get_weather(city: str, units: str = "metric") -> dict:
    """Current weather for a city.

    Args:
        city: Name of the city.
        units: metric or imperial.
    """
    ran("get_weather")
    if city not in WEATHER:
        raise KeyError(f"unknown city {city!r}")
    return {"city": city, "units": units, **WEATHER[city]}


def lookup_customer(email: str) -> dict:
    """Find a customer by email address.

    Args:
        email: The customer's email address.
    """
    ran("lookup_customer")
    return {"name": "Dana Fields", "email": email, "phone": "+1 202-555-0143", "card": "4242 4242 4242 4242"}


def poll_job(job_id: str) -> dict:
    """Ask for the state of a background job: the same question, another answer every time.

    Args:
        job_id: The job's id.
    """
    ran("poll_job")
    return {"job_id": job_id, "state": next(_states)}


TOOLS = [get_weather, lookup_customer, poll_job]
BY_NAME = {one.__name__: one for one in TOOLS}


def _schema(required: str, **more: object) -> dict:
    return {"type": "object", "properties": {required: {"type": "string"}, **more}, "required": [required]}


_UNITS = {"type": "string", "enum": ["metric", "imperial"]}
_SCHEMAS = {
    "get_weather": ("Current weather for a city.", _schema("city", units=_UNITS)),
    "lookup_customer": ("Find a customer by email address.", _schema("email")),
    "poll_job": ("Ask for the state of a background job.", _schema("job_id")),
}
OPENAI = [
    {"type": "function", "function": {"name": name, "description": says, "parameters": schema}}
    for name, (says, schema) in _SCHEMAS.items()
]
ANTHROPIC = [{"name": name, "description": says, "input_schema": schema} for name, (says, schema) in _SCHEMAS.items()]


def prompt(scenario: str) -> str:
    """Return what the agent is asked; the scripted model reads its scenario from it."""
    return (
        f"[scenario:{scenario}] Hi, I'm Dana (dana.fields@example.com, +1 202-555-0143). "
        "Compare the weather in Lisbon and Oslo, then tell me how you will contact me. 🙂"
    )


def ran(name: str) -> None:
    """Note that a tool ran."""
    path = os.environ.get("TOOL_CALLS")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(name + "\n")
