"""Which problems are active, by code."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code
from ehr.tasks.expectations import answer
from ehr.tasks.idshape import storage_place
from ehr.tasks.planting import new_ids
from ehr.tasks.rows import problem
from ehr.tasks.synthetic.codes import CLINIC_ILLNESSES, PROBLEMS, SNOMED
from ehr.tasks.template import Case, Drawing, Finish, Template
from ehr.tasks.ward import Person, Resource
from ehr.verify.expected import AnswerValue

_PAGE = 20
_STATES = (("resolved", "confirmed"), ("active", "refuted"), ("inactive", "confirmed"), ("active", "entered-in-error"))


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Some active problems, and some that are resolved, were refuted, or entered in error."""
    dice = drawing.dice
    is_busy = drawing.index % 3 == 1  # then there is more than a page of problems, where anybody has so many
    charts = drawing.ward.chart
    busy = [person for person in drawing.ward.people if len(charts(person, "Condition")) > _PAGE] if is_busy else []
    person = drawing.person(lambda someone: _is_plain(drawing, someone) and (not busy or someone in busy))
    base = drawing.ward.chart(person, "Condition")
    on_file = {code for row in base for code in truth.codes(row["code"])}
    lasting = [found for found in PROBLEMS if found.sex in (None, person.gender)]
    known = {found.code: found.display for found in lasting}
    known |= {found.code: found.display for found in CLINIC_ILLNESSES}
    others = sorted(item for item in known.items() if item[0] not in on_file)
    states = [("active", "confirmed")] * dice.whole(1, 3) + dice.shuffled(_STATES)[: dice.whole(1, 3)]
    states = dice.shuffled(states)
    ids = new_ids(drawing, "Condition", len(states))
    planted = [
        problem(
            drawing, person, id, Code(SNOMED, *what), at=drawing.now - timedelta(minutes=dice.whole(50_000, 1_500_000)),
            clinical=clinical, verification=verification,
        )
        for id, what, (clinical, verification) in zip(ids, dice.shuffled(others), states, strict=False)
    ]  # fmt: skip
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"Which problems does {who} have at present? I need the SNOMED CT code of every active one, and no others.",
        f"For the referral letter: the SNOMED CT codes of all active problems of {who}, without past or refuted ones.",
        f"Give me the current problem list of {who} as SNOMED CT codes, only what is active now.",
    )
    active = [row for row in (*base, *planted) if truth.is_active(row)]
    codes = sorted(_snomed(row) for row in active)
    shown = sorted([*base, *planted], key=lambda row: storage_place(row["id"]))[:_PAGE]
    return (
        Case(
            kind="read",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told},
            setup=(*person.planted, *planted),
            answer=answer(*(AnswerValue(code={"system": SNOMED, "code": code}) for code in codes)),
            traps=frozenset({"status"} | ({"page"} if any(row not in shown for row in active) else set())),
        ),
    )


def _is_plain(drawing: Drawing, person: Person) -> bool:
    """Whether the chart leaves no doubt: each problem with one SNOMED CT code, none of them provisional."""
    rows = drawing.ward.chart(person, "Condition")
    doubtful = {"unconfirmed", "provisional", "differential"}
    if any(truth.codes(row.get("verificationStatus")) & doubtful for row in rows):
        return False
    if any(len(_snomed_codes(row)) != 1 for row in rows):
        return False
    active = [_snomed(row) for row in rows if truth.is_active(row)]
    return len(set(active)) == len(active)


def _snomed_codes(row: Resource) -> list[str]:
    codings = row.get("code", {}).get("coding", ())
    return [coding["code"] for coding in codings if coding.get("system") == SNOMED and "code" in coding]


def _snomed(row: Resource) -> str:
    return _snomed_codes(row)[0]


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The codes of the active problems."""
    problems = chart.active("Condition", chart.patient(told["patient"]))
    codings = [coding for row in problems for coding in row["code"]["coding"]]
    return Finish("done", [coding["code"] for coding in codings if coding.get("system") == SNOMED])


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Say that there are none."""
    chart.patient(told["patient"])
    return Finish("done", ["none"])


TEMPLATE = Template(
    name="active-problems",
    about="the active problems, as codes",
    draw=draw,
    oracle=oracle,
    blind=blind,
)
