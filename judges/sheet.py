"""A sheet of sampled episodes for people to label, blinded: no agent, model, condition, lens or judge is on it.

Episodes are drawn stratified over what the lenses say: episodes with the same outcomes of all lenses (each judge is
one) are a stratum. Two thirds of the sheet are for strata in which one lens passes what another fails, one third for
the others, since all lenses may be wrong together; within each, strata share evenly, the largest first. It is no random
sample of the run: each stratum's size and share are kept with the sheet, so that figures over the run can be weighted.

What a person sees is what a judge with the same rubric sees, in the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.trace import Episode
from harness.values import Value, digest
from harness.verdict import Verdict
from judges.judge import CHARACTERS, View
from judges.rubric import RubricName
from judges.subject import Subject, with_trace, without_trace
from judges.tally import LENS
from judges.vote import JudgeSetting

LABELS = ("supported", "not_supported", "no_claim", "cannot_tell")
"""What a person may say."""


class SheetError(ValueError):
    """A sheet that cannot be drawn; the message is one sentence."""


class Stratum(Value):
    """Episodes of which all lenses say the same: how many there are, and how many are on the sheet."""

    lenses: dict[str, str]
    disagree: bool
    size: int
    sampled: int


class Item(Value):
    """One row of a sheet: which episode it is, of which stratum (from 0), and the digest of what there is to see."""

    item: str
    episode: str
    stratum: int
    seen: str
    left_out: str | None = None
    doubt: str | None = None


class Sheet(Value):
    """`sheets.jsonl` of a run folder: what only the run's owner knows about a sheet."""

    format: Literal["readback.sheet/1"] = "readback.sheet/1"
    sheet: str
    seed: int
    rubric: RubricName
    trace: bool
    eligible: int
    strata: tuple[Stratum, ...]
    items: tuple[Item, ...]


