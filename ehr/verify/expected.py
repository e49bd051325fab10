"""The expected change as data: what must be created, updated, deleted, and that nothing else may change.

An expectation is written to `tasks.jsonl` and read back to the same thing; `matching.py` gives it its meaning.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Self

from pydantic import Field, model_validator

from harness.values import Value


class RefersTo(Value):
    """One reference at `path` names `reference` (`Patient/p1`), and no other Patient is among them."""

    path: str
    reference: str


class Coded(Value):
    """Any coding of the concept at `path` has this system and code, and none this system and another code.

    `display` is what the code stands for; a display or text that shares no word with it is noted, and stays free.
    """

    path: str
    system: str
    code: str
    display: str | None = None


class Quantity(Value):
    """Exactly one quantity at `path`, equal to `value` `unit` (UCUM) after conversion.

    `value` and `tolerance` are decimals as text. `tolerance` is absolute, in `unit`; without it, relative 1e-9.
    `analyte` names the row of the molar-mass table where mass and amount of substance may stand for each other.
    """

    path: str
    value: str
    unit: str
    tolerance: str | None = None
    analyte: str | None = None


class Instant(Value):
    """A moment at `path`, at most `within` (ISO 8601 duration) before or after `at`, both ends inside."""

    path: str
    at: str
    within: str


class ClauseSpec(Value):
    """One statement about a resource: its name, the label under which it fails, and exactly one way to check it."""

    name: str
    label: str
    refers_to: RefersTo | None = None
    coded: Coded | None = None
    quantity: Quantity | None = None
    instant: Instant | None = None
    fhirpath: str | None = None

    @model_validator(mode="after")
    def _has_one_check(self) -> Self:
        given = [n for n in ("refers_to", "coded", "quantity", "instant", "fhirpath") if getattr(self, n) is not None]
        if len(given) != 1:
            raise ValueError(
                f"clause {self.name!r} needs exactly one of refers_to, coded, quantity, instant, fhirpath; has {given}"
            )
        return self


class Create(Value):
    """A resource of `type` must come to be, and all clauses must hold of it."""

    type: str
    clauses: tuple[ClauseSpec, ...]


class Update(Value):
    """`reference` must change, only below the element paths of `may_change`, and all clauses must hold afterwards."""

    reference: str
    may_change: tuple[str, ...]
    clauses: tuple[ClauseSpec, ...] = ()


class Expected(Value):
    """The whole expectation. `any_of` holds alternatives; what stands beside it holds in addition to each of them."""

    creates: tuple[Create, ...] = ()
    updates: tuple[Update, ...] = ()
    deletes: tuple[str, ...] = ()
    any_of: tuple[Expected, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the right act is to write nothing."""
        return not (self.creates or self.updates or self.deletes or self.any_of)

    def alternatives(self) -> tuple[Expected, ...]:
        """The flat expectations of which one must hold, in the order in which they are written."""
        if not self.any_of:
            return (self,)
        return tuple(
            Expected(
                creates=self.creates + flat.creates,
                updates=self.updates + flat.updates,
                deletes=self.deletes + flat.deletes,
            )
            for alternative in self.any_of
            for flat in alternative.alternatives()
        )


NOTHING = Expected()


def refers_to(name: str, path: str, reference: str, *, label: str = "WRONG_PATIENT") -> ClauseSpec:
    """One reference at `path` names `reference`: relative, absolute on this server, or versioned."""
    return ClauseSpec(name=name, label=label, refers_to=RefersTo(path=path, reference=reference))


def coded(
    name: str, path: str, system: str, code: str, *, display: str | None = None, label: str = "WRONG_CODE"
) -> ClauseSpec:
    """Any coding of the concept at `path` has `system` and `code`."""
    return ClauseSpec(name=name, label=label, coded=Coded(path=path, system=system, code=code, display=display))


def quantity(
    name: str,
    path: str,
    value: Decimal | int | str,
    unit: str,
    *,
    tolerance: Decimal | str | None = None,
    analyte: str | None = None,
    label: str = "WRONG_VALUE",
) -> ClauseSpec:
    """Exactly one quantity at `path`, equal to `value` `unit` after conversion."""
    spec = Quantity(
        path=path,
        value=str(value),
        unit=unit,
        tolerance=None if tolerance is None else str(tolerance),
        analyte=analyte,
    )
    return ClauseSpec(name=name, label=label, quantity=spec)


def instant(name: str, path: str, at: str, *, within: timedelta, label: str = "WRONG_TIME") -> ClauseSpec:
    """A moment at `path` within `within` of `at` (ISO 8601 with a zone)."""
    seconds = int(within.total_seconds())
    return ClauseSpec(name=name, label=label, instant=Instant(path=path, at=at, within=f"PT{seconds}S"))


def clause(name: str, fhirpath: str, *, label: str) -> ClauseSpec:
    """The FHIRPath expression is true of the resource."""
    return ClauseSpec(name=name, label=label, fhirpath=fhirpath)


def hours(number: int) -> timedelta:
    """`number` hours, for `instant(..., within=hours(1))`."""
    return timedelta(hours=number)


class AnswerValue(Value):
    """One expected value of an answer: exactly one of text, quantity, code, date, none.

    `quantity` is `{"value", "unit"}` with `tolerance` absolute in that unit; `date` an ISO date or instant; `none`
    means that the right answer is that there is none.
    """

    text: str | None = None
    quantity: dict[str, str] | None = None
    tolerance: str | None = None
    analyte: str | None = None
    code: dict[str, str] | None = None
    date: str | None = None
    none: bool | None = None

    @model_validator(mode="after")
    def _is_one_value(self) -> Self:
        given = [n for n in ("text", "quantity", "code", "date", "none") if getattr(self, n) is not None]
        if len(given) != 1:
            raise ValueError(f"an answer's value needs exactly one of text, quantity, code, date, none; has {given}")
        return self


class Answer(Value):
    """The expected answer: a multiset (`any`) or a list in order (`listed`)."""

    values: tuple[AnswerValue, ...] = Field(min_length=1)
    order: str = Field(default="any", pattern="^(any|listed)$")
