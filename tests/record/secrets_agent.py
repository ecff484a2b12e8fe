"""An agent through which secrets go in every way that there is; run as a program by test_wire.py."""

import asyncio
import json
import os
import sys

from opentelemetry import trace

import runreel.record as rr

SECRETS = json.loads(os.environ["PLANTED"])
rr.configure(agent="leaky", endpoint=sys.argv[1])
headers = {"Authorization": f"Bearer {SECRETS['bearer']}", "x-api-key": SECRETS["header"], "Cookie": SECRETS["cookie"]}
environment = {"DATABASE_PASSWORD": SECRETS["environment"], "HOME": "/home/dana"}
url = f"https://files.example.com/r.pdf?X-Amz-Credential=AKIA&X-Amz-Signature={SECRETS['signature']}&X-Amz-Expires=60"
blob = f"https://acct.blob.core.windows.net/c/r.pdf?sv=2024-01-01&sig={SECRETS['sas']}"


@rr.tool
def fetch(url, headers, env):
    return {"body": f"fetched {url}", "request": {"headers": headers}, "env": env}


@rr.tool
def shout(line):
    raise RuntimeError(f"cannot run: curl -H 'Authorization: Bearer {SECRETS['bearer']}' {url}")


@rr.tool
async def raw(data: bytes):
    return data


@rr.memory("vault", key="key")
def recall(key):
    return {"api_key": SECRETS["header"], "url": blob}


@rr.retriever("kb")
def search(query):
    return [{"id": "1", "content": f"password={SECRETS['environment']}"}, (f"see {url}", 0.5)]


@rr.model("tiny")
def tiny(messages):
    return f"use the key {SECRETS['key']}"


def instrumented_by_somebody_else():
    with trace.get_tracer("http.client").start_as_current_span(f"GET {url}") as span:
        span.set_attribute("url.full", blob)
        span.set_attribute("http.request.header.authorization", [f"Bearer {SECRETS['bearer']}"])
        span.set_attribute("http.request.body", json.dumps({"client_secret": SECRETS["environment"], "n": 1}))
        span.add_event("sent", {"headers": json.dumps(headers)})
        span.set_status(trace.StatusCode.ERROR, f"401 for {url}")


with rr.run(user_input={"question": "why?", "token": SECRETS["header"]}, user="dana") as run:
    fetch(url, headers, environment)
    try:
        shout(f"export DATABASE_PASSWORD={SECRETS['environment']}")
    except RuntimeError as error:
        run.decide("give up", str(error), options=[url, "again"], reason=f"the key {SECRETS['key']} is refused")
    asyncio.run(raw(f"Authorization: Bearer {SECRETS['bearer']}".encode()))
    recall(url)
    search(f"{blob} broken")
    tiny([{"role": "user", "content": f"my key is {SECRETS['key']}"}])
    rr.flag("endpoint", url)
    rr.prompt("system", f"Call {blob} with {SECRETS['key']}")
    with rr.agent("sub", {"url": url}) as sub:
        sub.answer(blob)
    instrumented_by_somebody_else()
    run.answer(f"It is at {url}")
