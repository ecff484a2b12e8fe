from pathlib import Path

import pytest

from runreel.collector import config
from runreel.collector.settings import OtlpConfig, SplitConfig
from runreel.errors import ConfigError

ROOT = Path(__file__).parents[2]
GOOD = """\
receivers:
  otlp: {protocols: {grpc: , http: }}
processors:
  schema:
  redact:
  split:
exporters:
  files:
  clickhouse:
service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [schema, redact, split]
      exporters: [files, clickhouse]
"""


def problems(text, **env):
    with pytest.raises(ConfigError) as caught:
        config.parse(text, "c.yaml", env)
    return list(caught.value.problems)


def test_the_built_in_configuration_listens_on_the_standard_ports():
    loaded = config.load(None, {})

    otlp = loaded.receivers["otlp"]
    assert isinstance(otlp, OtlpConfig)
    assert otlp.protocols.grpc.endpoint == "127.0.0.1:4317"
    assert otlp.protocols.http.endpoint == "127.0.0.1:4318"
    assert otlp.protocols.http.max_request_body_size == otlp.protocols.grpc.max_recv_msg_size_mib * 2**20 == 64 * 2**20
    assert set(loaded.pipelines) == {"traces", "logs"}


def test_the_example_at_the_root_is_the_built_in_configuration_spelled_out():
    shown = config.load(ROOT / "otel-config.yaml", {})

    built_in = config.load(None, {})
    assert shown.receivers == built_in.receivers
    assert shown.processors == built_in.processors
    assert shown.pipelines == built_in.pipelines
    assert shown.telemetry == built_in.telemetry
    assert shown.exporters["clickhouse"].path == "./.runreel/store"


def test_a_component_may_have_a_name():
    loaded = config.parse(
        GOOD.replace("split", "split/small").replace("small:", "small: {threshold_bytes: 128}"), "c", {}
    )

    assert loaded.processors["split/small"] == SplitConfig(threshold_bytes=128)
    assert loaded.pipelines["traces"].processors[-1] == "split/small"


