"""Stop one medication order, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.expectations import stopped
from ehr.tasks.planting import new_ids
from ehr.tasks.rows import medication
from ehr.tasks.synthetic.codes import DRUGS, Drug
from ehr.tasks.template import Case, Drawing, Finish, Template
from ehr.tasks.ward import Person
from ehr.verify.expected import Expected

_REASONS = (
    ("lisinopril-10", "dry cough"),
    ("amlodipine-5", "swollen ankles"),
    ("simvastatin-20", "muscle pain"),
    ("naproxen-500", "stomach pain"),
    ("sertraline-50", "nausea"),
    ("gabapentin-300", "drowsiness"),
)


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """The order in force stands among one entered in error after it, an older one that ended, and another drug."""
    dice = drawing.dice
    key, reason = _REASONS[drawing.index % len(_REASONS)]
    drug = DRUGS[key]
    is_namesake = drawing.index % 4 == 1
    person = drawing.person(lambda someone: _lacks(drawing, someone, drug), namesake=is_namesake)
    has_error = dice.chance(0.7)
    other = next(found for found in dice.shuffled(list(DRUGS.values())) if _is_other(drawing, person, found, drug))
    ids = dice.shuffled(new_ids(drawing, "MedicationRequest", 4))
    started = dice.whole(30, 200)

    def before(days: float) -> Any:
        return drawing.now - timedelta(days=days, minutes=dice.whole(0, 700))

    order = medication(drawing, person, ids[0], drug, at=before(started))
    planted = [
        order,
        medication(drawing, person, ids[1], other, at=before(dice.whole(5, 200))),
        medication(drawing, person, ids[2], drug, at=before(started + dice.whole(100, 300)), status="completed"),
    ]
    if has_error:
        late = before(dice.whole(2, 20))
        planted.append(medication(drawing, person, ids[3], drug, at=late, status="entered-in-error"))
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"{who} has had {reason} since starting {drug.name}. Please stop that medication; leave everything else as it"
        " is.",
        f"Please discontinue {drug.name} for {who} because of {reason}. No other change to the medications.",
        f"{drug.name} is to be stopped in {who} ({reason}). Only that one.",
    )
    return (
        Case(
            kind="write",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "code": drug.code, "reason": reason},
            setup=(*person.planted, *planted),
            expected=Expected(updates=(stopped(ids[0]),)),
            traps=frozenset({"status"} if has_error else ()) | drawing.namesake_traps(person),
        ),
    )


def _lacks(drawing: Drawing, person: Person, drug: Drug) -> bool:
    """Whether the person's chart has no order of the drug, in any strength."""
    word = drug.name.split()[0].lower()
    return not any(word in str(row).lower() for row in drawing.ward.chart(person, "MedicationRequest"))


def _is_other(drawing: Drawing, person: Person, found: Drug, drug: Drug) -> bool:
    return found.name.split()[0] != drug.name.split()[0] and _lacks(drawing, person, found)


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The latest order of the drug that is in force."""
    orders = chart.active("MedicationRequest", chart.patient(told["patient"]), code=told["code"])
    order = chart.latest_of(orders, "authoredOn")
    if order is None:
        return Finish("not_done", note="There is no such order in force.")
    chart.update(order, status="stopped", statusReason={"text": told["reason"]})
    return Finish("done")


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Claim that it is stopped."""
    chart.patient(told["patient"])
    return Finish("done")


TEMPLATE = Template(
    name="stop-medication",
    about="stop one medication order and no other",
    draw=draw,
    oracle=oracle,
    blind=blind,
)
