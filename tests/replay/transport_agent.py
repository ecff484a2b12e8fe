"""Code of an imaginary agent that talks HTTP, with no socket to do it with: each case prints what it got as JSON.

Run by test_transports.py in a process of its own: the transports stay patched until it ends.
"""

import asyncio
import io
import json
import sys
import warnings
from functools import partial

from runreel.replay import transports
from runreel.replay.wire import HttpRequest, HttpResponse

FORBIDDEN = {"socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"}
ATTEMPTS = []
SEEN = []
CLOSED = []
WARNINGS = []


def no_sockets(event, args):
    if event in FORBIDDEN:
        ATTEMPTS.append(event)
        raise PermissionError(event)


def parts():
    try:
        yield b"one "
        yield b"two "
        yield b"three"
    finally:
        CLOSED.append("closed")


def broken():
    yield b"one "
    raise ConnectionResetError("the recorded connection broke here")


def slow():
    yield b"one "
    raise TimeoutError("the recorded read timed out here")


def answer(request: HttpRequest) -> HttpResponse:
    body = request.body.decode("utf-8", "replace")
    SEEN.append([request.method, request.url, dict(request.headers), body])
    path = request.url.partition("://")[2].partition("/")[2]
    if path == "stream":
        return HttpResponse(200, (("content-type", "text/plain"),), parts())
    if path == "broken":
        return HttpResponse(200, (("content-type", "text/plain"),), broken())
    if path == "slow":
        return HttpResponse(200, (), slow())
    if path == "lost":
        raise ConnectionRefusedError("nobody there")
    if path == "late":
        raise TimeoutError("too late")
    if path == "bug":
        raise LookupError("not recorded")
    if path == "missing":
        return HttpResponse(404, (("content-type", "application/json"), ("x-should-retry", "false")), b'{"error": 1}')
    return HttpResponse(200, (("content-type", "application/json"), ("x-two", "a"), ("x-two", "b")), b'{"ok": true}')


def failing(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__module__.partition('.')[0]}.{type(error).__name__}"
    return "nothing raised"


async def failing_async(call):
    try:
        await call()
    except Exception as error:
        return f"{type(error).__module__.partition('.')[0]}.{type(error).__name__}"
    return "nothing raised"


HOST = "https://models.example.com/"


def httpx_sync(name):
    library = __import__(name)
    with library.Client() as client:
        plain = client.post(HOST + "plain?x=1", json={"a": "é"}, headers={"X-Mine": "yes"})
        missing = client.get(HOST + "missing")
        with client.stream("GET", HOST + "stream") as response:
            chunks = list(response.iter_raw())
        with client.stream("GET", HOST + "stream") as response:
            early = next(response.iter_raw())
        got = []
        with client.stream("GET", HOST + "broken") as response:
            error = failing(lambda: got.extend(response.iter_raw()))
        return {
            "type": f"{type(plain).__module__}.{type(plain).__name__}",
            "plain": plain.json(),
            "two": plain.headers.get_list("x-two"),
            "seen": SEEN[0],
            "missing": [missing.status_code, missing.headers["x-should-retry"]],
            "chunks": [chunk.decode() for chunk in chunks],
            "early": early.decode(),
            "closed": len(CLOSED),
            "broken": [error, [chunk.decode() for chunk in got]],
            "errors": {p: failing(lambda p=p: client.get(HOST + p)) for p in ("lost", "late", "slow", "bug")},
            "upload": upload(client),
        }


def upload(client):
    client.post(HOST + "plain", content=(part for part in (b"in ", b"parts")))
    return SEEN[-1][3]


def httpx_async(name):
    library = __import__(name)

    async def main():
        async with library.AsyncClient() as client:
            plain = await client.post(HOST + "plain", json={"a": 1})
            async with client.stream("GET", HOST + "stream") as response:
                chunks = [chunk async for chunk in response.aiter_raw()]
            async with client.stream("GET", HOST + "stream") as response:
                async for early in response.aiter_raw():  # noqa: B007
                    break
            del SEEN[:]
            await asyncio.gather(*(two(client, name) for name in "ab"))
            order = [url.rpartition("/")[2] for _, url, _, _ in SEEN]
            return {
                "plain": plain.json(),
                "chunks": [chunk.decode() for chunk in chunks],
                "early": early.decode(),
                "closed": len(CLOSED),
                "order": order,
                "errors": {
                    p: await failing_async(lambda p=p: client.get(HOST + p))
                    for p in ("lost", "late", "slow", "broken", "bug")
                },
            }

    async def two(client, name):
        await client.get(HOST + name + "1")
        await client.get(HOST + name + "2")

    return asyncio.run(main())


