import json
import stat
import threading
from pathlib import Path

import pytest

from runreel.errors import ConfigError
from runreel.processors.redact.keys import VARIABLE, TenantKey, load_key

HEX = "00112233445566778899aabbccddeeff" * 2


@pytest.fixture(autouse=True)
def without_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_key_is_made_on_first_use_for_its_owner_only(tmp_path: Path) -> None:
    key = load_key(tmp_path / "new", "default")

    path = tmp_path / "new" / "keys" / "default.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in path.parent.iterdir()] == ["default.json"]
    assert len(key.secret) == 32
    assert load_key(tmp_path / "new", "default") == key


def test_tenants_have_keys_of_their_own(tmp_path: Path) -> None:
    a, b = load_key(tmp_path, "a"), load_key(tmp_path, "b")

    assert a.secret != b.secret
    assert a.key_id != b.key_id


def test_the_variable_goes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f" {HEX}\n")

    assert load_key(tmp_path, "default").secret == bytes.fromhex(HEX)
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, HEX[:-2]])
def test_a_malformed_variable_is_refused_without_showing_it(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, text)

    with pytest.raises(ConfigError, match="64 hexadecimal digits") as caught:
        load_key(tmp_path, "default")

    assert VARIABLE in str(caught.value)
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"kee": "x"}', '{"key": 5}', '{"key": "abc"}', "\xff"])
def test_a_malformed_file_is_refused_by_name(content: str, tmp_path: Path) -> None:
    path = tmp_path / "keys" / "default.json"
    path.parent.mkdir()
    path.write_bytes(content.encode("latin-1"))
    path.chmod(0o600)

    with pytest.raises(ConfigError, match=r"default\.json"):
        load_key(tmp_path, "default")


def test_a_file_that_others_may_read_is_refused_with_the_remedy(tmp_path: Path) -> None:
    load_key(tmp_path, "default")
    path = tmp_path / "keys" / "default.json"
    path.chmod(0o640)

    with pytest.raises(ConfigError, match=r"other users may read this key \(mode 640\); run: chmod 600"):
        load_key(tmp_path, "default")


def test_a_folder_in_the_place_of_the_file_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "keys" / "default.json").mkdir(parents=True, mode=0o700)

    with pytest.raises(ConfigError, match="cannot be read or made"):
        load_key(tmp_path, "default")


def test_a_home_that_is_a_file_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")

    with pytest.raises(ConfigError, match="cannot be read or made"):
        load_key(tmp_path / "home", "default")


@pytest.mark.parametrize("tenant", ["", "../x", "a/b", ".hidden", "x" * 65])
def test_names_that_would_leave_the_folder_are_refused(tenant: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a tenant's name has letters"):
        load_key(tmp_path, tenant)


def test_whoever_makes_a_key_at_the_same_time_gets_the_same_one(tmp_path: Path) -> None:
    keys: list[TenantKey] = []
    barrier = threading.Barrier(8)

    def make() -> None:
        barrier.wait()
        keys.append(load_key(tmp_path, "default"))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(keys)) == 1
    assert json.loads((tmp_path / "keys" / "default.json").read_text()).keys() == {"key"}


def test_a_key_does_not_show_itself() -> None:
    assert "secret" not in repr(TenantKey("id", b"very secret"))


def test_older_keys_prove_old_tokens_and_make_no_new_ones(tmp_path: Path) -> None:
    before = load_key(tmp_path, "default")
    path = tmp_path / "keys" / "default.json"
    path.write_text(json.dumps({"key": HEX, "older": [before.secret.hex()]}), encoding="utf-8")

    key = load_key(tmp_path, "default")

    assert key.secret == bytes.fromhex(HEX)
    assert [older.key_id for older in key.older] == [before.key_id]
    assert key.ids == {key.key_id, before.key_id}
    assert key.proving() == (key.secret, before.secret)
    assert key.proving(["t1"])[2:] == (key.of_run("t1").secret, before.of_run("t1").secret)
    assert before.secret.hex() not in repr(key)


def test_the_variable_may_hold_older_keys_behind_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"{HEX}, {'11' * 32}")

    key = load_key(tmp_path, "default")

    assert key.proving() == (bytes.fromhex(HEX), b"\x11" * 32)


@pytest.mark.parametrize("older", ["[5]", '["zz"]', '"abc"', '[""]', "7"])
def test_an_older_key_that_is_none_is_refused(tmp_path: Path, older: str) -> None:
    path = tmp_path / "keys" / "default.json"
    path.parent.mkdir()
    path.write_text(f'{{"key": "{HEX}", "older": {older}}}', encoding="utf-8")
    path.chmod(0o600)

    with pytest.raises(ConfigError):
        load_key(tmp_path, "default")


def test_the_key_of_a_run_says_nothing_of_another_run() -> None:
    key = TenantKey("id", bytes.fromhex(HEX))

    assert key.of_run("a").secret != key.of_run("b").secret != key.secret
    assert key.of_run("a") == key.of_run("a")
    assert key.of_run("a").key_id == "id"
