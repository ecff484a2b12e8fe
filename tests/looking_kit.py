"""Agents to look at: modules in a folder of their own, with packages that only metadata says are installed."""

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return what writes modules, by name, into an empty folder that the process then works in."""
    monkeypatch.chdir(tmp_path)

    def write(**sources: str) -> Path:
        for name, source in sources.items():
            (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def installed(tmp_path_factory, monkeypatch):
    """Return what makes a package count as installed, in a version, with the instrumentor that it registers."""

    def add(package: str, version: str, instrumentor: str = "") -> None:
        folder = tmp_path_factory.mktemp("site")
        info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        if instrumentor:
            (info / "entry_points.txt").write_text(f"[opentelemetry_instrumentor]\nx = {instrumentor}\n")
        monkeypatch.syspath_prepend(str(folder))

    return add
