"""Whether an expectation can be judged at all: its clauses parse, its instants and units are real, its paths exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

from ehr.sandbox import definitions
from ehr.verify.clauses import check_form
from ehr.verify.expected import ClauseSpec, Expected
from ehr.verify.fhirpath import PathError


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
        yield from _broken(f"creates[{number}]", create.clauses)
    for number, update in enumerate(expected.updates):
        yield from _bad_reference(f"updates[{number}]", update.reference)
        yield from _broken(f"updates[{number}]", update.clauses)
    for number, reference in enumerate(expected.deletes):
        yield from _bad_reference(f"deletes[{number}]", reference)
    for alternative in expected.any_of:
        yield from _in(alternative)


def _broken(name: str, clauses: tuple[ClauseSpec, ...]) -> Iterator[str]:
    for clause in clauses:
        try:
            check_form(clause)
        except (PathError, ValueError, ArithmeticError) as error:
            yield f"{name}.{clause.name}: {error}"


def _bad_reference(name: str, reference: str) -> Iterator[str]:
    type_name, slash, id_ = reference.partition("/")
    if not slash or not id_ or type_name not in definitions.resource_types():
        yield f"{name} names {reference!r}, which is no reference such as 'Patient/p1'"
