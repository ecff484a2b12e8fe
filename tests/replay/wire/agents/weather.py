"""The tool of the wire tests: it counts how often it ran."""

import os


def get_weather(city: str) -> dict:
    """Return the weather of a city."""
    with open(os.environ["TOOL_CALLS"], "a") as file:
        file.write(f"{city}\n")
    return {"city": city, "temp_c": {"Oslo": -3, "Lisbon": 21.5}[city]}
