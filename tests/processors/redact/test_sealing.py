import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runreel.errors import ConfigError, CorruptError
from runreel.processors.redact import sealing
from runreel.processors.redact.sealing import Box, VaultKey, key_id, make_keys, opened, read_private, read_public

TOKEN = "<EMAIL_7f3a9c02>"


def pair(folder: Path, name: str = "vault") -> tuple[Box, VaultKey]:
    make_keys(folder / f"{name}.key", folder / f"{name}.pub")
    return Box(read_public(folder / f"{name}.pub")), read_private(folder / f"{name}.key")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Box, VaultKey]:
    return pair(tmp_path_factory.mktemp("keys"))


@settings(max_examples=50)
@given(st.text())
def test_what_is_sealed_opens_with_the_private_key_to_the_same_text(keys: tuple[Box, VaultKey], text: str) -> None:
    box, key = keys

    assert opened(key, TOKEN, box.seal(TOKEN, text)) == text


def test_a_sealed_value_shows_nothing_and_is_never_the_same_twice(keys: tuple[Box, VaultKey]) -> None:
    box, _ = keys

    first, second = box.seal(TOKEN, "dana.fields@example.com"), box.seal(TOKEN, "dana.fields@example.com")

    assert b"dana" not in first
    assert first != second


def test_it_opens_with_its_own_token_and_key_only(keys: tuple[Box, VaultKey], tmp_path: Path) -> None:
    box, key = keys
    body = box.seal(TOKEN, "x")

    with pytest.raises(CorruptError, match="does not open with key"):
        opened(key, "<EMAIL_00000000>", body)
    with pytest.raises(CorruptError, match="does not open with key"):
        opened(pair(tmp_path, "other")[1], TOKEN, body)
    with pytest.raises(CorruptError, match="does not open with key"):
        opened(key, TOKEN, body[:-1] + bytes([body[-1] ^ 1]))
    with pytest.raises(CorruptError, match="no sealed value"):
        opened(key, TOKEN, b"something else")


def test_the_process_that_seals_holds_nothing_that_opens_what_it_sealed_before(
    keys: tuple[Box, VaultKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "_PER_PAIR", 1)
    box = Box(keys[0]._public)

    first, second = box.seal(TOKEN, "x"), box.seal(TOKEN, "x")

    assert first[4:36] != second[4:36]
    assert keys[1].private not in (box._key, box._ours)
    assert (box.key_id, keys[1].key_id) == (key_id(box._public), key_id(box._public))


def test_the_private_key_is_for_its_owner_and_shown_nowhere(tmp_path: Path) -> None:
    made = make_keys(tmp_path / "a" / "vault.key", tmp_path / "vault.pub")

    assert stat.S_IMODE((tmp_path / "a" / "vault.key").stat().st_mode) == 0o600
    assert made.private.hex() not in repr(made)
    assert made.private.hex() not in (tmp_path / "vault.pub").read_text(encoding="utf-8")


def test_a_key_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    make_keys(tmp_path / "vault.key", tmp_path / "vault.pub")
    before = (tmp_path / "vault.key").read_bytes()

    with pytest.raises(ConfigError, match="there is a key already"):
        make_keys(tmp_path / "vault.key", tmp_path / "other.pub")

    assert (tmp_path / "vault.key").read_bytes() == before


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"public_key": 5}', '{"public_key": "00"}', '{"public_key": "zz"}'])
def test_a_file_that_is_no_key_is_refused_without_a_word_of_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match="no file with a"):
        read_public(tmp_path / "key")


def test_a_key_that_cannot_be_read_or_that_others_can_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="make one with: runreel vault init"):
        read_public(tmp_path / "gone")
    make_keys(tmp_path / "vault.key", tmp_path / "vault.pub")
    (tmp_path / "vault.key").chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_private(tmp_path / "vault.key")
    with pytest.raises(ConfigError, match="cannot be written"):
        make_keys(tmp_path / "vault.pub" / "x" / "k", tmp_path / "p")