def test_a_setting_may_come_from_the_environment():
    text = GOOD.replace("  split:", "  split: {threshold_bytes: '${env:N:-512}'}").replace("'", "")

    assert problems(text)[0].startswith("line 6: not YAML")  # braces inside a flow map: YAML's own rule
    block = GOOD.replace("  split:", "  split:\n    threshold_bytes: ${env:N:-512}")
    assert config.parse(block, "c", {}).processors["split"] == SplitConfig(threshold_bytes=512)
    assert config.parse(block, "c", {"N": "1024"}).processors["split"] == SplitConfig(threshold_bytes=1024)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "receivers:\n  otlp",
            "recievers:\n  otlp",
            "line 1: recievers: unknown key 'recievers': did you mean 'receivers'?",
        ),
        ("http: }", "htp: }", "line 2: receivers::otlp::protocols::htp: unknown key 'htp': did you mean 'http'?"),
        (
            "  split:\n",
            "  split: {threshold_bytes: many}\n",
            "line 6: processors::split::threshold_bytes: wrong type: must be a whole number",
        ),
        (
            "  split:\n",
            "  split: {threshold_bytes: true}\n",
            "line 6: processors::split::threshold_bytes: wrong type: must be a whole number",
        ),
        ("  split:\n", "  split: 3\n", "line 6: processors::split: wrong type: must be a map"),
        (
            "  split:\n",
            "  split: {threshold_bytes: 1}\n",
            "line 6: processors::split::threshold_bytes: must be greater than or equal to 64",
        ),
        ("  redact:\n", "  redact: {regions: US}\n", "line 5: processors::redact::regions: wrong type: must be a list"),
        ("  redact:\n", "  redact: {regions: [UK]}\n", "line 5: processors::redact::regions::0: 'UK' is no region"),
        ("  redact:\n", "  redact: {entities: [MAIL]}\n", "line 5: processors::redact::entities::0: must be "),
        (
            "  clickhouse:\n",
            "  clickhuose:\n",
            "line 9: exporters::clickhuose: unknown exporter type 'clickhuose': did you mean 'clickhouse'?",
        ),
        ("  files:\n", "  f!les:\n", "line 8: exporters::f!les: 'f!les' is no component id"),
        (
            "[schema, redact, split]",
            "[schema, split]",
            "line 12: service::pipelines::traces: the processor redact is missing: nothing unredacted",
        ),
        (
            "[schema, redact, split]",
            "[schema, split, redact]",
            "line 14: service::pipelines::traces::processors: redact must come before split: split stores",
        ),
        (
            "[schema, redact, split]",
            "[redact, schema, split]",
            "line 14: service::pipelines::traces::processors: schema must come before redact",
        ),
        (
            "[schema, redact, split]",
            "[schema, redact, split, redact]",
            "line 14: service::pipelines::traces::processors::3: 'redact' is named twice",
        ),
        (
            "[schema, redact, split]",
            "[schema, redakt, split]",
            "line 14: service::pipelines::traces::processors::1: 'redakt' is not declared under processors: did you",
        ),
        (
            "[files, clickhouse]",
            "[clickhouse, files]",
            "line 15: service::pipelines::traces::exporters: files must come before clickhouse",
        ),
        (
            "[files, clickhouse]",
            "[files]",
            "line 15: service::pipelines::traces::exporters: no exporter that keeps rows",
        ),
        (
            "  files:\n",
            "  files:\n  s3: {endpoint: 'minio:9000', bucket: runs}\n",
            "line 9: exporters::s3::endpoint: ",
        ),
        (
            "  files:\n",
            "  files:\n  s3: {endpoint: 'http://minio:9000', bucket: Runs}\n",
            "line 9: exporters::s3::bucket: ",
        ),
        (
            "  files:\n",
            "  files:\n  s3: {endpoint: 'http://minio:9000', bucket: runs, access_key_id: me}\n",
            "line 9: exporters::s3: access_key_id and secret_access_key belong together: write both, or neither",
        ),
        (
            "  clickhouse:\n",
            "  clickhouse: {path: /x, endpoint: 'http://ch:8123'}\n",
            "line 9: exporters::clickhouse: write path for the embedded engine or endpoint for a server, not both",
        ),
        (
            "  clickhouse:\n",
            "  clickhouse: {username: me}\n",
            "line 9: exporters::clickhouse: username belongs to a server: write its endpoint, too",
        ),
        (
            "  clickhouse:\n",
            "  clickhouse: {endpoint: 'tcp://ch:9000'}\n",
            "line 9: exporters::clickhouse::endpoint: ",
        ),
        ("receivers: [otlp]", "receivers: []", "line 13: service::pipelines::traces::receivers: must not be empty"),
        (
            "receivers: [otlp]",
            "receivers: otlp",
            "line 13: service::pipelines::traces::receivers: wrong type: must be a list",
        ),
        ("    traces:", "    spans:", "line 12: service::pipelines::spans: unknown signal 'spans'"),
        ("    traces:", "    metrics:", "line 12: service::pipelines::metrics: metrics are answered and dropped"),
        (
            "service:\n",
            "service:\n  extensions: [health]\n",
            "line 11: service::extensions::0: 'health' is not declared under extensions",
        ),
        (
            "service:\n",
            "service:\n  telemetry: {logs: {level: loud}}\n",
            "line 11: service::telemetry::logs::level: must be 'debug'",
        ),
        (
            "service:\n",
            "service:\n  telemetri:\n",
            "line 11: service::telemetri: unknown key 'telemetri': did you mean",
        ),
        ("service:\n", "service:\n  runs: {quiet_s: 60, idle_s: 30}\n", "line 11: service::runs: idle_s 30 must be"),
        ("service:\n", "connectors: {}\nservice:\n", "line 10: connectors: unknown key 'connectors'"),
        ("{grpc: , http: }", "{}", "line 2: receivers::otlp: protocols names no protocol"),
    ],
)
def test_a_mistake_is_named_with_its_path_and_line(old, new, said):
    assert old in GOOD
    text = GOOD.replace(old, new, 1)

    assert [problem for problem in problems(text) if problem.startswith(said)], problems(text)


