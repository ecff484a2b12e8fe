"""The weather agent's tools, its prompts, and what it tells the model of the tools. All values are invented.

Each body leaves a line in the file that TOOL_CALLS names: how a test counts what ran for real.
"""

import itertools
import os
from typing import Any

WEATHER: dict[str, dict[str, Any]] = {
    "Lisbon": {"temp_c": 21.5, "sky": "sunny"},
    "Oslo": {"temp_c": -3, "sky": "snow ❄️"},
}
_POLLS = itertools.count()


def _ran(name: str) -> None:
    path = os.environ.get("TOOL_CALLS")
    if path:
        with open(path, "a", encoding="utf-8") as calls:
            calls.write(name + "\n")


def get_weather(city: str, units: str = "metric") -> dict:
    """Current weather for a city."""
    _ran("get_weather")
    if city not in WEATHER:
        raise KeyError(f"unknown city {city!r}")
    return {"city": city, "units": units, **WEATHER[city]}


def lookup_customer(email: str) -> dict:
    """Find a customer by email address."""
    _ran("lookup_customer")
    return {
        "name": "Dana Fields",
        "email": email,
        "phone": "+1 202-555-0143",
        "card": "4242 4242 4242 4242",
        "ip": "203.0.113.7",
        "client_version": "10.4.2.1",
        "order": "123e4567-e89b-12d3-a456-426614174000",
    }


def poll_job(job_id: str) -> dict:
    """Ask for the state of a background job: the same arguments, another result every time."""
    _ran("poll_job")
    return {"job_id": job_id, "state": ["queued", "running", "done"][next(_POLLS) % 3]}


def read_config(path: str) -> str:
    """Read a configuration file."""
    _ran("read_config")
    return (
        '[app]\napi_key = "sk-test-51HxFAKE0000000000000000"\naws_access_key_id = "AKIAIOSFODNN7EXAMPLE"\n'
        'password = "hunter2-not-real"\n-----BEGIN PRIVATE KEY-----\nMIIBFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE\n'
        "FAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE\n-----END PRIVATE KEY-----\n"
    )


def convert(amount: float, rate: float, note: str = "") -> float:
    """Multiply an amount by a rate."""
    _ran("convert")
    return amount * rate


BY_NAME = {tool.__name__: tool for tool in (get_weather, lookup_customer, poll_job, read_config, convert)}


def _schema(name: str, description: str, optional: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in optional],
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TEXT = {"type": "string"}
SCHEMAS = [
    _schema(
        "get_weather",
        "Current weather for a city.",
        ("units",),
        city=TEXT,
        units={"type": "string", "enum": ["metric", "imperial"]},
    ),
    _schema("lookup_customer", "Find a customer by email address.", email=TEXT),
    _schema("poll_job", "Ask for the state of a background job.", job_id=TEXT),
    _schema("read_config", "Read a configuration file.", path=TEXT),
    _schema(
        "convert",
        "Multiply an amount by a rate.",
        ("note",),
        amount={"type": "number"},
        rate={"type": "number"},
        note=TEXT,
    ),
]

SYSTEM = "You are a concise assistant. Use the tools. Never guess."


def prompt(scenario: str) -> str:
    return (
        f"[scenario:{scenario}] Hi, I'm Dana (dana.fields@example.com, +1 202-555-0143). "
        "Compare the weather in Lisbon and Oslo, then tell me how you will contact me. 🙂"
    )
