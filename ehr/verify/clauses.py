"""One clause against one resource: the five ways to check a statement, and what of it counts as found.

Rules that the checks share:
- a path that finds nothing fails; a path that cannot be evaluated raises `PathError` (see `fhirpath.py`);
- an expression breaks on this resource alone (`single()` on two items): the clause fails, for the resource is at fault;
- two values of one choice side by side (`valueQuantity`, `valueString`) are two answers to one question, and fail;
- evidence names the element: the first thing found, or the path where nothing was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ehr.verify import fhirpath
from ehr.verify.difference import Path, second_answer, shown
from ehr.verify.expected import ClauseSpec, Coded, Instant, Quantity, RefersTo
from ehr.verify.instants import duration, instant
from ehr.verify.units import Amount, compare
from ehr.verify.writes import is_patient, normal_reference
from harness.verdict import Outcome


@dataclass(frozen=True, slots=True)
class World:
    """What a clause may look at beside the resource: the server's base URL, and what was written in this episode."""

    base: str | None = None
    written: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a clause found. `label` is set where it failed; `notes` are remarks that do not change the outcome."""

    outcome: Outcome
    label: str | None
    expected: str
    actual: str | None
    path: str | None
    why: str | None = None
    notes: tuple[str, ...] = ()


def check(spec: ClauseSpec, resource: Mapping[str, Any], world: World) -> Finding:
    """Check one clause. Raises `fhirpath.PathError` where the clause's path cannot be evaluated."""
    try:
        if spec.refers_to:
            return _refers_to(spec, spec.refers_to, resource, world)
        if spec.coded:
            return _coded(spec, spec.coded, resource, world)
        if spec.quantity:
            return _quantity(spec, spec.quantity, resource)
        if spec.instant:
            return _instant(spec, spec.instant, resource)
        return _true(spec, str(spec.fhirpath), resource)
    except fhirpath.PathError as error:
        if error.of_path:
            raise
        return Finding("fail", spec.label, told(spec), None, None, why=str(error))


def paths(spec: ClauseSpec) -> tuple[str, ...]:
    """The FHIRPath expressions of a clause."""
    check_ = spec.refers_to or spec.coded or spec.quantity or spec.instant
    return (check_.path,) if check_ else (str(spec.fhirpath),)


def names(specs: Sequence[ClauseSpec]) -> frozenset[str]:
    """Every name that the clauses' expressions hold, wherever it stands in them."""
    return frozenset().union(*(fhirpath.names(path) for spec in specs for path in paths(spec)))


def members(specs: Sequence[ClauseSpec]) -> frozenset[tuple[str, str]]:
    """The elements that the clauses speak of, each with the expression that leads there (`""`: the resource)."""
    return frozenset().union(*(fhirpath.members(path) for spec in specs for path in paths(spec)))


def told(spec: ClauseSpec) -> str:
    """What the clause asks for, in words."""
    if spec.refers_to:
        return spec.refers_to.reference
    if spec.coded:
        return f"{spec.coded.system}|{spec.coded.code}"
    if spec.quantity:
        tolerance = f" ± {spec.quantity.tolerance}" if spec.quantity.tolerance else ""
        return f"{spec.quantity.value} {spec.quantity.unit}{tolerance}"
    if spec.instant:
        return f"{spec.instant.at} ± {spec.instant.within}"
    return str(spec.fhirpath)


def _refers_to(spec: ClauseSpec, wanted: RefersTo, resource: Mapping[str, Any], world: World) -> Finding:
    found = fhirpath.evaluate(wanted.path, resource)
    references = [
        reference
        for item in found
        if isinstance(item, dict) and (reference := normal_reference(item.get("reference"), world.base))
    ]
    others = [r for r in references if is_patient(r) and r != wanted.reference]
    holds = wanted.reference in references and not others
    actual = ", ".join(references) or ("no reference" if found else "nothing")
    return _finding(spec, holds, actual, resource, found, wanted.path)


def _coded(spec: ClauseSpec, wanted: Coded, resource: Mapping[str, Any], world: World) -> Finding:
    found = fhirpath.evaluate(wanted.path, resource)
    concepts = [list(_codings(item, resource, world)) for item in found]
    holds = False
    notes: tuple[str, ...] = ()
    for item, codings in zip(found, concepts, strict=True):
        same_system = [c for c in codings if c.get("system") == wanted.system]
        if same_system and all(c.get("code") == wanted.code for c in same_system):
            holds = True
            notes = _contradiction(item, same_system[0], wanted)
            break
    actual = ", ".join(f"{c.get('system')}|{c.get('code')}" for codings in concepts for c in codings)
    texts = ", ".join(repr(i["text"]) for i in found if isinstance(i, dict) and isinstance(i.get("text"), str))
    actual = actual or (f"text {texts}" if texts else "no coding" if found else "nothing")
    return _finding(spec, holds, actual, resource, found, wanted.path, notes=notes)


