"""Correct one wrong weight on the chart, in either of the two ways that are right."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.chart import Chart
from ehr.tasks.expectations import charted
from ehr.tasks.measures import WEIGHT
from ehr.tasks.planting import Row, results
from ehr.tasks.scene import is_quiet
from ehr.tasks.template import Case, Drawing, Finish, Template, spoken_time
from ehr.verify.expected import Expected, Update, clause, quantity


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Two digits were exchanged; another weight, and often an entry in error of the same minute, stand beside it."""
    dice = drawing.dice
    right = dice.whole(51, 97) + dice.whole(1, 9) / 10
    while int(right) // 10 == int(right) % 10:
        right = dice.whole(51, 97) + dice.whole(1, 9) / 10
    wrong = round(int(right) % 10 * 10 + int(right) // 10 + right % 1, 1)
    has_error = dice.chance(0.6)
    at = drawing.now - timedelta(seconds=dice.whole(200 * 60, 4000 * 60))
    person = drawing.person(is_quiet(drawing, WEIGHT, at - timedelta(days=2)))
    rows = [Row(at, wrong), Row(at - timedelta(days=dice.whole(3, 30), minutes=7), right - 0.4)]
    if has_error:
        rows.append(Row(at, round(right * 2.2, 1), status="entered-in-error"))
    rows = dice.shuffled(rows)
    planted = results(drawing, person, WEIGHT, rows)
    bad = max((row for row in planted if row["status"] == "final"), key=lambda row: str(row["effectiveDateTime"]))
    at = truth.instant(bad["effectiveDateTime"]).astimezone(drawing.now.tzinfo)
    at_that_time = [row for row in planted if truth.taken(row) == at]
    who, told = drawing.call(person)
    instruction = drawing.say(
        f"The weight of {who} charted for {spoken_time(at)} is wrong: two digits were exchanged. It should be"
        f" {right} kg. Please correct the chart: either amend that entry, or mark it as entered in error and chart the"
        f" right weight (LOINC {WEIGHT.unit.code}) for the same time.",
        f"Please put right the weight entry of {spoken_time(at)} for {who}. The scale said {right} kg. You may amend"
        f" the entry, or mark it entered in error and add a correct one (LOINC {WEIGHT.unit.code}, same time); nothing"
        " else is to change.",
    )
    return (
        Case(
            kind="write",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "right": right, "at": at.isoformat(), **WEIGHT.as_parameters()},
            setup=(*person.planted, *planted),
            expected=Expected(any_of=_ways(f"Observation/{bad['id']}", right, charted_anew(person, right, at))),
            traps=frozenset({"status"} if at_that_time[0] is not bad else ()),
        ),
    )


def charted_anew(person: Any, right: float, at: datetime) -> Any:
    """The right weight as a new entry of the same time."""
    return charted(person, WEIGHT, str(right), "kg", at.isoformat())


def _ways(reference: str, right: float, anew: Any) -> tuple[Expected, ...]:
    amended = Update(
        reference=reference,
        may_change=("value", "status", "issued", "note"),
        clauses=(
            quantity("value", "value", str(right), "kg"),
            clause("is a correction", "status = 'amended' or status = 'corrected'", label="WRONG_STATUS"),
        ),
    )
    withdrawn = Update(
        reference=reference,
        may_change=("status", "note"),
        clauses=(clause("is in error", "status = 'entered-in-error'", label="WRONG_STATUS"),),
    )
    return Expected(updates=(amended,)), Expected(creates=(anew,), updates=(withdrawn,))


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Amend the entry of that time."""
    patient, at = chart.patient(told["patient"]), datetime.fromisoformat(told["at"])
    found = chart.results(patient, told["loinc"], since=at - timedelta(days=1))
    bad = next((result.resource for result in found if result.at == at), None)
    if bad is None:
        return Finish("not_done", note="There is no weight of that time.")
    chart.update(bad, status="corrected", valueQuantity={**bad["valueQuantity"], "value": told["right"]})
    return Finish("done")


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Claim that it is done."""
    chart.patient(told["patient"])
    return Finish("done")


TEMPLATE = Template(
    name="correct-observation",
    about="correct one wrong weight, by amending it or by replacing it",
    draw=draw,
    oracle=oracle,
    blind=blind,
)
