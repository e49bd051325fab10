"""What the tables of a run say: from the summary to grids of text.

Within a grid, baselines stand below what is measured, marked as such. A variant with a fault never shares a grid with
the headline figures. An EHR table without `idle` and `blind` is not shown: a score means little until one knows what an
agent gets that does nothing, and one that never reads the chart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from shlex import quote

from harness.counted import counted
from readback.summary.document import Comparison, LensRate, Rate, Row, Side, Summary
from readback.tables.grid import Column, Grid, Screen
from readback.tables.repositories import counterfactual_grid, quadrant_grids
from readback.tables.words import (
    NONE,
    interval,
    most,
    p_value,
    percent,
    reasons_of_grounding,
    seconds,
    share,
    signed,
    signed_interval,
    thousands,
    variant_words,
)

FLAG = "!"
NEEDED = {"ehr": ("idle", "blind")}
"""The baselines without which a suite's table is not shown."""

Cell = Callable[[Row], str]


def screen_of(summary: Summary, *, labels: int = 2) -> Screen:
    """Everything that the terminal, Markdown and the report show of a run's numbers, with the `labels` commonest."""
    if not summary.rows:
        return Screen(head_of(summary), withheld="There is no episode yet, so there is nothing to show.")
    missing = [name for name in NEEDED.get(summary.suite, ()) if name not in {row.agent for row in summary.rows}]
    if missing:
        return Screen(head_of(summary), withheld=_without(missing, summary))
    grids: list[Grid] = []
    shown = list(dict.fromkeys(_key(row) for row in summary.rows))
    judges = len(summary.configs.get("judge", ()))
    for variant in shown:
        rows = [row for row in summary.rows if _key(row) == variant]
        plain = len(shown) == 1 and rows[0].variant.get("fault") is None
        suffix = "" if plain else f" ({variant_words(rows[0].variant)})"
        grids += quadrant_grids(rows, suffix) or [_success(rows, suffix, judges), _conduct(rows, suffix, labels)]
        if any(row.message_state for row in rows):
            grids.append(_message_against_state(rows, suffix))
        if any("grounding" in row.lenses and row.quadrants is None for row in rows):
            grids.append(_grounded(rows, suffix))
        spent = [row for row in rows if row.kind != "baseline" or row.endings.keys() != {"finished"}]
        if spent:
            grids.append(_course(spent, suffix))
    for measure in dict.fromkeys(one.measure for one in summary.comparisons):
        grids.append(_comparisons([one for one in summary.comparisons if one.measure == measure]))
    if summary.counterfactual:
        grids.append(counterfactual_grid(summary.counterfactual))
    return Screen(head_of(summary), tuple(grids), _notes(summary))


def _without(missing: Sequence[str], summary: Summary) -> str:
    """Why the table is not shown, and what helps: where episodes are still to be played, these baselines may be too."""
    names = " and ".join(f"`{name}`" for name in missing)
    flags = " ".join(f"--agent {name}" for name in missing)
    again = f"run the suite again with {flags} beside its agents"
    if summary.episodes.missing:
        again = (
            f"go on with it by readback resume {quote(summary.run)}, or, where they are not among its agents, {again}"
        )
    return (
        f"The table is not shown, because this run lacks {names}: without them nobody can say what a score is worth."
        f" {again[0].upper()}{again[1:]}. (All counts are in the JSON summary.)"
    )


def head_of(summary: Summary) -> tuple[str, ...]:
    """What was played, in two lines."""
    record, counts = summary.record, summary.episodes
    parts = [f"suite {summary.suite}", f"digest {_short(summary.suite_digest)}"]
    if record:
        made = "synthetic" if record.synthetic else "NOT synthetic"
        parts += [f"record {_short(record.hash)} ({made})", f"clock {record.clock}"]
    if summary.seed is not None:
        parts.append(f"seed {summary.seed}")
    episodes = f"{counts.scored} of {counted(counts.planned, 'episode')} scored"
    if counts.unscored:
        episodes += f", {counts.unscored} unscored"
    if counts.missing:
        episodes += f", {counts.missing} not played yet"
    return (" · ".join(parts), f"{summary.run}: {episodes}")


