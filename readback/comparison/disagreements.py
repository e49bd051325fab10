"""The disagreements that teach most, with what each rater says and why.

Chosen are episodes that one rater of a pair passes and the other fails. Both directions of every pair take turns, and
within a direction the clusters do, so that a few examples show as many kinds as there are. First come episodes on which
the votes are most of one mind and of which is known whether the answer is right; then by task. Nothing is drawn.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence

from harness.task import Task
from harness.trace import Episode
from harness.verdict import Clause, Outcome, Verdict
from readback.comparison.document import Disagreement, Opinion
from readback.comparison.pairs import OUTCOMES
from readback.comparison.raters import Rater, raters_of
from readback.comparison.reading import Rated, RaterKey, Source, votes_of
from readback.instruction import instruction_of
from readback.summary.ledger import variant_of

Sides = Sequence[tuple[Rater, Rater]]

_MOST_EVIDENCE = 8
"""Sentences of evidence that are kept of one opinion."""
_MOST_PASSED = 3
"""Clauses that passed, of which so many are told in full."""


def disagreements_of(
    suites: Sequence[tuple[Sequence[Rated], Sides]], sources: Sequence[Source], count: int
) -> list[Disagreement]:  # fmt: skip
    """At most `count` of them, the most telling first; suites take turns."""
    taken: dict[tuple[str, str], tuple[Rated, str]] = {}
    queues = deque(deque(queue) for rated, sides in suites for queue in _queues(rated, sides) if queue)
    while queues and len(taken) < count:
        queue = queues.popleft()
        one, pair = queue.popleft()
        taken.setdefault((one.run, one.entry.id), (one, pair))
        if queue:
            queues.append(queue)
    names = {
        suite[0][0].suite: {rater.key: rater for rater in raters_of(suite[0], sources)} for suite in suites if suite[0]
    }
    return list(_told(list(taken.values()), sources, names))


def _queues(rated: Sequence[Rated], sides: Sides) -> Iterator[list[tuple[Rated, str]]]:
    """For each pair and direction, its episodes in the order in which they are taken."""
    for a, b in sides:
        for passes, fails in ((a, b), (b, a)):
            found = [one for one in rated if _says(one, passes.key, "pass") and _says(one, fails.key, "fail")]
            found.sort(key=lambda one: (-_clarity(one, (a.key, b.key)), one.entry.task.id, one.entry.id))
            words = f"{passes.name} passes, {fails.name} fails"
            yield [(one, words) for one in _many_kinds(found)]


def _many_kinds(found: Sequence[Rated]) -> list[Rated]:
    """The same episodes, those of a task and then of a cluster that was shown already behind the others."""
    tasks: Counter[str] = Counter()
    clusters: Counter[str] = Counter()
    ranked = []
    for place, one in enumerate(found):
        task = one.entry.task
        ranked.append((tasks[task.id], clusters[task.cluster], place, one))
        tasks[task.id] += 1
        clusters[task.cluster] += 1
    return [one for _, _, _, one in sorted(ranked, key=lambda rank: rank[:3])]


def _says(one: Rated, key: RaterKey, outcome: Outcome) -> bool:
    return key in one.said and one.said[key].outcome == outcome


def _clarity(one: Rated, keys: Sequence[RaterKey]) -> float:
    """How much of one mind the votes are, and whether the answer's correctness is known."""
    shares = []
    for key in keys:
        votes = one.said[key].votes
        shares.append(max(Counter(votes).values()) / len(votes) if votes else 1.0)
    return min(shares) + (one.correct is not None)


