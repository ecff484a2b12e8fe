import pytest

from redaction import redact, redactor
from runreel.processors.redact.suppress import context


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "0.0.0.0", "::1", "::", "255.255.255.255",  # the same for everybody
        "10.4.2.1", "172.16.3.4", "192.168.1.20", "169.254.169.254", "fe80::1%eth0", "fd12:3456::1",  # private networks
        "build 10.4.2.1", "v2.1.1.108", "version: 203.0.113.7", '"ver" = "203.0.113.7"', "release 203.0.113.7",
        "std::vector", "b::", "add::face", "a::b",  # scopes in code
        "git@github.com:acme/repo.git", "ssh://git@github.com/acme/repo.git",
        "1747731000", "1767225600000", "1767225600000000", "1767225600000000000",  # seconds to nanoseconds
        "0.9134567890", "38.7223", "lat 38.7222524", "-122.4194155", "1.2025550143e-05",
        "9.5135076986687306", "-0.4242424242424242",
        "110bcd25-a55d-453a-8046-1297901ea002", "id 20255501-4300-4000-8000-202555014300",
        "ISBN 978-3-16-148410-0", "ISBN-13: 978 0 306 40615 7",
        "invoice 2026-003621", "case 2025-012345",  # numbers of a year
        "123456780", "order 987654321",  # nine digits without a word that says what they are
    ],
)  # fmt: skip
def test_what_is_nothing_personal_stays(text: str) -> None:
    for around in ("{}", "got {} back", "[{}]"):
        assert redact(around.format(text)) == around.format(text)


@pytest.mark.parametrize(
    "text",
    [
        "203.0.113.7", "server 203.0.113.7", "forever 203.0.113.7", "from=203.0.113.7:8080", "2001:db8::7334",
        "2a00::1", "github@example.com", "dana@git.example.com", "2025550143", "202.555.0143", "123-45-6780",
        "ssn 123456780", "social security number: 123456780", "4242424242424242", "172.32.0.1", "11.0.0.1",
    ],
)  # fmt: skip
def test_what_resembles_it_goes(text: str) -> None:
    assert text.rsplit(maxsplit=1)[-1].removeprefix("from=").removesuffix(":8080") not in redact(text)


def test_private_addresses_go_where_the_setting_says_so_and_loopback_still_stays() -> None:
    strict = redactor(mask_private_addresses=True)

    assert strict.text("from 127.0.0.1 and 0.0.0.0") == "from 127.0.0.1 and 0.0.0.0"
    for address in ("10.4.2.1", "192.168.1.20", "fe80::1", "fd12:3456::1"):
        assert address not in strict.text(f"from {address}")


def test_the_name_of_a_field_tells_versions_and_security_numbers() -> None:
    assert redact('{"client_version": "203.0.113.7"}') == '{"client_version": "203.0.113.7"}'
    assert "203.0.113.7" not in redact('{"client": "203.0.113.7"}')
    assert "123456780" not in redact('{"ssn": "123456780"}')
    assert context("telemetry.sdk.version").version
    assert context("customerSsn").ssn
    assert not any(context("conversation"))


def test_the_profile_presidio_suppresses_nothing() -> None:
    stock = redactor(profile="presidio")

    for text in ("127.0.0.1", "b::", "git@github.com", "build 10.4.2.1"):
        assert stock.text(text) != text
