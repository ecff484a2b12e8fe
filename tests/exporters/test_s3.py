import hashlib
import io
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from minio import Minio

from runreel.errors import CorruptError, NotFoundError, PermanentError, RetryableError, StoreError
from runreel.exporters import s3
from runreel.exporters.blobs import BlobsExporter, unpack
from runreel.exporters.s3 import S3Blobs, S3Settings
from runreel.values import SplitBatch
from s3_server import ACCESS_KEY, READER_KEY, SECRET_KEY, Faults, Server, seaweedfs
from stored_rows import part

DATA = b"a heavy text " * 10_000
HASH = hashlib.sha256(DATA).hexdigest()
NAME = f"default/sha256/{HASH[:2]}/{HASH[2:4]}/{HASH}.zst"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with seaweedfs(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def settings(server: Server) -> S3Settings:
    bucket = f"b-{os.urandom(6).hex()}"
    return S3Settings(server.endpoint, bucket, access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY, timeout_s=5)


@pytest.fixture
def client(server: Server) -> Minio:
    return Minio(server.endpoint.removeprefix("http://"), ACCESS_KEY, SECRET_KEY, secure=False)


@pytest.fixture
def faults(server: Server) -> Iterator[Faults]:
    proxy = Faults(server.port)
    yield proxy
    proxy.close()


def answer(status: str, code: str = "") -> bytes:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode() if code else b""
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\nConnection: close"
    return head.encode() + b"\r\n\r\n" + body


def test_what_is_put_is_got_from_a_bucket_that_did_not_exist(settings: S3Settings, client: Minio) -> None:
    blobs = S3Blobs(settings)

    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA
    stored = client.get_object(settings.bucket, NAME).read()
    assert zstandard.ZstdDecompressor().decompress(stored) == DATA


@pytest.mark.parametrize("data", [b"", b"\0", os.urandom(200_000)], ids=["nothing", "a byte", "noise"])
def test_any_bytes_are_a_part(settings: S3Settings, data: bytes) -> None:
    blobs = S3Blobs(settings)
    sha256 = hashlib.sha256(data).hexdigest()

    blobs.put("default", sha256, data, "application/octet-stream")

    assert blobs.get("default", sha256) == data


def test_a_part_of_many_megabytes_goes_up_in_pieces(settings: S3Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "PART_BYTES", 5 * 1024 * 1024)
    data = os.urandom(12 * 1024 * 1024)
    sha256 = hashlib.sha256(data).hexdigest()
    blobs = S3Blobs(settings)

    blobs.put("default", sha256, data, "application/octet-stream")

    assert blobs.get("default", sha256) == data


def test_a_prefix_keeps_two_installations_in_one_bucket_apart(settings: S3Settings, client: Minio) -> None:
    one, other = S3Blobs(replace(settings, prefix="one")), S3Blobs(replace(settings, prefix="/other/"))

    one.put("default", HASH, DATA, "text/plain")

    assert client.stat_object(settings.bucket, f"one/{NAME}").size > 0
    with pytest.raises(NotFoundError, match="looked for other/default/sha256"):
        other.get("default", HASH)


def test_tenants_are_apart(settings: S3Settings) -> None:
    blobs = S3Blobs(settings)
    blobs.put("default", HASH, DATA, "text/plain")

    with pytest.raises(NotFoundError, match=HASH):
        blobs.get("other", HASH)


def test_in_a_bucket_that_does_not_exist_nothing_is_found(settings: S3Settings) -> None:
    with pytest.raises(NotFoundError, match=settings.bucket):
        S3Blobs(settings).get("default", "0" * 64)


@pytest.mark.parametrize(("tenant", "sha256"), [("../up", HASH), ("default", "../../x"), ("", HASH), ("a/b", HASH)])
def test_no_name_climbs_out_of_its_tenant(settings: S3Settings, tenant: str, sha256: str) -> None:
    blobs = S3Blobs(settings)

    with pytest.raises(PermanentError):
        blobs.put(tenant, sha256, DATA, "text/plain")
    with pytest.raises(NotFoundError):
        blobs.get(tenant, sha256)


def test_the_same_bytes_are_sent_once(settings: S3Settings, client: Minio) -> None:
    blobs = S3Blobs(settings)
    blobs.put("default", HASH, DATA, "text/plain")
    written = client.stat_object(settings.bucket, NAME).last_modified
    time.sleep(1.1)  # the server's clock of objects counts seconds

    blobs.put("default", HASH, DATA, "text/plain")

    assert client.stat_object(settings.bucket, NAME).last_modified == written


def test_a_part_that_was_taken_away_is_sent_again(settings: S3Settings, client: Minio) -> None:
    blobs = S3Blobs(settings)
    blobs.put("default", HASH, DATA, "text/plain")
    client.remove_object(settings.bucket, NAME)

    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA


def test_other_bytes_under_a_hash_are_never_returned_and_are_put_right_by_the_next_put(
    settings: S3Settings, client: Minio
) -> None:
    blobs = S3Blobs(settings)
    blobs.put("default", HASH, DATA, "text/plain")
    client.put_object(settings.bucket, NAME, io.BytesIO(b"other"), 5)

    with pytest.raises(CorruptError, match=HASH):
        blobs.get("default", HASH)
    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA


def test_a_bucket_deleted_while_running_is_made_again(settings: S3Settings, client: Minio) -> None:
    blobs = S3Blobs(settings)
    blobs.put("default", HASH, DATA, "text/plain")
    client.remove_object(settings.bucket, NAME)
    client.remove_bucket(settings.bucket)
    other = hashlib.sha256(b"other").hexdigest()

    blobs.put("default", other, b"other", "text/plain")
    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA
    assert blobs.get("default", other) == b"other"


def test_new_credentials_in_the_file_are_taken_up_without_a_restart(settings: S3Settings, tmp_path: Path) -> None:
    file = tmp_path / "credentials"

    def write(key: str) -> None:
        file.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {SECRET_KEY}\n")

    write("expired")
    blobs = S3Blobs(replace(settings, access_key_id="", secret_access_key="", credentials_file=str(file)))
    with pytest.raises(RetryableError, match="InvalidAccessKeyId: the store does not know the access key"):
        blobs.put("default", HASH, DATA, "text/plain")
    write(ACCESS_KEY)

    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA


def test_an_expired_token_is_renewed_from_the_environment(
    settings: S3Settings, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "old")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    blobs = S3Blobs(
        replace(settings, endpoint=faults.endpoint, region="us-east-1", access_key_id="", secret_access_key="")
    )
    faults.answer = answer("403 Forbidden", "ExpiredToken")
    with pytest.raises(RetryableError, match="ExpiredToken"):
        blobs.put("default", HASH, DATA, "text/plain")
    faults.answer = None
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)

    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA


