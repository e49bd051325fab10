"""Which rows are compared, and how: pairs of one task and repeat, as many as are scored on both sides.

Compared are, within each variant, the conditions of one agent (a prompt against `default`), and the agents under one
condition. Baselines are reference rows and are never compared: beating one is no finding, and every further comparison
makes Holm's adjustment of the others harder. Conditions of one agent are compared in success, and in how much is
grounded where answers are judged by that (see `quadrants.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from harness.stats import Paired, holm, paired
from harness.values import canonical
from readback.summary.document import Comparison, Side, ValidationDifference
from readback.summary.ledger import Entry, variant_of
from readback.summary.quadrants import MEASURES, has_quadrants, is_unscored
from readback.summary.rows import Key

Value = Callable[[Entry], bool | None]


def comparisons_of(rows: Mapping[Key, Sequence[Entry]], cluster: str) -> tuple[Comparison, ...]:
    """Every comparison of one table, in the order of its rows; those of one measure are adjusted together."""
    measured = [key for key, entries in rows.items() if entries[0].kind != "baseline"]
    chosen = [(a, b) for a, b in combinations(measured, 2) if a[2] == b[2] and (a[0] == b[0] or a[1] == b[1])]
    chosen.sort(key=lambda pair: (measured.index(pair[0]), pair[0][0] != pair[1][0], measured.index(pair[1])))
    found = _of_measure("success", _success, [(rows[a], rows[b]) for a, b in chosen], cluster)
    prompts = [(rows[a], rows[b]) for a, b in chosen if a[0] == b[0]]
    asked = [(a, b) for a, b in prompts if has_quadrants(a[0])]
    for name, value in MEASURES.items():
        found += _of_measure(name, value, asked, cluster)
    stated = [(a, b) for a, b in prompts if not has_quadrants(a[0]) and _has_grounding(a) and _has_grounding(b)]
    found += _of_measure("grounded_answered", MEASURES["grounded_answered"], stated, cluster)
    return tuple(found)


def _of_measure(
    measure: str, value: Value, pairs: Sequence[tuple[Sequence[Entry], Sequence[Entry]]], cluster: str
) -> list[Comparison]:
    results = [_compare(a, b, measure, value) for a, b in pairs]
    adjusted = holm([one.result.sign_flip.p for one in results])
    return [
        _document(measure, a[0], b[0], one, p, cluster) for (a, b), one, p in zip(pairs, results, adjusted, strict=True)
    ]


def validation_differences(rows: Mapping[Key, Sequence[Entry]]) -> tuple[ValidationDifference, ...]:
    """Every row under full validation against the same under HAPI's usual one, where both were played."""
    found = []
    for (agent, condition, _), entries in rows.items():
        variant = variant_of(entries[0])
        usual = canonical({**variant, "validation": "hapi"}).decode()
        if variant.get("validation") != "full" or (agent, condition, usual) not in rows:
            continue
        result = _compare(rows[agent, condition, usual], entries).result
        found.append(
            ValidationDifference(
                agent=agent,
                condition=condition,
                fault=variant.get("fault"),
                pairs=result.pairs,
                only_hapi=result.only_a,
                only_full=result.only_b,
            )
        )
    return tuple(found)


def _has_grounding(entries: Sequence[Entry]) -> bool:
    return any(entry.of("grounding") is not None for entry in entries)


def _success(entry: Entry) -> bool | None:
    return entry.success == "pass" if entry.success in ("pass", "fail") else None


class _Compared(NamedTuple):
    """The paired result, and why other pairs that were played on both sides are not in it."""

    result: Paired
    unscored: int
    vacuous: int


def _compare(
    a: Sequence[Entry], b: Sequence[Entry], measure: str = "success", value: Value = _success
) -> _Compared:  # fmt: skip
    left = {(entry.task.id, entry.repeat): entry for entry in a}
    right = {(entry.task.id, entry.repeat): entry for entry in b}
    both = [(left[key], right[key]) for key in sorted(left.keys() & right.keys())]
    unscored = sum(is_unscored(x, measure) or is_unscored(y, measure) for x, y in both)
    valued = [(x.task.cluster, value(x), value(y)) for x, y in both]
    scored = [(name, one, other) for name, one, other in valued if one is not None and other is not None]
    return _Compared(paired(scored), unscored, len(both) - len(scored) - unscored)


def _document(
    measure: Any, a: Entry, b: Entry, compared: _Compared, p_holm: float | None, cluster: str
) -> Comparison:  # fmt: skip
    result = compared.result
    return Comparison(
        a=_side(a),
        b=_side(b),
        measure=measure,
        pairs=result.pairs,
        unscored=compared.unscored,
        vacuous=compared.vacuous,
        rate_a=result.rate_a,
        rate_b=result.rate_b,
        only_a=result.only_a,
        only_b=result.only_b,
        difference=result.difference.value,
        ci95=result.difference.ci95,
        p_sign_flip=result.sign_flip.p,
        p_mcnemar=result.mcnemar.value,
        p_holm=p_holm,
        smallest_p=result.sign_flip.smallest,
        method=result.sign_flip.method,
        cluster=cluster,
        clusters=result.clusters,
        why=result.difference.why or result.sign_flip.why or result.mcnemar.why,
    )


def _side(entry: Entry) -> Side:
    return Side(agent=entry.agent, condition=entry.condition, variant=variant_of(entry))