def _told(
    chosen: Sequence[tuple[Rated, str]], sources: Sequence[Source], names: Mapping[str, Mapping[RaterKey, Rater]]
) -> Iterator[Disagreement]:
    """Each with its question, answer and opinions; of each run only the chosen episodes are read again."""
    verdicts: dict[tuple[str, str], dict[RaterKey, Verdict]] = {}
    episodes: dict[tuple[str, str], tuple[Task, Episode]] = {}
    for source in sources:
        here = {one.entry.id for one, _ in chosen if source.run in one.runs}
        tasks = {task.id: task for task in source.stored.tasks()} if here else {}
        for episode in source.episodes_of(here):
            episodes[source.run, episode.id] = (tasks[episode.task], episode)
        for verdict in source.stored.verdicts() if here else ():
            if verdict.episode in here:
                of = verdicts.setdefault((source.run, verdict.episode), {})
                of[RaterKey(verdict.lens, verdict.config)] = verdict
    for one, pair in chosen:
        task, episode = episodes[one.run, one.entry.id]
        said: dict[RaterKey, Verdict] = {}
        for name in one.runs:
            said |= verdicts.get((name, one.entry.id), {})
        yield Disagreement(
            suite=one.suite,
            run=one.run,
            episode=one.entry.id,
            task=task.id,
            agent=episode.agent,
            condition=episode.condition,
            variant=variant_of(one.entry),
            repeat=episode.repeat,
            pair=pair,
            question=instruction_of(task, episode),
            claim=episode.claim,
            answer=episode.answer,
            note=episode.note,
            correct=one.correct,
            opinions=tuple(
                _opinion(rater, one, said[key]) for key, rater in names[one.suite].items() if key in said
            ),
        )  # fmt: skip


def _opinion(rater: Rater, one: Rated, verdict: Verdict) -> Opinion:
    votes = Counter(votes_of(verdict))
    return Opinion(
        lens=rater.key.lens,
        config=rater.key.config,
        name=rater.name,
        outcome=one.said[rater.key].outcome,
        labels=verdict.labels,
        votes={outcome: votes[outcome] for outcome in OUTCOMES} if votes else None,
        evidence=tuple(_evidence(verdict))[:_MOST_EVIDENCE],
    )


def _evidence(verdict: Verdict) -> Iterator[str]:
    """Why it says so: what failed or cannot be said, then what passed; of votes one of each kind."""
    if verdict.reason:
        yield verdict.reason
    if votes_of(verdict):
        told = [clause for clause in verdict.clauses if clause.outcome == verdict.outcome]
        told += [clause for clause in verdict.clauses if clause.outcome != verdict.outcome]
        seen: set[Outcome] = set()
        for clause in told:
            if clause.outcome not in seen:
                seen.add(clause.outcome)
                yield _of_vote(clause)
        return
    for wanted in ("fail", "unscored"):
        for clause in verdict.clauses:
            if clause.outcome == wanted:
                yield _of_clause(clause)
    passed = [_of_clause(clause) for clause in verdict.clauses if clause.outcome == "pass"]
    yield from passed[:_MOST_PASSED]
    if len(passed) > _MOST_PASSED:
        yield f"{len(passed) - _MOST_PASSED} more pass"


def _of_vote(clause: Clause) -> str:
    said = [f"{clause.name}: {clause.outcome}"]
    if clause.actual:
        said.append(f"not supported: {clause.actual}")
    if clause.why:
        said.append(clause.why)
    return "; ".join(said)


def _of_clause(clause: Clause) -> str:
    said = f"{clause.name}: {clause.outcome}"
    if clause.outcome == "fail" and clause.label:
        said += f" {clause.label}"
    parts = []
    is_entity = clause.expected == "seen"
    if clause.expected and clause.outcome != "pass" and not is_entity:
        parts.append(f"expected {clause.expected}")
    if clause.actual:
        parts.append(clause.actual if is_entity else f"found {clause.actual}")
    if clause.why:
        parts.append(clause.why)
    if clause.evidence is not None:
        where = [f"call {clause.evidence.call}" if clause.evidence.call is not None else ""]
        where += [clause.evidence.resource or "", clause.evidence.path or ""]
        parts.append(" ".join(part for part in where if part))
    return f"{said}: {', '.join(parts)}" if parts else said
