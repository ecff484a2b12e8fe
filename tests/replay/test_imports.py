import importlib
import sys
from importlib.resources import files

import pytest

from runreel.replay.imports import when_imported


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package nobody has imported yet, with a data file that it reads while it is imported."""
    folder = tmp_path / "hooked_package"
    folder.mkdir()
    (folder / "data.txt").write_text("inside")
    (folder / "__init__.py").write_text(
        "from importlib.resources import files\nTEXT = files(__name__).joinpath('data.txt').read_text()\nVALUE = 1\n"
    )
    (folder / "sub.py").write_text("VALUE = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "hooked_package"
    for name in ("hooked_package", "hooked_package.sub"):
        sys.modules.pop(name, None)


def test_the_callback_waits_for_the_import_and_sees_a_finished_module(package):
    seen = []

    when_imported(package, lambda module: seen.append(module.VALUE))

    assert seen == []
    assert package not in sys.modules
    importlib.import_module(package)
    assert seen == [1]


def test_a_module_that_is_there_already_is_handed_over_at_once(package):
    importlib.import_module(package)
    seen = []

    when_imported(package, lambda module: seen.append(module.__name__))

    assert seen == [package]


def test_submodules_are_waited_for_by_their_full_name(package):
    seen = []
    when_imported(f"{package}.sub", lambda module: seen.append(module.VALUE))

    importlib.import_module(package)
    assert seen == []
    importlib.import_module(f"{package}.sub")

    assert seen == [2]


def test_the_module_keeps_its_own_loader(package):
    when_imported(package, lambda module: None)

    module = importlib.import_module(package)

    assert module.TEXT == "inside"
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    assert module.__spec__.loader is module.__loader__
    assert files(package).joinpath("data.txt").read_text() == "inside"


def test_a_reload_calls_again_since_it_undoes_what_was_patched(package):
    seen = []
    when_imported(package, lambda module: seen.append(module.VALUE))
    module = importlib.import_module(package)

    importlib.reload(module)

    assert seen == [1, 1]


def test_every_callback_of_a_module_runs_in_order(package):
    seen = []
    when_imported(package, lambda module: seen.append("first"))
    when_imported(package, lambda module: seen.append("second"))

    importlib.import_module(package)

    assert seen == ["first", "second"]


def test_a_callback_that_fails_fails_the_import(package):
    def fail(module):
        raise RuntimeError("this version cannot be patched")

    when_imported(package, fail)

    with pytest.raises(RuntimeError, match="cannot be patched"):
        importlib.import_module(package)


def test_a_module_that_does_not_exist_stays_missing():
    when_imported("no_such_module_anywhere", lambda module: None)

    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        importlib.import_module("no_such_module_anywhere")
