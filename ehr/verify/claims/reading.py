"""What a call showed, as values: a reading, its names, and a person."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from ehr.verify.claims.concepts import Measure
from ehr.verify.claims.words import Phrase


@dataclass(frozen=True, slots=True)
class Name:
    """What a chart calls what it measures: words, and the specimen without which they mean something else."""

    words: Phrase
    specimen: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """One value that a call showed, with its code and place.

    `codes` are those of LOINC (of a drug, whatever they are), `names` what the chart calls it, `measure` the measure of
    the table that a code belongs to. `times` are when it was taken, as they are written; `series` is the search that
    it came by.
    """

    call: int
    series: int
    resource: str
    path: str
    codes: frozenset[str]
    names: tuple[Name, ...]
    measure: Measure | None
    patient: str | None
    value: Decimal
    unit: str | None
    times: tuple[str, ...]
    kind: Literal["observation", "drug"]

    @property
    def what(self) -> str | frozenset[str]:
        """What it is a value of: one measure, or one set of codes or names."""
        if self.measure is not None:
            return self.measure.key
        return self.codes or frozenset(" ".join(name.words) for name in self.names)


@dataclass(frozen=True, slots=True)
class Person:
    """A patient whom a call showed."""

    call: int
    reference: str
    birth_date: str | None
    identifiers: tuple[str, ...]
    names: tuple[Phrase, ...]
