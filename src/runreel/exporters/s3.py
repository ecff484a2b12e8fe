"""Keeps heavy parts in an object store that speaks S3: MinIO, SeaweedFS, RustFS, Amazon's and others."""

import hashlib
import io
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

import urllib3
from minio import Minio
from minio.commonconfig import CopySource
from minio.credentials.credentials import Credentials
from minio.credentials.providers import (
    AWSConfigProvider,
    ChainedProvider,
    EnvAWSProvider,
    EnvMinioProvider,
    IamAwsProvider,
    Provider,
    StaticProvider,
)
from minio.error import InvalidResponseError, S3Error, ServerError

from runreel.errors import CorruptError, NotFoundError, PermanentError, RetryableError, StoreError
from runreel.exporters.blobs import LEAST_GRACE_S, SWEPT, opened, pack, place

T = TypeVar("T")

WIDTH = 8
"""How many requests are under way at once. Measured on two cores: 8 threads 1,450 a second, 32 threads 2,020."""
PART_BYTES = 16 * 1024 * 1024
"""A larger object goes up in pieces of this size."""
# A part that was put within this time, and is still there, is not put again: its object keeps its age. A sweep leaves
# alone what is younger than twice as long (LEAST_GRACE_S).
FRESH_S = LEAST_GRACE_S / 2
_MOST_FRESH = 200_000

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_WRONG_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "TokenRefreshRequired",
        "InvalidToken",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "AccessDenied",
        "RequestExpired",
    }
)
_NEVER = frozenset({"InvalidBucketName", "EntityTooLarge", "KeyTooLongError", "InvalidArgument", "MethodNotAllowed"})
_GONE = frozenset({"NoSuchKey", "NoSuchObject", "NoSuchBucket", "NoSuchVersion", "ResourceNotFound"})
_MADE = frozenset({"BucketAlreadyOwnedByYou", "BucketAlreadyExists"})
# What the transport raises: an answer that never came, came in half, or is no S3.
_BROKEN = (urllib3.exceptions.HTTPError, InvalidResponseError, ServerError, ParseError, OSError)


@dataclass(frozen=True, slots=True)
class S3Settings:
    """Where the bucket is and who may use it.

    Without `access_key_id`, credentials are looked for in the environment, in `credentials_file` (else the file that
    AWS tools read) and at the machine's own service, in that order, and again whenever the store refuses them.
    """

    endpoint: str
    bucket: str
    prefix: str = ""
    region: str = ""
    access_key_id: str = ""
    secret_access_key: str = ""
    credentials_file: str = ""
    profile: str = ""
    ca_file: str = ""
    timeout_s: float = 10.0


