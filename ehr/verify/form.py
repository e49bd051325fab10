"""Whether an expectation can be judged at all: its clauses parse, its instants and units are real, its paths exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from ehr.sandbox import definitions
from ehr.verify import fhirpath
from ehr.verify.clauses import paths
from ehr.verify.difference import is_element
from ehr.verify.expected import ClauseSpec, Expected, Quantity
from ehr.verify.instants import duration, instant
from ehr.verify.units import ANALYTES, is_ucum


def problems(expected: Expected) -> tuple[str, ...]:
    """One sentence for each thing in the expectation that nobody could judge, in every alternative."""
    return _problems(json.dumps(expected.model_dump(mode="json"), sort_keys=True))


@lru_cache(maxsize=1024)
def _problems(expected: str) -> tuple[str, ...]:
    return tuple(_in(Expected.model_validate_json(expected)))


def _in(expected: Expected) -> Iterator[str]:
    known = definitions.resource_types()
    for number, create in enumerate(expected.creates):
        if create.type not in known:
            yield f"creates[{number}] names {create.type!r}, which is no R4 resource type"
        yield from _broken(f"creates[{number}]", create.type, create.clauses)
    for number, update in enumerate(expected.updates):
        yield from _bad_reference(f"updates[{number}]", update.reference)
        type_name = update.reference.partition("/")[0]
        yield from _broken(f"updates[{number}]", type_name, update.clauses)
        for path in update.may_change:
            if not is_element(type_name, path):
                yield f"updates[{number}] may change {path!r}, which {type_name} has not (a choice goes by its stem)"
    for number, reference in enumerate(expected.deletes):
        yield from _bad_reference(f"deletes[{number}]", reference)
    for alternative in expected.any_of:
        yield from _in(alternative)


def _broken(name: str, type_name: str, clauses: tuple[ClauseSpec, ...]) -> Iterator[str]:
    for clause in clauses:
        for problem in _in_clause(type_name, clause):
            yield f"{name}.{clause.name}: {problem}"


def _in_clause(type_name: str, clause: ClauseSpec) -> Iterator[str]:
    for path in paths(clause):
        try:
            fhirpath.check(path, type_name)
        except fhirpath.PathError as error:
            yield str(error)
    if clause.instant:
        if instant(clause.instant.at) is None:
            yield f"{clause.instant.at!r} is no instant with a time and a zone"
        try:
            duration(clause.instant.within)
        except ValueError as error:
            yield str(error)
    if clause.quantity:
        yield from _in_quantity(clause.quantity)


def _in_quantity(wanted: Quantity) -> Iterator[str]:
    for number in (wanted.value, wanted.tolerance):
        if number is not None and not _is_decimal(number):
            yield f"{number!r} is no decimal"
    if not is_ucum(wanted.unit):
        yield f"{wanted.unit!r} is no UCUM unit"
    if wanted.analyte is not None and wanted.analyte not in ANALYTES:
        yield f"no molar mass for analyte {wanted.analyte!r}; known are {', '.join(sorted(ANALYTES))}"


def _is_decimal(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _bad_reference(name: str, reference: str) -> Iterator[str]:
    type_name, slash, id_ = reference.partition("/")
    if not slash or not id_ or type_name not in definitions.resource_types():
        yield f"{name} names {reference!r}, which is no reference such as 'Patient/p1'"
