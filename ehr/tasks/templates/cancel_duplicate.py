"""Withdraw an order that was placed twice for one day; leave two orders for two days alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ehr.tasks import truth
from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code
from ehr.tasks.expectations import answer, moment
from ehr.tasks.idshape import storage_place
from ehr.tasks.planting import new_ids
from ehr.tasks.rows import request
from ehr.tasks.synthetic.codes import LOINC, PANELS
from ehr.tasks.template import Case, Drawing, Finish, Template, spoken_date, twins
from ehr.tasks.ward import Person
from ehr.verify.expected import NOTHING, Expected, Update, clause

_PANELS = tuple(PANELS[key] for key in ("lipids", "thyroid", "crp", "a1c", "ferritin"))


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """Twins: the second order is due on the same day, or on another."""
    return twins(drawing, _build, (0, drawing.dice.whole(2, 9)))


def _build(drawing: Drawing, days_later: int) -> Case:
    dice = drawing.dice
    panel = _PANELS[drawing.index % len(_PANELS)]
    test = Code(LOINC, panel.code, panel.display)
    person = drawing.person(lambda someone: _lacks(drawing, someone, test))
    has_withdrawn = dice.chance(0.6)
    day = (drawing.now + timedelta(days=dice.whole(2, 6))).replace(second=0, microsecond=0)
    first_due, second_due, withdrawn_due = (
        day.replace(hour=dice.whole(7, 10), minute=minute + 5 * dice.whole(1, 3)) for minute in (0, 15, 30)
    )
    first_at = drawing.now - timedelta(hours=dice.whole(30, 70), minutes=dice.below(60))
    second_at = drawing.now - timedelta(hours=dice.whole(2, 20), minutes=dice.below(60))
    earlier = first_at - timedelta(hours=dice.whole(3, 40), minutes=dice.below(60))
    ids = dice.shuffled(new_ids(drawing, "ServiceRequest", 3))
    first = request(drawing, person, ids[0], test, at=first_at, due=first_due, text=panel.name)
    second = request(
        drawing, person, ids[1], test, at=second_at, due=second_due + timedelta(days=days_later), text=panel.name
    )
    planted = [first, second]
    if has_withdrawn:
        planted.append(
            request(drawing, person, ids[2], test, at=earlier, due=withdrawn_due, status="revoked", text=panel.name)
        )
    who, told = drawing.call(person)
    name = f"{panel.name} ({test.spoken})"
    instruction = drawing.say(
        f"I think {name} was ordered twice for {who} for {spoken_date(day.date())}. If two orders for that day are in"
        " force, please revoke the one that was placed last and keep the other. If there is only one for that day,"
        " change nothing. In both cases tell me the date and time for which the order that stays for that day is due.",
        f"Check for a double order: {name}, {who}, due {spoken_date(day.date())}. Withdraw (revoke) the later placed of"
        " two active orders for that day; an order for another day is no double and stays. For when exactly is the"
        " remaining order of that day?",
    )
    update = Update(
        reference=f"ServiceRequest/{ids[1]}",
        may_change=("status", "note"),
        clauses=(clause("is revoked", "status = 'revoked'", label="WRONG_STATUS"),),
    )
    is_double = days_later == 0
    return Case(
        kind="write" if is_double else "withhold",
        patient=person.reference,
        instruction=instruction,
        parameters={"patient": told, "code": test.code, "day": day.date().isoformat()},
        setup=(*person.planted, *sorted(planted, key=lambda row: storage_place(str(row["id"])))),
        expected=Expected(updates=(update,)) if is_double else NOTHING,
        answer=answer(moment(truth.instant(first["occurrenceDateTime"]))),
        traps=frozenset(({"status"} if has_withdrawn else set()) | (_order_traps(ids) if is_double else set())),
    )


def _order_traps(ids: list[str]) -> set[str]:
    """Whether the place in storage, or the id, shows the wrong one of the two as the later."""
    first, second = ids[:2]
    traps = {"order"} if storage_place(first) < storage_place(second) else set()
    return traps | ({"id"} if first > second else set())


def _lacks(drawing: Drawing, person: Person, test: Code) -> bool:
    """Whether no order of the test looks ahead: an earlier one for the same day would be a third."""
    rows = [row for row in drawing.ward.chart(person, "ServiceRequest") if test.code in truth.codes(row["code"])]
    return len(rows) < 10 and not any("occurrenceDateTime" in row or row["status"] == "active" for row in rows)


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Of two orders in force for the day, revoke the one placed last."""
    rows = chart.active("ServiceRequest", chart.patient(told["patient"]), code=told["code"])
    of_the_day = [row for row in rows if _due(row).date().isoformat() == told["day"]]
    if not of_the_day:
        return Finish("not_done", note="There is no such order for that day.")
    if len(of_the_day) == 1:
        return Finish("not_done", [of_the_day[0]["occurrenceDateTime"]])
    last = chart.latest_of(of_the_day, "authoredOn")
    assert last is not None, "there are two"
    chart.update(last, status="revoked")
    rest = [row for row in of_the_day if row is not last]
    return Finish("done", [min(rest, key=lambda row: str(row["authoredOn"]))["occurrenceDateTime"]])


def _due(row: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(row.get("occurrenceDateTime", "1900-01-01T00:00:00+00:00"))


def blind(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """Leave it, without a look."""
    chart.patient(told["patient"])
    return Finish("not_done", [f"{told['day']}T08:00:00+00:00"])


TEMPLATE = Template(
    name="cancel-duplicate-order",
    about="revoke an order that was placed twice for one day",
    draw=draw,
    oracle=oracle,
    blind=blind,
    twins=True,
)
