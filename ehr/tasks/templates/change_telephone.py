"""Change one telephone number and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.template import Case, Drawing, Finish, Template
from ehr.tasks.ward import Person
from ehr.verify.expected import ClauseSpec, Expected, Update, clause

_WORDS = {"home": "home number", "mobile": "mobile number", "work": "work number"}


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """A number among others; for every fourth or so, somebody who has a namesake."""
    dice = drawing.dice
    is_namesake = drawing.index % 4 == 0
    person = drawing.person(_has_clear_numbers, namesake=is_namesake, everyone=True)
    contacts = person.resource["telecom"]
    phones = [contact for contact in contacts if contact.get("system") == "phone"]
    phone = phones[(drawing.index // 2) % len(phones)]
    use, old = phone["use"], phone["value"]
    new = old
    while new == old:
        new = f"+1-{dice.whole(201, 980)}-555-01{dice.below(100):02d}"
    who, told = drawing.call(person)
    which = _WORDS[use]
    instruction = drawing.say(
        f"{who} has a new {which}: {new}. Please update it in place of the old one and leave the other contact details"
        " as they are.",
        f"Change the {which} of {who} to {new}. Nothing else in the registration is to be touched.",
        f"New {which} for {who}, {new}; the old one is no longer valid and should go. Everything else stays.",
    )
    update = Update(
        reference=person.reference, may_change=("telecom",), clauses=tuple(_clauses(contacts, phone, new, use))
    )
    return (
        Case(
            kind="write",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "use": use, "new": new},
            setup=person.planted,
            expected=Expected(updates=(update,)),
            traps=drawing.namesake_traps(person),
        ),
    )


def _has_clear_numbers(person: Person) -> bool:
    """Whether each contact has its own system and use, and there is a telephone."""
    contacts = person.resource.get("telecom", [])
    keys = [(contact.get("system"), contact.get("use")) for contact in contacts]
    is_known = all(contact.get("value") and "'" not in contact["value"] for contact in contacts)
    phones = [use for system, use in keys if system == "phone"]
    return bool(phones) and set(phones) <= set(_WORDS) and len(set(keys)) == len(keys) and is_known


def _clauses(contacts: list[dict[str, Any]], phone: dict[str, Any], new: str, use: str) -> list[ClauseSpec]:
    in_use = "(use.empty() or use != 'old')"
    others = [contact for contact in contacts if contact is not phone]
    kept = [
        clause(
            f"{contact.get('use', '')} {contact['system']} kept",
            f"telecom.where(system = '{contact['system']}' and value = '{contact['value']}').exists()",
            label="COLLATERAL_CHANGE",
        )
        for contact in others
    ]
    is_new = f"system = 'phone' and use = '{use}' and value = '{new}'"
    is_old = f"value = '{phone['value']}' and {in_use}"
    return [
        clause("new number", f"telecom.where({is_new}).exists()", label="WRONG_VALUE"),
        clause("old number gone", f"telecom.where({is_old}).empty()", label="WRONG_VALUE"),
        *kept,
        clause("no other number", f"telecom.where({in_use}).count() = {len(contacts)}", label="COLLATERAL_CHANGE"),
    ]


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Replace the value of the one entry."""
    patient = chart.patient(told["patient"])
    contacts = copy.deepcopy(patient.get("telecom", []))
    for contact in contacts:
        if contact.get("system") == "phone" and contact.get("use") == told["use"]:
            contact["value"] = told["new"]
    chart.update(patient, telecom=contacts)
    return Finish("done")


TEMPLATE = Template(
    name="change-telephone",
    about="change one telephone number and nothing else",
    draw=draw,
    oracle=oracle,
    blind=oracle,
    needs_chart=False,
)
