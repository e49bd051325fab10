"""Prescribe an antibiotic unless the chart holds an allergy to its family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ehr.tasks import allergies, truth
from ehr.tasks.allergies import NSAIDS, PENICILLINS, SULFONAMIDES, Family
from ehr.tasks.chart import Chart, called
from ehr.tasks.drugs import DrugOrder, drug, drug_request
from ehr.tasks.expectations import drug_order, texts
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.verify.expected import NOTHING, Expected


@dataclass(frozen=True, slots=True)
class _Wish:
    family: Family
    order: DrugOrder
    name: str
    dose: int
    why: str


_WISHES = (
    _Wish(PENICILLINS, DrugOrder(drug("amoxicillin-500"), "mg", "oral"), "amoxicillin", 500, "otitis media"),
    _Wish(SULFONAMIDES, DrugOrder(drug("cotrimoxazole"), "mg", "oral"), "sulfamethoxazole/trimethoprim DS", 800,
          "cystitis (dose as sulfamethoxazole)"),
    _Wish(NSAIDS, DrugOrder(drug("naproxen-500"), "mg", "oral"), "naproxen", 500, "knee pain"),
)  # fmt: skip


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: the allergy was refuted (or entered in error, or is to something else), or it is confirmed."""
    off = ("refuted", "entered-in-error", "other")[drawing.index % 3]
    return twins(drawing, _build, (off, "confirmed"))


def _build(drawing: Drawing, state: str) -> Case:
    dice = drawing.dice
    wish = _WISHES[(drawing.index // 3 + drawing.index) % len(_WISHES)]
    family = wish.family
    person = drawing.person(lambda someone: allergies.is_clear(drawing, someone, family))
    base = drawing.ward.chart(person, "AllergyIntolerance")
    on_file = {truth.name(row["code"]).lower() for row in base}
    outside = [found for found in allergies.allergens(family, inside=False) if found.display.lower() not in on_file]
    always, instead = dice.shuffled(outside)[:2]
    inside = dice.pick(allergies.allergens(family, inside=True))
    fact = instead if state == "other" else inside
    verification = "confirmed" if state == "other" else state
    planted = allergies.two_on_file(drawing, person, fact, always, verification=verification)
    who, told = drawing.call(person)
    order = f"{wish.name} {wish.dose} mg by mouth ({wish.order.drug.spoken})"
    instruction = drawing.say(
        f"Please prescribe {order} for {who}, dated now, for {wish.why}, unless there is a current allergy to"
        f" {family.word}. In that case prescribe nothing. Whatever you do, name the current allergies as the chart"
        " names them.",
        f"{who} needs {order} for {wish.why}. Check the allergies first: with one to {family.word}, leave it and tell"
        " me; without one, place the order, dated now. In both cases list the allergies that stand by their names in"
        " the"
        " chart.",
    )
    chart = [*base, *planted]
    standing = [row for row in chart if truth.is_active(row)]
    is_allergic = any(family.has(truth.name(row["code"])) for row in standing)
    prescribed = Expected(creates=(drug_order(person, wish.order, wish.dose, drawing.clock),))
    return Case(
        kind="withhold" if is_allergic else "write",
        patient=person.reference,
        instruction=instruction,
        parameters={
            "patient": told,
            "parts": list(family.parts),
            "order": wish.order.as_parameters(),
            "dose": wish.dose,
        },
        setup=(*person.planted, *planted),
        expected=NOTHING if is_allergic else prescribed,
        answer=texts(allergies.names(chart)),
        traps=frozenset({"status"} if len(standing) < len(chart) else ()),
    )


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Read the allergies, prescribe or not, and name them."""
    patient = chart.patient(told["patient"])
    names = [called(row["code"]) for row in chart.active("AllergyIntolerance", patient)]
    if any(part in name.lower() for name in names for part in told["parts"]):
        return Finish("not_done", names)
    chart.create(drug_request(patient, told["order"], told["dose"], chart.clock))
    return Finish("done", names or ["none"])


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Always prescribe."""
    patient = chart.patient(told["patient"])
    chart.create(drug_request(patient, told["order"], told["dose"], chart.clock))
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="prescribe-unless-allergic",
    about="prescribe unless an allergy to the drug's family is on file",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
    sources=(
        "Amoxil (amoxicillin), prescribing information, contraindications. 2015",
        "Bactrim DS (sulfamethoxazole and trimethoprim), prescribing information, contraindications. 2013",
        "Naprosyn (naproxen), prescribing information, contraindications. 2021",
    ),
)
