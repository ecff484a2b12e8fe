"""Spans that are not GenAI: kept for their place in the tree, never a step, never an error."""

from runreel.semconv.dialect import Dialect
from runreel.semconv.view import View


def _claims(_: View) -> bool:
    return True


DIALECT = Dialect(name="structural", title="Any other span", claims=_claims)
