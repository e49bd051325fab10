"""Repeated date parameters, read as HAPI reads them: into one range with one lower and one upper end.

A second value for an end that is taken is refused, and so are alternatives. That holds for a request's own parameters
and, in conditions, for `_lastUpdated` alone; behind a reference every date stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ehr.sandbox.definitions import parameters
from ehr.sandbox.searching.query import date_test, parts
from ehr.sandbox.searching.refusals import SearchError

__all__ = ["check_ranges"]

_LOWER = frozenset({"gt", "ge", "sa"})
_UPPER = frozenset({"lt", "le", "eb"})


def check_ranges(type: str, asked: Sequence[tuple[str, str]], codes: Iterable[str] | None = None) -> None:
    """Raises `SearchError` where the values of one date parameter are no range; `codes` are the parameters to look at,
    all where `None`.
    """
    values: dict[str, list[tuple[str, str]]] = {}
    for name, value in asked:
        code, _, modifier = name.partition(":")
        parameter = parameters(type).get(code)
        if parameter is not None and parameter.kind == "date" and (codes is None or code in codes):
            values.setdefault(code, []).append((modifier, value))
    for code in sorted(values):
        _check(values[code])


def _check(values: list[tuple[str, str]]) -> None:
    several = len(values) > 1
    lower = upper = False
    for modifier, value in values:
        if len([part for part in parts(value, ",") if part]) > 1:
            raise SearchError(400, "HAPI-1930: DateRange parameter does not support OR queries")
        if modifier == "missing":
            if several:
                raise _taken("HAPI-1922", "without a qualifier")
            continue
        text = value.strip(",")
        prefix = date_test(text).prefix if text else "eq"
        if prefix in _LOWER:
            if lower:
                raise _taken("HAPI-1923", "that specify a lower bound")
            lower = True
        elif prefix in _UPPER:
            if upper:
                raise _taken("HAPI-1924", "that specify an upper bound")
            upper = True
        elif lower or upper:
            raise _taken("HAPI-1922", "without a qualifier")
        else:
            lower = upper = True


def _taken(number: str, end: str) -> SearchError:
    return SearchError(400, f"{number}: Can not have multiple date range parameters for the same param {end}")
