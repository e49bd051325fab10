"""Which rows are compared, and how: pairs of one task and repeat, as many as are scored on both sides.

Compared are, within each variant, the conditions of one agent (a prompt against `default`), and the agents under one
condition. Baselines are reference rows and are never compared: beating one is no finding, and every further comparison
makes Holm's adjustment of the others harder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from harness.stats import Paired, holm, paired
from readback.summary.document import Comparison, Side
from readback.summary.ledger import Entry, variant_of
from readback.summary.rows import Key


def comparisons_of(rows: Mapping[Key, Sequence[Entry]], cluster: str) -> tuple[Comparison, ...]:
    """Every comparison of one table, in the order of its rows, adjusted together."""
    measured = [key for key, entries in rows.items() if entries[0].kind != "baseline"]
    chosen = [(a, b) for a, b in combinations(measured, 2) if a[2] == b[2] and (a[0] == b[0] or a[1] == b[1])]
    chosen.sort(key=lambda pair: (measured.index(pair[0]), pair[0][0] != pair[1][0], measured.index(pair[1])))
    results = [_compare(rows[a], rows[b]) for a, b in chosen]
    adjusted = holm([result.sign_flip.p for result, _ in results])
    return tuple(
        _document(rows[a][0], rows[b][0], result, unscored, p, cluster)
        for (a, b), (result, unscored), p in zip(chosen, results, adjusted, strict=True)
    )


def _compare(a: Sequence[Entry], b: Sequence[Entry]) -> tuple[Paired, int]:
    """The paired result, and how many pairs were played on both sides but not scored on both."""
    left = {(entry.task.id, entry.repeat): entry for entry in a}
    right = {(entry.task.id, entry.repeat): entry for entry in b}
    both = [(left[key], right[key]) for key in sorted(left.keys() & right.keys())]
    scored = [(x, y) for x, y in both if {x.success, y.success} <= {"pass", "fail"}]
    result = paired((x.task.cluster, x.success == "pass", y.success == "pass") for x, y in scored)
    return result, len(both) - len(scored)


def _document(a: Entry, b: Entry, result: Paired, unscored: int, p_holm: float | None, cluster: str) -> Comparison:
    return Comparison(
        a=_side(a),
        b=_side(b),
        measure="success",
        pairs=result.pairs,
        unscored=unscored,
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
