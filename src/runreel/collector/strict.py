"""The base of every model of the configuration."""

from pydantic import BaseModel, ConfigDict, model_validator


class Strict(BaseModel):
    """Base of every model here: frozen, no unknown keys, no guessing of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _default_where_null(cls, body: object) -> object:
        """`telemetry:` with nothing after it means the default; an unknown key stays one."""
        if not isinstance(body, dict):
            return body
        return {key: value for key, value in body.items() if value is not None or key not in cls.model_fields}


def as_tuple(value: object) -> object:
    """Return a list as the tuple that a frozen model holds; anything else as it is, to be refused by its type."""
    return tuple(value) if isinstance(value, list) else value
