"""The result of an experiment as tables: the primary comparison, in one line and one grid."""

from __future__ import annotations

from harness.counted import counted
from readback.experiment.document import ExperimentResult
from readback.experiment.file import Experiment
from readback.experiment.primary import PrimaryResult, side_words
from readback.tables.grid import Column, Grid, Screen
from readback.tables.words import NONE, p_value, percent, signed, signed_interval

_MEASURES = {
    "success": "success",
    "grounded": "what is grounded, over all episodes",
    "grounded_answered": "what is grounded, over tasks answered on both sides",
    "CG": "what is both correct and grounded",
    "pass": "what the lens passes",
}


def primary_words(experiment: Experiment) -> str:
    """The primary comparison in words, as it was named beforehand."""
    primary = experiment.primary
    kinds = f" of {' and '.join(primary.kinds)} tasks" if primary.kinds else ""
    return (
        f"{_MEASURES[primary.measure]}{kinds} in {experiment.primary_run.label}: {side_words(primary.b)} against"
        f" {side_words(primary.a)}"
    )


def screen_of_result(experiment: Experiment, result: ExperimentResult) -> Screen:
    """What stands before everything else."""
    head = [f"experiment {experiment.name}, {experiment.digest.removeprefix('sha256:')[:12]}"]
    if experiment.about:
        head.append(experiment.about)
    head.append(f"Primary comparison, named before anything was played: {primary_words(experiment)}.")
    if not result.complete:
        head.append("Not complete yet: what is missing may change every number.")
    if result.primary is None:
        return Screen(tuple(head), withheld=f"It has no result: {result.primary_why}.")
    return Screen(tuple(head), (_grid(result.primary),))


def _grid(primary: PrimaryResult) -> Grid:
    columns = (
        Column("Second against first", "left", squeeze=36),
        Column("Pairs"),
        Column("First"),
        Column("Second"),
        Column("Difference"),
        Column("95 %"),
        Column("p"),
        Column("McNemar", keep=1),
    )
    row = (
        f"{side_words(primary.b)} against {side_words(primary.a)}",
        str(primary.pairs),
        percent(primary.rate_a, 1),
        percent(primary.rate_b, 1),
        signed(primary.difference),
        signed_interval(primary.ci95),
        p_value(primary.p_sign_flip),
        p_value(primary.p_mcnemar),
    )
    return Grid("Primary comparison, in %", columns, (row,), tuple(_notes(primary)))


def _notes(primary: PrimaryResult) -> list[str]:
    notes = [
        f"p: sign-flip test over {primary.clusters} {primary.cluster} clusters, two-sided; it is one comparison, so"
        " nothing is adjusted. McNemar ignores clusters. 95 %: cluster bootstrap."
    ]
    if primary.baselines_only:
        notes.append("Only baselines were played: they are scripts, and heed no prompt. Name a model in the file.")
    if primary.rule:
        notes.append("The judge is a rule and no model: it shows that everything works, and measures nothing else.")
    if primary.unscored:
        notes.append(f"{counted(primary.unscored, 'pair is', 'pairs are')} not scored on both sides.")
    if primary.vacuous:
        notes.append(
            f"{counted(primary.vacuous, 'pair takes', 'pairs take')} no part: one of its sides claims nothing."
        )
    if primary.smallest_p is not None and primary.smallest_p > 0.05:
        notes.append("So few clusters differ that p cannot fall to 0.05, whatever the difference.")
    if primary.why:
        notes.append(f"{NONE} {primary.why}.")
    return notes