def name_of(row: Row) -> str:
    """The agent as the tables name it: a row with too much unscored is flagged."""
    return f"{row.agent} {FLAG}" if row.success.flagged else row.agent


def _grid(title: str, rows: Sequence[Row], cells: Sequence[tuple[Column, Cell]], notes: tuple[str, ...] = ()) -> Grid:
    return Grid(
        title,
        (
            Column("Agent", "left", squeeze=18),
            Column("Condition", "left", squeeze=12),
            *(column for column, _ in cells),
        ),
        tuple((name_of(row), row.condition, *(cell(row) for _, cell in cells)) for row in rows),
        notes,
        next((i for i, row in enumerate(rows) if row.kind == "baseline"), None),
    )


def _success(rows: Sequence[Row], suffix: str, judges: int) -> Grid:
    # The lenses message and grounding have grids of their own, and several judges have theirs in the comparison.
    named = ("state", "answer", *(["judge"] if judges == 1 else []))
    lenses = [lens for lens in named if any(lens in row.lenses for row in rows)]
    rule = " (a rule)" if any(row.lenses["judge"].is_rule for row in rows if "judge" in row.lenses) else ""
    cells: list[tuple[Column, Cell]] = [
        (Column("n", keep=2), lambda row: str(row.success.scored)),
        (Column("Success"), lambda row: percent(row.success.rate, 1)),
        (Column("95 %"), lambda row: interval(row.success.ci95)),
        (Column("clustered", keep=6), lambda row: interval(row.success.ci95_cluster)),
        (Column("Twins"), lambda row: share(row.twin.passed, row.twin.pairs)),
        (Column("Read"), lambda row: _rate(row.split.reads)),
        (Column("Write"), lambda row: _rate(row.split.write)),
        (Column("Withhold"), lambda row: _rate(row.split.withhold)),
        *((Column(lens.capitalize() + (rule if lens == "judge" else ""), keep=5), _of_lens(lens)) for lens in lenses),
    ]
    most_repeats = max(len(row.pass_k) for row in rows)
    if most_repeats > 1:
        k = str(most_repeats)
        cells.insert(4, (Column(f"pass^{k}", keep=3), lambda row: percent(row.pass_k.get(k))))
    return _grid(f"Success{suffix}, in %", rows, cells)


def _of_lens(lens: str) -> Cell:
    return lambda row: _rate(row.lenses.get(lens))


def _rate(rate: Rate | None) -> str:
    return percent(rate.rate) if rate else NONE


def _conduct(rows: Sequence[Row], suffix: str, labels: int) -> Grid:
    cells: list[tuple[Column, Cell]] = [
        (Column("Read back"), lambda row: share(row.own_readback.read_back, row.own_readback.wrote)),
        (Column("False done"), lambda row: share(row.false_done.untrue, row.false_done.claimed)),
        (Column("Repaired", keep=1), lambda row: share(row.repaired_writes.repaired, row.repaired_writes.refused)),
        (Column("Labels", "left", squeeze=24), lambda row: most(row.labels, labels)),
    ]
    return _grid(f"Conduct{suffix}", rows, cells)


def _course(rows: Sequence[Row], suffix: str) -> Grid:
    def used(name: str) -> Cell:
        return lambda row: NONE if _is_uncounted(row) else thousands(getattr(row.usage, name))

    cells: list[tuple[Column, Cell]] = [
        (Column("Tokens in"), used("input")),
        (Column("out"), used("output")),
        (Column("Calls", keep=2), used("calls")),
        (Column("Cost $"), _cost),
        (Column("Seconds", keep=1), lambda row: seconds(row.seconds.median)),
        (Column("Endings", "left", squeeze=24), lambda row: most(row.endings, 3)),
    ]
    uncounted = any(map(_is_uncounted, rows))
    notes = (f"{NONE} Tokens, Calls: what an agent asks of models by itself is not counted.",) if uncounted else ()
    return _grid(f"Course{suffix}", rows, cells, notes)


def _is_uncounted(row: Row) -> bool:
    """Whether the agent asks its models by itself: that it used nothing is then not known."""
    return row.kind in ("program", "session", "imported") and not row.usage.calls


