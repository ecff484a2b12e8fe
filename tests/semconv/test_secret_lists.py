import pytest

from runreel.semconv.secret_lists import list_values, starts_list

V = "zq8Kp3vRw1Xy"


@pytest.mark.parametrize(
    ("words", "secret"),
    [
        (["tool", "--password", V], V),
        (["tool", "--api-key", V, "run"], V),
        (["curl", "-u", f"admin:{V}", "https://x"], f"admin:{V}"),
        (["/usr/bin/mysql", f"-p{V}", "db"], V),
        (["sudo", "sshpass", "-p", V, "ssh", "h"], V),
        (["docker", "login", "-u", "bob", "-p", V], V),
        (["x-api-key", V], V),
        (["accept", "*/*", "authorization", f"Custom {V}"], f"Custom {V}"),
    ],
)
def test_what_the_items_before_announce_is_found(words: list[str], secret: str) -> None:
    found = [words[number][start:end] for number, start, end, _ in list_values(words)]

    assert found == [secret]
    assert any(starts_list(word) for word in words)


@pytest.mark.parametrize(
    "words",
    [
        ["username", "password"],
        ["password", "username"],
        ["tool", "--password", "--verbose"],
        ["tool", "--password", "$PASSWORD"],
        ["tool", "--max-tokens", "500"],
        ["docker", "run", "-p", "8080:80"],
        ["docker", "run", "-u", "1000:1000"],
        ["ssh", "-p", "2222", "host"],
        ["token", "type", "expires_in"],
        ["--token"],
        [],
    ],
)
def test_lists_of_names_and_of_other_options_announce_nothing(words: list[str]) -> None:
    assert list(list_values(words)) == []


def test_a_pair_in_a_list_of_pairs_is_a_header_whatever_its_value() -> None:
    assert list(list_values(["x-api-key", "swordfish"], in_list=True)) == [(1, 0, 9, "api-key")]
    assert list(list_values(["x-api-key", "swordfish"])) == []


@pytest.mark.parametrize("word", ["", "plain", "-----BEGIN PRIVATE KEY-----", "x" * 65, "password " * 3])
def test_most_texts_announce_nothing(word: str) -> None:
    assert not starts_list(word)
