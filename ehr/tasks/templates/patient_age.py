"""How old somebody is: birthdays just over and just ahead, on a leap day, infants, the very old."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.expectations import answer
from ehr.tasks.template import Case, Drawing, Finish, Template
from ehr.tasks.truth import age
from ehr.verify.expected import AnswerValue


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Somebody born on the day that the task's number asks for."""
    today, dice = drawing.today, drawing.dice
    births = (
        _years_before(today, dice.whole(30, 80)),
        _years_before(today + timedelta(days=dice.whole(1, 3)), dice.whole(30, 80)),
        _years_before(today - timedelta(days=dice.whole(1, 3)), dice.whole(30, 80)),
        date(dice.pick((1940, 1952, 1964, 1976, 1988, 2000)), 2, 29),
        today - timedelta(days=dice.whole(40, 330)),
        _years_before(today - timedelta(days=dice.whole(4, 330)), dice.whole(91, 99)),
        None,
    )
    born = births[drawing.index % len(births)]
    person = drawing.person() if born is None else drawing.somebody_born(born.isoformat())
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"How old is {who} today, in completed years?",
        f"What is the age of {who} as of today? Completed years, please.",
        f"For the consent form I need the age in full years of {who}.",
    )
    years = age(person.birth_date, today)
    is_ahead = years != today.year - date.fromisoformat(person.birth_date).year
    return (
        Case(
            kind="read",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told},
            setup=person.planted,
            answer=answer(AnswerValue(quantity={"value": str(years), "unit": "a"})),
            traps=frozenset({"birthday"} if is_ahead else ()),
        ),
    )


def _years_before(day: date, years: int) -> date:
    return date(day.year - years, day.month, min(day.day, 28))


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """From the date of birth and the clock."""
    return Finish("done", [f"{chart.age(chart.patient(told['patient']))} years"])


TEMPLATE = Template(
    name="patient-age",
    about="somebody's age in completed years",
    draw=draw,
    oracle=oracle,
    blind=oracle,
    needs_chart=False,
)