def _cost(row: Row) -> str:
    if row.usage.cost_usd is not None:
        return f"{row.usage.cost_usd:.2f}"
    if row.usage.cost_known_usd is not None:
        return f">{row.usage.cost_known_usd:.2f}"
    return "unknown" if row.usage.cost_unknown else NONE


def _message_against_state(rows: Sequence[Row], suffix: str) -> Grid:
    def cell(name: str) -> Cell:
        return lambda row: str(getattr(row.message_state, name)) if row.message_state else NONE

    cells = [
        (Column("Both pass"), cell("pass_pass")),
        (Column("Message only"), cell("pass_fail")),
        (Column("State only"), cell("fail_pass")),
        (Column("Neither"), cell("fail_fail")),
        (Column("Excluded", keep=1), cell("excluded")),
    ]
    return _grid(
        f"What the message lens says against what the record says{suffix}, in episodes",
        rows,
        cells,
        ("Message only: a grader of messages would have passed it, and the record says otherwise.",),
    )


def _grounded(rows: Sequence[Row], suffix: str) -> Grid:
    def cell(say: Callable[[LensRate], str]) -> Cell:
        return lambda row: say(row.lenses["grounding"]) if "grounding" in row.lenses else NONE

    cells: list[tuple[Column, Cell]] = [
        (Column("Grounded"), cell(lambda rate: percent(rate.rate, 1))),
        (Column("95 %"), cell(lambda rate: interval(rate.ci95))),
        (Column("clustered"), cell(lambda rate: interval(rate.ci95_cluster))),
        (Column("Null"), cell(lambda rate: percent(rate.null_rate, 1))),
        (Column("Of"), cell(lambda rate: str(rate.scored))),
        (Column("Nothing claimed"), cell(lambda rate: str(rate.vacuous))),
        (Column("Unscored", keep=1), cell(lambda rate: str(rate.unscored))),
    ]
    notes = (
        "Grounded: of the answers that state a value (Of), those of which every value was shown by a tool. Null: the"
        " same answers against what other tasks' tools showed.",
        *reasons_of_grounding(row.lenses["grounding"] for row in rows if "grounding" in row.lenses),
    )
    return _grid(f"What answers state against what tools showed{suffix}, in % and episodes", rows, cells, notes)


def _comparisons(comparisons: Sequence[Comparison]) -> Grid:
    tested = sum(one.p_sign_flip is not None for one in comparisons)
    several = len({json.dumps(one.a.variant, sort_keys=True) for one in comparisons}) > 1
    rows = tuple(
        (
            _compared(one.a, one.b, several),
            str(one.pairs),
            percent(one.rate_a, 1),
            percent(one.rate_b, 1),
            signed(one.difference),
            signed_interval(one.ci95),
            p_value(one.p_sign_flip),
            p_value(one.p_holm),
            p_value(one.p_mcnemar),
        )
        for one in comparisons
    )
    holm = f"; Holm adjusts it over the {tested} tested here" if tested > 1 else ""
    notes = [
        f"p: sign-flip test over {comparisons[0].cluster} clusters, two-sided{holm}. McNemar ignores clusters and"
        " rejects too often. 95 %: cluster bootstrap.",
    ]
    weak = sum(one.smallest_p is not None and one.smallest_p > 0.05 for one in comparisons)
    if weak:
        where = f"In {weak} of {len(comparisons)} fewer" if len(comparisons) > 1 else "Fewer"
        notes.append(f"{where} than six clusters differ: p cannot fall to 0.05, whatever the difference.")
    notes += sorted({f"{NONE} {one.why}." for one in comparisons if one.why})
    columns = (
        Column("Second against first", "left", squeeze=24),
        Column("Pairs", keep=2),
        Column("First", keep=4),
        Column("Second", keep=4),
        Column("Difference"),
        Column("95 %", keep=1),
        Column("p"),
        Column("Holm"),
        Column("McNemar", keep=5),
    )
    title = f"Paired differences in {_MEASURES[comparisons[0].measure]}, in percentage points"
    return Grid(title, columns, rows, tuple(notes))


