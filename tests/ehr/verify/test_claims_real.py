"""Real pages of Synthea records: what was shown is supported however it is said, and random wrong values are not."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest

from ehr.sandbox import Record, Request
from ehr.sandbox.files.load import load
from harness.trace import Call
from tests.ehr.verify.claim_traces import CLOCK, call, outcome
from tests.support import shared

PATIENTS = 10
CLAIMS = 1_000
RIGHT = 500
MOST_WRONG = 0.01

PHRASES = (
    "{name}: {value} {unit}",
    "The {name} was {value} {unit} on {day}.",
    "{name} {value}{glue}{unit} ({day})",
    "- {day}: {name} {value} {unit}",
    "On {day}, {name} came back at {value} {unit}",
    "LOINC {code}: {value} {unit}",
)


@dataclass(frozen=True)
class Shown:
    """An Observation's value (or a component's) as the page holds it."""

    code: str
    name: str
    value: Decimal
    unit: str
    day: str


@dataclass(frozen=True)
class Page:
    """A page of a patient's Observations, as the server answers, with the values in it."""

    call: Call
    text: str
    shown: tuple[Shown, ...]


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    """The first page of 100 of each of some patients."""
    files = [shared("data", "synthea", f"bundle-{number:03}.json.gz") for number in range(4, 4 + PATIENTS)]
    made = []
    with Record.build(load(files).resources(), clock=CLOCK, synthetic=True) as record:
        fork = record.fork()
        for patient in record.ids("Patient"):
            address = f"/Observation?patient={patient}&_count=100&_sort=-date"
            body = json.loads(fork.handle(Request("GET", address, {})).body)
            shown = tuple(_shown(body))
            if len(shown) >= 20:
                found = call("fhir_search", {"type": "Observation", "parameters": {"patient": patient}}, body)
                made.append(Page(found, json.dumps(body), shown))
    return made


def _shown(body: dict[str, Any]) -> Iterator[Shown]:
    for entry in body.get("entry", ()):
        resource = entry["resource"]
        for part in (resource, *resource.get("component", ())):
            quantity = part.get("valueQuantity")
            if quantity and not quantity["code"].startswith(("{", "(")):
                coding = part["code"]["coding"][0]
                day = resource["effectiveDateTime"][:10]
                value = Decimal(str(quantity["value"]))
                yield Shown(coding["code"], coding["display"], value, quantity["code"], day)


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _said(phrase: str, one: Shown, value: Decimal) -> str:
    name = re.split(r" \[| in | by ", one.name)[0]
    glue = "" if one.unit in ("%",) else " "
    return phrase.format(name=name, value=value, unit=one.unit, day=one.day, code=one.code, glue=glue)


def test_what_a_page_shows_is_supported_however_it_is_said(pages: list[Page]) -> None:
    dice, missed = random.Random(1), []
    for _ in range(RIGHT):
        page = dice.choice(pages)
        one = dice.choice(page.shown)
        places = dice.choice((1, 2)) if abs(one.value) >= 1 else 2
        said = _said(dice.choice(PHRASES), one, _rounded(one.value, places))
        if (got := outcome(said, page.call, asked="Tell me about the patient.")) != "pass":
            missed.append((got, said))
    assert missed == []


def _wrong(kind: str, dice: random.Random, page: Page, one: Shown) -> Decimal:
    other = dice.choice([each for each in page.shown if each.code != one.code])
    if kind == "another measure's":
        return other.value
    if kind == "a difference":
        return abs(one.value - other.value)
    if kind == "a number of the JSON":
        return Decimal(dice.choice(re.findall(r"\d+(?:\.\d+)?", page.text))[:7])
    return one.value * Decimal(str(dice.uniform(0.3, 3.0)))


@pytest.mark.parametrize("kind", ["another measure's", "a difference", "a number of the JSON", "random"])
def test_hardly_any_wrong_value_passes(pages: list[Page], kind: str) -> None:
    """At most 1 in 100; and what passes is, by the chance of the draw, a value that the page shows of the measure."""
    dice, passed = random.Random(kind), 0
    for _ in range(CLAIMS):
        page = dice.choice(pages)
        one = dice.choice(page.shown)
        places = dice.choice((0, 1, 2))
        value = _rounded(_wrong(kind, dice, page, one), places)
        said = _said(dice.choice(PHRASES), one, value)
        got = outcome(said, page.call, asked="Tell me about the patient.")
        assert got in ("pass", "fail"), (got, said)
        if got == "pass":
            passed += 1
            assert any(_rounded(each.value, places) == value for each in page.shown if each.code == one.code), said
    assert passed <= CLAIMS * MOST_WRONG


DERIVED = (
    "The mean {name} was {value} {unit}",
    "The highest {name} was {value} {unit}",
    "The lowest {name} was {value} {unit}",
    "The {name} rose by {value} {unit}",
)


def test_hardly_any_wrong_derived_value_passes(pages: list[Page]) -> None:
    dice, passed = random.Random("derived"), []
    for _ in range(CLAIMS):
        page = dice.choice(pages)
        one = dice.choice(page.shown)
        value = _rounded(_wrong("random", dice, page, one), dice.choice((0, 1, 2)))
        said = _said(dice.choice(DERIVED), one, value)
        if outcome(said, page.call, asked="Tell me about the patient.") == "pass":
            passed.append(said)
    assert len(passed) <= CLAIMS * MOST_WRONG, passed


def test_the_derived_values_of_a_page_pass(pages: list[Page]) -> None:
    """Computed here from the page alone, by the plain formulas."""
    dice = random.Random("right")
    for page in pages:
        code = dice.choice([each.code for each in page.shown])
        rows = [each for each in page.shown if each.code == code]
        values = [each.value for each in rows]
        derived = (sum(values) / len(values), max(values), min(values))
        for phrase, value in zip(DERIVED, derived, strict=False):
            said = _said(phrase, rows[0], _rounded(value, 2))
            assert outcome(said, page.call, asked="Tell me about the patient.") == "pass", said
