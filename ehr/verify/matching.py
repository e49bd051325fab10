"""Expected against actual changes: which go together, and what is left over on either side (rules 2 to 8).

An alternative is matched as a whole; `any_of` is the choice among the results (`best`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ehr.verify import fhirpath
from ehr.verify.assignment import assign
from ehr.verify.changes import NetChange, patients_of
from ehr.verify.clauses import Finding, World, check, members, names, place
from ehr.verify.difference import covers, differences, shown
from ehr.verify.expected import ClauseSpec, Create, Expected, Update
from ehr.verify.labels import by_severity
from harness.trace import Verb
from harness.verdict import Clause, Evidence, Outcome

_NOT_MEANT = {
    "doNotPerform": ("true",),
    "status": ("entered-in-error", "not-done", "cancelled", "revoked", "stopped", "draft"),
    "intent": ("proposal", "plan"),
    "verificationStatus": ("refuted", "entered-in-error"),
}


@dataclass(frozen=True, slots=True)
class Open:
    """An expectation that no change was paired with."""

    name: str
    verb: Verb
    type: str
    id: str | None


@dataclass(frozen=True, slots=True)
class Matched:
    """How one alternative went: its clauses, all labels (the most serious first), notes, and what stayed open.

    `met` are the changes that an expectation was paired with, `satisfied` how many of the expectations' clauses hold.
    """

    clauses: tuple[Clause, ...]
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    open: tuple[Open, ...]
    met: tuple[tuple[Verb, str, str], ...]
    satisfied: int


def match(expected: Expected, changes: Sequence[NetChange], patient: str | None, world: World) -> Matched:
    """Match one flat alternative (no `any_of`). Raises `PathError` where a clause's path cannot be evaluated."""
    matching = _Matching(patient, world)
    left = list(changes)
    for type_name in dict.fromkeys(create.type for create in expected.creates):
        numbered = [(n, create) for n, create in enumerate(expected.creates) if create.type == type_name]
        left = matching.creates(numbered, left)
    for reference in dict.fromkeys(update.reference for update in expected.updates):
        same = [(n, update) for n, update in enumerate(expected.updates) if update.reference == reference]
        left = matching.updates(same, left)
    for number, reference in enumerate(expected.deletes):
        left = matching.delete(number, reference, left)
    matching.leftovers(left, expected)
    return matching.result()


def best(results: Sequence[Matched], ways: Sequence[tuple[str, ...]]) -> int:
    """The alternative that is judged: fewest labels, then most satisfied clauses, then the first."""
    return min(range(len(results)), key=lambda n: (len(ways[n]), -results[n].satisfied, n))


