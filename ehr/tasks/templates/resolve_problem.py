"""Mark one problem as resolved today."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code
from ehr.tasks.planting import new_ids
from ehr.tasks.rows import problem
from ehr.tasks.synthetic.codes import PROBLEMS, SNOMED, TERMINOLOGY
from ehr.tasks.template import Case, Drawing, Finish, Template, spoken_date
from ehr.tasks.ward import Person
from ehr.verify.expected import Expected, Update, clause

_PASSING = (
    ("233604007", "Pneumonia"), ("10509002", "Acute bronchitis"), ("307426000", "Acute infective cystitis"),
    ("128045006", "Cellulitis"), ("75498004", "Acute bacterial sinusitis"), ("45816000", "Pyelonephritis"),
)  # fmt: skip
_CLINICAL = TERMINOLOGY + "condition-clinical"


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """The problem stands among an earlier bout of it, an entry in error after it, and another problem."""
    dice = drawing.dice
    what = Code(SNOMED, *_PASSING[drawing.index % len(_PASSING)])
    is_namesake = drawing.index % 4 == 2
    person = drawing.person(lambda someone: _lacks(drawing, someone, what.code), namesake=is_namesake)
    has_error = dice.chance(0.7)
    lasting = [found for found in PROBLEMS if found.sex is None and _lacks(drawing, person, found.code)]
    other = dice.pick(lasting)
    ids = dice.shuffled(new_ids(drawing, "Condition", 4))
    began = dice.whole(9, 25)

    def before(days: float) -> Any:
        return drawing.now - timedelta(days=days, minutes=dice.whole(0, 600))

    planted = [
        problem(drawing, person, ids[0], what, at=before(began)),
        problem(drawing, person, ids[1], Code(SNOMED, other.code, other.display), at=before(dice.whole(300, 3000))),
        problem(drawing, person, ids[2], what, at=before(began + dice.whole(200, 900)), clinical="resolved"),
    ]
    if has_error:
        late = before(dice.whole(1, 6))
        planted.append(problem(drawing, person, ids[3], what, at=late, verification="entered-in-error"))
    who, told = drawing.call(person)
    today = drawing.today.isoformat()
    name = what.display[0].lower() + what.display[1:]
    instruction = drawing.say(
        f"{who} has recovered: please mark the {name} as resolved as of today, {spoken_date(drawing.today)}, and change"
        " nothing else on the problem list.",
        f"Update the problem list of {who}: the current {name} is resolved, with today ({spoken_date(drawing.today)})"
        " as its end. Everything else stays.",
    )
    update = Update(
        reference=f"Condition/{ids[0]}",
        may_change=("clinicalStatus", "abatement"),
        clauses=(
            clause("is resolved", f"clinicalStatus.coding.where(system = '{_CLINICAL}' and code = 'resolved').exists()",
                   label="WRONG_STATUS"),
            clause("ended today", f"abatement.toString().startsWith('{today}')", label="WRONG_TIME"),
        ),
    )  # fmt: skip
    return (
        Case(
            kind="write",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "code": what.code},
            setup=(*person.planted, *planted),
            expected=Expected(updates=(update,)),
            traps=frozenset({"status"} if has_error else ()) | drawing.namesake_traps(person),
        ),
    )


def _lacks(drawing: Drawing, person: Person, code: str) -> bool:
    return not any(code in str(row.get("code")) for row in drawing.ward.chart(person, "Condition"))


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """The latest such problem that is active."""
    found = chart.active("Condition", chart.patient(told["patient"]), code=told["code"])
    row = chart.latest_of(found, "onsetDateTime")
    if row is None:
        return Finish("not_done", note="There is no such problem.")
    resolved = {"coding": [{"system": _CLINICAL, "code": "resolved"}]}
    chart.update(row, clinicalStatus=resolved, abatementDateTime=chart.now.date().isoformat())
    return Finish("done")


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Claim that it is done."""
    chart.patient(told["patient"])
    return Finish("done")


TEMPLATE = Template(
    name="resolve-problem",
    about="mark one problem as resolved today",
    draw=draw,
    oracle=oracle,
    blind=blind,
)
