"""Is there an allergy to the family of a drug, and what does the chart say of it?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks import allergies, truth
from ehr.tasks.allergies import NSAIDS, PENICILLINS, SULFONAMIDES
from ehr.tasks.chart import Chart, called
from ehr.tasks.expectations import texts
from ehr.tasks.idshape import storage_place
from ehr.tasks.planting import new_ids
from ehr.tasks.rows import allergy
from ehr.tasks.template import Case, Drawing, Finish, Template, twins

_ASKED = ((PENICILLINS, "amoxicillin"), (SULFONAMIDES, "co-trimoxazole"), (NSAIDS, "naproxen"))


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: the allergy is confirmed, or it was refuted (or entered in error)."""
    off = drawing.dice.pick(("refuted", "entered-in-error"))
    return twins(drawing, _build, ("confirmed", off))


def _build(drawing: Drawing, verification: str) -> Case:
    dice = drawing.dice
    family, drug = _ASKED[drawing.index % len(_ASKED)]
    is_namesake = dice.chance(0.3)
    person = drawing.person(lambda someone: allergies.is_clear(drawing, someone, family), namesake=is_namesake)
    others = dice.shuffled(allergies.allergens(family, inside=False))
    base = drawing.ward.chart(person, "AllergyIntolerance")
    theirs = drawing.ward.chart(person.double, "AllergyIntolerance") if person.double else []
    on_file = {truth.name(row["code"]).lower() for row in (*base, *theirs)}
    other = next(found for found in others if found.display.lower() not in on_file)
    fact = dice.pick(allergies.allergens(family, inside=True))
    ids = dice.shuffled(new_ids(drawing, "AllergyIntolerance", 2))
    reaction, another = allergies.reaction(drawing), allergies.reaction(drawing)
    ages = [timedelta(minutes=dice.whole(20_000, 2_000_000)) for _ in range(2)]
    planted = [
        allergy(drawing, person, ids[0], allergies.coded(fact), at=drawing.now - ages[0], category=fact.category,
                reaction=reaction, verification=verification),
        allergy(drawing, person, ids[1], allergies.coded(other), at=drawing.now - ages[1], category=other.category,
                reaction=another),
    ]  # fmt: skip
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"I want to give {who} {drug}. Is there a current allergy to {family.word}? If so, tell me the reaction that"
        " the chart records for it. If not, name the allergies that are current, as the chart names them.",
        f"Before I start {drug}: is {who} allergic to {family.word}? Answer with the recorded reaction if yes; if no,"
        " with the names of the current allergies in the chart.",
        f"Check {who} for an allergy to {family.word}, please, I am thinking of {drug}. With one, I need the reaction"
        " in the chart's words; without, the names of the other allergies that stand.",
    )
    chart = [*base, *planted]
    hits = [row for row in chart if truth.is_active(row) and family.has(truth.name(row["code"]))]
    said = [truth.name(hits[0]["reaction"][0]["manifestation"][0])] if hits else allergies.names(chart)
    return Case(
        kind="read",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "parts": list(family.parts)},
        setup=(*person.planted, *sorted(planted, key=lambda row: storage_place(row["id"]))),
        answer=texts(said),
        traps=frozenset({"status"} if verification != "confirmed" else ()) | drawing.namesake_traps(person),
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The reaction of the first allergy of the family that stands, or the names of all others."""
    rows = chart.active("AllergyIntolerance", chart.patient(told["patient"]))
    hits = [row for row in rows if is_of(row, told["parts"])]
    if hits:
        return Finish("done", [called(hits[0]["reaction"][0]["manifestation"][0])])
    return Finish("done", [called(row["code"]) for row in rows] or ["none"])


def is_of(row: Mapping[str, Any], parts: list[str]) -> bool:
    """Whether an allergy's name has one of the parts."""
    return any(part in called(row["code"]).lower() for part in parts)


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Say that there is none."""
    chart.patient(told["patient"])
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="allergy-check",
    about="whether an allergy forbids a drug, and what the chart says of it",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
)
