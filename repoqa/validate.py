"""Proves the suite sound: plays every baseline on every task and says where one is not what it must be.

Counting rules: each baseline is played once a task and variant, under the default condition. Checked are, for questions
of the kind `definition`, correctness, grounding and quadrant as `baselines.py` states them, where `lister` is right
exactly where the question is marked as visible in a listing, and `recall` wrong under a counterfactual; for the other
kinds that `oracle` succeeds and nobody else but `recall`. For every task: it requires a lens, it has an answer, and its
counterfactuals share neither path nor name with it. An unscored verdict is a problem, whatever else holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.agent import Briefing
from harness.suite import instruction_of
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict
from repoqa.baselines import BASELINES
from repoqa.correctness import CONTAINS
from repoqa.suite import RepoqaSuite, truth_of

Progress = Callable[[int, int], None]
Quadrant = str
"""CG, CU, IG, IU, refusal or vacuous."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that does not hold: of which task (or of the whole suite), what was expected, and what came instead."""

    task: str | None
    check: str
    expected: str
    found: str


@dataclass
class Report:
    """What validation found. `successes` counts, for each baseline, the tasks on which it succeeds on original trees.

    `quadrants` counts its episodes by quadrant.
    """

    tasks: int
    problems: list[Problem] = field(default_factory=list)
    successes: dict[str, int] = field(default_factory=dict)
    quadrants: dict[str, dict[Quadrant, int]] = field(default_factory=dict)
    visible: int = 0
    episodes: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether everything holds."""
        return not self.problems


def quadrant(verdicts: Mapping[str, Verdict]) -> Quadrant:
    """Where an episode stands by its verdicts of `answer` and `grounding`; `unscored` where one of them is."""
    answer, grounding = verdicts["answer"], verdicts["grounding"]
    if "unscored" in (answer.outcome, grounding.outcome):
        return "unscored"
    if grounding.outcome == "vacuous":
        return "refusal" if "REFUSAL" in grounding.labels else "vacuous"
    return ("C" if answer.outcome == "pass" else "I") + ("G" if grounding.outcome == "pass" else "U")


def validate(suite: RepoqaSuite, *, progress: Progress = lambda done, of: None) -> Report:
    """Play everything and check everything. `progress` hears how many tasks are done of how many."""
    report = Report(len(suite.tasks))
    counts: dict[str, Counter[str]] = {name: Counter() for name in BASELINES}
    report.successes = dict.fromkeys(BASELINES, 0)
    for done, task in enumerate(suite.tasks):
        progress(done, len(suite.tasks))
        unjudgeable = list(_of_task(task))
        report.problems += unjudgeable
        if unjudgeable:
            continue
        report.visible += not task.needs_chart
        for variant in _variants(task):
            for name in BASELINES:
                episode, verdicts = play(suite, task, variant, name)
                report.episodes += 1
                counts[name][quadrant(verdicts)] += 1
                report.successes[name] += variant["counterfactual"] is None and verdicts["answer"].outcome == "pass"
                report.problems += _of_one(task, variant, name, episode, verdicts)
    report.quadrants = {name: dict(sorted(found.items())) for name, found in counts.items()}
    progress(len(suite.tasks), len(suite.tasks))
    return report


def play(
    suite: RepoqaSuite, task: Task, variant: Mapping[str, Any], name: str
) -> tuple[Episode, dict[str, Verdict]]:  # fmt: skip
    """One baseline on one task, in a real world and judged by the real lenses."""
    world = suite.world(task, variant)
    briefing = Briefing(instruction_of(suite, task, variant), suite.conditions["default"], task.clock)
    played = suite.baseline(name, task).play(briefing, world.tools, repeat=0)
    world.close()
    episode = Episode(
        id=f"validate:{task.id}:{name}:{variant.get('counterfactual')}",
        task=task.id,
        task_digest=task.digest,
        agent=name,
        agent_kind="baseline",
        condition="default",
        variant=dict(variant),
        ending=played.ending,
        claim=played.claim,
        answer=played.answer,
        note=played.note,
        calls=played.calls,
        error=played.error,
    )
    return episode, {verdict.lens: verdict for verdict in suite.judge(task, episode)}


def expected_quadrant(name: str, truth: Mapping[str, Any], *, renamed: bool) -> Quadrant:
    """What a baseline must be on a question of the kind `definition`."""
    if name == "lister":
        return "CU" if truth["visible"] else "vacuous IU"
    return {"oracle": "CG", "recall": "IU" if renamed else "CU", "guess": "IU", "shotgun": "IG", "refuser": "refusal"}[
        name
    ]


def _variants(task: Task) -> list[dict[str, Any]]:
    seeds = [seed for seed in task.parameters["questions"] if seed != "original"]
    return [{"counterfactual": None}, *({"counterfactual": int(seed)} for seed in seeds)]


def _of_task(task: Task) -> Iterator[Problem]:
    if not task.requires:
        yield Problem(task.id, "requires", "at least one lens", "there is none")
    questions: Mapping[str, Any] = task.parameters["questions"]
    original = questions["original"]
    for seed, truth in questions.items():
        if not truth["answer"]:
            yield Problem(task.id, "answer", "a right answer", f"there is none ({seed})")
        if seed == "original":
            continue
        same = [key for key in ("name", "path", "repository") if truth[key] == original[key]]
        if same:
            yield Problem(task.id, f"counterfactual {seed}", "other names", f"{same[0]} is {truth[same[0]]!r} in both")


def _of_one(
    task: Task, variant: Mapping[str, Any], name: str, episode: Episode, verdicts: Mapping[str, Verdict]
) -> Iterator[Problem]:
    truth = truth_of(task, variant)
    renamed = variant.get("counterfactual") is not None
    found = quadrant(verdicts)
    check = f"{name}, counterfactual {variant['counterfactual']}" if renamed else name
    said = _shown(found, episode, verdicts)
    if found == "unscored":
        yield Problem(task.id, check, "a verdict", said)
        return
    if truth["kind"] != "definition":
        must = name == "oracle" or (name == "recall" and not renamed)
        if (verdicts["answer"].outcome == "pass") != must and not (name == "recall" and renamed):
            yield Problem(task.id, check, "success" if must else "failure", said)
        return
    expected = expected_quadrant(name, truth, renamed=renamed)
    if found not in expected.split():
        yield Problem(task.id, check, expected.replace(" ", " or "), said)
    if name == "shotgun" and not any(c.name == CONTAINS and c.outcome == "pass" for c in verdicts["answer"].clauses):
        yield Problem(task.id, check, "to be right by the study's own rule", said)


def _shown(found: Quadrant, episode: Episode, verdicts: Mapping[str, Verdict]) -> str:
    why = next(
        (f"{clause.name}: {clause.actual or clause.why}" for verdict in verdicts.values() for clause in verdict.clauses
         if clause.outcome not in ("pass", "vacuous")), "",
    )  # fmt: skip
    answer = str(list(episode.answer))
    error = f"; {episode.error.strip().splitlines()[-1]}" if episode.error else ""
    return f"{found}, answered {answer[:200]} ({why[:200]}){error}"
