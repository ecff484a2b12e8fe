"""What may be written about redaction: the processor `redact` and the exporter `vault`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from runreel.collector.strict import Strict, as_tuple
from runreel.processors.redact import classes, own


def _region(value: str) -> str:
    from phonenumbers import SUPPORTED_REGIONS

    if value not in SUPPORTED_REGIONS:
        raise ValueError(f"{value!r} is no region: write its two capital letters, as in US or GB")
    return value


Region = Annotated[str, AfterValidator(_region)]
Entity = Literal["EMAIL", "PHONE", "CARD", "IBAN", "IP", "SSN", "CRYPTO"]


class ClassConfig(Strict):
    """What is declared about values: a class for what a tool, an attribute or a source holds, or a pointer into it."""

    kind: Literal["drop", "token", "hash", "regulated", "keep"] = Field(alias="class")
    tool: str | None = None
    attribute: str | None = None
    source: str | None = None
    pointer: str | None = None

    @model_validator(mode="after")
    def _check(self) -> "ClassConfig":
        classes.rule(self.model_dump(by_alias=True, exclude_none=True))
        return self


class PatternConfig(Strict):
    """One regular expression of a recogniser. A text alone is one, with the usual score."""

    regex: str = Field(min_length=1)
    score: float = Field(default=0.5, gt=0, le=1)

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, body: object) -> object:
        return {"regex": body} if isinstance(body, str) else body


class RecognizerConfig(Strict):
    """What a user wants found: patterns, and words that go wherever they stand alone."""

    entity: str
    patterns: Annotated[tuple[PatternConfig, ...], BeforeValidator(as_tuple)] = ()
    deny_list: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()

    @model_validator(mode="after")
    def _check(self) -> "RecognizerConfig":
        own.checked(own.Recogniser(self.entity, tuple((one.regex, one.score) for one in self.patterns), self.deny_list))
        return self


class RedactConfig(Strict):
    """The processor `redact`."""

    entities: Annotated[tuple[Entity, ...], BeforeValidator(as_tuple)] = (
        "EMAIL",
        "PHONE",
        "CARD",
        "IBAN",
        "IP",
        "SSN",
        "CRYPTO",
    )
    regions: Annotated[tuple[Region, ...], BeforeValidator(as_tuple)] = ("US", "GB")
    profile: Literal["default", "presidio"] = "default"
    mask_private_addresses: bool = False
    token_digits: int = Field(default=8, ge=8, le=64)
    allow: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()
    scope: Literal["tenant", "run"] = "tenant"
    classes: Annotated[tuple[ClassConfig, ...], BeforeValidator(as_tuple)] = ()
    recognizers: Annotated[tuple[RecognizerConfig, ...], BeforeValidator(as_tuple)] = ()
    ner: Annotated[tuple[Literal["PERSON", "LOCATION", "ORGANIZATION"], ...], BeforeValidator(as_tuple)] = ()
    vault_key: str | None = Field(default=None, min_length=1)


class VaultConfig(Strict):
    """The exporter `vault`: values behind tokens, sealed, in a file of their own."""

    path: str | None = Field(default=None, min_length=1)
    ttl_days: int = Field(default=7, ge=1, le=400)