class S3Blobs:
    """A BlobStore in a bucket, which is made where it is missing. Thread-safe.

    A put is durable once the store has answered; what came back of it is compared, so that a store that took other
    bytes is noticed at once. Every read is verified against the hash.

    Raises:
        StoreError: the endpoint or bucket is no name of one.
    """

    def __init__(self, settings: S3Settings) -> None:
        where = urlsplit(settings.endpoint)
        if where.scheme not in ("http", "https") or not where.netloc or where.path not in ("", "/"):
            raise StoreError(f"{settings.endpoint!r} is no S3 endpoint: write https://host or http://host:port")
        if not _BUCKET.fullmatch(settings.bucket):
            raise StoreError(
                f"{settings.bucket!r} is no bucket's name: 3 to 63 lower-case letters, digits, dots and hyphens"
            )
        self._bucket = settings.bucket
        self._prefix = settings.prefix.strip("/") + "/" if settings.prefix.strip("/") else ""
        self._where = f"{settings.endpoint.rstrip('/')}/{settings.bucket}"
        self._credentials = _Refreshed(settings)
        self._region = settings.region or None
        # The SDK's own pool tries six seconds long; whoever sends tries again, and is told at once.
        self._http = urllib3.PoolManager(
            retries=False,
            maxsize=WIDTH,
            timeout=urllib3.Timeout(connect=min(settings.timeout_s, 5.0), read=settings.timeout_s),
            cert_reqs="CERT_REQUIRED",
            ca_certs=settings.ca_file or None,
        )
        try:
            self._client = Minio(
                where.netloc,
                secure=where.scheme == "https",
                region=self._region,
                credentials=self._credentials,
                http_client=self._http,
            )
        except ValueError as error:
            raise StoreError(f"cannot use the object store {self._where}: {error}") from None
        self._fresh: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, tenant: str, sha256: str, data: bytes, media_type: str) -> None:  # noqa: ARG002  rows know it
        """Store bytes under their hash, durable on return.

        Raises:
            RetryableError: the store cannot be reached, refuses, or took other bytes.
            PermanentError: no tenant's name, no hash, or what the store will never take.
        """
        try:
            name = self._prefix + place(tenant, sha256)
        except NotFoundError as error:
            raise PermanentError(f"cannot write a part: {error}") from None
        packed = pack(data)
        try:
            if self._is_fresh(name) and self._asked(lambda: self._stands(name, packed)):
                return
            self._asked(lambda: self._write(name, packed))
        except S3Error as error:
            kind = PermanentError if error.code in _NEVER else RetryableError
            raise kind(self._why(f"write part sha256:{sha256}", error)) from None
        except (*_BROKEN, ValueError) as error:  # ValueError: no credentials anywhere
            raise RetryableError(self._why(f"write part sha256:{sha256}", error)) from None
        with self._lock:
            self._fresh[name] = time.monotonic()
            while len(self._fresh) > _MOST_FRESH:
                self._fresh.popitem(last=False)

    def get(self, tenant: str, sha256: str) -> bytes:
        """Return the bytes, verified against the hash.

        Raises:
            NotFoundError: there is no such part of this tenant.
            CorruptError: what is there is something else; names the hash and the object.
            StoreError: the store cannot be reached, or refuses.
        """
        name = self._prefix + place(tenant, sha256)
        try:
            packed = self._asked(lambda: self._read_anywhere(name, self._prefix + f"{SWEPT}/{place(tenant, sha256)}"))
        except S3Error as error:
            if error.code in _GONE:
                raise NotFoundError(f"no part sha256:{sha256} in {self._where} (looked for {name})") from None
            raise StoreError(self._why(f"read part sha256:{sha256}", error)) from None
        except (*_BROKEN, ValueError) as error:
            raise StoreError(self._why(f"read part sha256:{sha256}", error)) from None
        data = opened(packed, sha256)
        if data is None:
            self._forget(name)  # the next one who brings these bytes puts them right
            raise CorruptError(
                f"part sha256:{sha256} is damaged: {name} in {self._where} does not hold the bytes of that hash"
            )
        return data

    def check(self) -> None:
        """Write, read and delete a small object. Raises RetryableError, StoreError with the reason."""
        name = f"{self._prefix}.runreel-check-{os.urandom(8).hex()}"
        try:
            self._asked(lambda: self._write(name, b"check"))
            found = self._asked(lambda: self._read(name))
            self._asked(lambda: self._client.remove_object(self._bucket, name))
        except (S3Error, *_BROKEN, ValueError) as error:
            raise StoreError(self._why("use it", error)) from None
        if found != b"check":
            raise StoreError(self._why("use it", ValueError("it gave back other bytes than it was given")))

    def every(self) -> Iterator[tuple[str, bytes]]:
        """Yield every object below the prefix as it is stored, with its name: for an audit. Raises StoreError."""
        try:
            for found in self._client.list_objects(self._bucket, self._prefix, recursive=True):
                name = found.object_name
                if name:
                    yield f"{self._where}/{name}", self._read(name)
        except (S3Error, urllib3.exceptions.HTTPError, InvalidResponseError) as error:
            if not (isinstance(error, S3Error) and error.code == "NoSuchBucket"):  # no bucket: nothing is stored yet
                raise StoreError(self._why("read what is stored", error)) from None

    def names(self, folder: str) -> Iterator[tuple[str, float]]:
        """Yield the name of every object below a folder of the prefix, and when it was written, in seconds since 1970.
        Raises StoreError."""
        below = self._prefix + folder
        try:
            for found in self._client.list_objects(self._bucket, below, recursive=True):
                if found.object_name and found.last_modified:
                    yield found.object_name.removeprefix(below), found.last_modified.timestamp()
        except (S3Error, urllib3.exceptions.HTTPError, InvalidResponseError) as error:
            if not (isinstance(error, S3Error) and error.code == "NoSuchBucket"):
                raise StoreError(self._why("list what is stored", error)) from None

    def copy(self, old: str, new: str) -> bool:
        """Copy an object under the prefix; say whether it was there. Raises StoreError."""
        try:
            self._client.copy_object(self._bucket, self._prefix + new, CopySource(self._bucket, self._prefix + old))
        except S3Error as error:
            if error.code in _GONE:
                return False
            raise StoreError(self._why("copy a part", error)) from None
        except (*_BROKEN, ValueError) as error:
            raise StoreError(self._why("copy a part", error)) from None
        return True

    def remove(self, name: str) -> None:
        """Delete an object under the prefix. Raises StoreError."""
        try:
            self._client.remove_object(self._bucket, self._prefix + name)
        except (S3Error, *_BROKEN, ValueError) as error:
            raise StoreError(self._why("delete a part", error)) from None

    def close(self) -> None:
        """Close the connections. Safe twice."""
        self._http.clear()

    # --- requests -----------------------------------------------------------------------------------------------------

    def _write(self, name: str, packed: bytes) -> None:
        sent = self._client.put_object(
            self._bucket, name, io.BytesIO(packed), len(packed), "application/zstd", part_size=PART_BYTES
        )
        # A single object's tag is its MD5, where the store does not encrypt by a key of its own: then we look.
        if (sent.etag or "").strip('"') != _md5(packed) and self._read(name) != packed:
            raise InvalidResponseError(200, "", "other bytes than were sent")

    def _stands(self, name: str, packed: bytes) -> bool:
        """Say whether these bytes are still there: a bucket may be emptied under a running collector."""
        try:
            found = self._client.stat_object(self._bucket, name)
        except S3Error as error:
            if error.code in _GONE:
                return False
            raise
        return found.size == len(packed) and (found.etag or "").strip('"') in (_md5(packed), "")

    def _read(self, name: str) -> bytes:
        answer = self._client.get_object(self._bucket, name)
        try:
            return answer.read()
        finally:
            answer.close()
            answer.release_conn()

    def _read_anywhere(self, name: str, swept: str) -> bytes:
        """Read an object, or the one that a sweep moved aside, or back meanwhile."""
        for one in (name, swept):
            try:
                return self._read(one)
            except S3Error as error:
                if error.code != "NoSuchKey":
                    raise
        return self._read(name)

    def _asked(self, ask: Callable[[], T]) -> T:
        """Ask; once more with the bucket made, or with new credentials, where that is what was missing."""
        try:
            return ask()
        except S3Error as error:
            if error.code == "NoSuchBucket":
                self._make_bucket()
            elif error.code in _WRONG_CREDENTIALS and self._credentials.renew():
                pass
            else:
                raise
        return ask()

    def _make_bucket(self) -> None:
        try:
            self._client.make_bucket(self._bucket, self._region)
        except S3Error as error:
            if error.code not in _MADE:
                raise

    # --- what was put lately ------------------------------------------------------------------------------------------

    def _is_fresh(self, name: str) -> bool:
        with self._lock:
            put_at = self._fresh.get(name)
            return put_at is not None and time.monotonic() - put_at < FRESH_S

    def _forget(self, name: str) -> None:
        with self._lock:
            self._fresh.pop(name, None)

    def _why(self, what: str, error: Exception) -> str:
        """Say what failed where, and what to do. Holds no header, credential or payload."""
        return f"cannot {what} in {self._where}: {_reason(error)}"


