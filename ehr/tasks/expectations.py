"""The clauses that templates expect of orders and charted values, and the answers they expect."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from ehr.tasks.drugs import Code, DrugOrder
from ehr.tasks.measures import LOINC, Measure
from ehr.tasks.ward import Person
from ehr.verify.expected import (
    Answer,
    AnswerValue,
    ClauseSpec,
    Create,
    Update,
    clause,
    coded,
    hours,
    instant,
    quantity,
    refers_to,
)

ROUTES = {
    "oral": ("26643006", "oral|orally|po|p\\\\.o\\\\.|by mouth"),
    "intravenous": ("47625008", "iv|i\\\\.v\\\\.|intravenous"),
    "subcutaneous": ("34206005", "sc|s\\\\.c\\\\.|subcut|subq|sq|subcutaneous"),
}
_HALF_AN_HOUR = timedelta(minutes=30)


def drug_order(person: Person, order: DrugOrder, dose: Decimal | float | str, clock: str) -> Create:
    """An active order of a drug in one dose, by its route, dated now."""
    code, words = ROUTES[order.route]
    own, others = (
        f"dosageInstruction.route.coding.where(system = 'http://snomed.info/sct' and ({codes}))"
        for codes in (f"code = '{code}'", " or ".join(f"code = '{c}'" for c, _ in ROUTES.values() if c != code))
    )
    said = "(dosageInstruction.route.text | dosageInstruction.route.coding.display)"
    route = f"({own}.exists() or {said}.where(lower().matches('^ *({words})')).exists()) and {others}.empty()"
    return Create(
        type="MedicationRequest",
        clauses=(
            refers_to("patient", "subject", person.reference),
            coded("drug", "medication", order.drug.system, order.drug.code, display=order.drug.display),
            quantity("dose", "dosageInstruction.doseAndRate.dose", str(dose), order.unit),
            clause("route", route, label="WRONG_VALUE"),
            instant("when", "authoredOn", clock, within=hours(1)),
            is_an_order(),
        ),
    )


def service_order(
    person: Person, test: Code, clock: str, *, due: datetime | None = None, urgent: bool = False
) -> Create:
    """An active order of a test or referral, dated now; `due` at that time, give or take half an hour."""
    clauses = [
        refers_to("patient", "subject", person.reference),
        coded("what", "code", test.system, test.code, display=test.display),
        instant("when", "authoredOn", clock, within=hours(1)),
        is_an_order(),
    ]
    if due:
        clauses.append(instant("due", "occurrence", due.isoformat(), within=_HALF_AN_HOUR))
    if urgent:
        clauses.append(clause("is urgent", "priority in ('urgent' | 'asap' | 'stat')", label="WRONG_VALUE"))
    return Create(type="ServiceRequest", clauses=tuple(clauses))


def stopped(order_id: str) -> Update:
    """The order is stopped, and nothing but that and a reason for it changes."""
    is_stopped = clause("is stopped", "status = 'stopped'", label="WRONG_STATUS")
    return Update(
        reference=f"MedicationRequest/{order_id}", may_change=("status", "statusReason", "note"), clauses=(is_stopped,)
    )


def tomorrow_at_eight(now: datetime) -> datetime:
    """08:00 of the day after the clock's, in the clock's zone."""
    return (now + timedelta(days=1)).replace(hour=8, minute=0, second=0, microsecond=0)


def is_an_order() -> ClauseSpec:
    """Active, and an order: no draft, plan or proposal."""
    return clause("is an order", "status = 'active' and intent = 'order'", label="WRONG_STATUS")


def charted(person: Person, measure: Measure, value: str, unit: str, at: str) -> Create:
    """A final measurement with this value, of this time."""
    return Create(
        type="Observation",
        clauses=(
            refers_to("patient", "subject", person.reference),
            coded("what", "code", LOINC, measure.unit.code, display=measure.unit.display),
            quantity("value", "value", value, unit),
            instant("when", "effective", at, within=timedelta(minutes=1)),
            clause("is final", "status = 'final'", label="WRONG_STATUS"),
        ),
    )


def number(value: Decimal | float | int | str, measure: Measure, tolerance: str | None = None) -> AnswerValue:
    """A number in the measure's unit, right to half of the last digit that is reported."""
    return AnswerValue(
        quantity={"value": f"{value}", "unit": measure.unit.ucum},
        tolerance=tolerance or measure.tolerance,
        analyte=measure.analyte,
    )


def moment(at: datetime) -> AnswerValue:
    """An instant."""
    return AnswerValue(date=at.isoformat())


def answer(*values: AnswerValue, listed: bool = False) -> Answer:
    """These values, in any order, or in this one."""
    return Answer(values=values, order="listed" if listed else "any")


def texts(words: Sequence[str]) -> Answer:
    """These texts in any order; `none` where there are none."""
    return answer(*(AnswerValue(text=word) for word in words)) if words else answer(AnswerValue(none=True))
