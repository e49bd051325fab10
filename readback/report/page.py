"""The report's page: what was run, tables, pictures, and every episode that fits, written to one file.

The file has a size that it does not exceed much. Episodes share it; beyond some thousands of episodes the least telling
are left out, and the page says how many, and where they are. It needs no network. Its one script, known to the browser
by its digest, filters the episodes; without it everything can be read.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from harness.lines import write_whole
from harness.runfolder import RunFolder
from harness.task import Task
from harness.verdict import Verdict
from harness.visible import visible
from readback.comparison.document import Comparison
from readback.comparison.pairs import cluster_word
from readback.comparison.raters import raters_of
from readback.comparison.reading import Reading, ReadRun, Source, Stored, source_of
from readback.report.episode import view_of
from readback.report.facets import Facets
from readback.report.groups import MOST, Group, Key, Place, group_of, places_of
from readback.report.plots import (
    FLOW_HEIGHT,
    FLOW_WIDTH,
    MOSAIC_HEIGHT,
    MOSAIC_WIDTH,
    QUADRANTS,
    mosaics_of,
)
from readback.report.runs import RunView, run_view
from readback.results import Results, results_of
from readback.summary.document import Rate, Summary
from readback.summary.ledger import Entry, standing
from readback.summary.rows import by_row, rate
from readback.tables.agreement import screen_of_comparison
from readback.tables.grid import Screen

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SIZE = 8_500_000
"""Bytes that the episodes of a report take together, about."""


@dataclass(frozen=True, slots=True)
class Lead:
    """What stands first in a page about several runs: a title, and tables that conclude."""

    title: str
    screen: Screen


def write_report(
    stored: Stored, path: Path | str, *, run: str, size: int = SIZE, summary: Summary | None = None
) -> Path:
    """Write the report of a stored run to `path` (whole or not at all), and return where it is.

    `run` is the name of the run in the page: what to give to `readback show`. `summary` is the run's, where it is known
    already. Raises `LedgerError` where its tasks and episodes do not belong together.
    """
    judges = source_of(stored).judges if isinstance(stored, RunFolder) else {}
    known = {run: summary} if summary is not None else {}
    return write_joint_report(results_of([Source(stored, run, judges)], known=known), path, size=size)


def write_joint_report(results: Results, path: Path | str, *, size: int = SIZE, lead: Lead | None = None) -> Path:
    """The same of one run or several, in one page, with `lead` before the results of each."""
    path = Path(path)
    write_whole(path, (chunk.encode(errors="replace") for chunk in _page(results, size, lead)))
    return path


def _page(results: Results, size: int, lead: Lead | None) -> Iterator[str]:
    reading, comparison = results.reading, results.comparison
    views = [
        run_view(number, run.source, summary, _judged(run))
        for number, (run, summary) in enumerate(zip(reading.runs, results.summaries, strict=True))
    ]
    if any(view.screen.withheld for view in views):
        comparison = None  # what the record says of so many messages is a score, too
    pairs = [pair for pair in comparison.pairs if pair.population == "answered"] if comparison else []
    facets = Facets(pairs)
    environment = _environment()
    groups, inlined = _groups(reading, views, size, facets, environment, comparison)
    css, script = (_text_of(name) for name in ("report.css", "report.js"))
    yield from environment.get_template("report.html.jinja").stream(
        title=lead.title if lead else " and ".join(dict.fromkeys(view.suite for view in views)),
        lead=lead,
        css=_markup(css),
        css_digest=_digest(css),
        script=_markup(script),
        script_digest=_digest(script),
        runs=views,
        comparison=comparison and screen_of_comparison(comparison),
        mosaics=mosaics_of(pairs),
        sizes={"flow": (FLOW_WIDTH, FLOW_HEIGHT), "mosaic": (MOSAIC_WIDTH, MOSAIC_HEIGHT)},
        quadrants=QUADRANTS,
        facets=facets.facets(),
        code_of_label=facets.code_of_label,
        groups=groups,
        inlined=inlined,
        total=sum(len(run.rated) for run in reading.runs),
    )


def _judged(run: ReadRun) -> dict[str, list[Rate | None]]:
    """What each judge passes in each row."""
    rated = {one.entry.id: one for one in run.rated}
    found: dict[str, list[Rate | None]] = {}
    for rater in raters_of(run.rated, [run.source]):
        if rater.key.lens != "judge":
            continue
        rates = found.setdefault(rater.name, [])
        for entries in by_row(run.ledger.entries.values()).values():
            said = [(one, rated[one.id].said[rater.key].outcome) for one in entries if rater.key in rated[one.id].said]
            rates.append(rate(said, cluster_word(run.source.suite)) if said else None)
    return found


def _groups(
    reading: Reading,
    views: Sequence[RunView],
    size: int,
    facets: Facets,
    environment: Environment,
    comparison: Comparison | None,
) -> tuple[list[Group], int]:
    """The groups of all runs in the order of the page, and how many episodes are in them."""
    rows = [by_row(run.ledger.entries.values()) for run in reading.runs]
    entries: list[tuple[Key, Entry]] = [
        ((number, entry.id), entry) for number, of in enumerate(rows) for group in of.values() for entry in group
    ]
    places = places_of(entries, size)
    names = {(rater.lens, rater.config): rater.name for rater in comparison.raters} if comparison else {}
    written: dict[Key, Markup] = {}
    groups: list[Group] = []
    for number, (run, view) in enumerate(zip(reading.runs, views, strict=True)):
        written.update(_written(number, run, places, facets, environment, names))
        name = run.source.run if len(views) > 1 else None
        groups += [
            group_of(row, of, (number, name), places, written)
            for row, of in zip(view.summary.rows, rows[number].values(), strict=True)
        ]
    return groups, len(written)


def _written(
    number: int,
    run: ReadRun,
    places: Mapping[Key, Place],
    facets: Facets,
    environment: Environment,
    names: Mapping[tuple[str, str], str],
) -> Iterator[tuple[Key, Markup]]:
    """The HTML of each episode of a run that has a place; episodes are read one at a time."""
    tasks: Mapping[str, Task] = {task.id: task for task in run.source.stored.tasks()}
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in run.source.stored.verdicts():
        if (number, verdict.episode) in places:
            verdicts.setdefault(verdict.episode, []).append(verdict)
    rated = {one.entry.id: one for one in run.rated}
    template = environment.get_template("episode.html.jinja")
    saved = 0
    for episode in run.source.stored.episodes():
        place = places.get((number, episode.id))
        if place is None:
            continue
        # What short episodes do not use goes to those after them; what one took too much is made up for.
        size = min(MOST, max(place.size // 2, place.size + min(saved, 2 * place.size)))
        one = rated[episode.id]
        view = view_of(
            one.entry,
            tasks[episode.task],
            episode,
            standing(verdicts.pop(episode.id, [])),
            anchor=place.anchor,
            size=size,
            raters=names,
            facets=facets.of(one),
        )
        html = template.render(e=view, run=run.source.run)
        saved += place.size - len(html.encode(errors="replace"))
        yield (number, episode.id), _markup(html)


def _text_of(name: str) -> str:
    return resources.files("readback.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What the page's policy knows a style sheet or script by (Content Security Policy, level 2)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(str(resources.files("readback.report"))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["text"] = text_node
    environment.filters["visible"] = visible
    environment.filters["n"] = _coordinate
    return environment


def _coordinate(value: float) -> str:
    """A coordinate with one decimal, none where it is whole."""
    return f"{value:.1f}".removesuffix(".0")


def text_node(text: str) -> Markup:
    """Untrusted text for between tags, never for an attribute: quotes stay, which JSON is full of."""
    return _markup(visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _markup(html: str) -> Markup:
    from markupsafe import Markup

    return Markup(html)  # noqa: S704 - only of our own templates' output, our style sheet, and text escaped above