AUTH = """\
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "0.0.0.0:4317", auth: {authenticator: bearertokenauth}}
"""
TOKENS = "extensions: {bearertokenauth: {token: at-least-sixteen-characters}}\n"


def protected(extensions, started="service:\n  extensions: [bearertokenauth]\n"):
    return (AUTH + GOOD.partition("processors:")[1] + GOOD.partition("processors:")[2]).replace(
        "service:\n", extensions + started, 1
    )


def test_with_tokens_any_address_may_be_listened_on():
    loaded = config.parse(protected(TOKENS), "c", {})

    assert loaded.receivers["otlp"].protocols.grpc.endpoint == "0.0.0.0:4317"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (protected(""), "'bearertokenauth' is no declared extension of type bearertokenauth"),
        (protected(TOKENS, "service:\n"), "'bearertokenauth' is not started: add it to service::extensions"),
        (protected(TOKENS.replace("at-least-sixteen-characters", "short")), "extensions::bearertokenauth::token"),
        (protected(TOKENS.replace("token: at-least-sixteen-characters", "")), "write token or filename, one of them"),
    ],
)
def test_an_authenticator_that_lets_nobody_in_is_said(text, said):
    assert [problem for problem in problems(text) if said in problem], problems(text)


def test_all_mistakes_are_said_at_once():
    text = """\
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "0.0.0.0:4317"}
  otpl:
processors: {schema: , redact: {regons: [US]}, split: {threshold_bytes: x}}
exporters: {clickhouse: , files: }
service:
  pipelines:
    traces: {receivers: [otlp], processors: [split, redact], exporters: [clickhouse, files], extra: 1}
    logs: {receivers: [otlp/2], processors: [schema, redact, split], exporters: [clickhouse]}
"""

    found = problems(text)

    paths = {"::".join(problem.split(": ")[1:2]) for problem in found}
    assert paths == {
        "receivers::otlp::protocols::grpc::endpoint",
        "receivers::otpl",
        "processors::redact::regons",
        "processors::split::threshold_bytes",
        "service::pipelines::traces",
        "service::pipelines::traces::processors",
        "service::pipelines::traces::exporters",
        "service::pipelines::traces::extra",
        "service::pipelines::logs::receivers::0",
        "service::pipelines::logs::exporters",
    }
    lines = [int(problem.split(":")[0].removeprefix("line ")) for problem in found]
    assert lines == sorted(lines)


@pytest.mark.parametrize("host", ["0.0.0.0", "", "[::]", "10.0.0.5", "example.com"])
@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_without_authentication_only_loopback_is_allowed(host, protocol):
    text = GOOD.replace("{grpc: , http: }", f"{{{protocol}: {{endpoint: '{host}:4999'}}}}")

    (said,) = problems(text)
    assert said.startswith(f"line 2: receivers::otlp::protocols::{protocol}::endpoint: ")
    assert "without authentication" in said
    assert "127.0.0.1:4999" in said


@pytest.mark.parametrize("endpoint", ["localhost:1", "127.8.9.1:1", "[::1]:1", "127.0.0.1:0"])
def test_loopback_in_every_spelling_is_taken(endpoint):
    text = GOOD.replace("{grpc: , http: }", f"{{grpc: {{endpoint: '{endpoint}'}}}}")

    assert config.parse(text, "c", {}).receivers["otlp"].protocols.grpc.endpoint == endpoint


@pytest.mark.parametrize("endpoint", ["127.0.0.1", "127.0.0.1:x", "::1:4317", "127.0.0.1:70000"])
def test_an_endpoint_that_is_none_is_refused(endpoint):
    text = GOOD.replace("{grpc: , http: }", f"{{grpc: {{endpoint: '{endpoint}'}}}}")

    assert [problem for problem in problems(text) if "endpoint" in problem]


