import re
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from runreel.collector import telemetry
from runreel.collector.settings import (
    TYPES,
    GrpcConfig,
    PipelineConfig,
    SchemaConfig,
    ServiceConfig,
    split_endpoint,
)
from runreel.runs.discovery import is_loopback

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
ROWS = {row[0]: row for row in re.findall(r"^\| `([a-z0-9_:]+)` \|([^|]*)\|([^|]*)\|$", PAGE, re.MULTILINE)}


def keys(model, path):
    """Every key that may be written below `path`, with its default."""
    for field_name, field in model.model_fields.items():
        name = field.alias or field_name
        inner = field.annotation
        inner = next((part for part in getattr(inner, "__args__", ()) if isinstance(part, type)), inner)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from keys(inner, f"{path}::{name}")
        elif name != "pipelines":
            yield f"{path}::{name}", field.get_default()


EVERY_KEY = dict(
    found for role, types in TYPES.items() for name, model in types.items() for found in keys(model, f"{role}::{name}")
) | dict((*keys(ServiceConfig, "service"), *keys(PipelineConfig, "service::pipelines::traces")))


@pytest.mark.parametrize("key", EVERY_KEY)
def test_every_key_is_documented_with_its_default(key):
    assert key in ROWS
    default = EVERY_KEY[key]
    words = default if isinstance(default, tuple) else (default,)
    if default not in (None, (), {}) and str(default) != "PydanticUndefined":
        assert all(f"`{str(word).lower() if isinstance(word, bool) else word}`" in ROWS[key][1] for word in words)


def test_no_key_is_documented_that_is_not_there():
    documented = {key for key in ROWS if "::" in key}

    assert documented - set(EVERY_KEY) == {
        "processors::schema::external_base_paths",
        "processors::redact::classes",
        "processors::redact::recognizers",
        "processors::redact::recognizers::patterns",
        "service::pipelines",
    }


def test_a_base_path_is_a_folder_or_says_what_is_read_instead():
    found = SchemaConfig.model_validate({"external_base_paths": ["/a/b", {"from": "s3://x/y", "to": "/c"}]})

    assert [(base.sent, base.to) for base in found.external_base_paths] == [("/a/b", "/a/b"), ("s3://x/y", "/c")]


@pytest.mark.parametrize("base", ["relative", "/", "", {"from": "x"}, {"to": "/x"}, {"from": "", "to": "/x"}, 7, None])
def test_a_base_path_that_is_no_folder_of_its_own_is_refused(base):
    with pytest.raises(ValidationError):
        SchemaConfig.model_validate({"external_base_paths": [base]})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input": "reject"}, "may come after its span: it can be flagged or quarantined"),
        ({"tool.output": "reject"}, "may come after its span"),
        ({"agent.input": "flag"}, "'agent.input' is no field that can be required"),
        ({"tool_definitions": "quarantine"}, "can only be flagged"),
        ({"servce.name": "reject"}, "'servce.name' is no field that can be required: service.name"),
        ({"service.name": "drop"}, "'reject', 'quarantine' or 'flag'"),
    ],
)
def test_a_field_that_cannot_be_required_is_refused(fields, said):
    with pytest.raises(ValidationError, match=said):
        SchemaConfig.model_validate({"required_fields": {"*": fields}})


@pytest.mark.parametrize("name", telemetry.NAMES)
def test_every_counter_is_documented(name):
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize(
    ("endpoint", "parts"),
    [
        ("127.0.0.1:1", ("127.0.0.1", 1)),
        ("[::1]:4317", ("::1", 4317)),
        (":80", ("", 80)),
        ("a.b:65535", ("a.b", 65535)),
    ],
)
def test_an_endpoint_has_a_host_and_a_port(endpoint, parts):
    assert split_endpoint(endpoint) == parts


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "192.168.0.1", "localhost.example.com", "127.0.0.1.example.com"])
def test_what_others_can_reach_is_not_loopback(host):
    assert not is_loopback(host)


def test_settings_are_frozen():
    with pytest.raises(ValidationError):
        GrpcConfig().endpoint = "x"