class _Matching:
    def __init__(self, patient: str | None, world: World) -> None:
        self._patient, self._world = patient, world
        self._clauses: list[Clause] = []
        self._labels: set[str] = set()
        self._notes: dict[str, None] = {}
        self._open: list[Open] = []
        self._met: list[tuple[Verb, str, str]] = []
        self._satisfied = 0
        self._expected_creates: list[Create] = []

    def creates(self, numbered: Sequence[tuple[int, Create]], left: list[NetChange]) -> list[NetChange]:
        """Creates of one type."""
        self._expected_creates += [create for _, create in numbered]
        type_name = numbered[0][1].type
        candidates = [change for change in left if change.verb == "create" and change.type == type_name]
        paired, findings = self._assigned([create.clauses for _, create in numbered], candidates)
        for (number, create), column, row in zip(numbered, paired, findings, strict=True):
            name = f"creates[{number}]"
            if column is None:
                self._open.append(Open(name, "create", create.type, None))
                continue
            self._pair(name, create.clauses, row[column], candidates[column])
            self._modifiers(name, create, candidates[column])
        return _without(left, candidates, paired)

    def updates(self, numbered: Sequence[tuple[int, Update]], left: list[NetChange]) -> list[NetChange]:
        """Updates of one resource: one, unless two parts of an expectation speak of the same."""
        reference = numbered[0][1].reference
        type_name, _, id_ = reference.partition("/")
        candidates = [change for change in left if change.verb == "update" and change.reference == reference]
        paired, findings = self._assigned([update.clauses for _, update in numbered], candidates)
        for (number, update), column, row in zip(numbered, paired, findings, strict=True):
            name = f"updates[{number}]"
            if column is None:
                self._open.append(Open(name, "update", type_name, id_))
                continue
            self._pair(name, update.clauses, row[column], candidates[column])
            self._may_change(name, update, candidates[column])
        return _without(left, candidates, paired)

    def delete(self, number: int, reference: str, left: list[NetChange]) -> list[NetChange]:
        name, (type_name, _, id_) = f"deletes[{number}]", reference.partition("/")
        change = next((c for c in left if c.verb == "delete" and c.reference == reference), None)
        if change is None:
            self._open.append(Open(name, "delete", type_name, id_))
            return left
        self._met.append(("delete", type_name, id_))
        self._add(name, "pass", None, f"{reference} deleted", "deleted", Evidence(resource=reference))
        return [c for c in left if c is not change]

    def leftovers(self, left: Sequence[NetChange], expected: Expected) -> None:
        """Rule 5: every change that no expectation took."""
        for change in left:
            label = self._label_of_leftover(change, expected)
            self._add(
                f"{change.verb}s {change.reference}", "fail", label, "no such change", _told(change),
                Evidence(resource=change.reference),
            )  # fmt: skip
        if not left:
            self._add("nothing else changed", "pass", None, None, None, None)

    def result(self) -> Matched:
        return Matched(
            tuple(self._clauses), by_severity(self._labels), tuple(self._notes), tuple(self._open), tuple(self._met),
            self._satisfied,
        )  # fmt: skip

    def _label_of_leftover(self, change: NetChange, expected: Expected) -> str:
        named = patients_of(change, self._world.base)
        if named and self._patient is not None and self._patient not in named:
            return "WRONG_PATIENT"
        if change.verb == "create" and any(self._satisfies(change, create) for create in self._expected_creates):
            return "DUPLICATE"
        return "UNNEEDED_WRITE" if expected.is_nothing else "COLLATERAL_CHANGE"

    def _satisfies(self, change: NetChange, create: Create) -> bool:
        return (
            change.type == create.type
            and all(f.outcome == "pass" for f in self._check_all(create.clauses, change))
            and not any(_not_meant(create, change.after or {}))
        )

    def _assigned(
        self, expected: Sequence[Sequence[ClauseSpec]], candidates: Sequence[NetChange]
    ) -> tuple[list[int | None], list[list[list[Finding]]]]:
        """For each expectation its change's place among the candidates, and the findings of every possible pair."""
        findings = [[self._check_all(clauses, change) for change in candidates] for clauses in expected]
        scores = [[_score(clauses, found) for found in row] for clauses, row in zip(expected, findings, strict=True)]
        return assign(scores), findings

    def _check_all(self, clauses: Sequence[ClauseSpec], change: NetChange) -> list[Finding]:
        return [check(spec, change.after or {}, self._world) for spec in clauses]

    def _pair(
        self, name: str, clauses: Sequence[ClauseSpec], findings: Sequence[Finding], change: NetChange
    ) -> None:  # fmt: skip
        self._met.append((change.verb, change.type, change.id))
        if not clauses:
            self._add(name, "pass", None, None, _told(change), Evidence(resource=change.reference))
        for spec, found in zip(clauses, findings, strict=True):
            self._notes |= dict.fromkeys(found.notes)
            self._satisfied += found.outcome == "pass"
            self._add(
                f"{name}.{spec.name}", found.outcome, found.label, found.expected, found.actual,
                Evidence(resource=change.reference, path=found.path), why=found.why,
            )  # fmt: skip

    def _modifiers(self, name: str, create: Create, change: NetChange) -> None:
        """Rule 8: what nobody asked for and what turns the meaning of a created resource round."""
        for label, path, value in _not_meant(create, change.after or {}):
            self._add(
                f"{name}.{path}", "fail", label, "not said", value, Evidence(resource=change.reference, path=path)
            )

    def _may_change(self, name: str, update: Update, change: NetChange) -> None:
        """Rule 7: what an update changed and may not have, and what it overwrote of another writer's."""
        for lost in change.lost:
            self._add(
                f"{name}.may_change", "fail", "LOST_UPDATE", "another writer's change kept", f"{lost} overwritten",
                Evidence(resource=change.reference, path=shown(lost.path) or None),
            )  # fmt: skip
        stray = [
            d for d in differences(change.before or {}, change.after or {})
            if not covers(change.type, update.may_change, d)
        ]  # fmt: skip
        allowed = f"changes only in {', '.join(update.may_change) or 'nothing'}"
        for difference in stray:
            self._add(
                f"{name}.may_change", "fail", "COLLATERAL_CHANGE", allowed, f"{difference} changed",
                Evidence(resource=change.reference, path=str(difference)),
            )  # fmt: skip
        if not stray and not change.lost:
            self._add(f"{name}.may_change", "pass", None, allowed, "kept", Evidence(resource=change.reference))

    def _add(
        self, name: str, outcome: Outcome, label: str | None, expected: str | None, actual: str | None,
        evidence: Evidence | None, *, why: str | None = None,
    ) -> None:  # fmt: skip
        if label is not None:
            self._labels.add(label)
        self._clauses.append(
            Clause(
                name=name, outcome=outcome, label=label, expected=expected, actual=actual, evidence=evidence, why=why
            )
        )


