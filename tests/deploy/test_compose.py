"""docker-compose.yml and what it mounts, as far as it can be looked at without a container engine."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import otlp_build as build
from clickhouse_front import PASSWORD, front
from collector_kit import ask, until
from runreel.collector import config
from runreel.exporters.engine import Engine
from s3_server import ACCESS_KEY, SECRET_KEY, seaweedfs
from serve_kit import serve

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
EXAMPLE = dict(re.findall(r"^([A-Z0-9_]+)=(.*)$", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))
SECRETS = {name for name in EXAMPLE if name.endswith(("PASSWORD", "TOKEN", "KEY"))}
TOKEN = "a-token-for-this-test"


def test_every_variable_is_in_the_example_and_none_in_it_is_idle() -> None:
    assert set(re.findall(r"\$\{([A-Z0-9_]+)", TEXT)) == set(EXAMPLE)


def test_no_secret_has_a_default() -> None:
    assert {
        "RUNREEL_TOKEN",
        "CLICKHOUSE_PASSWORD",
        "GRAFANA_READER_PASSWORD",
        "S3_SECRET_KEY",
        "GRAFANA_ADMIN_PASSWORD",
    } == SECRETS
    for name in SECRETS:
        assert EXAMPLE[name] == ""
        assert set(re.findall(rf"\$\{{{name}(..)", TEXT)) == {":?"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_a_health_check_a_memory_limit_and_comes_back(name: str) -> None:
    service = SERVICES[name]

    assert service["healthcheck"]["test"][0] == "CMD"
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert service["restart"] == "unless-stopped"
    image = service["image"]
    assert name == "collector" or re.search(r":[\d.]+\}$", image)  # a version, never `latest`


def test_the_images_named_twice_are_the_same() -> None:
    for name, image in EXAMPLE.items():
        if name.endswith("_IMAGE"):
            assert f"${{{name}:-{image}}}" in TEXT


def test_what_is_mounted_is_there() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            if source.startswith("./"):
                assert (ROOT / source).exists(), source
            else:
                assert source in COMPOSE["volumes"]


def test_only_the_receivers_may_be_opened_to_others() -> None:
    for name, service in SERVICES.items():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:") or (name == "collector" and port.startswith("${LISTEN:-127.0.0.1}:"))


def test_the_collector_runs_as_nobody_special_and_leaves_no_core() -> None:
    collector = SERVICES["collector"]

    assert (collector["read_only"], collector["cap_drop"], collector["ulimits"]["core"]) == (True, ["ALL"], 0)
    assert "\nUSER 10001\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_clickhouses_own_logs_end() -> None:
    root = ET.parse(ROOT / "deploy/clickhouse/limits.xml").getroot()
    logs = [child for child in root if child.tag.endswith("_log")]

    assert len(logs) > 8
    for log in logs:
        ttl = log.find("ttl")
        assert log.get("remove") == "1" or (ttl is not None and "DELETE" in (ttl.text or ""))


def test_the_dockerfile_is_well_made() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"

    done = subprocess.run([hadolint, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")


def test_hadolint_would_complain(tmp_path: Path) -> None:
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM python:latest\nRUN cd /tmp && sudo rm x\n")

    done = subprocess.run(
        [Path(sys.executable).parent / "hadolint", str(bad)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1


def test_what_the_image_copies_is_let_through() -> None:
    let_through = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)

    for name in " ".join(copied).split():
        assert f"!{name}" in let_through
        assert (ROOT / name).exists()


def test_the_roles_are_sql_that_the_engine_reads(tmp_path: Path) -> None:
    text = (ROOT / "deploy/clickhouse/roles.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    statements = [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]
    engine = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    with_tenant = {
        table
        for (table,) in engine.query("SELECT table FROM system.columns WHERE database = 'runreel' AND name = 'tenant'")
    }
    views = {name for (name,) in engine.query("SELECT name FROM system.tables WHERE engine = 'View'")}

    assert len(statements) > 20
    for statement in statements:
        assert engine.query(f"EXPLAIN AST {statement}"), statement
    engine.close()
    # A table that nobody thought of would show every tenant's rows.
    assert set(re.findall(r"ROW POLICY IF NOT EXISTS \w+ ON runreel\.(\w+)", text)) == with_tenant - views


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The configuration of the stack, pointed at servers that run here."""
    with seaweedfs(tmp_path / "s3") as objects, front(tmp_path / "engine") as clickhouse:
        monkeypatch.setenv("S3_SECRET_KEY", SECRET_KEY)
        monkeypatch.setenv("CLICKHOUSE_PASSWORD", PASSWORD)
        monkeypatch.setenv("RUNREEL_TOKEN", TOKEN)
        text = (ROOT / "deploy/collector.yaml").read_text(encoding="utf-8")
        text = text.replace("http://objects:8333", objects.endpoint).replace(
            "access_key_id: runreel", f"access_key_id: {ACCESS_KEY}"
        )
        text = text.replace("http://clickhouse:8123", clickhouse.endpoint)
        yield re.sub(r"0\.0\.0\.0:\d+", "127.0.0.1:0", text)


def test_the_collectors_configuration_is_valid() -> None:
    env = dict.fromkeys(("S3_SECRET_KEY", "CLICKHOUSE_PASSWORD", "RUNREEL_TOKEN"), "something-long-enough")

    loaded = config.load(ROOT / "deploy/collector.yaml", env)

    assert set(loaded.started_extensions) == {"bearertokenauth", "health_check", "read_api", "run_list", "spool"}


def test_a_run_goes_through_the_stacks_configuration_and_is_read_back(tmp_path: Path, stack: str) -> None:
    heavy = "a long result of a tool " * 4000
    body = build.req(
        build.agent(), build.tool("00000000000000c1", build.ROOT, "search", {"q": "x"}, heavy)
    ).SerializeToString()

    with serve(tmp_path / "home", stack) as serving:
        at = serving.at
        http = serving.ready.partition(" http ")[2].partition(" ")[0]
        refused = ask(f"{http}/v1/traces", body)
        taken = ask(f"{http}/v1/traces", body, authorization=f"Bearer {TOKEN}")
        listed = ask(f"{at.api}/api/v1/runs", authorization=f"Bearer {at.token}").json()["runs"]
        (run,) = listed
        shown = until(lambda: ask(f"{at.api}/api/v1/runs/{run['run_id']}/reel", authorization=f"Bearer {at.token}"))

    assert (refused.status, taken.status) == (401, 200)
    assert run["tool_calls"] == 1
    assert shown.status == 200
    assert not (tmp_path / "home" / "store").exists()
    assert not (tmp_path / "home" / "blobs").exists()