class _Refreshed(Provider):
    """Credentials, looked for again after the store refused them: they may have been renewed meanwhile."""

    def __init__(self, settings: S3Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._provider = self._look()
        self._last = ""

    def retrieve(self) -> Credentials:
        """Return the credentials in use. Raises ValueError where there are none."""
        with self._lock:
            try:
                found = self._provider.retrieve()
            except ValueError:
                raise ValueError(
                    "no credentials: set access_key_id and secret_access_key, AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, or credentials_file"
                ) from None
            self._last = found.access_key + "\0" + found.secret_key + "\0" + (found.session_token or "")
            return found

    def renew(self) -> bool:
        """Look again; say whether others were found."""
        before = self._last
        with self._lock:
            self._provider = self._look()
        try:
            self.retrieve()
        except ValueError:
            return False
        return self._last != before

    def _look(self) -> Provider:
        given = self._settings
        if given.access_key_id:
            return StaticProvider(given.access_key_id, given.secret_access_key)
        file = AWSConfigProvider(given.credentials_file or None, given.profile or None)
        if given.credentials_file:
            return file
        return ChainedProvider([EnvAWSProvider(), EnvMinioProvider(), file, IamAwsProvider()])


def _md5(packed: bytes) -> str:
    return hashlib.md5(packed, usedforsecurity=False).hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, S3Error):
        advice = {
            "AccessDenied": ": its key may not write here",
            "SignatureDoesNotMatch": ": the secret key is wrong",
            "InvalidAccessKeyId": ": the store does not know the access key",
        }.get(error.code or "", "")
        return f"{error.code}{advice}"
    if isinstance(error, InvalidResponseError):
        return "it answered with something that is not S3, or stored other bytes"
    if isinstance(error, ServerError):
        return f"it answered with HTTP status {error.status_code}"
    if isinstance(error, urllib3.exceptions.NewConnectionError | ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return "it did not answer in time"
    if isinstance(error, urllib3.exceptions.SSLError):
        return "its certificate is not trusted (ca_file names another authority)"
    if isinstance(error, ValueError):
        return str(error)
    return type(error).__name__
