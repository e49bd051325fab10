"""Proves a suite sound: plays every baseline and near-oracle on every task, and says where one does not do its part.

Counting rules: a baseline is played once a task, under the default variant; it succeeds if every lens that the task
requires passes. An unscored verdict is a problem of its own kind, whatever else holds. What is checked:

- `oracle` succeeds everywhere, `idle` nowhere, `careless` nowhere; `blind` on no task that needs the chart, and in each
  template that is said to need none somewhere;
- a near-oracle fails exactly where its trap is declared, and succeeds everywhere else;
- on tasks that need a write, the five rows of message against state (see `_table`);
- every expectation can be judged;
- twins have the same instruction and parameters, differ in one planted resource, and in the right act; `blind` does not
  get both;
- planted rows cannot be told from the record's own (`indistinct.py`).

Under a fault the same holds, but for the message lens (it counts what is sent again) and `stutter` (what it sends twice
may have been refused once). `trusting` is played too, to see what the fault costs those who do not look.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ehr.faults import known_fault
from ehr.tasks.baselines import BASELINES, NEAR_ORACLES, TRUSTING
from ehr.tasks.indistinct import tell_tales
from ehr.tasks.suite import EhrSuite
from ehr.verify import Expected, problems
from harness.agent import Briefing, Played
from harness.suite import WorldEvidence, episode_of
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that does not hold: of which task (or of the whole suite), what was expected, and what came instead."""

    task: str | None
    check: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.task or 'suite'}: {self.check}: expected {self.expected}; {self.found}"


@dataclass
class Report:
    """What validation found. `successes` counts, for each baseline and near-oracle, the tasks on which it succeeds."""

    tasks: int
    problems: list[Problem] = field(default_factory=list)
    successes: dict[str, int] = field(default_factory=dict)
    undrawn: dict[str, str] = field(default_factory=dict)
    traps: dict[str, int] = field(default_factory=dict)
    episodes: int = 0
    seconds: float = 0.0

    @property
    def is_sound(self) -> bool:
        """Whether everything holds."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON document (seconds left out: the same suite gives the same document)."""
        return {
            "format": "readback.validation/1",
            "sound": self.is_sound,
            "tasks": self.tasks,
            "episodes": self.episodes,
            "successes": self.successes,
            "traps": self.traps,
            "undrawn": self.undrawn,
            "problems": [
                {"task": p.task, "check": p.check, "expected": p.expected, "found": p.found} for p in self.problems
            ],
        }


@dataclass(frozen=True)
class _Result:
    """How one baseline fared on one task."""

    episode: Episode
    verdicts: Mapping[str, Verdict]
    succeeds: bool

    def outcome(self, lens: str) -> str:
        verdict = self.verdicts.get(lens)
        return verdict.outcome if verdict else "no verdict"

    @property
    def shown(self) -> str:
        """In words for a problem: how each lens went, with labels and the first clause that failed."""
        parts = []
        for lens, verdict in self.verdicts.items():
            labels = f" {', '.join(verdict.labels)}" if verdict.labels else ""
            failed = next((clause for clause in verdict.clauses if clause.outcome not in ("pass", "vacuous")), None)
            why = f" ({failed.name}: {failed.expected or ''} / {failed.actual or failed.why or ''})" if failed else ""
            parts.append(f"{lens} {verdict.outcome}{labels}{why}")
        error = f"; {self.episode.error.strip().splitlines()[-1]}" if self.episode.error else ""
        return f"{', '.join(parts)}; ended {self.episode.ending}, answered {list(self.episode.answer)!r}{error}"


