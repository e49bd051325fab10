"""Votes counted, and the verdict they come to.

1. A vote is valid if it says something. Over half of the planned votes must be valid, or the verdict is unscored
   (`NO_QUORUM`).
2. What over half of the valid votes say is decided: a strict majority among `supported`, `not_supported` and
   `no_claim`. Where nothing has one, the verdict is unscored (`TIE`).
3. `supported` is a pass, `no_claim` vacuous. `not_supported` is a fail (`UNSUPPORTED`), but unscored (`TRACE_CUT`)
   where something of the trace is gone that may have supported it.
4. The mean is the share of `supported` among the votes that say `supported` or `not_supported`.

Nothing else is looked at: flags and reasons change no verdict. Notes say what a reader should know: `SPLIT` (the valid
votes differ), `VOTES_UNSCORED`, `VOTES_FLAGGED`, `TRACE_CUT`, `SCRIPTED_JUDGE`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harness.verdict import Clause, Outcome, Verdict
from judges.rubric import Said
from judges.vote import SCRIPTED, JudgeSetting, Vote, outcome_of

LENS = "judge"

_LABELS = {"fail": ("UNSUPPORTED",)}


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes of one judge about one episode, counted. `unscored` are those that say nothing, or are missing."""

    planned: int
    supported: int
    not_supported: int
    no_claim: int

    @property
    def valid(self) -> int:
        """How many say something."""
        return self.supported + self.not_supported + self.no_claim

    @property
    def unscored(self) -> int:
        """How many do not."""
        return self.planned - self.valid

    @property
    def has_quorum(self) -> bool:
        """Whether over half of the planned votes are valid."""
        return 2 * self.valid > self.planned

    @property
    def is_split(self) -> bool:
        """Whether the valid votes differ."""
        return self.valid not in (0, self.supported, self.not_supported, self.no_claim)

    @property
    def decided(self) -> Said | None:
        """What over half of the valid votes say; None where there is no quorum, or no such thing."""
        if not self.has_quorum:
            return None
        counts: dict[Said, int] = {
            "supported": self.supported, "not_supported": self.not_supported, "no_claim": self.no_claim,
        }  # fmt: skip
        return next((said for said, count in counts.items() if 2 * count > self.valid), None)

    @property
    def mean(self) -> float | None:
        """The share of `supported` among the votes that say that or its opposite; None where there is none."""
        either = self.supported + self.not_supported
        return self.supported / either if either else None

    @property
    def words(self) -> str:
        """The counts in words."""
        counts = [
            f"{self.supported} supported", f"{self.not_supported} not supported", f"{self.no_claim} no claim",
            f"{self.unscored} unscored",
        ]  # fmt: skip
        mean = "undefined" if self.mean is None else f"{self.mean:.2f}"
        return f"{', '.join(counts)} of {self.planned} votes; mean {mean}"


def tally(votes: Sequence[Vote], planned: int) -> Tally:
    """Count the votes, of which each number may stand there once. Raises `ValueError` where one is there twice."""
    numbers = [vote.number for vote in votes]
    if len(set(numbers)) < len(numbers) or any(not 1 <= number <= planned for number in numbers):
        raise ValueError(f"votes are numbered from 1 to {planned}, each once; these are numbered {sorted(numbers)}")
    counts = Counter(vote.said for vote in votes)
    return Tally(planned, counts["supported"], counts["not_supported"], counts["no_claim"])


def verdict_of(setting: JudgeSetting, votes: Sequence[Vote]) -> Verdict:
    """The verdict that these votes of this judge about one episode come to. Raises `ValueError` where there is none."""
    if not votes or {vote.episode for vote in votes} != {votes[0].episode}:
        raise ValueError("a verdict needs votes, and all of them about one episode")
    votes = sorted(votes, key=lambda vote: vote.number)
    counted = tally(votes, setting.votes)
    doubts = list(dict.fromkeys(vote.doubt for vote in votes if vote.doubt))
    outcome, labels, reason = _conclusion(counted, doubts)
    return Verdict(
        episode=votes[0].episode,
        lens=LENS,
        config=setting.config,
        outcome=outcome,
        label=labels[0] if labels else None,
        labels=labels,
        notes=_notes(setting, votes, counted),
        reason=f"{setting.title}: {reason}",
        clauses=tuple(_clause(vote) for vote in votes),
    )


def nothing_to_judge(setting: JudgeSetting, episode: str) -> Verdict:
    """The verdict on an episode that says nothing: nobody is asked."""
    return Verdict(
        episode=episode,
        lens=LENS,
        config=setting.config,
        outcome="vacuous",
        notes=(SCRIPTED,) if setting.kind == "scripted" else (),
        reason=f"{setting.title}: the agent claims nothing, so nobody was asked",
    )


def too_long(setting: JudgeSetting, episode: str) -> Verdict:
    """The verdict on an episode whose very answer is longer than the judge may be shown: nobody is asked."""
    return Verdict(
        episode=episode,
        lens=LENS,
        config=setting.config,
        outcome="unscored",
        label="TOO_LONG",
        labels=("TOO_LONG",),
        notes=(SCRIPTED,) if setting.kind == "scripted" else (),
        reason=f"{setting.title}: question and answer alone have more than {setting.characters} characters",
    )


def _conclusion(counted: Tally, doubts: Sequence[str]) -> tuple[Outcome, tuple[str, ...], str]:
    decided, words = counted.decided, counted.words
    if decided is None and not counted.has_quorum:
        return "unscored", ("NO_QUORUM",), f"{words}: over half of the planned votes must say something"
    if decided is None:
        return "unscored", ("TIE",), f"{words}: nothing is said by over half of the valid votes"
    outcome = outcome_of(decided, doubts[0] if doubts else None)
    if outcome == "unscored":
        return "unscored", ("TRACE_CUT",), f"{words}; but {doubts[0]}, so nobody knows what is not supported"
    return outcome, _LABELS.get(outcome, ()), words


def _notes(setting: JudgeSetting, votes: Sequence[Vote], counted: Tally) -> tuple[str, ...]:
    notes = {
        SCRIPTED: setting.kind == "scripted",
        "SPLIT": counted.is_split,
        "VOTES_UNSCORED": counted.unscored > 0,
        "VOTES_FLAGGED": any(vote.flags for vote in votes),
        "TRACE_CUT": any(vote.doubt for vote in votes),
    }
    return tuple(note for note, holds in notes.items() if holds)


def _clause(vote: Vote) -> Clause:
    return Clause(
        name=f"vote {vote.number}",
        outcome=vote.outcome,
        label="UNSUPPORTED" if vote.outcome == "fail" else None,
        expected="every claim supported" if vote.failed else None,
        actual="; ".join(vote.failed) or None,
        why=_why(vote),
    )


def _why(vote: Vote) -> str | None:
    if vote.fault:
        return f"{vote.fault}: {vote.error}" if vote.error else vote.fault
    said = [vote.reason, f"flags: {', '.join(vote.flags)}" if vote.flags else "", vote.doubt or ""]
    return "; ".join(part for part in said if part.strip()) or None