_Said = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An episode that may be drawn, and the stratum that it is of: what each lens says."""

    episode: str
    lenses: _Said

    @property
    def disagree(self) -> bool:
        """Whether one lens passes it and another fails it."""
        return {"pass", "fail"} <= {outcome for _, outcome in self.lenses}


def view_of(subject: Subject, *, trace: bool) -> View | None:
    """What a person is shown of it; None where even question and answer are too long."""
    extract = with_trace(subject, CHARACTERS) if trace else without_trace(subject)
    return None if extract is None else View(extract, looks=False)


def candidates(
    episodes: Iterable[str], verdicts: Iterable[Verdict], judges: Mapping[str, JudgeSetting]
) -> list[Candidate]:
    """These episodes with what is said of them. Of a lens with several settings the last counts; each judge is one.

    People are left out: what they said before must not decide what they are asked.
    """
    said: dict[str, dict[str, str]] = {episode: {} for episode in episodes}
    for verdict in verdicts:
        setting = judges.get(verdict.config) if verdict.lens == LENS else None
        if setting is not None and setting.kind == "people":
            continue
        name = f"{LENS} {setting.title}" if setting else verdict.lens
        if verdict.episode in said:
            said[verdict.episode][name] = verdict.outcome
    return [Candidate(episode, tuple(sorted(lenses.items()))) for episode, lenses in said.items()]


def draw(found: Sequence[Candidate], number: int, seed: int) -> list[tuple[Candidate, int]]:
    """So many of them, each with its stratum's place in `strata_of`, in an order that tells nothing.

    One after another is taken from each stratum in turn. The same seed draws the same.
    """
    members: dict[_Said, list[Candidate]] = {said: [] for said in _order(found)}
    for candidate in found:
        members[candidate.lenses].append(candidate)
    queue: dict[bool, list[tuple[Candidate, int]]] = {True: [], False: []}
    for place, said in enumerate(members):
        ordered = sorted(members[said], key=lambda one: digest([seed, "draw", one.episode]))
        queue[ordered[0].disagree] += [(one, place) for one in ordered]
    for kind, waiting in queue.items():
        queue[kind] = _in_turn(waiting)
    share = min(len(queue[True]), max(-(-2 * number // 3), number - len(queue[False])))
    drawn = [*queue[True][:share], *queue[False][: number - share]]
    return sorted(drawn, key=lambda one: digest([seed, "order", one[0].episode]))


def _in_turn(waiting: Sequence[tuple[Candidate, int]]) -> list[tuple[Candidate, int]]:
    """First the first of each stratum, then the second of each."""
    turns: list[tuple[int, int]] = []
    seen: dict[int, int] = {}
    for _, place in waiting:
        seen[place] = seen.get(place, 0) + 1
        turns.append((seen[place], place))
    return [waiting[at] for at in sorted(range(len(waiting)), key=lambda at: turns[at])]


def strata_of(found: Sequence[Candidate], drawn: Sequence[tuple[Candidate, int]]) -> tuple[Stratum, ...]:
    """The strata with their sizes, those in which lenses disagree first."""
    sizes = _sizes(found)
    return tuple(
        Stratum(
            lenses=dict(lenses),
            disagree=Candidate("", lenses).disagree,
            size=sizes[lenses],
            sampled=sum(one == place for _, one in drawn),
        )
        for place, lenses in enumerate(_order(found))
    )


def _sizes(found: Sequence[Candidate]) -> dict[_Said, int]:
    return Counter(candidate.lenses for candidate in found)


def _order(found: Sequence[Candidate]) -> list[_Said]:
    sizes = _sizes(found)
    return sorted(sizes, key=lambda said: (not Candidate("", said).disagree, -sizes[said], said))


def make_sheet(
    episodes: Callable[[set[str]], Iterable[Episode]],
    subject: Callable[[Episode], Subject | None],
    chosen: Iterable[str],
    verdicts: Iterable[Verdict],
    judges: Mapping[str, JudgeSetting],
    *,
    number: int,
    seed: int,
    rubric: RubricName,
    trace: bool,
) -> tuple[Sheet, dict[str, tuple[Subject, View]]]:
    """A sheet of `number` episodes among those that claim something, and what there is to see of each item.

    `episodes` gives those of some ids, `subject` what is judged of one. Raises `SheetError` where there is none.
    """
    able: list[str] = []
    for episode in episodes(set(chosen)):
        one = subject(episode) if episode.sound else None
        silent = one is None or (one.says_nothing if rubric == "predicate" else one.claims_nothing)
        if one is not None and not silent and view_of(one, trace=trace) is not None:
            able.append(episode.id)
    if not able:
        raise SheetError("no episode claims anything that a person could judge")
    found = candidates(able, verdicts, judges)
    drawn = draw(found, number, seed)
    places = {candidate.episode: stratum for candidate, stratum in drawn}
    seen: dict[str, tuple[Subject, View]] = {}
    for episode in episodes(set(places)):
        one = subject(episode)
        view = None if one is None else view_of(one, trace=trace)
        if one is not None and view is not None:
            seen[episode.id] = one, view
    items = tuple(_item(candidate, stratum, *seen[candidate.episode], seed, trace) for candidate, stratum in drawn)
    name = digest([seed, rubric, trace, [item.model_dump() for item in items]])
    sheet = Sheet(
        sheet=f"s-{name[7:17]}", seed=seed, rubric=rubric, trace=trace, eligible=len(able),
        strata=strata_of(found, drawn), items=items,
    )  # fmt: skip
    return sheet, {item.item: seen[item.episode] for item in items}


def _item(candidate: Candidate, stratum: int, subject: Subject, view: View, seed: int, trace: bool) -> Item:
    doubts = subject.doubts if trace else ()
    if view.extract.left_out:
        doubts = (view.extract.left_out, *doubts)
    return Item(
        # A letter before it, so that no spreadsheet takes it for a number.
        item=f"i-{digest([seed, 'item', candidate.episode])[7:17]}",
        episode=candidate.episode,
        stratum=stratum,
        seen=view.seen(subject, trace=trace),
        left_out=view.extract.left_out,
        doubt="; ".join(doubts) or None,
    )