def _codings(item: Any, resource: Mapping[str, Any], world: World) -> Iterator[Mapping[str, Any]]:
    """The codings of a CodeableConcept or Coding, or of the Medication that a reference leads to."""
    if isinstance(item, dict) and isinstance(item.get("reference"), str):
        item = (_target(item["reference"], resource, world) or {}).get("code")
    if not isinstance(item, dict):
        return
    codings = item.get("coding")
    if isinstance(codings, list):
        yield from (c for c in codings if isinstance(c, dict))
    elif "code" in item:
        yield item


def _target(reference: str, resource: Mapping[str, Any], world: World) -> Mapping[str, Any] | None:
    if reference.startswith("#"):
        contained = resource.get("contained")
        inside = contained if isinstance(contained, list) else []
        return next((c for c in inside if isinstance(c, dict) and c.get("id") == reference[1:]), None)
    return world.written.get(normal_reference(reference, world.base) or "")


def _contradiction(item: Mapping[str, Any], coding: Mapping[str, Any], wanted: Coded) -> tuple[str, ...]:
    """A display or text that shares no word with what the code stands for, where the expectation says what that is."""
    if not wanted.display:
        return ()
    words = _words(wanted.display)
    texts = (coding.get("display"), item.get("text"), item.get("display"))
    shown_ = [t for t in texts if isinstance(t, str) and t.strip()]
    return ("CONTRADICTING_DISPLAY",) if any(not words & _words(t) for t in shown_) else ()


def _words(text: str) -> set[str]:
    return {word for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split() if len(word) > 2}


def _quantity(spec: ClauseSpec, wanted: Quantity, resource: Mapping[str, Any]) -> Finding:
    found = fhirpath.evaluate(wanted.path, resource)
    amounts = [Amount.of(item) for item in found if isinstance(item, dict)]
    actual = ", ".join(a.text for a in amounts if a.text) or ("no quantity" if found else "nothing")
    if len(found) != 1 or len(amounts) != 1:
        return _finding(spec, False, actual, resource, found, wanted.path)
    tolerance = Decimal(wanted.tolerance) if wanted.tolerance is not None else None
    result = compare(
        amounts[0], Decimal(wanted.value), wanted.unit, tolerance=tolerance, analyte=wanted.analyte
    )  # fmt: skip
    label = "WRONG_UNIT" if result == "unit" else None
    return _finding(spec, result == "equal", actual, resource, found, wanted.path, label=label)


def _instant(spec: ClauseSpec, wanted: Instant, resource: Mapping[str, Any]) -> Finding:
    found = fhirpath.evaluate(wanted.path, resource)
    at, within = instant(wanted.at), duration(wanted.within)
    moments = [instant(item) for item in found]
    holds = bool(moments) and at is not None and all(m is not None and abs(m - at) <= within for m in moments)
    actual = ", ".join(str(item) if isinstance(item, str) else "no moment" for item in found) or "nothing"
    return _finding(spec, holds, actual, resource, found, wanted.path)


def _true(spec: ClauseSpec, expression: str, resource: Mapping[str, Any]) -> Finding:
    """True is: something was found, and nothing of it is false."""
    found = fhirpath.evaluate(expression, resource)
    holds = bool(found) and not any(item is False for item in found)
    actual = "true" if holds else "false" if found else "nothing"
    return _finding(spec, holds, actual, resource, (), None)


def _finding(
    spec: ClauseSpec, holds: bool, actual: str, resource: Mapping[str, Any], found: Any, path: str | None,
    *, label: str | None = None, notes: tuple[str, ...] = (),
) -> Finding:  # fmt: skip
    found_at = place(resource, found[0]) if found else None
    second = second_answer(resource, found_at) if found_at else None
    if second is not None:
        holds, label, actual = False, None, f"{actual}, and {second} beside it"
    return Finding(
        outcome="pass" if holds else "fail",
        label=None if holds else label or spec.label,
        expected=told(spec),
        actual=actual[:500],
        path=shown(found_at) if found_at else path,
        notes=notes,
    )


def place(resource: Mapping[str, Any], item: Any) -> Path | None:
    """Where in the resource an object or a text stands; None for a value that stands in no one place."""
    if not isinstance(item, dict | list | str):
        return None
    return next((path for path, value in _places((), resource) if value is item), None)


def _places(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _places((*path, key), below)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _places((*path, index), below)
