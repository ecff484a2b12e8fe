"""Where runs are, and which collector has them open."""

import os
import socket
from pathlib import Path

import pytest

from collector_kit import Store, collector
from runreel.errors import StoreError
from runreel.exporters import owner
from runreel.runs import discovery
from runreel.runs.places import Named, Place, remote_runs, running
from runreel.storage import RunQuery


def quiet(_: str) -> None:
    """Nobody reads along."""


def test_a_collector_that_is_named_is_asked_and_says_where_it_takes_records(tmp_path: Path) -> None:
    with collector(tmp_path / "home", Store()) as up:
        place = Place(tmp_path / "none", collector=Named(up.at.api, up.at.token, "--collector", "RUNREEL_TOKEN"))
        found = running(place, say=pytest.fail)

        assert found is not None
        assert (found.api, found.otlp_http) == (up.at.api, up.http)
        assert remote_runs(place, found).runs(RunQuery()) == []


def test_a_collector_that_is_named_and_refuses_is_said_with_where_the_token_stands(tmp_path: Path) -> None:
    with collector(tmp_path, Store()) as up:
        named = Named(up.at.api, "wrong", "--collector", "RUNREEL_TOKEN")
        with pytest.raises(StoreError, match=r"\(--collector\) .* refuses the token from RUNREEL_TOKEN"):
            running(Place(tmp_path, collector=named), say=quiet)
        with pytest.raises(StoreError, match=r"refuses the token from mine.token"):
            remote_runs(
                Place(tmp_path, collector=Named(up.at.api, "wrong", "--collector", "mine.token")),
                discovery.Collector(0, "", None, None, up.at.api, "wrong"),
            ).runs(RunQuery())


def test_an_address_where_no_collector_is_is_said_with_where_it_stands(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(StoreError, match=rf"no collector answers at http://127.0.0.1:{port} \(RUNREEL_COLLECTOR\)"):
        running(Place(tmp_path, collector=Named(f"http://127.0.0.1:{port}", "t", "RUNREEL_COLLECTOR", "x")), say=quiet)


def test_what_answers_and_is_no_collector_is_said(tmp_path: Path) -> None:
    # Its OTLP port is none of a read API.
    with collector(tmp_path, Store()) as up, pytest.raises(StoreError, match="does not let us in: 404"):
        running(Place(tmp_path, collector=Named(up.http, "t", "--collector", "x")), say=quiet)


def test_a_collector_on_the_data_folder_is_asked_only_where_it_has_that_store_open(tmp_path: Path) -> None:
    home, store = tmp_path / "home", tmp_path / "engine"
    said: list[str] = []
    with collector(home, Store()) as up:
        assert running(Place(home), say=pytest.fail) == up.at
        assert running(Place(home, store), say=said.append) is None
        lock = owner.take(store)  # by this process, in which the collector runs
        try:
            assert running(Place(home, store), say=pytest.fail) == up.at
        finally:
            lock.release()

    assert said == [f"the collector at {up.at.api} has another store open than {store}"]


def test_a_data_folder_that_is_a_file_is_no_folder_without_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="is no folder: name one with --home or RUNREEL_HOME"):
        running(Place(tmp_path / "file"), say=quiet)


def test_a_place_is_there_once_there_is_something_to_add_to(tmp_path: Path) -> None:
    assert not Place(tmp_path).there
    assert Place(tmp_path, collector=Named("http://127.0.0.1:1", "t", "a", "b")).there
    (tmp_path / "engine").mkdir()
    assert Place(tmp_path, tmp_path / "engine").there
    (tmp_path / "store").mkdir()
    assert Place(tmp_path).there


def test_nobody_holds_a_store_that_was_let_go(tmp_path: Path) -> None:
    lock = owner.take(tmp_path / "store")
    assert owner.holder(tmp_path / "store") == os.getpid()
    lock.release()

    assert owner.holder(tmp_path / "store") is None
