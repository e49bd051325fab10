"""Where a judge stands in a run: its verdicts and votes counted, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ConfigDict, Field

from harness.trace import Usage
from harness.values import Value
from harness.verdict import Verdict
from judges.judge import total
from judges.judging import Row
from judges.rubric import RubricName
from judges.tally import tally
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
    own = [vote for vote in votes if vote.config == setting.config and vote.seen == seen.get(vote.episode)]
    by_episode: dict[str, list[Vote]] = {}
    for vote in own:
        by_episode.setdefault(vote.episode, []).append(vote)
    tallies = [tally(given, setting.votes) for given in by_episode.values()]
    means = [one.mean for one in tallies if one.mean is not None]
    heard = [verdict for verdict in verdicts if verdict.config == setting.config]
    outcomes = Counter(verdict.outcome for verdict in heard)
    scored = outcomes["pass"] + outcomes["fail"]
    planned = sum(setting.votes for asked_about in seen.values() if asked_about is not None)
    usage, billed = Usage(cost_usd=0.0), 0.0
    unpaid = False
    for vote in own:
        usage = total(usage, vote.usage)
        billed += vote.billed_usd or 0.0
        unpaid = unpaid or vote.billed_usd is None
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
        labels=_counts(label for verdict in heard for label in verdict.labels),
        votes_said=_counts(vote.said for vote in own if vote.said),
        faults=_counts(vote.fault for vote in own if vote.fault),
        flags=_counts(flag for vote in own for flag in vote.flags),
        split=sum(one.valid not in (0, one.supported, one.not_supported, one.no_claim) for one in tallies),
        asked=asked,
        kept=sum(vote.kept for vote in own),
        left=planned - len(own),
        usage=usage,
        billed_usd=None if unpaid else billed,
    )


def _counts(words: Iterable[str]) -> dict[str, int]:
    counts: Mapping[str, int] = Counter(words)
    return {word: counts[word] for word in sorted(counts)}
