from runreel.semconv.dialects import DIALECTS, structural
from runreel.semconv.reading import read
from runreel.semconv.view import View
from span_kit import make_span


def test_it_claims_whatever_the_others_leave() -> None:
    assert DIALECTS[-1] is structural.DIALECT
    assert structural.DIALECT.claims(View(make_span({})))


def test_a_structural_span_is_no_step_and_keeps_its_name() -> None:
    found = read(View(make_span({"http.route": "/"}, name="GET /")))

    assert (found.kind, found.dialect, found.name) == ("other", "structural", "GET /")
