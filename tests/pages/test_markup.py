import pytest

from page_kit import parsed
from runreel.pages.markup import Text, element, joined, said


def test_text_and_attributes_are_escaped() -> None:
    made = element("p", Text("<b>&'\""), class_='x" onclick="y')

    assert made == '<p class="x&quot; onclick=&quot;y">&lt;b&gt;&amp;&#x27;&quot;</p>'


def test_attributes_that_are_false_are_left_out_and_true_ones_have_no_value() -> None:
    assert element("details", open=True, id=None, hidden=False, data_n=0) == '<details open data-n="0"></details>'


@pytest.mark.parametrize("name", ["a b", "<b", "", "1x", "on=x"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of an element"):
        element(name)
    with pytest.raises(ValueError, match="no name of an attribute"):
        element("p", **{name: "x"})


def test_elements_without_content_are_not_closed() -> None:
    assert joined(element("meta", charset="utf-8"), None) == '<meta charset="utf-8">'


def test_tokens_and_removed_secrets_are_marked() -> None:
    made = said("to <EMAIL_7f3a9c02> with <SECRET:aws-key>, not <EMAIL_x>")

    assert '<mark class="token">&lt;EMAIL_7f3a9c02&gt;</mark>' in made
    assert '<mark class="secret">&lt;SECRET:aws-key&gt;</mark>' in made
    assert made.count("<mark") == 2
    assert parsed(made).text == "to <EMAIL_7f3a9c02> with <SECRET:aws-key>, not <EMAIL_x>"


def test_controls_are_shown_as_what_they_are() -> None:
    assert said("a\x1bb") == '<bdi>a<bdi class="control">\\x1b</bdi>b</bdi>'


def test_a_block_keeps_the_newline_that_it_begins_with() -> None:
    assert said("\nx", "pre") == "<pre>\n\nx</pre>"


def test_names_and_ids_are_cut_where_they_would_fill_the_page() -> None:
    assert said("x" * 3_000) == f"<bdi>{'x' * 2_000}… (1,000 characters more)</bdi>"
    assert element("p", Text("x" * 21_000)) == f"<p>{'x' * 20_000}… (1,000 characters more)</p>"
    assert len(element("p", title="x" * 9_000)) < 2_100
