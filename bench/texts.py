"""Invented text for the bench: prose, code, JSON rows and log lines, salted with personal data and secrets.

All of it comes from a `random.Random` and the word lists below, so a seed gives the same text on every machine. Nothing
belongs to anybody: reserved e-mail domains, 555-01xx phone numbers, TEST-NET addresses, test-range cards, random keys.
The order in which numbers are drawn is part of the format: changing it changes every text.
"""

import json
import random
from collections.abc import Callable
from typing import NamedTuple


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


COMMON = _words(
    "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they "
    "which one you were all her she there would their we him been has when who will no more if out so up said what "
    "its about than into them can only other time new some could these two may first then do any like my now over "
    "such our man me even most made after also well before must through years where much your way down should "
    "because long each just state people those too mr how little good world make very year still see own work men "
    "day get here between both life being under three never know same last another while us off might great go come "
    "since against right came take used himself few house use place during high without again home around small "
    "however found thought went say part once"
)
DOMAIN = _words(
    "account agent api argument array async audit backend balance batch billing branch budget buffer build cache "
    "calendar call campaign cart case catalog channel chart claim client cluster code column commit config contact "
    "container content contract cost coverage credit customer dashboard data dataset date deadline debug default "
    "delivery deploy design developer device diff discount document domain draft driver email endpoint engine "
    "entity entry environment error estimate event exception export failure feature field file filter finance "
    "flight folder format function gateway graph group handler header host hotel identifier image import incident "
    "index input insight instance integration interface inventory invoice issue item itinerary job key label "
    "latency layer ledger library limit link list loader log logic manager margin market memory merge message "
    "method metric migration mode model module monitor name network node note notice notification number object "
    "offer office operation option order output owner package page panel parameter parser partner patch path "
    "pattern payload payment performance permission person phase pipeline plan platform plugin policy pool portal "
    "prediction price priority process product profile project property proposal protocol provider quality quantity "
    "query queue quota range rate reason receipt record refund region registry release reminder report repository "
    "request reservation resource response result retry return review revision role rollback route rule runtime "
    "sample scale schedule schema scope score script search section segment server service session setting shipment "
    "signal site snapshot source span specification staff stage statement status storage store strategy stream "
    "string summary supplier support system table tag target task team template tenant test thread threshold ticket "
    "timeline timeout token tool topic total trace track traffic transaction transfer trend trigger type unit "
    "update usage user validation value variable vendor version view volume warehouse warning webhook widget window "
    "worker workflow workspace zone"
)
VERBS = _words(
    "returned created failed updated scheduled validated rejected merged queued retried cancelled exported parsed"
)
FIRST_NAMES = _words(
    "Ava Liam Noah Emma Olivia Mason Lucas Mia Ethan Sofia Elijah Amelia Logan Harper Aiden Evelyn Maria Chen Priya "
    "Omar Yuki Ingrid Tomas Aisha Diego Fatima Kofi Leila Marek Nadia"
)
LAST_NAMES = _words(
    "Smith Johnson Brown Garcia Miller Davis Martinez Wilson Anderson Taylor Thomas Moore Jackson Lee Perez "
    "Thompson White Harris Clark Lewis Novak Okafor Tanaka Haddad Kowalski Larsen Ivanova Mensah Silva Rossi"
)
BASE62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
HEX = "0123456789abcdef"
_BASE32 = BASE62[:26] + "234567"

Rng = random.Random


def pick(rng: Rng, alphabet: str, count: int) -> str:
    """Return `count` random characters of an alphabet."""
    return "".join(rng.choice(alphabet) for _ in range(count))


def size(rng: Rng, low: int, high: int) -> int:
    """Return a size in [low, high], log-uniform: many small ones, few large ones."""
    return int(low * (high / low) ** rng.random())


