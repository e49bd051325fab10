"""The `answer` lens: is the answer that the agent finished with the right one?

An answer is a list of values, compared as a multiset or in order; there must be exactly as many as expected.
- `text`: equal after trimming, folding case, and making one blank of several. `true` and `false` are also `yes`, `no`.
- `quantity`: a number, with a unit behind it or none. With a unit it is converted; a bare number is taken in the unit
  that was asked for, and noted as `NO_UNIT`.
- `date`: a date is the same day; an instant the same moment, and a time without zone is none.
- `code`: the code, or `system|code`.
- `none`: a word that says that there is none. An empty answer says nothing at all: `NO_ANSWER`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ehr.verify.assignment import assign
from ehr.verify.expected import Answer, AnswerValue
from ehr.verify.instants import instant
from ehr.verify.spellings import ucum_of
from ehr.verify.units import Amount, compare, decimal
from harness.task import Task
from harness.trace import Episode
from harness.values import digest
from harness.verdict import Clause, Verdict

CONFIG = digest({"lens": "answer", "version": 1})

_NUMBER = re.compile(r"^([+-]?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,2})?)\s*(.*)$", re.DOTALL)
_DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
_NONE = frozenset({"none", "nobody", "nothing", "no one", "not found", "no such patient", "patient not found", "n/a"})


def judge_answer(task: Task, episode: Episode) -> Verdict:
    """The verdict of the `answer` lens. Raises `ValueError` where the task expects no answer."""
    if task.answer is None:
        raise ValueError(f"task {task.id!r} expects no answer")
    wanted = Answer.model_validate(task.answer, extra="ignore")
    given = list(episode.answer)
    if not given:
        missing = [_clause(value, None, f"answer[{number}]", False) for number, value in enumerate(wanted.values)]
        return _verdict(episode, "NO_ANSWER", (), missing)
    fits = [[_fits(value, item) for item in given] for value in wanted.values]
    if wanted.order == "listed":
        columns: Sequence[int | None] = [n if n < len(given) else None for n in range(len(wanted.values))]
    else:
        columns = assign([[(int(fit is not None),) for fit in row] for row in fits])
    clauses: list[Clause] = []
    notes: dict[str, None] = {}
    for number, (value, column) in enumerate(zip(wanted.values, columns, strict=True)):
        fit = fits[number][column] if column is not None else None
        notes |= dict.fromkeys(fit or ())
        clauses.append(_clause(value, None if column is None else given[column], f"answer[{number}]", fit is not None))
    for extra in [item for column, item in enumerate(given) if column not in columns]:
        clauses.append(_surplus(extra))
    holds = all(clause.outcome == "pass" for clause in clauses)
    return _verdict(episode, None if holds else "WRONG_ANSWER", tuple(notes), clauses)


def _fits(wanted: AnswerValue, given: Any) -> tuple[str, ...] | None:
    """None where the value is not the wanted one; else the notes to make."""
    if wanted.text is not None:
        return () if _folded(wanted.text) in _folded_forms(given) else None
    if wanted.quantity is not None:
        return _fits_quantity(wanted, given)
    if wanted.code is not None:
        code, system = wanted.code.get("code"), wanted.code.get("system")
        return () if isinstance(given, str) and given.strip() in (code, f"{system}|{code}") else None
    if wanted.date is not None:
        return () if _is_same_time(wanted.date, given) else None
    return () if any(form.rstrip(".") in _NONE for form in _folded_forms(given)) else None


def _fits_quantity(wanted: AnswerValue, given: Any) -> tuple[str, ...] | None:
    assert wanted.quantity is not None
    amount = _amount(given)
    if amount is None:
        return None
    value, unit = Decimal(wanted.quantity["value"]), wanted.quantity["unit"]
    tolerance = Decimal(wanted.tolerance) if wanted.tolerance is not None else None
    bare = amount.text == ""
    units = [unit] if bare else ucum_of(amount.text)
    if not any(
        compare(Amount(amount.value, u, None, ""), value, unit, tolerance=tolerance, analyte=wanted.analyte) == "equal"
        for u in units
    ):
        return None
    return ("NO_UNIT",) if bare and unit != "1" else ()


def _amount(given: Any) -> Amount | None:
    """A number, or the text of one with a unit behind it. `text` is what stands behind the number."""
    number = decimal(given)
    if number is not None:
        return Amount(number, None, None, "")
    match = _NUMBER.match(given.strip()) if isinstance(given, str) else None
    return Amount(Decimal(match[1]), None, None, match[2].strip().rstrip(".")) if match else None


def _is_same_time(wanted: str, given: Any) -> bool:
    if not isinstance(given, str):
        return False
    given = given.strip()
    if _DATE.match(wanted):
        return given[:10] == wanted and (len(given) == 10 or instant(given) is not None)
    moment = instant(wanted)
    return moment is not None and moment == instant(given)


def _folded_forms(given: Any) -> tuple[str, ...]:
    if isinstance(given, bool):
        return ("yes", "true") if given else ("no", "false")
    return (_folded(str(given)),)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _clause(wanted: AnswerValue, given: Any, name: str, holds: bool) -> Clause:
    label = None if holds else "WRONG_ANSWER" if given is not None else "NO_ANSWER"
    return Clause(
        name=name,
        outcome="pass" if holds else "fail",
        label=label,
        expected=_told(wanted),
        actual="nothing" if given is None else _said(given),
    )


def _surplus(given: Any) -> Clause:
    actual = _said(given)
    return Clause(name="nothing else", outcome="fail", label="WRONG_ANSWER", expected="no other value", actual=actual)


def _told(wanted: AnswerValue) -> str:
    if wanted.quantity is not None:
        tolerance = f" ± {wanted.tolerance}" if wanted.tolerance else ""
        return f"{wanted.quantity['value']} {wanted.quantity['unit']}{tolerance}"
    if wanted.code is not None:
        return f"{wanted.code.get('system')}|{wanted.code.get('code')}"
    return wanted.text or wanted.date or "none"


def _said(given: Any) -> str:
    return str(given)[:500]


def _verdict(
    episode: Episode, label: str | None, notes: tuple[str, ...], clauses: Sequence[Clause]
) -> Verdict:  # fmt: skip
    return Verdict(
        episode=episode.id,
        lens="answer",
        config=CONFIG,
        outcome="fail" if label else "pass",
        label=label,
        labels=(label,) if label else (),
        notes=notes,
        clauses=tuple(clauses),
    )
