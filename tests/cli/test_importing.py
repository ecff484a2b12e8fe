"""How an import puts small requests together before they are stored."""

import otlp_build as build
from runreel import otlp
from runreel.cli import importing
from runreel.values import RawBatch


def test_large_requests_are_not_put_together() -> None:
    def raw(size: int) -> RawBatch:
        request = build.req(build.tool("00000000000000c1", build.ROOT, "t", {}, "x" * size))
        return otlp.decode("traces", request.SerializeToString(), "protobuf", "default")

    batches = list(importing.grouped([raw(10), raw(10), raw(9_000_000), raw(5_000_000), raw(5_000_000), raw(10)]))

    assert [len(batch.spans) for batch in batches] == [2, 1, 1, 2]
