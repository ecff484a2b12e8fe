import os
import sqlite3
import stat
from pathlib import Path

import pytest

from runreel.errors import PermanentError, RetryableError, StoreError
from runreel.exporters.vault import FILE, Vault
from runreel.values import Sealed, SplitBatch

DAY = 86_400 * 10**9


class Clock:
    now = 1_000 * DAY

    def __call__(self) -> int:
        self.now += 1
        return self.now


def batch(*tokens: str, body: bytes = b"sealed", key_id: str = "k1", tenant: str = "acme") -> SplitBatch:
    return SplitBatch(tenant, sealed=tuple(Sealed(tenant, token, key_id, "v1", body) for token in tokens))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vault(tmp_path: Path, clock: Clock) -> Vault:
    made = Vault(tmp_path / "vault" / FILE, 7, clock)
    made.start()
    return made


def bodies(vault: Vault, token: str, tenant: str = "acme") -> list[bytes]:
    return [one.body for one in vault.sealed(tenant, token, who="eve", reason="test")]


def test_what_is_exported_is_there_for_its_tenant_alone_and_twice_is_once(vault: Vault) -> None:
    vault.export(batch("<A_00000000>", "<B_00000000>"))
    vault.export(batch("<A_00000000>", body=b"sealed again"))

    assert bodies(vault, "<A_00000000>") == [b"sealed again"]
    assert bodies(vault, "<B_00000000>") == [b"sealed"]
    assert bodies(vault, "<A_00000000>", "other") == []


def test_values_of_two_keys_stand_side_by_side(vault: Vault) -> None:
    vault.export(batch("<A_00000000>"))
    vault.export(batch("<A_00000000>", key_id="k2", body=b"other"))

    assert sorted(bodies(vault, "<A_00000000>")) == [b"other", b"sealed"]


def test_a_batch_without_anything_sealed_makes_no_file(tmp_path: Path) -> None:
    Vault(tmp_path / "x" / FILE).export(SplitBatch("acme"))

    assert not (tmp_path / "x").exists()


def test_a_value_is_forgotten_after_its_days_and_lives_on_while_its_token_is_seen(vault: Vault, clock: Clock) -> None:
    vault.export(batch("<A_00000000>", "<B_00000000>"))
    clock.now += 5 * DAY
    vault.export(batch("<B_00000000>"))
    clock.now += 3 * DAY

    assert bodies(vault, "<A_00000000>") == []
    assert bodies(vault, "<B_00000000>") == [b"sealed"]


def test_of_what_is_forgotten_no_byte_stays_in_the_file(vault: Vault, clock: Clock) -> None:
    vault.export(batch("<A_00000000>", body=b"find-me-if-you-can" * 50))
    assert b"find-me-if-you-can" in vault.path.read_bytes()
    clock.now += 8 * DAY

    vault.export(batch("<B_00000000>"))

    assert b"find-me" not in vault.path.read_bytes()
    assert [path.name for path in vault.path.parent.iterdir()] == [FILE]


def test_a_look_is_logged_before_it_is_answered_found_or_not(vault: Vault) -> None:
    vault.export(batch("<A_00000000>"))

    bodies(vault, "<A_00000000>")
    bodies(vault, "<C_00000000>")

    assert [(one.who, one.token, one.reason, one.found) for one in vault.accesses()] == [
        ("eve", "<C_00000000>", "test", False),
        ("eve", "<A_00000000>", "test", True),
    ]


def test_where_the_log_cannot_be_written_nothing_is_answered(vault: Vault) -> None:
    vault.export(batch("<A_00000000>"))
    with sqlite3.connect(vault.path) as other:
        other.execute("DROP TABLE access")

    with pytest.raises(StoreError, match="cannot be read"):
        bodies(vault, "<A_00000000>")


def test_the_file_is_for_its_owner_alone(vault: Vault) -> None:
    assert stat.S_IMODE(vault.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(vault.path.parent.stat().st_mode) == 0o700


def test_another_users_vault_is_refused(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)

    with pytest.raises(StoreError, match="only its owner may look into it"):
        Vault.existing(vault.path)


def test_what_is_no_vault_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no vault at"):
        Vault.existing(tmp_path / "gone")
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    with pytest.raises(StoreError, match="cannot be opened: DatabaseError"):
        Vault(tmp_path / FILE).start()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be opened: "):
        Vault(tmp_path / "file" / FILE).start()


def test_a_vault_of_a_newer_version_is_refused(vault: Vault) -> None:
    vault.shutdown()
    with sqlite3.connect(vault.path) as other:
        other.execute("PRAGMA user_version = 99")

    with pytest.raises(StoreError, match="of a newer RunReel"):
        Vault(vault.path).start()


def test_a_vault_that_is_locked_asks_for_the_batch_again(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault._open().execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(vault.path)
    other.execute("BEGIN EXCLUSIVE")

    with pytest.raises(RetryableError, match="SQLITE_BUSY"):
        vault.export(batch("<A_00000000>"))

    other.rollback()
    other.close()
    vault.export(batch("<A_00000000>"))
    assert bodies(vault, "<A_00000000>") == [b"sealed"]


def test_a_table_that_is_another_is_no_reason_to_try_again(vault: Vault) -> None:
    with sqlite3.connect(vault.path) as other:
        other.executescript("DROP TABLE sealed; CREATE TABLE sealed (x CHECK (x = 1))")

    with pytest.raises((PermanentError, RetryableError), match="cannot be written"):
        vault.export(batch("<A_00000000>"))


def test_shutdown_is_safe_twice_and_without_start(tmp_path: Path, vault: Vault) -> None:
    vault.shutdown()
    vault.shutdown()
    Vault(tmp_path / "never" / FILE).shutdown()


def test_values_can_be_forgotten_at_once_by_token_or_tenant(vault: Vault) -> None:
    vault.export(batch("<A_00000000>", "<B_00000000>", "<C_00000000>", body=b"find-me-if-you-can" * 50))
    vault.export(batch("<A_00000000>", tenant="other", body=b"of another"))

    assert vault.forget("acme", ["<A_00000000>", "<Z_00000000>"]) == 1
    assert bodies(vault, "<A_00000000>") == []
    assert vault.forget("acme") == 2
    assert b"find-me" not in vault.path.read_bytes()
    assert bodies(vault, "<A_00000000>", "other") == [b"of another"]


def test_what_cannot_be_forgotten_is_said(vault: Vault) -> None:
    with sqlite3.connect(vault.path) as other:
        other.execute("DROP TABLE sealed")

    with pytest.raises(StoreError, match="cannot be written"):
        vault.forget("acme")
