"""Where runs are: options before the environment before a file, and every mistake with its place and what to do."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from runreel.cli import places
from runreel.errors import ConfigError, UsageError
from runreel.runs.places import Blobs, Named, Place

API = "http://127.0.0.1:4320"
YAML = """
receivers: {otlp: }
processors: {schema: , redact: {regions: [DE]}, split: }
exporters:
  files: {path: "${env:RUNREEL_HOME}/heavy"}
  clickhouse: {path: /data/engine}
service:
  pipelines:
    traces: {receivers: [otlp], processors: [schema, redact, split], exporters: [files, clickhouse]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def place(*words: str, env: Mapping[str, str] | None = None) -> Place:
    parser = argparse.ArgumentParser()
    places.add_options(parser)
    return places.place(parser.parse_args(words), env or {})


def test_without_a_word_it_is_the_folder_of_this_folder() -> None:
    assert place() == Place(Path(".runreel"))


@pytest.mark.parametrize(
    ("words", "env", "file", "home"),
    [
        (("--home", "flag"), {"RUNREEL_HOME": "variable"}, 'home = "file"', "flag"),
        ((), {"RUNREEL_HOME": "variable"}, 'home = "file"', "variable"),
        ((), {"RUNREEL_HOME": ""}, 'home = "file"', "file"),
        ((), {}, "", ".runreel"),
    ],
)
def test_an_option_counts_before_the_environment_before_the_file(
    folder: Path, words: tuple[str, ...], env: dict[str, str], file: str, home: str
) -> None:
    (folder / "runreel.toml").write_text(file)

    assert place(*words, env=env).home == Path(home)


def test_store_and_blobs_are_paths_or_urls() -> None:
    found = place("--store", "file:///var/a%20b", "--blobs", "heavy")

    assert (found.store, found.blobs) == (Path("/var/a b"), Blobs("files", {"path": "heavy"}))
    s3 = place(env={"RUNREEL_BLOBS": "s3://runs/a/b?endpoint=http://127.0.0.1:9000&region=eu"}).blobs
    assert s3 == Blobs("s3", {"bucket": "runs", "prefix": "a/b", "endpoint": "http://127.0.0.1:9000", "region": "eu"})


def test_a_store_may_be_a_server_whose_password_stands_in_the_environment() -> None:
    env = {"CLICKHOUSE_PASSWORD": "secret"}

    found = place("--store", "https://writer@db.example.com:8443?cluster=main&ca_file=/ca.pem", env=env)

    assert found.store is None
    assert found.server == {
        "endpoint": "https://db.example.com:8443",
        "username": "writer",
        "password": "secret",
        "cluster_name": "main",
        "ca_file": "/ca.pem",
    }
    assert "secret" not in repr(found)
    assert place(env={"RUNREEL_STORE": "http://127.0.0.1:8123"}).server == {"endpoint": "http://127.0.0.1:8123"}


def test_paths_in_a_file_are_relative_to_where_it_stands(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "mine.toml").write_text('home = "data"\nstore = "engine"\nblobs = "/heavy"\n')

    found = place("--config", "deep/mine.toml")

    assert found == Place(Path("deep/data"), Path("deep/engine"), blobs=Blobs("files", {"path": "/heavy"}))
    assert place(env={"RUNREEL_CONFIG": "deep/mine.toml"}) == found


def test_who_names_a_data_folder_means_what_is_in_it(folder: Path) -> None:
    (folder / "runreel.toml").write_text('store = "engine"\nblobs = "heavy"\n')

    assert place("--home", "other") == Place(Path("other"))
    assert place(env={"RUNREEL_HOME": "other"}) == Place(Path("other"))
    assert place("--home", "other", "--store", "mine").store == Path("mine")


def test_a_collectors_configuration_says_where_its_stores_are_and_how_it_redacts(folder: Path) -> None:
    (folder / "otel.yaml").write_text(YAML)

    found = place("--config", "otel.yaml", "--home", "data")

    assert (found.home, found.store) == (Path("data"), Path("/data/engine"))
    assert found.blobs == Blobs("files", {"path": f"{folder}/data/heavy", "inline_kib": 32})
    assert found.processors["redact"]["regions"] == ("DE",)
    assert place("--config", "otel.yaml", "--store", "mine").store == Path("mine")
    assert place("--config", "otel.yaml", env={"RUNREEL_STORE": "theirs"}).store == Path("/data/engine")
    assert place(env={"RUNREEL_CONFIG": "otel.yaml", "RUNREEL_STORE": "theirs"}).store == Path("theirs")
    (folder / "otel.yaml").write_text(YAML.replace("path: /data/engine", "endpoint: http://db:8123"))
    served = place("--config", "otel.yaml")
    assert (served.store, served.server["endpoint"]) == (None, "http://db:8123")


def test_a_collector_is_named_with_the_token_from_the_environment() -> None:
    env = {"RUNREEL_COLLECTOR": API + "/", "RUNREEL_TOKEN": "secret\n", "RUNREEL_HOME": "data"}

    found = place(env=env)

    assert found.collector == Named(API, "secret", "RUNREEL_COLLECTOR", "RUNREEL_TOKEN")
    assert found.home == Path("data")
    assert "secret" not in repr(found)


def test_a_stronger_word_about_where_runs_are_counts_before_a_collector() -> None:
    env = {"RUNREEL_COLLECTOR": API, "RUNREEL_TOKEN": "secret"}

    assert place("--home", "here", env=env).collector is None
    assert place("--store", "here", env=env).collector is None
    assert place("--collector", "https://runs.example.com", env={**env, "RUNREEL_HOME": "x"}).collector == Named(
        "https://runs.example.com", "secret", "--collector", "RUNREEL_TOKEN"
    )


@pytest.mark.parametrize("text", ["secret", '{"token": "secret", "pid": 7}\n', "  secret\n"])
def test_a_token_may_stand_in_a_file(folder: Path, text: str) -> None:
    (folder / "token").write_text(text)
    (folder / "runreel.toml").write_text(f'collector = "{API}"\ntoken_file = "token"\n')

    assert place().collector == Named(API, "secret", "runreel.toml: collector", "token")
    named = place("--collector", API, env={"RUNREEL_TOKEN_FILE": "token"}).collector
    assert named is not None
    assert named.token == "secret"


def test_the_collector_of_the_data_folder_needs_no_other_token(folder: Path) -> None:
    written = {"pid": 1, "started_at": "", "otlp_grpc": None, "otlp_http": None, "api": API, "token": "secret"}
    (folder / "data").mkdir()
    (folder / "data" / "collector.json").write_text(json.dumps(written))

    found = place("--collector", API, env={"RUNREEL_HOME": "data"}).collector

    assert found == Named(API, "secret", "--collector", "data/collector.json")
    with pytest.raises(UsageError, match="needs a token"):
        place("--collector", "http://127.0.0.1:99", env={"RUNREEL_HOME": "data"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("collector", "https://evil.example.com"),
        ("store", "https://evil.example.com"),
        ("blobs", "s3://b?endpoint=https://evil.example.com"),
        ("blobs", "s3://b"),
    ],
)
def test_a_file_that_was_found_sends_no_token_and_no_record_to_another_machine(
    folder: Path, key: str, value: str
) -> None:
    (folder / "runreel.toml").write_text(f'{key} = "{value}"\n')

    with pytest.raises(ConfigError, match=rf"{key}: .* another machine, and this file was found"):
        place(env={"RUNREEL_TOKEN": "mine", "CLICKHOUSE_PASSWORD": "mine"})
    assert place("--config", "runreel.toml", env={"RUNREEL_TOKEN": "mine"})


def test_a_file_that_is_named_may_point_to_another_machine(folder: Path) -> None:
    (folder / "runreel.toml").write_text('collector = "https://runs.example.com"\n')

    found = place("--config", "runreel.toml", env={"RUNREEL_TOKEN": "mine"}).collector
    assert found is not None
    assert found.token == "mine"


def test_a_token_from_the_environment_does_not_go_where_a_found_file_points(folder: Path) -> None:
    (folder / "runreel.toml").write_text(f'collector = "{API}"\n')

    with pytest.raises(UsageError, match="needs a token"):
        place(env={"RUNREEL_TOKEN": "mine"})


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ("--store", "clickhouse://db:9000/x"),
            "--store 'clickhouse://db:9000/x': no store that this version can open",
        ),
        (("--store", ""), "--store '': no store"),
        (("--store", "file://other/x"), "--store 'file://other/x': no store"),
        (("--store", "https://"), "--store: give a server as http(s)://USER@HOST:PORT"),
        (("--store", "http://[::1"), "--store: give a server as"),
        (("--store", "http://db/x"), "--store: give a server as"),
        (("--store", "http://db?colour=red"), "--store: give a server as"),
        (("--store", "http://me:secret@db"), "--store: a password does not belong into a URL"),
        (("--blobs", "gs://bucket"), "--blobs 'gs://bucket': no blob store"),
        (("--blobs", "s3://"), "--blobs: the bucket is missing"),
        (("--blobs", "s3://b?region=eu&colour=red"), "--blobs: unknown: colour"),
        (("--blobs", "s3://key:secret@b"), "--blobs: credentials come from AWS_"),
        (("--collector", "127.0.0.1:4320"), "--collector '127.0.0.1:4320': give the URL of its read API"),
        (("--collector", "http://[::1"), "give the URL of its read API"),
        (("--collector", "http://127.0.0.1:0"), "give the URL of its read API"),
        (("--collector", "http://me:you@127.0.0.1:1"), "give the URL of its read API"),
        (("--collector", "http://runs.example.com"), "another machine is asked over https only"),
        (("--collector", API), f"--collector {API} needs a token: put it into RUNREEL_TOKEN"),
        (("--collector", API, "--store", "x"), f"--collector {API} and --store x: a collector has its own store"),
    ],
)
def test_a_value_that_makes_no_sense_is_named_with_its_place_and_what_to_do(
    words: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(UsageError) as raised:
        place(*words)

    assert problem in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ('stroe = "x"\nhome = 7\n', ["unknown key 'stroe' (known: home,", "home: must be text"]),
        ("home =", ["the file is no TOML: "]),
        ('store = "ftp://x"', ["runreel.toml: store 'ftp://x': no store"]),
    ],
)
def test_a_file_with_mistakes_names_them_all(folder: Path, text: str, problems: list[str]) -> None:
    (folder / "runreel.toml").write_text(text)

    with pytest.raises((ConfigError, UsageError)) as raised:
        place()

    assert all(problem in str(raised.value) for problem in problems)


def test_a_file_that_is_named_and_not_there_or_no_text_is_an_error(folder: Path) -> None:
    (folder / "bytes.toml").write_bytes(b"\xff")

    for name, why in (("nowhere.toml", "No such file"), ("bytes.toml", "no TOML"), ("nowhere.yaml", "cannot read")):
        with pytest.raises(ConfigError, match=why):
            place("--config", name)


@pytest.mark.parametrize("data", [b"", b"two words", b"{}", b"\xff", "schlüssel".encode()])
def test_a_token_file_without_a_token_is_said_without_what_is_in_it(folder: Path, data: bytes) -> None:
    (folder / "token").write_bytes(data)

    with pytest.raises(UsageError, match="RUNREEL_TOKEN_FILE token: ") as raised:
        place("--collector", API, env={"RUNREEL_TOKEN_FILE": "token"})

    assert "words" not in str(raised.value)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        place("--collector", API, env={"RUNREEL_TOKEN_FILE": "nowhere"})
