"""What replays of real agents share: a redactor with its key, a model server, and a count of tools that ran."""

import pytest

from model_server import serving
from recorded_runs import KEY
from runreel.processors.redact import Redactor


@pytest.fixture(scope="session")
def redactor():
    return Redactor(KEY)


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Return which tool bodies ran."""
    file = tmp_path / "calls"
    monkeypatch.setenv("TOOL_CALLS", str(file))
    monkeypatch.setenv("RUNREEL_DEMO_CALLS", str(file))
    return lambda: file.read_text().split() if file.exists() else []


@pytest.fixture
def model(monkeypatch):
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Write an agent; return its path."""
    monkeypatch.chdir(tmp_path)

    def write(source):
        (tmp_path / "agent.py").write_text(source, encoding="utf-8")
        return str(tmp_path / "agent.py")

    return write
