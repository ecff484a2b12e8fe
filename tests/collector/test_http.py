import asyncio

from collector_kit import ask
from runreel.collector import ports
from runreel.collector.http import HttpServer


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def test_it_serves_from_start_to_stop_and_leaves_signals_alone():
    async def go():
        import signal

        before = signal.getsignal(signal.SIGTERM)
        listener = ports.bind("127.0.0.1:0", "x")
        server = HttpServer(hello, listener)
        await server.start()
        answer = await asyncio.to_thread(ask, f"http://{ports.address(listener)}/")
        same = signal.getsignal(signal.SIGTERM) is before
        await server.stop()
        await server.stop()
        return answer, same, listener.fileno()

    answer, same, descriptor = asyncio.run(go())

    assert (answer.status, answer.body) == (200, b"hello")
    assert "server" not in answer.headers
    assert same
    assert descriptor == -1


def test_stop_without_start_closes_the_socket():
    listener = ports.bind("127.0.0.1:0", "x")

    asyncio.run(HttpServer(hello, listener).stop())

    assert listener.fileno() == -1
