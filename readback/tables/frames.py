"""The numbers of runs as plain tables, one row a number or an episode: for CSV, Parquet and data frames.

Nothing is rounded or worded here. What is undefined is empty, with its `why`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.values import canonical
from readback.comparison.document import Comparison, Number, Pair, RaterLine
from readback.comparison.raters import raters_of
from readback.results import Results
from readback.summary.document import Cells, Rate, Row, Summary
from readback.summary.ledger import labels_of

Kind = Literal["text", "whole", "number", "truth"]

_BOUNDS = ("low", "high")


@dataclass(frozen=True, slots=True)
class Frame:
    """One table. Every row has the columns; the kind of a column is that of its values, None aside."""

    name: str
    about: str
    columns: Mapping[str, Kind]
    rows: tuple[Mapping[str, Any], ...]


def frames_of(results: Results) -> list[Frame]:
    """All tables of these runs, empty ones too: their files are always there."""
    summaries, comparison = results.summaries, results.comparison
    return [
        _frame("episodes", "one row an episode", _EPISODES, _episodes(results)),
        _frame("verdicts", "one row for what one rater says about one episode", _VERDICTS, _verdicts(results)),
        _frame("rates", "rates of success, of each lens and of each kind of task", _RATES, _rates(summaries)),
        _frame("labels", "how many episodes of a row have a label", _LABELS, _labels(summaries)),
        _frame("quadrants", "right or wrong by read or not", _QUADRANTS, _quadrants(summaries)),
        _frame("differences", "paired differences between rows", _DIFFERENCES, _differences(summaries)),
        _frame("raters", "what each rater is and says", _RATERS, _raters(comparison)),
        _frame("agreement", "how far two raters agree", _AGREEMENT, _agreement(comparison)),
    ]


def _frame(name: str, about: str, columns: Mapping[str, Kind], rows: Iterator[dict[str, Any]]) -> Frame:
    return Frame(name, about, columns, tuple({column: row.get(column) for column in columns} for row in rows))


_ROW: dict[str, Kind] = {
    "run": "text", "suite": "text", "agent": "text", "agent_kind": "text", "condition": "text", "variant": "text",
}  # fmt: skip
_EPISODES: dict[str, Kind] = {
    **_ROW, "episode": "text", "task": "text", "template": "text", "task_kind": "text", "cluster": "text",
    "bucket": "text", "repeat": "whole", "ending": "text", "claim": "text", "success": "text", "correct": "truth",
    "labels": "text", "input": "whole", "output": "whole", "model_calls": "whole", "cost_usd": "number",
    "seconds": "number",
}  # fmt: skip
_VERDICTS: dict[str, Kind] = {
    "run": "text", "episode": "text", "lens": "text", "config": "text", "rater": "text", "rater_kind": "text",
    "outcome": "text", "votes": "whole", "votes_pass": "whole", "votes_fail": "whole", "votes_vacuous": "whole",
    "votes_unscored": "whole",
}  # fmt: skip
_RATES: dict[str, Kind] = {
    **_ROW, "measure": "text", "config": "text", "rule": "truth", "pass": "whole", "fail": "whole", "vacuous": "whole",
    "unscored": "whole", "rate": "number", "ci95_low": "number", "ci95_high": "number", "bounds_low": "number",
    "bounds_high": "number",
    "cluster": "text", "clusters": "whole", "se_cluster": "number", "ci95_cluster_low": "number",
    "ci95_cluster_high": "number", "null_rate": "number", "null_why": "text", "flagged": "truth", "why": "text",
    "why_cluster": "text",
}  # fmt: skip
_LABELS: dict[str, Kind] = {**_ROW, "label": "text", "episodes": "whole"}
_QUADRANTS: dict[str, Kind] = {
    **_ROW, "bucket": "text", "cell": "text", "episodes": "whole", "share": "number", "ci95_cluster_low": "number",
    "ci95_cluster_high": "number", "clusters": "whole", "why": "text",
}  # fmt: skip
_DIFFERENCES: dict[str, Kind] = {
    "run": "text", "suite": "text", "measure": "text", "a_agent": "text", "a_condition": "text", "a_variant": "text",
    "b_agent": "text", "b_condition": "text", "b_variant": "text", "pairs": "whole", "unscored": "whole",
    "vacuous": "whole",
    "rate_a": "number", "rate_b": "number", "only_a": "whole", "only_b": "whole", "difference": "number",
    "ci95_low": "number", "ci95_high": "number", "p_sign_flip": "number", "p_holm": "number", "p_mcnemar": "number",
    "smallest_p": "number", "method": "text", "cluster": "text", "clusters": "whole", "why": "text",
}  # fmt: skip
_RATERS: dict[str, Kind] = {
    "suite": "text", "lens": "text", "config": "text", "rater": "text", "rater_kind": "text", "about": "text",
    "episodes": "whole", "pass": "whole", "fail": "whole", "vacuous": "whole", "unscored": "whole", "votes": "whole",
    "votes_unscored": "whole", "alpha": "number", "alpha_low": "number", "alpha_high": "number", "alpha_why": "text",
}  # fmt: skip
_NUMBERS = ("agreement", "cohen_kappa", "ac1", "positive_agreement", "negative_agreement")
_AGREEMENT: dict[str, Kind] = {
    "suite": "text", "by": "text", "part": "text", "a_lens": "text", "a_config": "text", "a_rater": "text",
    "b_lens": "text", "b_config": "text", "b_rater": "text", "population": "text", "n": "whole",
    "excluded_vacuous": "whole", "excluded_unscored_a": "whole", "excluded_unscored_b": "whole",
    "unjudged_a": "whole", "unjudged_b": "whole", "pass_pass": "whole", "pass_fail": "whole", "fail_pass": "whole",
    "fail_fail": "whole", "cohen_kappa_max": "number",
}  # fmt: skip
for _name in _NUMBERS:
    _AGREEMENT |= {_name: "number", f"{_name}_low": "number", f"{_name}_high": "number", f"{_name}_why": "text"}
for _side in ("a", "b"):
    _AGREEMENT |= {f"{_side}_{_what}": "whole" for _what in ("tp", "fp", "fn", "tn")}
    _AGREEMENT |= {f"{_side}_{_what}": "number" for _what in ("precision", "recall", "f1")}
_AGREEMENT |= {"cluster": "text", "clusters": "whole", "draws": "whole", "seed": "whole"}


def _of_row(summary: Summary, row: Row) -> dict[str, Any]:
    return {
        "run": summary.run, "suite": summary.suite, "agent": row.agent, "agent_kind": row.kind,
        "condition": row.condition, "variant": _json(row.variant),
    }  # fmt: skip


def _json(value: Any) -> str:
    return canonical(value).decode()


def _interval(name: str, ci95: tuple[float, float] | None) -> dict[str, float | None]:
    return {f"{name}_{end}": None if ci95 is None else ci95[place] for place, end in enumerate(_BOUNDS)}


def _episodes(results: Results) -> Iterator[dict[str, Any]]:
    for run in results.reading.runs:
        for one in run.rated:
            entry, task = one.entry, one.entry.task
            yield {
                "run": run.source.run, "suite": run.source.suite, "agent": entry.agent, "agent_kind": entry.kind,
                "condition": entry.condition, "variant": entry.variant, "episode": entry.id, "task": task.id,
                "template": task.template, "task_kind": task.kind, "cluster": task.cluster, "bucket": task.bucket,
                "repeat": entry.repeat, "ending": entry.ending, "claim": entry.claim, "success": entry.success,
                "correct": one.correct, "labels": " ".join(labels_of(entry)), "input": entry.usage.input,
                "output": entry.usage.output, "model_calls": entry.usage.calls, "cost_usd": entry.usage.cost_usd,
                "seconds": entry.seconds,
            }  # fmt: skip


def _verdicts(results: Results) -> Iterator[dict[str, Any]]:
    for run in results.reading.runs:
        raters = {rater.key: rater for rater in raters_of(run.rated, [run.source])}
        for one in run.rated:
            for key, said in one.said.items():
                votes: Counter[str] = Counter(said.votes)
                yield {
                    "run": run.source.run, "episode": one.entry.id, "lens": key.lens, "config": key.config,
                    "rater": raters[key].name, "rater_kind": raters[key].kind, "outcome": said.outcome,
                    "votes": len(said.votes),
                    **{f"votes_{outcome}": votes[outcome] for outcome in ("pass", "fail", "vacuous", "unscored")},
                }  # fmt: skip


def _rates(summaries: Sequence[Summary]) -> Iterator[dict[str, Any]]:
    for summary in summaries:
        for row in summary.rows:
            split = {"read": row.split.reads, "write": row.split.write, "withhold": row.split.withhold}
            measures: list[tuple[str, str | None, Rate]] = [("success", None, row.success)]
            measures += [(f"lens {lens}", None, rate) for lens, rate in row.lenses.items() if lens != "judge"]
            measures += [("lens judge", config, rate) for config, rate in row.judges.items()]
            measures += [(f"success {kind}", None, rate) for kind, rate in split.items() if rate is not None]
            for measure, config, rate in measures:
                yield {
                    **_of_row(summary, row), "measure": measure, "config": config,
                    "rule": getattr(rate, "is_rule", None) if config else None, "pass": rate.passed, "fail": rate.fail,
                    "vacuous": rate.vacuous, "unscored": rate.unscored, "rate": rate.rate,
                    **_interval("ci95", rate.ci95), **_interval("bounds", rate.bounds), "cluster": rate.cluster,
                    "clusters": rate.clusters, "se_cluster": rate.se_cluster,
                    **_interval("ci95_cluster", rate.ci95_cluster), "null_rate": getattr(rate, "null_rate", None),
                    "null_why": getattr(rate, "null_why", None), "flagged": rate.flagged, "why": rate.why,
                    "why_cluster": rate.why_cluster,
                }  # fmt: skip


def _labels(summaries: Sequence[Summary]) -> Iterator[dict[str, Any]]:
    for summary in summaries:
        for row in summary.rows:
            for label, count in row.labels.items():
                yield {**_of_row(summary, row), "label": label, "episodes": count}


def _quadrants(summaries: Sequence[Summary]) -> Iterator[dict[str, Any]]:
    for summary in summaries:
        for row in summary.rows:
            if row.quadrants is None:
                continue
            parts: list[tuple[str | None, Cells]] = [(None, row.quadrants), *row.quadrants.by_bucket.items()]
            for bucket, cells in parts:
                for cell in ("CG", "CU", "IG", "IU", "refusal", "vacuous", "unscored"):
                    line = {"bucket": bucket, "cell": cell, "episodes": getattr(cells, cell)}
                    share = cells.shares.get(cell)
                    if share is not None:
                        line |= {"share": share.rate, "clusters": share.clusters, "why": share.why}
                        line |= _interval("ci95_cluster", share.ci95_cluster)
                    yield {**_of_row(summary, row), **line}


def _differences(summaries: Sequence[Summary]) -> Iterator[dict[str, Any]]:
    for summary in summaries:
        for one in summary.comparisons:
            sides = {
                f"{name}_{what}": _json(value) if what == "variant" else value
                for name, side in (("a", one.a), ("b", one.b))
                for what, value in side.model_dump().items()
            }
            plain = one.model_dump(exclude={"a", "b", "ci95"})
            yield {"run": summary.run, "suite": summary.suite, **sides, **plain, **_interval("ci95", one.ci95)}


def _raters(comparison: Comparison | None) -> Iterator[dict[str, Any]]:
    for one in comparison.raters if comparison else ():
        yield _rater(one)


def _rater(one: RaterLine) -> dict[str, Any]:
    return {
        "suite": one.suite, "lens": one.lens, "config": one.config, "rater": one.name, "rater_kind": one.kind,
        "about": one.about, "episodes": one.episodes, **one.outcomes, "votes": one.votes and one.votes.given,
        "votes_unscored": one.votes and one.votes.unscored, **(_number("alpha", one.alpha) if one.alpha else {}),
    }  # fmt: skip


def _number(name: str, number: Number) -> dict[str, Any]:
    return {name: number.value, **_interval(name, number.ci95), f"{name}_why": number.why}


def _agreement(comparison: Comparison | None) -> Iterator[dict[str, Any]]:
    if comparison is None:
        return
    for pair in comparison.pairs:
        yield _pair(pair)
    for split in comparison.splits:
        for pair in split.pairs:
            yield {**_pair(pair), "by": split.by, "part": split.value}


def _pair(pair: Pair) -> dict[str, Any]:
    line: dict[str, Any] = {"suite": pair.suite, "population": pair.population, "n": pair.n}
    for name, side, detects in (("a", pair.a, pair.detector.a), ("b", pair.b, pair.detector.b)):
        line |= {f"{name}_lens": side.lens, f"{name}_config": side.config, f"{name}_rater": side.name}
        line |= {f"{name}_{what}": value for what, value in detects.model_dump(exclude={"why"}).items()}
    for name in _NUMBERS:
        line |= _number(name, getattr(pair, name))
    line |= {f"excluded_{what}": count for what, count in pair.excluded.model_dump().items()}
    line |= {f"unjudged_{what}": count for what, count in pair.unjudged.model_dump().items()}
    return {
        **line, **pair.cells.model_dump(), "cohen_kappa_max": pair.cohen_kappa.max,
        **pair.bootstrap.model_dump(),
    }  # fmt: skip
