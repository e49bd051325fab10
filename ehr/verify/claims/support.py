"""What the evidence says about one claim.

A value is supported by one reading of its measure with an equal number (`ehr.verify.claims.equal`) and, where a time is
stated, of that time; else by a rule over a series (`ehr.verify.claims.series`), where words name the rule. Only values
of the patient whom the instruction names count, once a call has shown who that is.

What the measure is: what the number is bound to in its sentence (`ehr.verify.claims.binding`), by the words of the
table and by the chart's own names; else the heading above it; else what the instruction names. A measure that only
stands somewhere in the sentence is passed over where nobody gives it in the number's unit; a dose is one of the drug
that is asked about. Where nothing names a measure, nobody can say what the number is a value of: it fails where no
value of such a unit is equal, and is unscored where one is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from ehr.verify.claims.asked import Rule
from ehr.verify.claims.beside import code_before
from ehr.verify.claims.binding import bind
from ehr.verify.claims.claim import MOST, UNJUDGED, ClinicalClaim
from ehr.verify.claims.concepts import DOSE, MEASURES, phrases
from ehr.verify.claims.equal import in_unit, is_by_factor, same, units_for
from ehr.verify.claims.evidence import ClinicalEvidence, Meant
from ehr.verify.claims.reading import Person, Reading
from ehr.verify.claims.series import derived
from grounding.claims import Finding, Support

PLACES = 20
"""Readings that are named for one value as it stands at most; of a derived one, every operand is named."""

_ORDER: tuple[Rule, ...] = ("mean", "minimum", "maximum", "difference")


def find(claim: ClinicalClaim, evidence: ClinicalEvidence) -> Finding:
    """What the evidence says about one claim."""
    if claim.kind == UNJUDGED:
        return Finding(outcome="unscored", why=f"of one answer the first {MOST:,} values are judged")
    if claim.kind == "age":
        return _age(claim, evidence)
    if claim.kind == "pressure":
        return _pressure(claim, evidence)
    meant = _meant(claim, evidence)
    readings = evidence.of_patient if meant is None else _of(meant, claim, evidence.of_patient)
    if claim.kind == "count":
        return _count(claim, evidence, readings, meant)
    supports = _supports(claim, readings)
    if supports and meant is None:
        return Finding(outcome="unscored", why="what was measured is not said in words that are known")
    if supports:
        return Finding(outcome="pass", support=tuple(supports))
    return Finding(outcome="fail", why=_why(claim, evidence, readings, meant))


def _supports(claim: ClinicalClaim, readings: Sequence[Reading]) -> list[Support]:
    if claim.direct:
        direct = list(_direct(claim, readings))
        if direct:
            best = min(direct, key=lambda each: _RANK[each.rule])
            return [best] if best.rule else [each for each in direct if each.rule is None][:PLACES]
    for rule in _ORDER:
        if rule in claim.rules:
            operands = derived(claim, rule, readings)
            if operands:
                return [_support(row, rule) for row in operands]
    return []


_RANK = {None: 0, "rounded": 1, "converted": 2}


def _direct(claim: ClinicalClaim, readings: Sequence[Reading]) -> Iterator[Support]:
    for reading in readings:
        if claim.moment is not None and not any(claim.moment.is_of(time) for time in reading.times):
            continue
        for unit in units_for(claim.units, claim.asked.units, reading):
            value = in_unit(reading, unit)
            how = (
                None if value is None else same(claim.value, claim.places, value, converted=is_by_factor(reading, unit))
            )
            if how is not None and value != reading.value:
                how = "converted"  # a scale too (37 Cel, 98.6 [degF]), though that is by no factor
            if how is not None:
                yield _support(reading, None if how == "same" else how)
                break


def _support(reading: Reading, rule: str | None) -> Support:
    return Support(call=reading.call, how="observed" if reading.kind == "observation" else "ordered", rule=rule,
                   resource=reading.resource, path=reading.path)  # fmt: skip


def _meant(claim: ClinicalClaim, evidence: ClinicalEvidence) -> Meant | frozenset[str] | None:
    """The measure that a number is a value of: phrases, or a LOINC code (a set of one); None where nothing tells."""
    code = code_before(claim.tokens, claim.codes, claim.at)
    if code is not None:
        return frozenset({code})
    known = evidence.known
    bound = bind(claim.tokens, claim.at, known)
    asked = evidence.asked_for
    if bound is not None and bound.meant.measures == {DOSE}:
        return asked if asked is not None and bound.strong else bound.meant
    if bound is not None and bound.strong:
        return bound.meant
    under = bind((*claim.heading, "#"), len(claim.heading), known) if claim.heading else None
    if bound is None and under is not None:
        return under.meant
    if bound is None or not _may_be_of(bound.meant, claim):
        return asked
    return bound.meant


def _may_be_of(meant: Meant, claim: ClinicalClaim) -> bool:
    """Whether a number in this unit may be a value of what is meant, as far as the table tells."""
    if not claim.units or meant.names or not meant.measures:
        return True
    return any(MEASURES[key].may_be_in(unit) for key in meant.measures if key != DOSE for unit in claim.units)


def _of(meant: Meant | frozenset[str], claim: ClinicalClaim, readings: Sequence[Reading]) -> list[Reading]:
    """The readings that are of what is meant."""
    if isinstance(meant, frozenset):
        return [reading for reading in readings if reading.codes & meant]
    return [reading for reading in readings if _is_of(reading, meant, claim)]


def _is_of(reading: Reading, meant: Meant, claim: ClinicalClaim) -> bool:
    if reading.measure is not None and reading.measure.key in meant.measures:
        return True
    if DOSE in meant.measures and reading.kind == "drug":
        return True
    for name in reading.names:
        if name.specimen is not None and name.specimen not in claim.tokens and name.specimen not in claim.asked.words:
            continue
        if name.words in meant.names:
            return True
        if reading.measure is None and phrases().get(name.words, frozenset()) & meant.measures:
            return True
    return False


def _pressure(claim: ClinicalClaim, evidence: ClinicalEvidence) -> Finding:
    """Both numbers of one measurement: of one panel, or of one patient at one time."""
    lower = [each for each in evidence.of_patient if each.measure is not None and each.measure.key == "diastolic"]
    for reading in evidence.of_patient:
        if reading.measure is None or reading.measure.key != "systolic" or claim.second is None:
            continue
        if claim.moment is not None and not any(claim.moment.is_of(time) for time in reading.times):
            continue
        for unit in units_for(claim.units, claim.asked.units, reading):
            upper_value = in_unit(reading, unit)
            if upper_value is None or not same(claim.value, 0, upper_value):
                continue
            for other in lower:
                together = (other.patient, other.times[:1]) == (reading.patient, reading.times[:1]) and (
                    other.resource == reading.resource or bool(other.times)
                )
                value = in_unit(other, unit)
                if together and value is not None and same(claim.second, 0, value):
                    exact = (upper_value, value) == (claim.value, claim.second)
                    rule = None if exact else "rounded"
                    return Finding(outcome="pass", support=(_support(reading, rule), _support(other, rule)))
    return Finding(outcome="fail", why="no blood pressure of these two numbers is in any tool result")


def _count(
    claim: ClinicalClaim, evidence: ClinicalEvidence, readings: Sequence[Reading], meant: Meant | frozenset[str] | None
) -> Finding:  # fmt: skip
    operands = derived(claim, "count", readings) if meant is not None else None
    if operands:
        return Finding(outcome="pass", support=tuple(_support(row, "count") for row in operands))
    if any(total == claim.value for total in evidence.totals):
        return Finding(outcome="unscored", why="a search counted so many, and what it counted cannot be told")
    return Finding(outcome="fail", why="no series of values that was shown has so many")


def _age(claim: ClinicalClaim, evidence: ClinicalEvidence) -> Finding:
    """Completed years (months, weeks, days) from a date of birth to the day that it is."""
    people = [each for each in evidence.people if not evidence.about or each.reference in evidence.about]
    born = [each for each in people if each.birth_date]
    now = evidence.asked.now
    if born and now is None:
        return Finding(outcome="unscored", why="what day it was is not known")
    unit = claim.units[0] if claim.units else "a"
    for person in born:
        assert now is not None, "asked before"
        if claim.value in _ages(person, now.date(), unit):
            support = Support(call=person.call, how="born", rule="age", resource=person.reference, path="birthDate")
            return Finding(outcome="pass", support=(support,))
    why = "no date of birth in any tool result gives this age" if born else "no tool result shows a date of birth"
    return Finding(outcome="fail", why=why)


def _ages(person: Person, today: date, unit: str) -> tuple[int, ...]:
    try:
        day = date.fromisoformat(person.birth_date or "")
    except ValueError:
        return ()
    months = (today.year - day.year) * 12 + today.month - day.month - (today.day < day.day)
    days = (today - day) // timedelta(days=1)
    if days < 0:
        return ()
    return {"a": (months // 12,), "mo": (months,), "wk": (days // 7,)}.get(unit, (days,))


def _why(
    claim: ClinicalClaim, evidence: ClinicalEvidence, readings: Sequence[Reading], meant: Meant | frozenset[str] | None
) -> str:  # fmt: skip
    if not evidence.readings and not evidence.void:
        return "no tool result shows a value"
    if meant is None:
        return "no value of such a unit in any tool result is equal, and what was measured is not said"
    if any(True for _ in _direct(claim, _of(meant, claim, evidence.void))):
        return "the value that is equal is entered in error or cancelled"
    if not readings:
        others = " of this patient" if len(evidence.of_patient) < len(evidence.readings) else ""
        return f"no tool result shows a value{others} of what is named"
    is_timed = claim.moment is not None and claim.direct
    if is_timed and any(True for _ in _direct(replace(claim, moment=None), readings)):
        return "the value that is equal was taken at another time"
    if claim.rules and not claim.direct:
        return f"{' or '.join(sorted(claim.rules))} of no series that was shown is equal"
    return f"none of the {len(readings)} values shown of what is named is equal"
