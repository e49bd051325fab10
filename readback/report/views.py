"""One episode as the page shows it, as values: what `episode.html.jinja` is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from readback.report.allowance import Shown
from readback.report.marks import Marked
from readback.report.votes import VoteView


@dataclass(frozen=True, slots=True)
class CallView:
    """One call: a line of its own, and behind it, where they fit, its arguments and its result.

    `supports` names the entities of the answer that it showed; `found` are the resources in which it did, `text` is the
    result where it is a file's text.
    """

    position: int
    step: int
    name: str
    status: str
    head: Shown
    arguments: Shown | None
    result: Shown | None
    cut_by: str | None
    supports: tuple[str, ...] = ()
    text: Marked | None = None
    found: Marked | None = None
    texts: tuple[Shown, ...] = ()


@dataclass(frozen=True, slots=True)
class ClauseView:
    """One clause in full."""

    name: str
    outcome: str
    label: str | None
    expected: Shown
    actual: Shown
    where: Shown
    call: int | None


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One lens's verdict: its clauses in full where they fit, the names of passing ones otherwise.

    `name` is the lens, or the judge; `votes` are a judge's.
    """

    lens: str
    name: str
    outcome: str
    required: bool
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    reason: Shown | None
    clauses: tuple[ClauseView, ...]
    votes: tuple[VoteView, ...]
    passing: Shown | None
    unshown: int


@dataclass(frozen=True, slots=True)
class LeafView:
    """One element before and after."""

    path: str
    before: Shown | None
    after: Shown | None


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One changed resource."""

    verb: str
    reference: str
    leaves: tuple[LeafView, ...]
    unshown: int


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """Everything that the report shows of one episode. `left_out` says in words what it does not.

    `facets` are what the page's filter looks at, by the letters of its attributes.
    """

    anchor: str
    id: str
    task: str
    repeat: int
    outcome: str
    labels: tuple[str, ...]
    facts: str
    instruction: Shown
    answer: tuple[Marked, ...]
    note: Marked | None
    error: Shown | None
    verdicts: tuple[VerdictView, ...]
    changes: tuple[ChangeView, ...]
    changed: int
    shows_changes: bool
    calls: tuple[CallView, ...]
    last_words: tuple[Shown, ...]
    left_out: tuple[str, ...]
    facets: Mapping[str, str]

    @property
    def positions(self) -> frozenset[int]:
        """The calls that are shown, for links to them."""
        return frozenset(call.position for call in self.calls)
