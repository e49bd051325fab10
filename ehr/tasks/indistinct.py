"""Whether planted rows can be told from the record's own by id, place in storage, elements, digits or round times.

Two kinds of check. Some hold for every row: its id has the shape of the record's ids, and its elements are those of
some row of the record of its kind. The others are about all planted rows of a type together, tested at `LEVEL`, so
that a sound suite is not refused by chance: ids and places in storage are spread as the record's are (Kolmogorov and
Smirnov, two samples), and times are no more often round than the record's (Fisher's exact test) or chance (binomial)
has them, nor less where the record's nearly always are. What a dosage says is left out: the task decides it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from ehr.tasks import truth
from ehr.tasks.clone import elements
from ehr.tasks.idshape import storage_place
from ehr.tasks.suite import EhrSuite
from ehr.tasks.ward import Resource, Ward

LEVEL = 1e-6
ENOUGH = 20
"""How many rows of a kind the record must have before planted ones are compared with them."""

_NEARLY_ALWAYS = 0.9


def tell_tales(suite: EhrSuite) -> Iterator[tuple[str | None, str]]:
    """What gives planted rows away: the task (None where it is all of them together), and one sentence."""
    ward = suite.ward
    planted: dict[str, dict[str, Resource]] = defaultdict(dict)
    for task in suite.tasks:
        for row in task.setup:
            if "resourceType" not in row or "id" not in row:
                yield task.id, f"a planted row has no type or no id: {sorted(row)!r}"
                continue
            if row["id"] in planted[row["resourceType"]]:
                continue
            planted[row["resourceType"]][row["id"]] = row
            yield from ((task.id, said) for said in _of_one(ward, row))
    for type, rows in planted.items():
        yield from ((None, said) for said in _of_all(ward, type, list(rows.values())))


def _of_one(ward: Ward, row: Resource) -> Iterator[str]:
    type = row["resourceType"]
    name = f"{type}/{row['id']}"
    if not ward.shape(type).matches(row["id"]):
        yield f"the id of {name} has not the shape of the record's ids"
    shapes = ward.once(("elements", type, _kind(row)), lambda: _element_sets(ward, type, _kind(row)))
    own = _shape(row)
    if shapes and own not in shapes:
        nearest = min((shape ^ own for shape in shapes), key=len)
        yield f"{name} has elements that no row of its kind has together (the nearest differs in {_few(nearest)})"
    most = ward.once("digits", lambda: _digits(ward)).get(_measured(row))
    value = row.get("valueQuantity", {}).get("value")
    if most is not None and value is not None and _decimals(value) > most:
        yield f"{name} has {_decimals(value)} decimals; values of its kind have at most {most}"


def _of_all(ward: Ward, type: str, rows: Sequence[Resource]) -> Iterator[str]:
    own = ward.examples(type)
    if len(own) < ENOUGH or len(rows) < ENOUGH:
        return
    for what, key in (("ids", lambda row: row["id"]), ("places in storage", lambda row: storage_place(row["id"]))):
        chance = _spread_alike([key(row) for row in rows], [key(row) for row in own])
        if chance < LEVEL:
            yield f"the {what} of planted {type} rows are not spread as the record's are (p = {chance:.1g})"
    for what, is_round, natural in (
        ("whole minutes", _is_minute, 1 / 60),
        ("whole quarters of an hour", _is_quarter, 1 / 15),
    ):
        chance = _no_rounder(list(_times(rows, is_round)), list(_times(own, is_round)), natural)
        if chance < LEVEL:
            yield f"the times of planted {type} rows are not as often {what} as the record's (p = {chance:.1g})"


def _kind(row: Resource) -> str:
    """What a row is compared with: its type, and of observations those of its category."""
    categories = row.get("category") or [{}]
    return ",".join(sorted(truth.codes(categories[0]))) if row["resourceType"] == "Observation" else ""


def _element_sets(ward: Ward, type: str, kind: str) -> set[frozenset[str]]:
    rows = [row for row in ward.examples(type) if _kind(row) == kind]
    return {_shape(row) for row in rows} if len(rows) >= ENOUGH else set()


def _shape(row: Resource) -> frozenset[str]:
    return frozenset(path for path in elements(row) if not path.startswith(".dosageInstruction."))


def _measured(row: Resource) -> tuple[str, ...]:
    unit = row.get("valueQuantity", {}).get("code", "")
    return (*sorted(truth.codes(row.get("code"))), unit)


def _digits(ward: Ward) -> dict[tuple[str, ...], int]:
    """The most decimals that the record's values of a code and unit have, where it has enough of them."""
    seen: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in ward.examples("Observation"):
        if "value" in row.get("valueQuantity", {}):
            seen[_measured(row)].append(_decimals(row["valueQuantity"]["value"]))
    return {measured: max(decimals) for measured, decimals in seen.items() if len(decimals) >= ENOUGH}


def _decimals(value: float) -> int:
    return max(0, -int(Decimal(str(value)).as_tuple().exponent))


def _times(rows: Iterable[Resource], is_round: Any) -> Iterator[bool]:
    for row in rows:
        text = row.get("effectiveDateTime") or row.get("authoredOn") or row.get("recordedDate") or ""
        if len(text) > 10:
            yield is_round(text)


def _is_minute(text: str) -> bool:
    return truth.instant(text).second == 0


def _is_quarter(text: str) -> bool:
    return truth.instant(text).minute % 15 == 0


def _spread_alike(values: Sequence[Any], own: Sequence[Any]) -> float:
    """How likely two such samples are, if both fall alike. Of a small record the own values are a small sample, too."""
    from scipy.stats import ks_2samp

    ranks = {value: rank for rank, value in enumerate(sorted({*values, *own}))}
    samples = ([ranks[value] for value in some] for some in (values, own))
    return float(ks_2samp(*samples, method="asymp").pvalue)


def _no_rounder(planted: Sequence[bool], own: Sequence[bool], natural: float) -> float:
    """How likely so many round ones (or so few) are, if planted ones are as often round as the record's, or by chance.

    Of a small record the own times are a small sample, too: both are compared, by Fisher's exact test.
    """
    from scipy.stats import binomtest, fisher_exact

    if len(own) < ENOUGH or len(planted) < ENOUGH:
        return 1.0
    table = [[sum(times), len(times) - sum(times)] for times in (planted, own)]
    if sum(own) > _NEARLY_ALWAYS * len(own):
        return float(fisher_exact(table).pvalue)
    than_own = fisher_exact(table, alternative="greater").pvalue
    than_chance = binomtest(sum(planted), len(planted), natural, "greater").pvalue
    return float(max(than_own, than_chance))


def _few(paths: Iterable[str]) -> str:
    listed = sorted(path.lstrip(".") for path in paths)
    return ", ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")