def requests_sync(name):
    import requests

    session = requests.Session()
    plain = session.post(HOST + "plain", json={"a": "é"}, headers={"X-Mine": "yes"})
    missing = requests.get(HOST + "missing", timeout=1)
    with requests.get(HOST + "stream", stream=True) as response:
        chunks = list(response.iter_content(None))
    with requests.get(HOST + "stream", stream=True) as response:
        early = next(response.iter_content(None))
    got = []
    with requests.get(HOST + "broken", stream=True) as response:
        error = failing(lambda: got.extend(response.iter_content(None)))
    seen = SEEN[0]
    bodies = {}
    for kind, data in {
        "none": None,
        "text": "é",
        "bytes": b"raw",
        "file": io.BytesIO(b"from a file"),
        "generator": (part for part in (b"in ", b"parts")),
        "form": {"k": "v"},
    }.items():
        session.post(HOST + "plain", data=data)
        bodies[kind] = SEEN[-1][3]
    return {
        "type": f"{type(plain).__module__}.{type(plain).__name__}",
        "plain": plain.json(),
        "two": plain.headers["x-two"],
        "seen": seen,
        "missing": [missing.status_code, missing.reason, missing.headers["x-should-retry"]],
        "chunks": [chunk.decode() for chunk in chunks],
        "early": early.decode(),
        "closed": len(CLOSED),
        "broken": [error, [chunk.decode() for chunk in got]],
        "errors": {p: failing(lambda p=p: requests.get(HOST + p)) for p in ("lost", "late", "slow", "bug")},
        "bodies": bodies,
    }


def urllib3_sync(name):
    import urllib3

    pool = urllib3.PoolManager(retries=False)
    plain = pool.request("POST", HOST + "plain?x=1", body=json.dumps({"a": "é"}).encode(), headers={"X-Mine": "yes"})
    missing = pool.request("GET", HOST + "missing")
    response = pool.request("GET", HOST + "stream", preload_content=False)
    chunks = list(response.stream(None))
    response = pool.request("GET", HOST + "stream", preload_content=False)
    early = next(response.stream(None))
    response.close()
    got = []
    response = pool.request("GET", HOST + "broken", preload_content=False)
    error = failing(lambda: got.extend(response.stream(None)))
    return {
        "type": f"{type(plain).__module__}.{type(plain).__name__}",
        "plain": json.loads(plain.data),
        "two": plain.headers["x-two"],
        "seen": SEEN[0],
        "missing": [missing.status, missing.reason, missing.headers["x-should-retry"]],
        "chunks": [chunk.decode() for chunk in chunks],
        "early": early.decode(),
        "closed": len(CLOSED),
        "broken": [error, [chunk.decode() for chunk in got]],
        "errors": {p: failing(lambda p=p: pool.request("GET", HOST + p)) for p in ("lost", "late", "slow", "bug")},
        "chunked": chunked(pool),
        "proxied": proxied(),
        "warnings": WARNINGS,
    }


def chunked(pool):
    pool.request("POST", HOST + "plain", body=(part for part in (b"in ", b"parts")), headers={"A": "b"})
    return SEEN[-1][3]


def proxied():
    import urllib3

    urllib3.ProxyManager("http://proxy.example.com:8080").request("GET", HOST + "plain")
    urllib3.ProxyManager("http://proxy.example.com:8080").request("GET", "http://models.example.com:81/plain")
    return [SEEN[-2][1], SEEN[-1][1]]


