"""A judge's votes as the page shows them: equal ones once, each with its reason and with the claim that failed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from harness.verdict import Clause, Verdict
from readback.report.allowance import Allowance, Shown

_VOTE = "vote "
_MARKUP = 120
"""Bytes of markup around one vote."""

_EACH, _LEAST = 250, 120
"""Bytes that each of different votes must have to stand alone, and that one has at least."""


@dataclass(frozen=True, slots=True)
class VoteView:
    """Votes that say the same in the same words. `numbers` names them: `1, 3–5`."""

    numbers: str
    outcome: str
    reason: Shown | None
    failed: Shown | None


def is_vote(clause: Clause) -> bool:
    """Whether a clause of a judge's verdict is a vote."""
    return clause.name.startswith(_VOTE)


def votes_view(verdict: Verdict, purse: Allowance, most: int) -> tuple[tuple[VoteView, ...], int]:
    """The votes in about `most` bytes, those of the verdict's own mind first, and how many are not shown.

    Equal votes are shown once. Where there is no room for each, votes of one outcome are, with what the first of them
    says.
    """
    votes = [clause for clause in verdict.clauses if is_vote(clause)]
    votes.sort(key=lambda clause: clause.outcome != verdict.outcome)
    grouped = _grouped(votes, lambda clause: (clause.outcome, clause.actual, clause.why))
    if most < _EACH * len(grouped):
        grouped = _grouped(votes, lambda clause: clause.outcome)
    shown: list[VoteView] = []
    unshown = 0
    for place, group in enumerate(grouped):
        if not purse.pays(_MARKUP):
            unshown += len(group)
            continue
        first, room = group[0], max(_LEAST, most // (len(grouped) - place))
        before = purse.left
        # What failed is short and telling; the reason gets the rest.
        failed = purse.take(first.actual, min(room // 2, 400)) if first.actual else None
        reason = purse.take(first.why, min(room - (before - purse.left), 1500)) if first.why else None
        most -= before - purse.left + _MARKUP
        names = [clause.name.removeprefix(_VOTE) for clause in group]
        shown.append(VoteView(_numbers(names), first.outcome, reason, failed))
    return tuple(shown), unshown


def _grouped(votes: Sequence[Clause], key: Callable[[Clause], Hashable]) -> list[list[Clause]]:
    groups: dict[Hashable, list[Clause]] = {}
    for vote in votes:
        groups.setdefault(key(vote), []).append(vote)
    return list(groups.values())


def _numbers(names: Sequence[str]) -> str:
    """`1, 3–5` of `1, 3, 4, 5`."""
    parts: list[list[str]] = []
    for name in names:
        follows = parts and name.isdigit() and parts[-1][-1].isdigit() and int(name) == int(parts[-1][-1]) + 1
        if follows:
            parts[-1].append(name)
        else:
            parts.append([name])
    return ", ".join(part[0] if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts)
