"""The primary comparison: b against a over pairs, with one test that was named before anything was played.

Counting rules:
- A pair are two episodes of one task and repeat that have in common whatever the sides do not name (agent, condition,
  the rest of the variant). Where the sides are lenses, a pair is one episode.
- Baselines take part where the sides name an agent, or where nobody else was played.
- A pair counts where both sides have a value; others are `unscored` where one side is, and else `vacuous`, where one
  side claims nothing.
- The p-value is that of the sign-flip test over clusters and is not adjusted: there is one primary comparison. All
  others in a report are exploratory, and adjusted among themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from harness.stats import paired
from harness.values import Value, canonical
from readback.comparison.pairs import cluster_word
from readback.comparison.raters import Rater, raters_of
from readback.comparison.reading import Rated, RaterKey, ReadRun
from readback.experiment.file import ExperimentError, Measure, PrimaryForm, SideForm
from readback.summary.ledger import variant_of
from readback.summary.quadrants import MEASURES, is_unscored

Interval = tuple[float, float]


class PrimaryResult(Value):
    """What came of it: `difference` is b - a.

    `baselines_only` says that nothing was measured but scripts, `rule` that a judge among the sides is a rule.
    """

    run: str
    suite: str
    measure: Measure
    a: SideForm
    b: SideForm
    agents: tuple[str, ...]
    baselines_only: bool
    rule: bool = False
    pairs: int
    unscored: int
    vacuous: int = 0
    rate_a: float | None
    rate_b: float | None
    only_a: int
    only_b: int
    difference: float | None
    ci95: Interval | None
    p_sign_flip: float | None
    smallest_p: float | None
    method: Literal["exact", "monte carlo"] | None
    p_mcnemar: float | None
    cluster: str
    clusters: int
    why: str | None


def primary_of(form: PrimaryForm, run: ReadRun) -> PrimaryResult:
    """The result over this run. Raises `ExperimentError` where a side is meant for nobody, or for several judges."""
    chosen = list(_taking_part(form, run.rated))
    a, b = (dict(_valued(form, side, chosen, run)) for side in (form.a, form.b))
    both = sorted(a.keys() & b.keys())
    scored = [
        (one.entry.task.cluster, x, y)
        for key in both
        for (one, x), (_, y) in [(a[key], b[key])]
        if x is not None and y is not None
    ]
    found = paired(scored)
    lens_a, lens_b = (_rater(side, run).key if side.lens else None for side in (form.a, form.b))
    unscored = sum(
        _is_unscored(form.measure, a[key][0], lens_a) or _is_unscored(form.measure, b[key][0], lens_b) for key in both
    )
    return PrimaryResult(
        run=run.source.run,
        suite=run.source.suite,
        measure=form.measure,
        a=form.a,
        b=form.b,
        agents=tuple(sorted({one.entry.agent for one in chosen})),
        baselines_only=all(one.entry.kind == "baseline" for one in chosen),
        rule=any(side.lens == "judge" and _rater(side, run).kind == "scripted" for side in (form.a, form.b)),
        pairs=found.pairs,
        unscored=unscored,
        vacuous=len(both) - found.pairs - unscored,
        rate_a=found.rate_a,
        rate_b=found.rate_b,
        only_a=found.only_a,
        only_b=found.only_b,
        difference=found.difference.value,
        ci95=found.difference.ci95,
        p_sign_flip=found.sign_flip.p,
        smallest_p=found.sign_flip.smallest,
        method=found.sign_flip.method,
        p_mcnemar=found.mcnemar.value,
        cluster=cluster_word(run.source.suite),
        clusters=found.clusters,
        why=found.difference.why or found.sign_flip.why or found.mcnemar.why,
    )


def side_words(side: SideForm) -> str:
    """A side in words: `condition grounded`, `the lens state`."""
    words = []
    if side.lens:
        words.append(f"the lens {side.lens}{f' of {side.judge}' if side.judge else ''}")
    words += [f"{name} {value}" for name, value in (("agent", side.agent), ("condition", side.condition)) if value]
    words += [f"{name} {value}" for name, value in sorted(side.variant.items())]
    return ", ".join(words)


def _taking_part(form: PrimaryForm, rated: Sequence[Rated]) -> Iterator[Rated]:
    named = {side.agent for side in (form.a, form.b)} - {None}
    measured = any(one.entry.kind != "baseline" for one in rated)
    for one in rated:
        if form.kinds and one.entry.task.kind not in form.kinds:
            continue
        if one.entry.agent in named if named else (one.entry.kind != "baseline" or not measured):
            yield one


def _valued(
    form: PrimaryForm, side: SideForm, chosen: Iterable[Rated], run: ReadRun
) -> Iterator[tuple[tuple[str, ...], tuple[Rated, bool | None]]]:
    """The side's episodes by what a pair has in common, each with its value."""
    key = _rater(side, run).key if side.lens else None
    for one in chosen:
        variant = variant_of(one.entry)
        if side.agent not in (None, one.entry.agent) or side.condition not in (None, one.entry.condition):
            continue
        if any(variant.get(name) != (None if value == "none" else value) for name, value in side.variant.items()):
            continue
        yield _common(side, one, variant), (one, _value(form.measure, one, key))


def _common(side: SideForm, one: Rated, variant: Mapping[str, Any]) -> tuple[str, ...]:
    rest = {name: value for name, value in variant.items() if name not in side.variant}
    return (
        one.entry.task.id,
        str(one.entry.repeat),
        "" if side.agent else one.entry.agent,
        "" if side.condition else one.entry.condition,
        canonical(rest).decode(),
    )


def _value(measure: Measure, one: Rated, key: RaterKey | None) -> bool | None:
    if key is not None:
        said = one.said.get(key)
        return None if said is None else {"pass": True, "fail": False}.get(said.outcome)
    if measure in MEASURES:
        return MEASURES[measure](one.entry)
    return {"pass": True, "fail": False}.get(one.entry.success)


def _is_unscored(measure: Measure, one: Rated, key: RaterKey | None) -> bool:
    if key is None:
        return is_unscored(one.entry, measure)
    return key not in one.said or one.said[key].outcome == "unscored"


def _rater(side: SideForm, run: ReadRun) -> Rater:
    found = [
        rater
        for rater in raters_of(run.rated, [run.source])
        if rater.key.lens == side.lens and side.judge in (None, _judge_name(rater, run))
    ]
    if not found:
        who = f"the judge {side.judge!r}" if side.judge else f"the lens {side.lens!r}"
        raise ExperimentError(f"{who} of the primary comparison judged no episode of its run; it has no result")
    if len(found) > 1:
        names = ", ".join(repr(rater.name) for rater in found)
        raise ExperimentError(
            f"the lens {side.lens!r} of the primary comparison is said by several: {names}; name one by judge = NAME"
        )
    return found[0]


def _judge_name(rater: Rater, run: ReadRun) -> str:
    setting = run.source.judges.get(rater.key.config)
    return rater.name if setting is None else setting.name