def test_a_key_that_may_not_write_is_said(settings: S3Settings, client: Minio) -> None:
    client.make_bucket(settings.bucket)

    with pytest.raises(RetryableError, match="AccessDenied: its key may not write here"):
        S3Blobs(replace(settings, access_key_id=READER_KEY)).put("default", HASH, DATA, "text/plain")


def test_a_wrong_secret_is_said_and_not_shown(settings: S3Settings) -> None:
    wrong = S3Blobs(replace(settings, secret_access_key="another-secret"))

    with pytest.raises(RetryableError, match="SignatureDoesNotMatch: the secret key is wrong") as caught:
        wrong.put("default", HASH, DATA, "text/plain")

    assert "another-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "said"),
    [("refuse", "ProtocolError|nothing listens"), ("hang", "did not answer in time"), ("cut:10", "ProtocolError")],
)
def test_a_store_in_trouble_is_worth_another_try_and_takes_parts_again_when_it_is_well(
    settings: S3Settings, client: Minio, faults: Faults, mode: str, said: str
) -> None:
    client.make_bucket(settings.bucket)
    blobs = S3Blobs(replace(settings, endpoint=faults.endpoint, region="us-east-1", timeout_s=1))
    faults.mode = mode
    with pytest.raises(RetryableError, match=said):
        blobs.put("default", HASH, DATA, "text/plain")
    with pytest.raises(StoreError, match=said):
        blobs.get("default", HASH)
    faults.mode = "pass"

    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (answer("507 Insufficient Storage", "XMinioStorageFull"), "XMinioStorageFull"),
        (answer("400 Bad Request", "XAmzContentSHA256Mismatch"), "XAmzContentSHA256Mismatch"),
        (answer("503 Slow Down", "SlowDown"), "SlowDown"),
        (answer("503 Service Unavailable"), "HTTP status 503|not S3|InternalError|ServerError"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
            "not S3|other bytes",
        ),
        (b"not even HTTP\r\n\r\n", "ProtocolError"),
    ],
    ids=["full", "checksum", "slow down", "unavailable", "a web page", "nonsense"],
)
def test_whatever_the_store_answers_the_sender_may_try_again(
    settings: S3Settings, client: Minio, faults: Faults, reply: bytes, said: str
) -> None:
    client.make_bucket(settings.bucket)
    blobs = S3Blobs(replace(settings, endpoint=faults.endpoint, region="us-east-1"))
    faults.answer = reply

    with pytest.raises(RetryableError, match=said):
        blobs.put("default", HASH, DATA, "text/plain")


