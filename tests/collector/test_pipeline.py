import asyncio

import pytest

import otlp_build as build
from collector_kit import Plain, Store
from runreel.collector.admission import Admission
from runreel.collector.pipeline import Pipeline, Request, Route
from runreel.collector.telemetry import Telemetry
from runreel.errors import DecodeError, RetryableError

BODY = build.req(build.agent()).SerializeToString()


def request(body=BODY, **changes):
    fields = {"signal": "traces", "encoding": "protobuf", "body": body, "gzipped": False, "limit_bytes": 2**20}
    return Request(**(fields | changes))


def run(work, store=None, chain=None, *, start=True):
    """Give `work(pipeline, admission)` a started pipeline; returns (its result, store, admission)."""
    store, admission = store or Store(), Admission(2**20)
    route = Route(chain or Plain(), {"store": store})
    pipeline = Pipeline({"traces": route, "logs": route}, Telemetry())

    async def go():
        if start:
            await pipeline.start()
        try:
            return await work(pipeline, admission)
        finally:
            await pipeline.shutdown()
            await pipeline.shutdown()

    return asyncio.run(go()), store, admission


def test_an_exporter_of_two_pipelines_is_started_and_stopped_as_one():
    async def nothing(pipeline, admission):
        pass

    _, store, _ = run(nothing)

    assert store.started == 1
    assert store.stopped == 2  # shutdown was asked for twice; exporters take that


def test_shutdown_is_safe_without_start():
    async def nothing(pipeline, admission):
        pass

    _, store, _ = run(nothing, start=False)

    assert store.started == 0


def test_what_is_consumed_is_stored_and_its_bytes_given_back():
    async def work(pipeline, admission):
        with admission.lease() as lease:
            lease.grow(len(BODY))
            return await pipeline.consume(request(), lease)

    rejected, store, admission = run(work)

    assert rejected == ()
    assert len(store.spans) == 1
    assert admission.used_bytes == 0


def test_equal_bytes_of_another_tenant_or_signal_do_not_join():
    async def work(pipeline, admission):
        requests = [request(), request(), request(tenant="other"), request(b""), request(b"", signal="logs")]
        return await asyncio.gather(*(pipeline.consume(one, admission.lease()) for one in requests))

    results, store, _ = run(work)

    assert len(results) == 5
    assert sorted(span.key.tenant for span in store.spans) == ["default", "other"]


def test_a_caller_that_is_cancelled_does_not_stop_the_work():
    async def work(pipeline, admission):
        lease = admission.lease()
        lease.grow(len(BODY))
        task = asyncio.create_task(pipeline.consume(request(), lease))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        lease.release()
        return task.cancelled(), admission.used_bytes

    (cancelled, held), store, admission = run(work)

    assert cancelled
    assert held == len(BODY)  # the work owns them
    assert len(store.spans) == 1
    assert admission.used_bytes == 0


@pytest.mark.parametrize(("body", "error"), [(b"\x0a\xff", DecodeError), (BODY, RetryableError)])
def test_bytes_are_given_back_after_an_error(body, error):
    def down(_):
        raise RetryableError("down")

    async def work(pipeline, admission):
        with admission.lease() as lease:
            lease.grow(len(body))
            with pytest.raises(error):
                await pipeline.consume(request(body), lease)

    _, store, admission = run(work, Store(hook=down))

    assert store.batches == []
    assert admission.used_bytes == 0


def test_big_and_small_requests_are_told_apart():
    big = build.req(build.tool("c" * 16, "", "read", {}, "A" * 300_000)).SerializeToString()

    async def work(pipeline, admission):
        return await asyncio.gather(*(pipeline.consume(request(big), admission.lease()) for _ in range(3)))

    _, store, _ = run(work)

    assert len(store.batches) == 1


def test_what_is_unusual_in_what_was_taken_is_counted_by_service():
    body = build.req(build.agent(), build.agent(), res={"service.name": "shop"})
    body.resource_spans[0].scope_spans[0].spans[0].name = "other"
    body.resource_spans[0].scope_spans[0].spans[1].attributes.append(
        body.resource_spans[0].scope_spans[0].spans[1].attributes[0]
    )
    counts = Telemetry()

    async def go():
        pipeline = Pipeline({"traces": Route(Plain(), {"store": Store()})}, counts)
        await pipeline.start()
        await pipeline.consume(request(body.SerializeToString()), Admission(2**20).lease())
        await pipeline.shutdown()

    asyncio.run(go())

    assert counts.snapshot()["runreel_unusual_items{service=shop,what=duplicate_key}"] == 1
    assert counts.snapshot()["runreel_unusual_items{service=shop,what=id_clash}"] == 1
