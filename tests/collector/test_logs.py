import json
import logging

import pytest

from runreel.collector import logs
from runreel.errors import PermanentError


@pytest.fixture
def written(capsys):
    """Returns what was written to stderr; puts the process's logging back afterwards."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield lambda: capsys.readouterr().err
    root.handlers[:], root.level = before[0], before[1]
    logging.getLogger("runreel").setLevel(logging.NOTSET)


def test_a_console_line_has_the_message_and_its_fields(written):
    logs.configure("info", "console")

    logging.getLogger("runreel.x").info("stored", extra={"rows": 3, "what": "two words"})
    logging.getLogger("runreel.x").debug("not shown")

    line = written()
    assert line.count("\n") == 1
    assert line.endswith('info    stored rows=3 what="two words"\n')


def test_a_json_line_is_one_object(written):
    logs.configure("debug", "json")

    logging.getLogger("runreel.x").debug("a\nb", extra={"rows": 3})

    record = json.loads(written())
    assert record["message"] == "a\nb"
    assert record["rows"] == 3
    assert record["level"] == "debug"
    assert record["logger"] == "runreel.x"


@pytest.mark.parametrize("encoding", ["console", "json"])
def test_a_foreign_exception_is_logged_without_its_text(written, encoding):
    logs.configure("info", encoding)

    try:
        int("dana.fields@example.com")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("failed")

    line = written()
    assert "ValueError at test_logs.py:" in line
    assert "dana" not in line


def test_an_error_of_ours_is_logged_with_its_text():
    try:
        raise PermanentError("insert into spans: engine error 53")
    except PermanentError as error:
        said = logs.describe(error)

    assert said.startswith("PermanentError: insert into spans: engine error 53 at test_logs.py:")
    assert logs.describe(ValueError("secret")) == "ValueError"