def validate(
    suite: EhrSuite, *, fault: str | None = None, progress: Progress = lambda done, total: None
) -> Report:  # fmt: skip
    """Play everything and check everything. `progress` hears how many tasks are done of how many.

    Raises `ValueError` for an unknown fault.
    """
    known_fault(fault)
    started = time.monotonic()
    report = Report(len(suite.tasks), undrawn=dict(suite.undrawn))
    names = (*BASELINES, *NEAR_ORACLES, *((TRUSTING,) if fault else ()))
    report.successes = dict.fromkeys(names, 0)
    report.traps = dict(sorted(Counter(trap for task in suite.tasks for trap in task.traps).items()))
    blind: dict[str, bool] = {}
    for done, task in enumerate(suite.tasks):
        progress(done, len(suite.tasks))
        unjudgeable = list(_unjudgeable(task))
        report.problems += unjudgeable
        if unjudgeable:
            continue
        results = {name: play(suite, task, name, fault) for name in names}
        report.episodes += len(results)
        report.successes = {name: report.successes[name] + result.succeeds for name, result in results.items()}
        blind[task.id] = results["blind"].succeeds
        report.problems += _of_one(task, results, fault)
    report.problems += _of_twins(suite.tasks, blind)
    report.problems += _of_blind(suite.tasks, blind)
    report.problems += [
        Problem(task, "planted rows", "rows like the record's", said) for task, said in tell_tales(suite)
    ]
    progress(len(suite.tasks), len(suite.tasks))
    report.seconds = time.monotonic() - started
    return report


def play(suite: EhrSuite, task: Task, name: str, fault: str | None = None) -> _Result:
    """One baseline on one task, in a real world and judged by the real lenses."""
    variant = {"validation": "hapi", "fault": fault}
    played, evidence = _played(suite, task, name, variant)
    of = f"validate:{task.id}:{name}"
    episode = episode_of(task, played, evidence, id=of, agent=name, kind="baseline", variant=variant)
    verdicts = {verdict.lens: verdict for verdict in suite.judge(task, episode)}
    succeeds = all(lens in verdicts and verdicts[lens].outcome == "pass" for lens in task.requires)
    return _Result(episode, verdicts, succeeds)


def _played(
    suite: EhrSuite, task: Task, name: str, variant: Mapping[str, Any]
) -> tuple[Played, WorldEvidence]:  # fmt: skip
    """The episode as played. What goes wrong around the baseline (a setup that no server takes, say) is its error."""
    try:
        world = suite.world(task, variant)
    except Exception as exception:
        return Played("harness_error", error=repr(exception)), WorldEvidence()
    try:
        briefing = Briefing(task.instruction, suite.conditions["default"], task.clock)
        played = suite.baseline(name, task).play(briefing, world.tools, repeat=0)
        return played, world.evidence()
    finally:
        world.close()


def _unjudgeable(task: Task) -> Iterator[Problem]:
    if not task.requires:
        yield Problem(task.id, "requires", "at least one lens", "there is none")
    if task.expected is not None:
        for problem in problems(Expected.model_validate(task.expected)):
            yield Problem(task.id, "expectation", "clauses that can be judged", problem)


def _of_one(task: Task, results: Mapping[str, _Result], fault: str | None) -> Iterator[Problem]:
    for name, result in results.items():
        # What a value is of may be said in words that nobody knows: then grounding, that no task requires, is unscored.
        judged = (v for v in result.verdicts.values() if v.lens != "grounding" or v.lens in task.requires)
        unscored = next((v.reason for v in judged if v.outcome == "unscored"), None)
        if unscored:
            yield Problem(task.id, name, "a verdict", f"it is unscored: {unscored}; {result.shown}")
    if not results["oracle"].succeeds:
        yield Problem(task.id, "oracle", "success", results["oracle"].shown)
    for name in ("idle", "careless"):
        if results[name].succeeds:
            yield Problem(task.id, name, "failure", results[name].shown)
    if results["blind"].succeeds and task.needs_chart:
        yield Problem(task.id, "blind", "failure, as the task says that the chart is needed", results["blind"].shown)
    for name, trap in NEAR_ORACLES.items():
        is_declared = trap in task.traps
        if results[name].succeeds == is_declared:
            must = (
                f"failure, as the trap {trap!r} is declared" if is_declared else f"success, without the trap {trap!r}"
            )
            yield Problem(task.id, name, must, results[name].shown)
    unknown = sorted(set(task.traps) - set(NEAR_ORACLES.values()))
    if unknown:
        yield Problem(task.id, "traps", "traps that a near-oracle falls into", f"{unknown!r} has none")
    if task.needs_write:
        yield from _table(task, results, fault)


