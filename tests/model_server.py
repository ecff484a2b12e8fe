"""The scripted model server with the scenarios that tests need.

As a program: `python tests/model_server.py --port 0` prints the port that it took, then serves until it is killed.
"""

from contextlib import AbstractContextManager

from runreel.demo import model_server
from runreel.demo.model_server import ModelServer, Scenarios, Turn

OSLO = ("get_weather", '{"city": "Oslo"}')
LISBON = ("get_weather", '{"city": "Lisbon"}')
POLL = ("poll_job", '{"job_id": "J-17"}')
SCENARIOS: Scenarios = {
    # Two parallel calls, then one call with personal data, then the answer.
    "weather": (
        Turn(calls=(LISBON, OSLO)),
        Turn(calls=(("lookup_customer", '{"email": "dana.fields@example.com"}'),)),
        Turn(
            "Lisbon is 21.5 C and sunny, Oslo is -3 C with snow ❄️. I will write to dana.fields@example.com "
            "or call +1 202-555-0143."
        ),
    ),
    # One tool, one set of arguments, three different results in order.
    "poll": (Turn(calls=(POLL,)), Turn(calls=(POLL,)), Turn(calls=(POLL,)), Turn("Job J-17 is done.")),
    # Arguments that are not JSON, then a corrected call.
    "badargs": (Turn(calls=(("get_weather", '{"city": "Lis'),)), Turn(calls=(LISBON,)), Turn("Lisbon is 21.5 C.")),
    # A tool that raises, then recovery.
    "toolerror": (Turn(calls=(("get_weather", '{"city": "Atlantis"}'),)), Turn("I could not find Atlantis.")),
    "reasoning": (
        Turn(calls=(OSLO,), reasoning="The user wants Oslo; call get_weather once."),
        Turn("Oslo is -3 C.", reasoning="Result is below zero, say so."),
    ),
    # The final answer is the empty string.
    "empty": (Turn(calls=(OSLO,)), Turn("")),
    "plain": (Turn("Understood."),),
    # Numbers, and an accent written in two characters.
    "numbers": (
        Turn(calls=(("convert", '{"amount": 1.0, "rate": 1e2, "note": "Cafe\\u0301"}'),)),
        Turn("Converted."),
    ),
    # 429 first, then the answer.
    "flaky": (Turn(calls=(OSLO,)), Turn("Oslo is -3 C.")),
    # Text and a call in one message.
    "mixed": (Turn("Let me check the weather.", calls=(LISBON,)), Turn("Lisbon is 21.5 C.")),
    # Secrets in a tool result, told on by the model.
    "secret": (
        Turn(calls=(("read_config", '{"path": "/etc/app.toml"}'),)),
        Turn(
            "The config sets api_key to sk-test-51HxFAKE0000000000000000 and uses https://bucket.example.com/report.pdf"
            "?X-Amz-Signature=0badc0de0badc0de0badc0de0badc0de&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE"
        ),
    ),
    # No such model, at every try.
    "retired": (Turn("The model `gpt-4o-mini` does not exist", status=404),),
    # The provider fails, at every try.
    "broken": (Turn("The server had an error", status=500),),
    # The provider hangs up in the middle of a stream.
    "dropped": (Turn("This sentence never reaches its end.", cut_after=3),),
}


def serving(port: int = 0) -> AbstractContextManager[ModelServer]:
    """Serve in a thread of this process until the block ends."""
    return model_server.serving(SCENARIOS, port)


if __name__ == "__main__":
    model_server.main(SCENARIOS)