def test_what_the_store_will_never_take_is_not_sent_again(settings: S3Settings, faults: Faults) -> None:
    blobs = S3Blobs(replace(settings, endpoint=faults.endpoint, region="us-east-1"))
    faults.answer = answer("400 Bad Request", "EntityTooLarge")

    with pytest.raises(PermanentError, match="EntityTooLarge"):
        blobs.put("default", HASH, DATA, "text/plain")


def test_nothing_listening_is_said_at_once() -> None:
    nowhere = S3Settings("http://127.0.0.1:1", "bucket", access_key_id="a", secret_access_key="b")

    with pytest.raises(RetryableError, match=r"in http://127\.0\.0\.1:1/bucket: nothing listens there"):
        S3Blobs(nowhere).put("default", HASH, DATA, "text/plain")


def test_without_credentials_it_says_where_they_can_be_set(settings: S3Settings, tmp_path: Path) -> None:
    blobs = S3Blobs(replace(settings, access_key_id="", credentials_file=str(tmp_path / "none")))

    with pytest.raises(RetryableError, match="no credentials: set access_key_id"):
        blobs.put("default", HASH, DATA, "text/plain")


@pytest.mark.parametrize(
    ("endpoint", "bucket", "said"),
    [
        ("minio:9000", "runs", "'minio:9000' is no S3 endpoint: write https://host or http://host:port"),
        ("http://minio:9000/path", "runs", "is no S3 endpoint"),
        ("ftp://minio", "runs", "is no S3 endpoint"),
        ("http://minio:9000", "Runs!", "'Runs!' is no bucket's name"),
        ("http://minio:9000", "ab", "'ab' is no bucket's name"),
    ],
)
def test_what_is_no_address_or_bucket_is_said_at_the_start(endpoint: str, bucket: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        S3Blobs(S3Settings(endpoint, bucket))


def test_the_check_writes_reads_and_leaves_nothing(settings: S3Settings, client: Minio) -> None:
    S3Blobs(settings).check()

    assert list(client.list_objects(settings.bucket, recursive=True)) == []


def test_the_check_of_a_store_that_is_away_says_why(settings: S3Settings) -> None:
    with pytest.raises(StoreError, match=r"cannot use it in http://127\.0\.0\.1:1/.*nothing listens there"):
        S3Blobs(replace(settings, endpoint="http://127.0.0.1:1")).check()


def test_the_exporter_puts_many_parts_side_by_side_and_says_what_failed(settings: S3Settings, faults: Faults) -> None:
    blobs = S3Blobs(replace(settings, endpoint=faults.endpoint, region="us-east-1"))
    exporter = BlobsExporter(blobs, inline_bytes=10, width=s3.WIDTH)
    parts = tuple(part(f"part number {number}".encode()) for number in range(40))

    exporter.export(SplitBatch("default", parts=parts))
    assert all(blobs.get("default", one.sha256) == one.data for one in parts)

    faults.answer = answer("503 Slow Down", "SlowDown")
    exporter.shutdown()  # and with it the connections that are open
    exporter = BlobsExporter(S3Blobs(replace(settings, endpoint=faults.endpoint)), inline_bytes=10, width=s3.WIDTH)
    with pytest.raises(RetryableError, match="SlowDown"):
        exporter.export(SplitBatch("default", parts=(part(b"one more of them"),)))
    exporter.shutdown()
    exporter.shutdown()


def test_an_audit_gets_every_object_below_the_prefix_as_it_is_stored(settings: S3Settings) -> None:
    ours, theirs = S3Blobs(replace(settings, prefix="ours")), S3Blobs(replace(settings, prefix="theirs"))
    datas = [b"one" * 100, b"two" * 100]
    for data in datas:
        ours.put("acme", hashlib.sha256(data).hexdigest(), data, "text/plain")
    theirs.put("acme", hashlib.sha256(b"three").hexdigest(), b"three", "text/plain")

    found = dict(ours.every())

    assert sorted(unpack(packed) or b"" for packed in found.values()) == sorted(datas)
    assert all(name.startswith(f"{settings.endpoint}/{settings.bucket}/ours/acme/sha256/") for name in found)


def test_of_a_bucket_that_does_not_exist_an_audit_gets_nothing_and_of_a_store_that_is_down_an_error(
    settings: S3Settings,
) -> None:
    assert list(S3Blobs(settings).every()) == []
    with pytest.raises(StoreError, match=r"cannot read what is stored in http://127\.0\.0\.1:1/"):
        list(S3Blobs(replace(settings, endpoint="http://127.0.0.1:1")).every())