_MEASURES = {
    "success": "success",
    "grounded": "what is grounded, over all episodes (answers that name nothing, refusals too, count as grounded)",
    "grounded_answered": "what is grounded, over tasks answered on both sides",
    "CG": "what is both correct and grounded",
}


def _compared(a: Side, b: Side, several: bool) -> str:
    where = f" ({variant_words(b.variant)})" if several else ""
    if a.agent == b.agent:
        return f"{a.agent}: {b.condition} against {a.condition}{where}"
    return f"{b.agent} against {a.agent}, {a.condition}{where}"


def _notes(summary: Summary) -> tuple[str, ...]:
    notes = [_unscored(row) for row in summary.rows if row.success.unscored]
    cluster = summary.rows[0].success.cluster
    notes.append(f"95 %: Wilson. Clustered: the error between {cluster} clusters, t on G - 1.")
    if not any(row.quadrants for row in summary.rows):
        notes[-1] += " Twins: pairs with both right. State, Answer: all that the lens judged."
        notes.append(
            "Read back: of episodes with an acknowledged write, those that read all of it again. False done: claims of"
            " done without success. Repaired: of episodes with a refused write."
        )
    if any(row.lenses["judge"].is_rule for row in summary.rows if "judge" in row.lenses):
        notes.append("Judge (a rule): no model judged; a rule shows that everything works, and measures nothing else.")
    notes += _of_faults(summary)
    notes += _of_validation(summary)
    rates = {row.success.why for row in summary.rows if row.success.why}
    errors = {
        row.success.why_cluster for row in summary.rows if row.success.why_cluster and row.success.rate is not None
    }
    if rates or errors:
        reasons = [*sorted(rates), *(f"clustered: {why}" for why in sorted(errors))]
        notes.append(f"{NONE} does not apply, or is undefined: {'; '.join(reasons)}.")
    # Judges stand side by side; all else that was judged in two ways was judged anew in part.
    mixed = [lens for lens, configs in summary.configs.items() if len(configs) > 1 and lens != "judge"]
    if mixed:
        notes.append(
            f"Episodes were judged under several settings of: {', '.join(mixed)}. Judge them alike with readback score."
        )
    return tuple(notes)


def _of_faults(summary: Summary) -> list[str]:
    """Under a fault the figures say whether an agent looks, and nothing of how good it is otherwise."""
    from ehr.faults import FAULTS

    names = dict.fromkeys(str(row.variant["fault"]) for row in summary.rows if row.variant.get("fault"))
    notes = []
    for name in names:
        fault = FAULTS.get(name)
        if fault is None:
            continue
        right = "doing it all the same" if fault.recoverable else "trying, noticing, and not claiming done"
        notes.append(f"Fault {name}: {fault.about}; success is {right}. No headline figure.")
    return notes


def _of_validation(summary: Summary) -> list[str]:
    """How the conclusions under full validation differ from those under HAPI's."""
    said = []
    for one in summary.validation:
        where = f", fault {one.fault}" if one.fault else ""
        differ = one.only_hapi + one.only_full
        what = f" ({one.only_hapi} succeed only under hapi, {one.only_full} only under full)" if differ else ""
        said.append(f"{one.agent} ({one.condition}{where}) {differ} of {one.pairs}{what}")
    return [f"Validation full against hapi, conclusions that differ: {'; '.join(said)}."] if said else []


def _unscored(row: Row) -> str:
    success = row.success
    total = success.scored + success.vacuous + success.unscored
    said = f"{row.agent} ({row.condition}): {success.unscored} of {total} unscored"
    if success.bounds:
        low, high = (percent(edge, 1) for edge in success.bounds)
        said += f", so success lies between {low} and {high} %"
    return f"{FLAG} {said}: over 5 %, read the bounds and not the rate." if success.flagged else f"{said}."


def _key(row: Row) -> str:
    return json.dumps(row.variant, sort_keys=True)


def _short(digest: str | None) -> str:
    """The first twelve digits of a digest."""
    return NONE if digest is None else digest.removeprefix("sha256:")[:12]