def word(rng: Rng) -> str:
    """Return a word, as unevenly as words are spread: mostly common ones, the rest of the trade with a long tail."""
    if rng.random() < 0.52:
        return COMMON[int(len(COMMON) * rng.random() ** 2.6)]
    return DOMAIN[int(len(DOMAIN) * rng.random() ** 1.35)]


def sentence(rng: Rng) -> str:
    """Return a sentence of 7 to 21 words, some with a number or a comma in it."""
    words = [word(rng) for _ in range(rng.randint(7, 21))]
    if rng.random() < 0.25:
        words[rng.randrange(len(words))] = str(rng.randint(2, 9999))
    if rng.random() < 0.3:
        words[rng.randrange(len(words) - 1)] += ","
    return words[0].capitalize() + " " + " ".join(words[1:]) + rng.choice((".", ".", ".", "?", ":", ";"))


def prose(rng: Rng, chars: int) -> str:
    """Return paragraphs, cut to `chars` characters."""
    out: list[str] = []
    done = 0
    while done < chars:
        paragraph = " ".join(sentence(rng) for _ in range(rng.randint(2, 5)))
        out.append(paragraph)
        done += len(paragraph) + 2
    return "\n\n".join(out)[:chars]


def code(rng: Rng, chars: int) -> str:
    """Return Python methods, cut to `chars` characters."""
    out: list[str] = []
    done = 0
    while done < chars:
        f, a, b, c = (rng.choice(DOMAIN) for _ in range(4))
        method = (
            f"    def {f}_{a}(self, {b}, {c}=None):\n"
            f'        """{sentence(rng)}"""\n'
            f"        if {c} is None:\n            {c} = self._{a}.get({b!r}, {rng.randint(0, 512)})\n"
            f"        for {a} in self.{b}_{rng.choice(DOMAIN)}({c}):\n"
            f"            self.{rng.choice(DOMAIN)}[{a}] = {rng.choice(DOMAIN)}({b}, {c})  # {word(rng)} {word(rng)}\n"
            f"        return {f}\n\n"
        )
        out.append(method)
        done += len(method)
    return "".join(out)[:chars]


def json_rows(rng: Rng, chars: int) -> str:
    """Return a JSON array of records, at least `chars` characters of it."""
    columns = rng.sample(DOMAIN, 5)
    out: list[str] = []
    done = 0
    number = rng.randint(1000, 90000)
    while done < chars:
        number += rng.randint(1, 9)
        record = {
            "id": number,
            columns[0]: rng.choice(DOMAIN),
            columns[1]: round(rng.random() * 1000, 2),
            columns[2]: sentence(rng),
            columns[3]: rng.random() < 0.5,
            columns[4]: f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
            f"T{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:00Z",
        }
        out.append(json.dumps(record))
        done += len(out[-1]) + 2
    return "[" + ",\n".join(out) + "]"


def log_lines(rng: Rng, chars: int) -> str:
    """Return log lines, cut to `chars` characters."""
    out: list[str] = []
    done = 0
    second = rng.randint(0, 80000)
    while done < chars:
        second += rng.randint(0, 9)
        line = (
            f"2026-11-{rng.randint(1, 29):02d}T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
            f".{rng.randint(0, 999):03d}Z {rng.choice(('INFO', 'INFO', 'INFO', 'WARN', 'ERROR'))} "
            f"{rng.choice(DOMAIN)}.{rng.choice(DOMAIN)} request_id={pick(rng, HEX, 16)} {rng.choice(VERBS)} "
            f"{word(rng)} {word(rng)} in {rng.randint(1, 4000)}ms"
        )
        out.append(line)
        done += len(line) + 1
    return "\n".join(out)[:chars]


KINDS: tuple[Callable[[Rng, int], str], ...] = (prose, code, json_rows, log_lines)
"""What a tool may return."""


class Planted(NamedTuple):
    """A value put into a text on purpose: Presidio's name of the entity (or the kind of secret), and the value."""

    entity: str
    value: str


