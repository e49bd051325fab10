"""Raise a dose, where only one order can be meant; where two are in force, do nothing and say which."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer
from ehr.tasks.planting import new_ids
from ehr.tasks.rows import medication
from ehr.tasks.synthetic.codes import DRUGS, Drug
from ehr.tasks.template import Case, Drawing, Finish, Template, twins
from ehr.tasks.ward import Person
from ehr.verify.expected import NOTHING, AnswerValue, Expected, Update, quantity

_CHOICES = (
    ("furosemide-40", 40, 20, 80), ("spironolactone-25", 25, 50, 75), ("gabapentin-300", 300, 600, 900),
    ("carvedilol-6", 6.25, 12.5, 18.75),
)  # fmt: skip


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: a second order of the drug was stopped, or is in force as well."""
    return twins(drawing, _build, ("stopped", "active"))


def _build(drawing: Drawing, status: str) -> Case:
    dice = drawing.dice
    key, dose, other_dose, new_dose = _CHOICES[drawing.index % len(_CHOICES)]
    drug = DRUGS[key]
    person = drawing.person(lambda someone: _lacks(drawing, someone, drug))
    ids = new_ids(drawing, "MedicationRequest", 2)
    place = dice.below(2)
    ages = [timedelta(days=dice.whole(5, 200), minutes=dice.below(900)) for _ in range(2)]
    order = medication(drawing, person, ids[place], drug, at=drawing.now - ages[0], dose=dose)
    other = medication(drawing, person, ids[1 - place], drug, at=drawing.now - ages[1], dose=other_dose, status=status)
    who, told = drawing.call(person)
    name = drug.name.split()[0].lower()
    instruction = drawing.say(
        f"Please raise the {name} of {who} to {new_dose} mg per dose, by changing the order itself. If it is not clear"
        f" which order I mean, leave everything as it is. Either way tell me the dose of each {name} order that is in"
        " force before any change.",
        f"{who} needs more {name}: {new_dose} mg a dose from now on, on the existing order. Should more than one be in"
        f" force, change none and let me decide. I want to hear the current dose of every active {name} order.",
    )
    is_clear = status != "active"
    update = Update(
        reference=f"MedicationRequest/{ids[place]}",
        may_change=("dosageInstruction.doseAndRate", "dosageInstruction.text"),
        clauses=(quantity("dose", "dosageInstruction.doseAndRate.dose", str(new_dose), "mg"),),
    )
    doses = [dose] if is_clear else [dose, other_dose]
    return Case(
        kind="write" if is_clear else "withhold",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "code": drug.code, "dose": new_dose},
        setup=(*person.planted, *([order, other] if place == 0 else [other, order])),
        expected=Expected(updates=(update,)) if is_clear else NOTHING,
        answer=answer(*(AnswerValue(quantity={"value": str(value), "unit": "mg"}) for value in doses)),
        traps=frozenset({"status"} if is_clear else ()),
    )


def _lacks(drawing: Drawing, person: Person, drug: Drug) -> bool:
    word = drug.name.split()[0].lower()
    return not any(word in str(row).lower() for row in drawing.ward.chart(person, "MedicationRequest"))


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Change the one order in force; with more than one, say their doses."""
    orders = chart.active("MedicationRequest", chart.patient(told["patient"]), code=told["code"])
    said = [_shown(order["dosageInstruction"][0]["doseAndRate"][0]["doseQuantity"]) for order in orders]
    if len(orders) != 1:
        return Finish("unclear", said, "More than one order may be meant." if orders else "There is no such order.")
    instructions = copy.deepcopy(orders[0]["dosageInstruction"])
    quantity_ = instructions[0]["doseAndRate"][0]["doseQuantity"]
    instructions[0]["doseAndRate"][0]["doseQuantity"] = {**quantity_, "value": told["dose"]}
    if "text" in instructions[0]:
        instructions[0]["text"] = instructions[0]["text"].replace(str(quantity_["value"]), str(told["dose"]))
    chart.update(orders[0], dosageInstruction=instructions)
    return Finish("done", said)


def _shown(dose: Mapping[str, Any]) -> str:
    return f"{Decimal(str(dose['value']))} {dose['code']}"


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Leave it, without a look."""
    chart.patient(told["patient"])
    return Finish("unclear", ["none"])


TEMPLATE = Template(
    name="ambiguous-dose",
    about="raise a dose where one order can be meant, ask where two can",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
)
