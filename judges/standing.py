"""Where a judge stands in a run: its verdicts and votes counted, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ConfigDict, Field

from harness.trace import Usage
from harness.values import Value
from harness.verdict import Verdict
from judges.judging import Row
from judges.rubric import RubricName
from judges.tally import Tally
from judges.vote import JudgeSetting, Kind, Vote


class Outcomes(Value):
    """Verdicts by outcome."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    passed: int = Field(alias="pass")
    fail: int
    vacuous: int
    unscored: int


class Standing(Value):
    """One judge over the chosen episodes of a run.

    `rate` is pass over pass and fail, `mean` the mean of the episodes' means (the share of supporting votes); both are
    null where there is none, and `why` says so. `votes_said` counts votes by what they say, `faults` those that say
    nothing by their kind, `flags` those to be looked at. `split` counts episodes whose valid votes differ, `left` votes
    that are missing. `usage` and `billed_usd` are of all stored votes; a sum with an unknown price is null.
    """

    config: str
    name: str
    kind: Kind
    about: str
    rubric: RubricName
    trace: bool
    votes: int
    episodes: int
    outcomes: Outcomes
    rate: float | None
    why: str | None
    mean: float | None
    labels: dict[str, int]
    votes_said: dict[str, int]
    faults: dict[str, int]
    flags: dict[str, int]
    split: int
    asked: int
    kept: int
    left: int
    usage: Usage
    billed_usd: float | None

    @property
    def is_complete(self) -> bool:
        """Whether every vote is there and every verdict is scored."""
        return self.left == 0 and self.outcomes.unscored == 0


def standing(
    setting: JudgeSetting, rows: Sequence[Row], votes: Iterable[Vote], verdicts: Iterable[Verdict], *, asked: int = 0
) -> Standing:
    """Count what is there of this judge. `asked` is how many votes were asked for just now."""
    seen = {row.episode: row.seen for row in rows if row.config == setting.config}
    counted = _Votes()
    for vote in votes:
        if vote.config == setting.config and vote.seen == seen.get(vote.episode):
            counted.add(vote)
    tallies = [
        Tally(setting.votes, said["supported"], said["not_supported"], said["no_claim"])
        for said in counted.by_episode.values()
    ]
    means = [one.mean for one in tallies if one.mean is not None]
    heard = [verdict for verdict in verdicts if verdict.config == setting.config]
    outcomes = Counter(verdict.outcome for verdict in heard)
    scored = outcomes["pass"] + outcomes["fail"]
    planned = sum(setting.votes for asked_about in seen.values() if asked_about is not None)
    return Standing(
        config=setting.config,
        name=setting.name,
        kind=setting.kind,
        about=setting.about,
        rubric=setting.rubric,
        trace=setting.trace,
        votes=setting.votes,
        episodes=len(seen),
        outcomes=Outcomes(**{outcome: outcomes[outcome] for outcome in ("pass", "fail", "vacuous", "unscored")}),
        rate=outcomes["pass"] / scored if scored else None,
        why=None if scored else "no verdict is a pass or a fail",
        mean=sum(means) / len(means) if means else None,
        labels=_sorted(Counter(label for verdict in heard for label in verdict.labels)),
        votes_said=_sorted(counted.said),
        faults=_sorted(counted.faults),
        flags=_sorted(counted.flags),
        split=sum(one.is_split for one in tallies),
        asked=asked,
        kept=counted.kept,
        left=planned - counted.number,
        usage=counted.usage,
        billed_usd=counted.billed_usd,
    )


class _Votes:
    """Votes counted one by one, none of them kept."""

    def __init__(self) -> None:
        self.number = self.kept = 0
        self.said: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.flags: Counter[str] = Counter()
        self.by_episode: dict[str, Counter[str]] = {}
        self.usage = Usage(cost_usd=0.0)
        self.billed_usd: float | None = 0.0

    def add(self, vote: Vote) -> None:
        """Count one more."""
        of_episode = self.by_episode.setdefault(vote.episode, Counter())
        if vote.said:
            self.said[vote.said] += 1
            of_episode[vote.said] += 1
        if vote.fault:
            self.faults[vote.fault] += 1
        self.flags.update(vote.flags)
        self.number += 1
        self.kept += vote.kept
        self.usage = self.usage.plus(vote.usage)
        billed = self.billed_usd
        self.billed_usd = None if billed is None or vote.billed_usd is None else billed + vote.billed_usd


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return {word: counts[word] for word in sorted(counts)}
