"""What a chart says, in plain Python over plain resources: the templates' own reading of record and setup.

This is one of two implementations. The other, `chart.py`, reads through the agent's tools and so through the search
engine; `validate` compares the two on every task. Nothing here may be imported there, or the check is worth nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

Resource = Mapping[str, Any]

USABLE = frozenset({"final", "amended", "corrected", "preliminary"})

# One unit of the first is so many of the second. Molar masses: magnesium 24.305, glucose 180.16, creatinine 113.12,
# calcium 40.078, potassium 39.098 g/mol (IUPAC Standard Atomic Weights, abridged, 2021); the pound is exact
# (NIST Special Publication 811, 2008).
_FACTORS: Mapping[tuple[str, str, str], Decimal] = {
    ("magnesium", "mmol/L", "mg/dL"): Decimal("2.4305"),
    ("glucose", "mmol/L", "mg/dL"): Decimal("18.016"),
    ("creatinine", "umol/L", "mg/dL"): Decimal("0.011312"),
    ("calcium", "mmol/L", "mg/dL"): Decimal("4.0078"),
    ("potassium", "meq/L", "mmol/L"): Decimal(1),
    ("weight", "[lb_av]", "kg"): Decimal("0.45359237"),
    ("weight", "g", "kg"): Decimal("0.001"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One measurement that counts: when it was taken and reported, its value and unit as they stand, its id."""

    id: str
    at: datetime
    reported: datetime | None
    value: Decimal
    unit: str


def instant(text: str) -> datetime:
    """An ISO date, or date and time, as an instant. A day without time is its midnight; no zone is UTC."""
    if len(text) == 10:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def taken(observation: Resource) -> datetime | None:
    """When an observation was made; None where it does not say to the day."""
    period = observation.get("effectivePeriod") or {}
    text = observation.get("effectiveDateTime") or observation.get("effectiveInstant") or period.get("start")
    return instant(text) if isinstance(text, str) and len(text) >= 10 else None


def codes(concept: Any) -> set[str]:
    """The codes of a concept, whatever their system."""
    return {coding["code"] for coding in (concept or {}).get("coding", ()) if "code" in coding}


def name(concept: Resource) -> str:
    """What the chart calls a concept: its text, or else its first display."""
    return str(concept.get("text") or concept["coding"][0]["display"])


def readings(observations: Iterable[Resource], wanted: Iterable[str]) -> list[Reading]:
    """The measurements of the wanted LOINC codes that stand: not cancelled, not entered in error, with a number."""
    wanted = set(wanted)
    found = []
    for observation in observations:
        at, value = taken(observation), observation.get("valueQuantity") or {}
        if observation["status"] not in USABLE or at is None or "value" not in value:
            continue
        if codes(observation["code"]) & wanted:
            reported = instant(observation["issued"]) if "issued" in observation else None
            unit = str(value.get("code") or value.get("unit"))
            found.append(Reading(observation["id"], at, reported, Decimal(str(value["value"])), unit))
    return found


def latest(found: Iterable[Reading], *, until: datetime, since: datetime | None = None) -> Reading | None:
    """The latest reading from `since` to `until`, both inside; of two taken at one time, the one reported last."""
    inside = within(found, until=until, since=since)
    return max(inside, key=lambda reading: (reading.at, reading.reported or reading.at), default=None)


def within(found: Iterable[Reading], *, until: datetime, since: datetime | None = None) -> list[Reading]:
    """The readings from `since` to `until`, both inside."""
    return [reading for reading in found if reading.at <= until and (since is None or reading.at >= since)]


def converted(reading: Reading, unit: str, analyte: str) -> Decimal:
    """The reading's value in `unit`. Raises `KeyError` for a pair of units that no template uses."""
    if reading.unit == unit:
        return reading.value
    if (reading.unit, unit) == ("[degF]", "Cel"):
        return (reading.value - 32) * 5 / 9
    return reading.value * _FACTORS[analyte, reading.unit, unit]


def is_refuted(resource: Resource) -> bool:
    """Whether a condition or an allergy was refuted or entered in error."""
    return bool(codes(resource.get("verificationStatus")) & {"refuted", "entered-in-error"})


def is_active(resource: Resource) -> bool:
    """Whether a condition or an allergy is there now: clinically active and not refuted."""
    return not is_refuted(resource) and bool(
        codes(resource.get("clinicalStatus")) & {"active", "recurrence", "relapse"}
    )


def is_active_order(request: Resource) -> bool:
    """Whether a medication or service request is an order in force."""
    return bool(request["status"] == "active" and request["intent"] == "order")


def age(birth_date: str, today: date) -> int:
    """Completed years. Born on 29 February, one is a year older on 1 March of a common year."""
    born = date.fromisoformat(birth_date)
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))
