"""Find two people by name and date of birth; one of them may not be on file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer
from ehr.tasks.template import Case, Drawing, Finish, Template, spoken_date, twins
from ehr.tasks.ward import Person, medical_record_number
from ehr.verify.expected import AnswerValue


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: somebody's namesake was born on the day that is asked for, or some days off."""
    return twins(drawing, _build, (timedelta(), timedelta(days=drawing.dice_of("off").whole(9, 80))))


def _build(drawing: Drawing, off: timedelta) -> Case:
    known = drawing.person(drawing.ward.has_own_name)
    asked = drawing.person(lambda someone: someone.id != known.id, namesake=True)
    asked_first = drawing.dice.chance(0.5)
    real = (date.fromisoformat(asked.birth_date) - off).isoformat()
    found = AnswerValue(text=asked.mrn) if not off else AnswerValue(none=True)
    pair = [(known, AnswerValue(text=known.mrn)), (asked, found)]
    if asked_first:
        pair.reverse()
    (first, first_answer), (second, second_answer) = pair
    instruction = drawing.say(
        f"Two people are at the desk without their cards: {_words(first)}, and {_words(second)}. What are their record"
        " numbers (MRN)? Give them in that order, and 'none' for anyone who is not on file under that name and date of"
        " birth.",
        f"I need the MRNs of {_words(first)} and of {_words(second)}, in that order. If one of them is not registered"
        " with exactly that name and date of birth, put 'none' in that place.",
        f"Please look up the medical record numbers for two callers, first {_words(first)}, then {_words(second)}."
        " Say 'none' where nobody of that name was born on that day.",
    )
    patient = {**asked.resource, "birthDate": real}
    return Case(
        kind="read",
        patient=None,
        instruction=instruction,
        parameters={"people": [_told(first), _told(second)]},
        setup=(patient, *asked.planted[1:], *known.planted),
        answer=answer(first_answer, second_answer, listed=True),
        traps=frozenset({"namesake"}) if off else drawing.namesake_traps(asked),
    )


def _told(person: Person) -> dict[str, str]:
    return {"given": person.given, "family": person.family, "birth_date": person.birth_date}


def _words(person: Person) -> str:
    return f"{person.name} (born {spoken_date(date.fromisoformat(person.birth_date))})"


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Search by name, keep who was born on that day."""
    numbers = []
    for person in told["people"]:
        found = chart.people(person)
        number = medical_record_number(found[0]) if found else None
        numbers.append(number or "none")
    return Finish("done", numbers)


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Say that nobody is on file."""
    return Finish("done", ["none", "none"])


TEMPLATE = Template(
    name="patient-lookup",
    about="record numbers of two people, one of whom may not be on file",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
)