def _table(task: Task, results: Mapping[str, _Result], fault: str | None) -> Iterator[Problem]:
    """The five rows of message against state on a task that needs a write.

    A phantom sends nothing, so its message passes only where nothing but creates is expected; a second PUT of the same
    content, or a second DELETE, changes nothing, so a stutter fails only where something is created.
    """
    changes = results["oracle"].episode.changes
    creates = any(change.verb == "create" for change in changes)
    only_creates = all(change.verb == "create" for change in changes)
    rows = {
        "oracle": ("pass", "pass", None),
        "idle": ("fail", "fail", "MISSING_WRITE"),
        "phantom": ("pass" if only_creates else "fail", "fail", "PHANTOM_SUCCESS"),
        "careless": ("pass", "fail", "WRONG_PATIENT"),
        "stutter": ("fail", "fail", "DUPLICATE") if creates else ("pass", "pass", None),
    }
    if fault:
        del rows["stutter"]
    for name, (message, state, label) in rows.items():
        result = results[name]
        verdict = result.verdicts.get("state")
        found = (result.outcome("message"), result.outcome("state"), verdict.label if verdict else None)
        if found[bool(fault) :] != (message, state, label)[bool(fault) :]:
            must = f"message {message}, state {state} {label or ''}".rstrip()
            yield Problem(task.id, f"{name} (message against state)", must, result.shown)


def _of_twins(tasks: Sequence[Task], blind: Mapping[str, bool]) -> Iterator[Problem]:
    by_id = {task.id: task for task in tasks}
    for task in tasks:
        twin = by_id.get(task.twin or "")
        if twin is None or twin.id < task.id:
            continue
        if twin.twin != task.id:
            yield Problem(task.id, "twins", f"{twin.id} to name it as its twin", f"it names {twin.twin!r}")
        for name, is_same in (
            ("instruction", task.instruction == twin.instruction),
            ("parameters", task.parameters == twin.parameters),
        ):
            if not is_same:
                yield Problem(task.id, "twins", f"the same {name}", f"{twin.id} has another")
        if (task.expected, task.answer) == (twin.expected, twin.answer):
            yield Problem(task.id, "twins", "another right act", f"{twin.id} has the same")
        elif task.expected == twin.expected and (task.needs_write or twin.needs_write):
            yield Problem(task.id, "twins", "another right act", f"{twin.id} expects the same change")
        differing = _differing(task, twin)
        if len(differing) != 1:
            yield Problem(
                task.id, "twins", "one planted fact that differs", f"{differing or 'none'} differ in {twin.id}"
            )
        if blind.get(task.id) and blind.get(twin.id):
            yield Problem(task.id, "blind", "failure on one of two twins", f"it gets {twin.id} as well")


def _differing(task: Task, twin: Task) -> list[str]:
    planted = [{f"{row['resourceType']}/{row['id']}": row for row in one.setup} for one in (task, twin)]
    names = sorted(planted[0].keys() | planted[1].keys())
    return [name for name in names if planted[0].get(name) != planted[1].get(name)]


def _of_blind(tasks: Sequence[Task], blind: Mapping[str, bool]) -> Iterator[Problem]:
    chartless: dict[str, list[bool]] = defaultdict(list)
    for task in tasks:
        if not task.needs_chart and task.id in blind:
            chartless[task.template].append(blind[task.id])
    for template, found in chartless.items():
        if not any(found):
            said = f"it fails on all {len(found)} tasks of {template}"
            yield Problem(None, "blind", f"success somewhere in {template}, which needs no chart", said)