def luhn(rng: Rng, prefix: str, length: int = 16) -> str:
    """Return a card number with a valid check digit."""
    digits = [int(char) for char in prefix] + [rng.randint(0, 9) for _ in range(length - len(prefix) - 1)]
    total = 0
    for place, digit in enumerate(reversed(digits)):
        if place % 2 == 0:
            digit *= 2
            if digit > 9:
                digit -= 9
        total += digit
    return "".join(map(str, digits)) + str((10 - total % 10) % 10)


def _phone(rng: Rng) -> str:
    area, number = rng.randint(212, 989), rng.randint(100, 199)
    return rng.choice(
        [
            f"({area}) 555-0{number}",
            f"{area}-555-0{number}",
            f"+1 {area} 555 0{number}",
            f"+1{area}5550{number}",
            f"{area}.555.0{number}",
        ]
    )


_IBANS = ("DE89370400440532013000", "GB29NWBK60161331926819", "FR1420041010050500013M02606")
_KINDS_OF_VALUES: tuple[tuple[float, str, Callable[[Rng], str]], ...] = (
    (0.50, "PHONE_NUMBER", _phone),
    (0.62, "IP_ADDRESS", lambda rng: f"203.0.113.{rng.randint(1, 254)}"),
    (0.70, "CREDIT_CARD", lambda rng: luhn(rng, rng.choice(["411111", "555555", "400000"]))),
    (0.75, "US_SSN", lambda rng: f"{rng.randint(100, 665)}-{rng.randint(10, 99)}-{rng.randint(1000, 9999)}"),
    (0.80, "IBAN_CODE", lambda rng: rng.choice(_IBANS)),
    (0.85, "OPENAI_KEY", lambda rng: "sk-proj-" + pick(rng, BASE62, 48)),
    (0.89, "AWS_KEY", lambda rng: "AKIA" + pick(rng, _BASE32, 16)),
    (0.93, "GITHUB_TOKEN", lambda rng: "ghp_" + pick(rng, BASE62, 36)),
    (0.96, "SLACK_TOKEN", lambda rng: f"xoxb-{_eleven(rng)}-{_eleven(rng)}-{pick(rng, BASE62, 24)}"),
    (1.00, "JWT", lambda rng: f"eyJ{pick(rng, BASE62, 33)}.eyJ{pick(rng, BASE62, 60)}.{pick(rng, BASE62, 43)}"),
)
"""Up to which draw a value is of this kind (e-mail addresses below 0.30 are apart: they use the name)."""


def _eleven(rng: Rng) -> int:
    return rng.randint(10**10, 10**11 - 1)


def personal_value(rng: Rng) -> Planted:
    """Return a personal value or a secret, in about the shares that texts of support desks have."""
    draw = rng.random()
    first, last = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)
    if draw < 0.30:
        number = rng.randint(1, 99)
        host = rng.choice(["example.com", "example.org", "mail.example.net"])
        return Planted("EMAIL_ADDRESS", f"{first}.{last}{number}@{host}".lower())
    entity, make = next((entity, make) for below, entity, make in _KINDS_OF_VALUES if draw < below)
    return Planted(entity, make(rng))


_LEAD = {
    "EMAIL_ADDRESS": "contact",
    "PHONE_NUMBER": "call",
    "IP_ADDRESS": "from",
    "CREDIT_CARD": "card",
    "US_SSN": "ssn",
    "IBAN_CODE": "iban",
}


def salt(rng: Rng, text: str, every: int, planted: list[Planted]) -> str:
    """Return the text with a value about every `every` characters, at spaces; each is noted in `planted`. 0: none."""
    if not every:
        return text
    out: list[str] = []
    position = 0
    while True:
        step = int(rng.expovariate(1 / every)) + 1
        space = text.find(" ", position + step)
        if space < 0:
            out.append(text[position:])
            return "".join(out)
        value = personal_value(rng)
        planted.append(value)
        out += [text[position:space], f" {_LEAD.get(value.entity, 'token')} {value.value}"]
        position = space
