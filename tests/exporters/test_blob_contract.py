"""What every BlobStore keeps: the one in a directory and the one in memory."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runreel.errors import CorruptError, NotFoundError
from runreel.exporters.files import FileBlobs
from runreel.exporters.memory import Memory

DATA = b"a part"
HASH = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(params=["memory", "files"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Memory | FileBlobs:
    return Memory() if request.param == "memory" else FileBlobs(tmp_path / "blobs")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=2000))
def test_what_is_put_is_got(blobs: Memory | FileBlobs, data: bytes) -> None:
    sha256 = hashlib.sha256(data).hexdigest()

    for _ in range(2):
        blobs.put("default", sha256, data, "text/plain")

    assert blobs.get("default", sha256) == data


def test_what_is_not_there_is_not_found(blobs: Memory | FileBlobs) -> None:
    with pytest.raises(NotFoundError, match=HASH):
        blobs.get("default", HASH)


def test_tenants_are_apart(blobs: Memory | FileBlobs) -> None:
    blobs.put("default", HASH, DATA, "text/plain")

    with pytest.raises(NotFoundError):
        blobs.get("other", HASH)


def test_other_bytes_under_a_hash_are_never_returned(blobs: Memory | FileBlobs) -> None:
    blobs.put("default", HASH, DATA, "text/plain")
    if isinstance(blobs, Memory):
        blobs._parts["default", HASH] = replace(blobs._parts["default", HASH], data=b"other")
    else:
        other = hashlib.sha256(b"other").hexdigest()
        blobs.put("default", other, b"other", "text/plain")
        blobs._file("default", other).replace(blobs._file("default", HASH))

    with pytest.raises(CorruptError, match=HASH):
        blobs.get("default", HASH)


def test_close_is_safe_twice(blobs: Memory | FileBlobs) -> None:
    blobs.close()
    blobs.close()
