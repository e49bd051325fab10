"""A row of the summary: everything about one agent under one condition and variant."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.stats import bounds, clustered, pass_k, wilson
from harness.trace import UNSCORED_ENDINGS
from harness.verdict import Outcome
from readback.summary.document import (
    FalseDone,
    LensRate,
    MessageState,
    OwnReadback,
    Rate,
    RepairedWrites,
    Row,
    RowUsage,
    Seconds,
    Split,
    Twin,
)
from readback.summary.ledger import Entry, Said, variant_of
from readback.summary.quadrants import quadrants_of

if TYPE_CHECKING:
    from grounding import Null

FLAG_SHARE = 0.05
"""Above this share of unscored episodes a row is flagged."""

Key = tuple[str, str, str]
"""Agent, condition, variant (canonical JSON): what a row is."""

_BASELINES = (
    "oracle", "idle", "blind", "phantom", "careless", "stutter", "recall", "guess", "lister", "shotgun", "refuser",
)  # fmt: skip
_CONDITIONS = ("default", "grounded")


def by_row(entries: Iterable[Entry]) -> dict[Key, list[Entry]]:
    """The entries of each row, the rows in the order in which they are shown.

    Variants without a fault first, original trees before renamed ones; then what is measured, by name, before the
    baselines; `default` before other conditions. The order does not depend on the order in which the episodes ended.
    """
    rows: dict[Key, list[Entry]] = {}
    for entry in entries:
        rows.setdefault((entry.agent, entry.condition, entry.variant), []).append(entry)
    return {key: rows[key] for key in sorted(rows, key=lambda key: _place(key, rows[key][0]))}


def _place(key: Key, first: Entry) -> tuple[Any, ...]:
    agent, condition, variant = key
    return (
        variant_of(first).get("fault") is not None,
        variant_of(first).get("counterfactual") is not None,
        variant,
        first.kind == "baseline",
        _BASELINES.index(agent) if agent in _BASELINES else len(_BASELINES),
        agent,
        _CONDITIONS.index(condition) if condition in _CONDITIONS else len(_CONDITIONS),
        condition,
    )


def row_of(
    entries: Sequence[Entry], cluster: str, null: Null | None = None, *, judges: Sequence[str] = ()
) -> Row:  # fmt: skip
    """The row of these entries, which share agent, condition and variant.

    `cluster` is what a cluster is called, `null` the null of the grounding lens, `judges` are the configurations
    of all judges of the run.
    """
    first = entries[0]
    scored = [entry for entry in entries if entry.success in ("pass", "fail")]
    powers, over, no_power = _pass_powers(entries)
    return Row(
        agent=first.agent,
        kind=first.kind,
        condition=first.condition,
        variant=variant_of(first),
        success=rate(((entry, entry.success) for entry in entries), cluster),
        lenses={
            lens: _lens_rate(entries, lens, cluster, null if lens == "grounding" else None)
            for lens in _lenses(entries)
            if lens != "judge" or len(judges) <= 1  # of several, one rate would be that of none of them
        },
        judges={judge: found for judge in judges if (found := _judge_rate(entries, judge, cluster)) is not None},
        split=Split(**{kind: _of_kind(entries, kind, cluster) for kind in ("read", "write", "withhold")}),
        twin=_twin(entries),
        pass_k=powers,
        pass_k_tasks=over,
        pass_k_why=no_power,
        labels=_counts(label for entry in entries for label in _each(entry, lambda said: said.labels)),
        notes=_counts(note for entry in entries for note in _each(entry, lambda said: said.notes)),
        endings=_counts(entry.ending for entry in entries),
        claims=_counts(entry.claim or "unknown" for entry in entries if entry.ending not in UNSCORED_ENDINGS),
        message_state=_message_state(entries),
        own_readback=_own_readback(scored),
        false_done=_false_done(scored),
        repaired_writes=_repaired_writes(scored),
        quadrants=quadrants_of(entries),
        usage=_usage(entries),
        seconds=_seconds(scored),
    )


def rate(outcomes: Iterable[tuple[Entry, Outcome]], cluster: str) -> Rate:
    """The rate of these outcomes, with both intervals, bounds and flag."""
    return Rate(**_rate_fields(outcomes, cluster))


def _rate_fields(outcomes: Iterable[tuple[Entry, Outcome]], cluster: str) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    clusters: dict[Any, tuple[int, int]] = {}
    for entry, outcome in outcomes:
        counts[outcome] += 1
        if outcome in ("pass", "fail"):
            passed, scored = clusters.get(entry.task.cluster, (0, 0))
            clusters[entry.task.cluster] = (passed + (outcome == "pass"), scored + 1)
    passed, failed, unscored = counts["pass"], counts["fail"], counts["unscored"]
    alone, together = wilson(passed, passed + failed), clustered(clusters)
    return {
        "pass": passed,
        "fail": failed,
        "vacuous": counts["vacuous"],
        "unscored": unscored,
        "rate": alone.value,
        "ci95": alone.ci95,
        "bounds": bounds(passed, failed, unscored) if unscored else None,
        "cluster": cluster,
        "clusters": together.clusters,
        "se_cluster": together.se,
        "ci95_cluster": together.ci95,
        "flagged": unscored > FLAG_SHARE * counts.total(),
        "why": alone.why,
        "why_cluster": together.why,
    }


def _lenses(entries: Sequence[Entry]) -> list[str]:
    judged = {said.lens for entry in entries for said in entry.said}
    required = {lens for entry in entries for lens in entry.task.requires}
    order = ("state", "answer", "message", "grounding", "judge")
    return sorted(judged | required, key=lambda lens: (order.index(lens) if lens in order else len(order), lens))


def _lens_rate(entries: Sequence[Entry], lens: str, cluster: str, null: Null | None) -> LensRate:
    heard = [(entry, entry.of(lens)) for entry in entries]
    outcomes: list[tuple[Entry, Outcome]] = [
        (entry, said.outcome if said else "unscored") for entry, said in heard if said or lens in entry.task.requires
    ]
    return _lens(outcomes, [said for _, said in heard if said], cluster, null)


def _judge_rate(entries: Sequence[Entry], judge: str, cluster: str) -> LensRate | None:
    heard = [(entry, said) for entry in entries if (said := entry.by(judge)) is not None]
    return (
        _lens([(entry, said.outcome) for entry, said in heard], [said for _, said in heard], cluster, None)
        if heard
        else None
    )


def _lens(
    outcomes: Iterable[tuple[Entry, Outcome]], heard: Sequence[Said], cluster: str, null: Null | None
) -> LensRate:  # fmt: skip
    labels = _counts(label for said in heard for label in said.labels)
    is_rule = bool(heard) and all("SCRIPTED_JUDGE" in said.notes for said in heard)
    return LensRate(
        **_rate_fields(outcomes, cluster),
        labels=labels,
        null_rate=null.rate if null else None,
        null_why=null.why if null else None,
        is_rule=is_rule,
    )


def _of_kind(entries: Sequence[Entry], kind: str, cluster: str) -> Rate | None:
    chosen = [(entry, entry.success) for entry in entries if entry.task.kind == kind]
    return rate(chosen, cluster) if chosen else None


def _twin(entries: Sequence[Entry]) -> Twin:
    played = {(entry.task.id, entry.repeat): entry for entry in entries}
    passed = pairs = unscored = 0
    for (task, repeat), entry in played.items():
        other = played.get((entry.task.twin, repeat)) if entry.task.twin else None
        if other is None or (other.task.twin == task and other.task.id < task):
            continue  # not a pair here, or the pair is counted from its other side
        if {entry.success, other.success} <= {"pass", "fail"}:
            pairs += 1
            passed += entry.success == other.success == "pass"
        else:
            unscored += 1
    estimate = wilson(passed, pairs)
    why = None if pairs else ("no pair of twins is scored" if unscored else "no pair of twins was played")
    fields: dict[str, Any] = {"pass": passed, "pairs": pairs, "unscored": unscored}
    return Twin(**fields, rate=estimate.value, ci95=estimate.ci95, why=why)


def _pass_powers(entries: Sequence[Entry]) -> tuple[dict[str, float | None], dict[str, int], str | None]:
    """pass^k by k, over how many tasks each is, and why one of them is undefined."""
    tries: dict[str, tuple[int, int]] = {}
    for entry in entries:
        passed, scored = tries.get(entry.task.id, (0, 0))
        tries[entry.task.id] = (
            passed + (entry.success == "pass"),
            scored + (entry.success in ("pass", "fail")),
        )
    most = max((scored for _, scored in tries.values()), default=0)
    powers = {str(k): pass_k(tries.values(), k) for k in range(1, max(1, most) + 1)}
    values = {k: estimate.value for k, (estimate, _) in powers.items()}
    why = next((estimate.why for estimate, _ in powers.values() if estimate.value is None), None)
    return values, {k: over for k, (_, over) in powers.items()}, why


def _each(entry: Entry, what: Callable[[Any], tuple[str, ...]]) -> set[str]:
    """What the required lenses said of one kind, each word once."""
    return {word for said in entry.required for word in what(said)}


def _counts(words: Iterable[str]) -> dict[str, int]:
    """How often each word occurs, the most frequent first, equal ones by name."""
    return dict(sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0])))


def _message_state(entries: Sequence[Entry]) -> MessageState | None:
    cells: Counter[str] = Counter()
    for entry in entries:
        message, state = entry.of("message"), entry.of("state")
        if message is not None:
            cells[f"{message.outcome}_{state.outcome if state else 'unscored'}"] += 1
    if not cells:
        return None
    four = {name: cells.pop(name, 0) for name in ("pass_pass", "pass_fail", "fail_pass", "fail_fail")}
    return MessageState(**four, excluded=cells.total())


def _own_readback(scored: Sequence[Entry]) -> OwnReadback:
    wrote = [entry.read_back for entry in scored if entry.read_back is not None]
    return OwnReadback(wrote=len(wrote), read_back=sum(wrote))


def _false_done(scored: Sequence[Entry]) -> FalseDone:
    claimed = [entry for entry in scored if entry.claim == "done"]
    untrue = sum(entry.success == "fail" for entry in claimed)
    estimate = wilson(untrue, len(claimed))
    fields: dict[str, Any] = {"claimed": len(claimed), "false": untrue}
    why = None if claimed else "no scored episode claims done"
    return FalseDone(**fields, rate=estimate.value, ci95=estimate.ci95, why=why)


def _repaired_writes(scored: Sequence[Entry]) -> RepairedWrites:
    left = [any("REJECTED_WRITE" in said.labels for said in entry.said if said.lens == "state") for entry in scored]
    mended = [any("REPAIRED_WRITE" in said.notes for said in entry.said if said.lens == "state") for entry in scored]
    return RepairedWrites(
        refused=sum(a or b for a, b in zip(left, mended, strict=True)),
        repaired=sum(b and not a for a, b in zip(left, mended, strict=True)),
    )


def _usage(entries: Sequence[Entry]) -> RowUsage:
    used: Mapping[str, int] = {
        name: sum(getattr(entry.usage, name) for entry in entries) for name in ("input", "output", "cached", "calls")
    }
    costs = [entry.usage.cost_usd for entry in entries if entry.usage.cost_usd is not None]
    # An episode that used nothing (a baseline, a provider that never answered) has no price to be unknown.
    unknown = sum(
        entry.usage.cost_usd is None and bool(entry.usage.calls or entry.usage.input or entry.usage.output)
        for entry in entries
    )
    known = sum(costs) if costs else None
    why = (
        f"the price of {unknown} of the episodes is unknown"
        if unknown
        else None
        if costs
        else "no model call is on record"
    )
    return RowUsage(**used, cost_usd=None if unknown else known, cost_known_usd=known, cost_unknown=unknown, why=why)


def _seconds(scored: Sequence[Entry]) -> Seconds:
    seconds = [entry.seconds for entry in scored if entry.seconds is not None]
    if seconds:
        return Seconds(median=statistics.median(seconds))
    return Seconds(
        median=None, why="no scored episode says when it began and ended" if scored else "nothing was scored"
    )
