"""The model boundary in real replays: transports without an SDK, an SDK's own tries, gaps, and unknown versions."""

import json

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from otlp_build import ROOT, msg, span
from recorded_runs import model_step, run_of
from runreel.errors import RefusedError
from runreel.replay.engine import replay

BODY = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "q"}], "temperature": 0, "seed": 7}
ONE = run_of(model_step(1, [msg("user", "q")], ["fine"], at=0))
URL = "https://gateway.example.com/v1/chat/completions"
HEAD = f"import json\nBODY = {BODY!r}\nURL = {URL!r}\n"
SHOW = "print(answer['choices'][0]['message']['content'])\n"
CLIENTS = {
    "requests": "import requests\nanswer = requests.post(URL, json=BODY).json()\n",
    "urllib3": "import urllib3\nanswer = json.loads(urllib3.request('POST', URL, json=BODY).data)\n",
    "urllib": "from urllib.request import Request, urlopen\n"
    "answer = json.load(urlopen(Request(URL, json.dumps(BODY).encode())))\n",
    "aiohttp": """
import aiohttp, asyncio
async def ask():
    async with aiohttp.ClientSession() as session:
        async with session.post(URL, json=BODY) as response:
            return await response.json()
answer = asyncio.run(ask())
""",
    "aiohttp stream": """
import aiohttp, asyncio
async def ask():
    text = ''
    async with aiohttp.ClientSession() as session:
        async with session.post(URL, json={**BODY, 'stream': True}) as response:
            async for line in response.content:
                if line.startswith(b'data: {'):
                    text += json.loads(line[6:])['choices'][0]['delta'].get('content') or ''
    return {'choices': [{'message': {'content': text}}]}
answer = asyncio.run(ask())
""",
}


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def write(source):
        path = tmp_path / "agent.py"
        path.write_text(HEAD + source, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("client", CLIENTS)
def test_an_agent_without_an_sdk_is_answered(agent, client, capfd):
    replayed = replay(ONE, agent(CLIENTS[client] + SHOW))

    assert (replayed.verdict, replayed.network, capfd.readouterr().out) == ("same", (), "fine\n")


@pytest.mark.parametrize("client", ["urllib", "aiohttp"])
def test_a_request_that_is_no_models_is_found_whatever_sends_it(agent, client):
    replayed = replay(ONE, agent(CLIENTS[client].replace("URL", "'https://billing.example.com/charge'")))

    (divergence,) = [one for one in replayed.divergences if one.type == "network_attempt"]
    assert (replayed.verdict, divergence.name) == ("diverged", "POST billing.example.com")
    assert replayed.network == ()


def lost(number, at):
    asked = json.dumps([msg("user", "q")])
    about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini", "gen_ai.input.messages": asked}
    about |= {"gen_ai.request.temperature": 0, "gen_ai.request.seed": 7, "error.type": "openai.APIConnectionError"}
    failed = Status(code=2, message="Connection error.")
    return span("chat", f"00000000000000b{number}", ROOT, at=at, attrs=about, status=failed)


def test_what_an_sdk_tries_again_by_itself_does_not_take_the_next_calls_answer(agent, capfd):
    recorded = run_of(lost(1, 0), model_step(2, [msg("user", "q")], ["fine"], at=20))
    source = """
import openai
client = openai.OpenAI(max_retries=2)
for attempt in range(2):
    try:
        print(client.chat.completions.create(**BODY).choices[0].message.content)
    except openai.APIConnectionError as error:
        print(type(error).__name__)
"""

    replayed = replay(recorded, agent(source))

    assert capfd.readouterr().out == "APIConnectionError\nfine\n"
    assert (replayed.verdict, sum(replayed.answered.values())) == ("same", 2)


def test_what_was_asked_for_and_never_recorded_is_told_and_never_made_up(agent, capfd):
    source = CLIENTS["requests"].replace("json=BODY", "json={**BODY, 'logprobs': True}")

    replayed = replay(ONE, agent(source + "print(answer['choices'][0]['logprobs'])\n"))

    assert capfd.readouterr().out == "None\n"
    said = [note for note in replayed.notes if "no record holds" in note]
    assert said == ["step 1 (llm gpt-4o-mini): no record holds logprobs: the agent was answered without it"]
    assert "not recorded, and so not as it was: system fingerprints" in replayed.notes


def test_a_library_of_an_unknown_version_is_refused_before_anything_of_the_agent_runs(agent, tmp_path, capfd):
    installed = tmp_path / "aiohttp-9.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: aiohttp\nVersion: 9.1\n")

    with pytest.raises(RefusedError) as caught:
        replay(ONE, agent("print('started')\n"))

    assert "cannot answer for aiohttp 9.1: it is tested with 3.9 to below 4" in str(caught.value)
    assert (caught.value.exit_code, capfd.readouterr().out) == (125, "")
