"""The redact processor. Importing it is cheap; building a Redactor imports the detectors."""

from runreel.processors.redact.keys import TenantKey, load_key
from runreel.processors.redact.redactor import Redactor
from runreel.processors.redact.settings import RedactSettings

__all__ = ["RedactSettings", "Redactor", "TenantKey", "load_key"]
