"""The episodes of a page: which of them fit, how much each gets, and in which groups they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readback.summary.document import Row
from readback.summary.ledger import Entry
from readback.tables.words import variant_words

if TYPE_CHECKING:
    from markupsafe import Markup

LEAST, MOST = 1_200, 120_000
"""Bytes that one episode gets at least, and at most."""

_LINKS = 6
"""Episodes that the overview links to for one label of one row."""

Key = tuple[int, str]
"""The number of a run in the page, and an episode's id."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an episode stands in the page, and how many bytes it has."""

    anchor: str
    size: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link to an episode."""

    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Where to look first: episodes of one row that have something in common. `more` of them are not linked."""

    what: str
    count: int
    links: tuple[Link, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes of one row, as HTML; `unshown` of them are not in the file."""

    title: str
    summary: str
    findings: tuple[Finding, ...]
    episodes: tuple[Markup, ...]
    unshown: int


def places_of(entries: Sequence[tuple[Key, Entry]], size: int) -> dict[Key, Place]:
    """The episodes that are in the page, in the order of the page, and how many bytes each has.

    What did not pass gets more than what passed, and what is measured more than a baseline; beyond some thousands the
    least telling are left out.
    """
    room = max(1, size // LEAST)
    ranked = sorted(entries, key=lambda pair: _weight(pair[1]), reverse=True)[:room]
    chosen = {key for key, _ in ranked}
    kept = [(key, entry) for key, entry in entries if key in chosen]
    unit = size / max(1, sum(_weight(entry) for _, entry in kept))
    return {
        key: Place(f"e{number}", int(max(LEAST, min(MOST, unit * _weight(entry)))))
        for number, (key, entry) in enumerate(kept, 1)
    }


def _weight(entry: Entry) -> int:
    return (2 if entry.success == "pass" else 3) * (1 if entry.kind == "baseline" else 2)


def group_of(
    row: Row,
    entries: Sequence[Entry],
    run: tuple[int, str | None],
    places: Mapping[Key, Place],
    written: Mapping[Key, Markup],
) -> Group:
    """The group of one row. `run` is the number of its run, and its name where there are several."""
    number, name = run
    order = {"fail": 0, "unscored": 1, "vacuous": 2, "pass": 3}
    listed = sorted(entries, key=lambda entry: (order[entry.success], entry.task.id, entry.repeat))
    keys = [(number, entry.id) for entry in listed]
    kind = "baseline, " if row.kind == "baseline" else ""
    success = row.success
    return Group(
        title=f"{f'{name}: ' if name else ''}{row.agent} ({kind}{row.condition})",
        summary=(
            f"{success.passed} of {success.scored} succeed · {success.unscored} unscored · {variant_words(row.variant)}"
        ),
        findings=tuple(_findings(row, listed, number, places)),
        episodes=tuple(written[key] for key in keys if key in written),
        unshown=sum(key not in written for key in keys),
    )


def _findings(row: Row, entries: Sequence[Entry], run: int, places: Mapping[Key, Place]) -> Iterator[Finding]:
    for label in row.labels:
        yield _finding(label, [e for e in entries if any(label in said.labels for said in e.required)], run, places)
    deceived = [e for e in entries if _outcome(e, "message") == "pass" and _outcome(e, "state") == "fail"]
    if deceived:
        yield _finding("The message passes, the record does not", deceived, run, places)


def _finding(what: str, entries: Sequence[Entry], run: int, places: Mapping[Key, Place]) -> Finding:
    shown = [entry for entry in entries if (run, entry.id) in places]
    links = tuple(Link(places[run, entry.id].anchor, entry.task.id) for entry in shown[:_LINKS])
    return Finding(what, len(entries), links, len(entries) - len(links))


def _outcome(entry: Entry, lens: str) -> str | None:
    said = entry.of(lens)
    return said.outcome if said else None
