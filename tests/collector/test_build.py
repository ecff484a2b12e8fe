import pytest

import otlp_build as build_otlp
from collector_kit import CONFIG
from runreel import otlp
from runreel.collector import build, config
from runreel.components import open_database
from runreel.errors import ConfigError, StoreError
from runreel.runs.load import Settings

PLANTED = "dana.fields@example.com"
REQUEST = build_otlp.req(build_otlp.tool("c" * 16, "", "lookup", {"email": PLANTED}, "x" * 40_000)).SerializeToString()

HEAVY = build_otlp.req(build_otlp.tool("c" * 16, "", "lookup", {}, "x" * 3000)).SerializeToString()


def parsed(text=CONFIG):
    return config.parse(text, "test", {})


def test_a_request_goes_through_what_was_built_and_is_read_back_redacted(tmp_path):
    made = build.parts(parsed(), tmp_path)
    try:
        route = made.routes["traces"]
        for exporter in route.exporters.values():
            exporter.start()
        batch = route.chain.process(otlp.decode("traces", REQUEST, "protobuf", "default"))
        for exporter in route.exporters.values():
            exporter.export(batch)

        run = made.runs.run("default", made.runs.resolve("default", "last"))
    finally:
        made.runs.close()

    assert [step.name for step in run.steps] == ["lookup"]
    assert "<EMAIL_" in str(run.value(run.steps[0].input))
    assert run.value(run.steps[0].output) == "x" * 40_000
    assert list((tmp_path / "blobs").rglob("*.zst"))


def test_pipelines_share_store_and_redactor(tmp_path):
    made = build.parts(parsed(), tmp_path)
    try:
        traces, logs = made.routes["traces"], made.routes["logs"]

        assert traces.exporters is logs.exporters
        assert traces.chain._redact is logs.chain._redact
        assert list(traces.exporters) == ["files", "clickhouse"]
    finally:
        made.runs.close()


def test_paths_and_settings_of_the_configuration_are_used(tmp_path):
    text = CONFIG.replace("files: ,", f"files: {{path: '{tmp_path}/parts'}},").replace(
        "clickhouse: }", f"clickhouse: {{path: '{tmp_path}/rows'}}}}"
    )
    text = text.replace("redact: ,", "redact: {token_digits: 12},")
    text = text.replace("service:", "service:\n  runs: {quiet_s: 5, idle_s: 60}")

    made = build.parts(parsed(text), tmp_path / "home")
    try:
        batch = made.routes["traces"].chain.process(otlp.decode("traces", REQUEST, "protobuf", "default"))
        for exporter in made.routes["traces"].exporters.values():
            exporter.export(batch)
    finally:
        made.runs.close()

    assert made.runs.settings == Settings(quiet_s=5, idle_s=60)
    assert (tmp_path / "rows").is_dir()
    assert list((tmp_path / "parts").rglob("*.zst"))
    arguments = batch.rows[0].span.attributes["gen_ai.tool.call.arguments"]
    assert len(arguments.partition("<EMAIL_")[2].partition(">")[0]) == 12


def test_a_key_that_cannot_be_used_leaves_no_store_open(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "default.json").write_text("{}")
    (tmp_path / "keys" / "default.json").chmod(0o644)

    with pytest.raises(ConfigError, match="other users may read this key"):
        build.parts(parsed(), tmp_path)

    open_database(tmp_path).shutdown()


def test_a_store_that_cannot_be_opened_is_said(tmp_path):
    (tmp_path / "store").write_text("")

    with pytest.raises(StoreError, match="cannot use the data folder"):
        build.parts(parsed(), tmp_path)


def test_from_which_size_on_parts_are_heavy_is_a_setting_of_the_blob_store_that_the_tables_follow(tmp_path):
    made = build.parts(parsed(CONFIG.replace("files: ,", "files: {inline_kib: 2},")), tmp_path)
    try:
        exporters = made.routes["traces"].exporters
        assert exporters["files"].inline_bytes == exporters["clickhouse"]._settings.inline_bytes == 2048
        batch = made.routes["traces"].chain.process(otlp.decode("traces", HEAVY, "protobuf", "default"))
        for exporter in exporters.values():
            exporter.export(batch)
        run = made.runs.run("default", made.runs.resolve("default", "last"))
        assert run.value(run.steps[0].output) == "x" * 3000
    finally:
        made.runs.close()

    assert len(list((tmp_path / "blobs").rglob("*.zst"))) == 1
