"""Which medication orders are in force, by code."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer
from ehr.tasks.idshape import storage_place
from ehr.tasks.planting import new_ids
from ehr.tasks.rows import medication
from ehr.tasks.synthetic.codes import DRUGS, RXNORM, Drug
from ehr.tasks.template import Case, Drawing, Finish, Template
from ehr.tasks.ward import Person, Resource
from ehr.verify.expected import AnswerValue

_PAGE = 20


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Some orders in force, and some that were stopped, completed, or entered in error."""
    dice = drawing.dice
    is_busy = drawing.index % 3 == 1  # then there is more than a page of orders, where anybody has so many
    charts = drawing.ward.chart
    busy = (
        [person for person in drawing.ward.people if len(charts(person, "MedicationRequest")) > _PAGE]
        if is_busy
        else []
    )
    person = drawing.person(lambda someone: _is_plain(drawing, someone) and (not busy or someone in busy))
    base = drawing.ward.chart(person, "MedicationRequest")
    on_file = {code for row in base for code in truth.codes(row["medicationCodeableConcept"])}
    rxnorm = [drug for drug in DRUGS.values() if drug.system == RXNORM and drug.code not in on_file]
    drugs = _different(dice.shuffled(rxnorm))
    statuses = ["active"] * dice.whole(1, 3) + ["stopped", "completed", "entered-in-error"][: dice.whole(1, 3)]
    statuses = dice.shuffled(statuses)
    ids = new_ids(drawing, "MedicationRequest", len(statuses))
    planted = [
        medication(
            drawing, person, id, drug, at=drawing.now - timedelta(minutes=dice.whole(400, 180_000)), status=status
        )
        for id, drug, status in zip(ids, drugs, statuses, strict=False)
    ]
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"Which medications is {who} on now? I need the RxNorm code of every order that is in force, one for each.",
        f"For the reconciliation form: the RxNorm codes of all active medication orders of {who}, and only of those.",
        f"List what {who} is currently taking according to the orders on file, as RxNorm codes.",
    )
    active = [row for row in (*base, *planted) if truth.is_active_order(row)]
    codes = sorted(_rxnorm(row) for row in active)
    shown = sorted([*base, *planted], key=lambda row: storage_place(row["id"]))[:_PAGE]
    return (
        Case(
            kind="read",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told},
            setup=(*person.planted, *planted),
            answer=answer(*(AnswerValue(code={"system": RXNORM, "code": code}) for code in codes)),
            traps=frozenset({"status"} | ({"page"} if any(row not in shown for row in active) else set())),
        ),
    )


def _is_plain(drawing: Drawing, person: Person) -> bool:
    """Whether the chart leaves no doubt: each order with one RxNorm code, none on hold or only planned."""
    rows = drawing.ward.chart(person, "MedicationRequest")
    known = {"active", "completed", "stopped", "cancelled", "entered-in-error"}
    if any(row["status"] not in known or row["intent"] != "order" for row in rows):
        return False
    if any(len(_rxnorm_codes(row)) != 1 for row in rows):
        return False
    active = [_rxnorm(row) for row in rows if truth.is_active_order(row)]
    return len(set(active)) == len(active)


def _rxnorm_codes(row: Resource) -> list[str]:
    codings = row.get("medicationCodeableConcept", {}).get("coding", ())
    return [coding["code"] for coding in codings if coding.get("system") == RXNORM and "code" in coding]


def _rxnorm(row: Resource) -> str:
    return _rxnorm_codes(row)[0]


def _different(drugs: list[Drug]) -> list[Drug]:
    """One strength of each drug."""
    return list({drug.key.split("-")[0]: drug for drug in drugs}.values())


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The codes of the orders in force."""
    orders = chart.active("MedicationRequest", chart.patient(told["patient"]))
    codings = [coding for order in orders for coding in order["medicationCodeableConcept"]["coding"]]
    return Finish("done", [coding["code"] for coding in codings if coding.get("system") == RXNORM])


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Say that there are none."""
    chart.patient(told["patient"])
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="active-medications",
    about="the medication orders in force, as codes",
    draw=draw,
    oracle=oracle,
    blind=blind,
)
