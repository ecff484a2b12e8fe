import base64
import hashlib
import re

from page_kit import foreign, parsed
from runreel.pages.markup import Text, element
from runreel.pages.shell import badge, page


def policy(text: str) -> dict[str, str]:
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None
    rules = found[1].replace("&#x27;", "'").split("; ")
    return {name: value for name, _, value in (rule.partition(" ") for rule in rules)}


def test_the_policy_allows_the_pages_own_style_and_script_alone() -> None:
    text = page("title", element("p", Text("x")))
    style, script = (re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1] for tag in ("style", "script"))

    def named(source: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"

    assert policy(text) == {
        "default-src": "'none'",
        "style-src": named(style),
        "script-src": named(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_a_page_names_nothing_outside_itself() -> None:
    text = page("title")

    assert re.findall(r"https?:|//[a-z]|url\(|@import|src=", text.replace("// ", "")) == []
    assert foreign(parsed(text)) == []


def test_the_title_is_one_line_and_escaped() -> None:
    assert "<title>a &lt;/title&gt;</title>" in page("a\n</title>")


def test_badges_are_escaped() -> None:
    assert badge("<x>", "good") == '<span class="badge good">&lt;x&gt;</span>'