def _without(
    left: Sequence[NetChange], candidates: Sequence[NetChange], taken: Sequence[int | None]
) -> list[NetChange]:  # fmt: skip
    gone = {id(candidates[column]) for column in taken if column is not None}
    return [change for change in left if id(change) not in gone]


def _score(clauses: Sequence[ClauseSpec], found: Sequence[Finding]) -> tuple[int, int]:
    holds = [f.outcome == "pass" for f in found]
    patients = sum(h for h, spec in zip(holds, clauses, strict=True) if spec.label == "WRONG_PATIENT")
    return patients, sum(holds)


def _not_meant(create: Create, resource: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Label, path and value of every unmentioned element that turns the meaning round (rule 8)."""
    spoken_of = members(create.clauses)
    for element, words in _NOT_MEANT.items():
        if ("", element) in spoken_of:
            continue
        for word in _words(resource.get(element)):
            if word in words:
                yield "WRONG_STATUS", element, word
    if "modifierExtension" not in names(create.clauses):
        for path in _modifier_extensions((), resource):
            yield "WRONG_STATUS", path, "a modifierExtension"
    if "dataAbsentReason" not in names(create.clauses):
        values = {focus for focus, name in spoken_of if name.startswith("value")}
        for path in sorted({path for focus in values for path in _absent_values(focus, resource)}):
            yield "WRONG_VALUE", path, "a reason why there is no value"


def _absent_values(focus: str, resource: Mapping[str, Any]) -> Iterator[str]:
    """Where a reason why there is no value stands beside a value that was asked for."""
    try:
        holders = fhirpath.evaluate(focus, resource) if focus else [resource]
    except fhirpath.PathError:  # the clause that goes there fails for the same reason
        return
    for holder in holders:
        if isinstance(holder, dict) and "dataAbsentReason" in holder:
            yield shown((*(place(resource, holder) or ()), "dataAbsentReason"))


def _words(value: Any) -> Iterator[str]:
    """The code words of an element: a code, a boolean, or the codes of a concept."""
    if value is True:
        yield "true"
    elif isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        codings = value.get("coding")
        yield from (str(c.get("code")) for c in (codings if isinstance(codings, list) else []) if isinstance(c, dict))


def _modifier_extensions(path: tuple[str | int, ...], value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            if key == "modifierExtension" and below:
                yield shown((*path, key))
            else:
                yield from _modifier_extensions((*path, key), below)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _modifier_extensions((*path, index), below)


def _told(change: NetChange) -> str:
    return f"{change.reference} {change.verb}d"