def test_two_protocols_need_two_ports():
    same = "{grpc: {endpoint: 'localhost:5'}, http: {endpoint: 'localhost:5'}}"

    assert "both listen on localhost:5" in problems(GOOD.replace("{grpc: , http: }", same))[0]
    free = same.replace("localhost:5", "localhost:0")
    assert config.parse(GOOD.replace("{grpc: , http: }", free), "c", {}).receivers


def test_a_receiver_must_have_room_for_one_request():
    text = GOOD.replace("{protocols: ", "{admission: {request_limit_mib: 32}, protocols: ")

    assert "less than one request of the permitted size (64 MiB)" in problems(text)[0]


def test_all_pipelines_write_to_one_store():
    logs = GOOD[GOOD.index("    traces:") :].replace("traces", "logs").replace("[files, clickhouse]", "[clickhouse]")

    (said,) = problems(GOOD + logs)
    assert said.startswith("line 19: service::pipelines::logs::exporters: must be those of 'traces': in this version")


def test_a_pipeline_has_one_exporter_of_a_type():
    text = GOOD.replace("  clickhouse:\n", "  clickhouse:\n  clickhouse/b:\n").replace(
        "[files, clickhouse]", "[files, clickhouse, clickhouse/b]"
    )

    assert problems(text) == [
        "line 16: service::pipelines::traces::exporters: two exporters of type clickhouse: a pipeline has one"
    ]


def test_one_signal_has_one_pipeline():
    text = GOOD + GOOD[GOOD.index("    traces:") :].replace("traces", "traces/two")

    assert problems(text) == [
        "line 16: service::pipelines::traces/two: 'traces' takes traces already: one signal has one pipeline"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a configuration is a map"),
        ("- a", "line 1: a configuration is a map"),
        ("a: [", "line 1: not YAML"),
        ("receivers: 3", "line 1: receivers: must be a map"),
        (GOOD[: GOOD.index("service:")], "line 1: service is missing"),
        (GOOD[: GOOD.index("  pipelines:")], "line 10: service: service is missing"),
        (GOOD[: GOOD.index("    traces:")], "line 11: service::pipelines: names no pipeline"),
        (
            GOOD[: GOOD.index("      receivers: [")],
            "line 12: service::pipelines::traces::receivers: receivers is missing",
        ),
        (GOOD.replace("exporters:\n  files:\n  clickhouse:\n", ""), "line 1: no exporters are declared"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(text, said):
    assert [problem for problem in problems(text) if problem.startswith(said)], problems(text)


S3 = "  s3: {endpoint: 'http://minio:9000', bucket: runs}\n"


def test_s3_comes_before_rows_and_in_the_place_of_files():
    good = GOOD.replace("  files:\n", S3).replace("[files, clickhouse]", "[s3, clickhouse]")
    late = good.replace("[s3, clickhouse]", "[clickhouse, s3]")
    both = good.replace(S3, f"  files:\n{S3}").replace("[s3, clickhouse]", "[files, s3, clickhouse]")

    assert config.parse(good, "test", {}).pipelines["traces"].exporters == ("s3", "clickhouse")
    assert [problem for problem in problems(late) if "s3 must come before clickhouse" in problem]
    assert [problem for problem in problems(both) if "files and s3 in one pipeline" in problem]


def test_a_secret_key_of_a_wrong_form_is_never_quoted():
    text = GOOD.replace("  files:\n", "  files:\n" + S3.replace("runs}", "runs, secret_access_key: [hunter2]}"))

    said = "\n".join(problems(text))

    assert "exporters::s3::secret_access_key" in said
    assert "hunter2" not in said


def test_a_value_from_the_environment_is_never_quoted():
    text = GOOD.replace("  split:", "  split:\n    threshold_bytes: ${env:TOKEN}")

    assert "hunter2" not in "\n".join(problems(text, TOKEN="hunter2"))


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")

    for path, said in (
        (tmp_path / "none.yaml", "No such file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "latin.yaml", "not UTF-8"),
    ):
        with pytest.raises(ConfigError, match=said):
            config.load(path, {})