def standard_library(name):
    from http.client import HTTPConnection
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    def get(path):
        return urlopen(HOST + path)

    plain = urlopen(Request(HOST + "plain?x=1", json.dumps({"a": "é"}).encode(), {"X-Mine": "yes"}))
    missing = []
    try:
        get("missing")
    except HTTPError as error:
        missing = [error.code, error.headers["x-should-retry"]]
    response = get("stream")
    chunks = [response.read1().decode() for _ in range(3)]
    rest = response.read()
    response = get("stream")
    early = response.read1().decode()
    response.close()
    connection = HTTPConnection("models.example.com", 8080)
    connection.request("GET", "/plain")
    connection.getresponse().read()
    return {
        "type": f"{type(plain).__module__}.{type(plain).__name__}",
        "plain": json.loads(plain.read()),
        "two": ", ".join(plain.headers.get_all("x-two")),
        "seen": SEEN[0],
        "missing": missing,
        "chunks": [*chunks, *([rest.decode()] if rest else [])],
        "early": early,
        "closed": len(CLOSED),
        "port": SEEN[-1][1],
        "errors": {p: failing(lambda p=p: get(p).read()) for p in ("lost", "late", "slow", "broken", "bug")},
    }


def aiohttp_async(name):
    import aiohttp

    async def main():
        async with aiohttp.ClientSession() as session:
            async with session.post(HOST + "plain?x=1", json={"a": "é"}, headers={"X-Mine": "yes"}) as plain:
                kind = f"{type(plain).__module__}.{type(plain).__name__}"
                body, both = await plain.json(), plain.headers.getall("x-two")
            seen = SEEN[0]
            async with session.get(HOST + "missing") as missing:
                lost = [missing.status, missing.reason, missing.headers["x-should-retry"]]
            async with session.get(HOST + "stream") as response:
                chunks = [chunk async for chunk in response.content.iter_any()]
            async with session.get(HOST + "stream") as response:
                async for early in response.content.iter_any():  # noqa: B007
                    break
            await asyncio.sleep(0.01)  # until the connection that was left is closed
            closed = len(CLOSED)
            bodies = {}
            form = aiohttp.FormData({"k": "v"})
            sent = {"none": None, "text": "é", "bytes": b"raw", "file": io.BytesIO(b"from a file"), "form": form}
            for label, data in {**sent, "generator": parts_of(b"in ", b"parts")}.items():
                await (await session.post(HOST + "plain", data=data)).read()
                bodies[label] = SEEN[-1][3]
            del SEEN[:]
            await asyncio.gather(*(two(session, name) for name in "ab"))
            order = [url.rpartition("/")[2] for _, url, _, _ in SEEN]
            async with session.get(HOST + "plain") as big:
                reused = (await big.read()).decode()
            return {
                "type": kind,
                "plain": body,
                "two": both,
                "seen": seen,
                "missing": lost,
                "chunks": [chunk.decode() for chunk in chunks],
                "early": early.decode(),
                "closed": closed,
                "bodies": bodies,
                "order": order,
                "reused": reused,
                "errors": {p: await failing_async(partial(read, session, p)) for p in ERRORS},
            }

    async def read(session, path):
        async with session.get(HOST + path) as response:
            return await response.read()

    async def two(session, name):
        await read(session, name + "1")
        await read(session, name + "2")

    async def parts_of(*parts):
        for part in parts:
            yield part

    return asyncio.run(main())


ERRORS = ("lost", "late", "slow", "broken", "bug")


def ranges(name):
    transports.TESTED[name] = ((99,), (100,))
    try:
        transports.require_tested()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def untested(name):
    transports.TESTED[name] = ((99,), (100,))
    try:
        __import__(name)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def imports(name):
    libraries = ("httpx", "httpx2", "requests", "urllib3", "anyio", "aiohttp", "http.client")
    return [module for module in libraries if module in sys.modules]


OURS = (
    httpx_sync,
    httpx_async,
    requests_sync,
    urllib3_sync,
    standard_library,
    aiohttp_async,
    ranges,
    untested,
    imports,
)
CASES = {case.__name__: case for case in OURS}

if __name__ == "__main__":
    sys.addaudithook(no_sockets)
    warnings.showwarning = lambda message, *args, **kwargs: WARNINGS.append(str(message))
    transports.install(answer)
    result = CASES[sys.argv[1]](sys.argv[2])
    print(json.dumps({"result": result, "attempts": ATTEMPTS}))
