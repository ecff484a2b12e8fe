"""gzip with a limit on what comes out."""

import zlib

from runreel.errors import DecodeError

_GZIP = 31  # zlib's wbits for a gzip header and trailer
_CHUNK_BYTES = 1 << 20


def gunzip(data: bytes, limit_bytes: int) -> bytes:
    """Decompress gzip data, of several members too; never holds more than `limit_bytes` and one chunk.

    Raises DecodeError: code `too_large` beyond the limit, `malformed` where the data is no whole gzip stream.
    """
    chunks: list[bytes] = []
    size = 0
    rest = data
    while rest:
        member = zlib.decompressobj(wbits=_GZIP)
        while not member.eof:
            if not rest:
                raise DecodeError("not whole gzip data: it breaks off")
            try:
                chunk = member.decompress(rest, min(_CHUNK_BYTES, limit_bytes - size + 1))
            except zlib.error:
                raise DecodeError("not gzip data") from None
            rest = member.unconsumed_tail
            size += len(chunk)
            if size > limit_bytes:
                raise DecodeError(f"more than {limit_bytes} bytes after decompression", "too_large")
            chunks.append(chunk)
        rest = member.unused_data.lstrip(b"\0")  # writers may pad with zeros
    if not data:
        raise DecodeError("not whole gzip data: it is empty")
    return b"".join(chunks)
