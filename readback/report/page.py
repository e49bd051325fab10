"""The report's page: what was run, the tables, and every episode that fits, written to one file.

The file has a size that it does not exceed much. Episodes share it: what did not pass gets more than what passed, and
what is measured more than a baseline; beyond some thousands of episodes the least telling are left out, and the page
says how many, and where they are.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.lines import write_whole
from harness.task import Task
from harness.trace import Episode
from harness.values import canonical
from harness.verdict import Verdict
from readback.report.episode import EpisodeView, view_of
from readback.summary.document import Row, Summary
from readback.summary.ledger import Entry, read_ledger
from readback.summary.rows import by_row
from readback.summary.summarise import summary_of_ledger
from readback.tables.content import screen_of
from readback.tables.words import interval, percent, variant_words
from readback.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SIZE = 8_500_000
"""Bytes that the episodes of a report take together, about."""

_LEAST, _MOST = 1_200, 120_000
"""Bytes that one episode gets at least, and at most."""

_LINKS = 6
"""Episodes that the overview links to for one label of one row."""


class Stored(Protocol):
    """A run that can be read more than once; `harness.runfolder.RunFolder` is one."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What `run.json` holds."""
        ...

    def tasks(self) -> Iterable[Task]:
        """The tasks."""
        ...

    def episodes(self) -> Iterable[Episode]:
        """The episodes, one of each id."""
        ...

    def verdicts(self) -> Iterable[Verdict]:
        """The verdicts."""
        ...


@dataclass(frozen=True, slots=True)
class _Place:
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


def write_report(stored: Stored, path: Path | str, *, run: str, size: int = SIZE) -> Path:
    """Write the report of a stored run to `path` (whole or not at all), and return where it is.

    `run` is the name of the run in the page: what to give to `readback show`. Raises `LedgerError` where its tasks and
    episodes do not belong together.
    """
    path = Path(path)
    write_whole(path, (chunk.encode(errors="replace") for chunk in _page(stored, run, size)))
    return path


def _page(stored: Stored, run: str, size: int) -> Iterator[str]:
    tasks = {task.id: task for task in stored.tasks()}
    ledger = read_ledger(tasks.values(), stored.episodes(), stored.verdicts())
    rows = by_row(ledger.entries.values())
    summary = summary_of_ledger(stored.about, ledger, run=run)
    places = _places([entry for entries in rows.values() for entry in entries], size)
    environment = _environment()
    written = dict(_written(stored, tasks, ledger.entries, places, environment, run))
    groups = [
        _group(row, entries, places, written) for row, entries in zip(summary.rows, rows.values(), strict=True)
    ]  # fmt: skip
    yield from environment.get_template("report.html.jinja").stream(
        css=_markup(resources.files("readback.report").joinpath("report.css").read_text()),
        summary=summary,
        summary_json=summary.model_dump_json(indent=1, ensure_ascii=True),
        screen=screen_of(summary, labels=6),
        bars=[_bar(row) for row in summary.rows],
        about=_about(stored.about),
        origin=_origin(stored.about, summary),
        conditions=_conditions(stored.about),
        groups=groups,
        run=run,
        inlined=len(written),
        total=len(ledger.entries),
    )


def _places(entries: Sequence[Entry], size: int) -> dict[str, _Place]:
    """The episodes that are in the page, by id, in the order of the page, and how many bytes each has."""
    room = max(1, size // _LEAST)
    chosen = {entry.id for entry in sorted(entries, key=_weight, reverse=True)[:room]}
    kept = [entry for entry in entries if entry.id in chosen]
    unit = size / max(1, sum(_weight(entry) for entry in kept))
    return {
        entry.id: _Place(f"e{number}", int(max(_LEAST, min(_MOST, unit * _weight(entry)))))
        for number, entry in enumerate(kept, 1)
    }


def _weight(entry: Entry) -> int:
    return (1 if entry.success == "pass" else 3) * (1 if entry.kind == "baseline" else 2)


def _written(
    stored: Stored,
    tasks: Mapping[str, Task],
    entries: Mapping[str, Entry],
    places: Mapping[str, _Place],
    environment: Environment,
    run: str,
) -> Iterator[tuple[str, Markup]]:
    """The HTML of each episode that has a place, by id; episodes are read one at a time."""
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in stored.verdicts():
        if verdict.episode in places:
            verdicts.setdefault(verdict.episode, []).append(verdict)
    template = environment.get_template("episode.html.jinja")
    saved = 0
    for episode in stored.episodes():
        place = places.get(episode.id)
        if place is None:
            continue
        # What short episodes do not use goes to those after them; what one took too much is made up for.
        size = min(_MOST, max(place.size // 2, place.size + min(saved, 2 * place.size)))
        view: EpisodeView = view_of(
            entries[episode.id],
            tasks[episode.task],
            episode,
            verdicts.pop(episode.id, []),
            anchor=place.anchor,
            size=size,
        )
        html = template.render(e=view, run=run)
        saved += place.size - len(html.encode(errors="replace"))
        yield episode.id, _markup(html)


def _group(row: Row, entries: Sequence[Entry], places: Mapping[str, _Place], written: Mapping[str, Markup]) -> Group:
    order = {"fail": 0, "unscored": 1, "vacuous": 2, "pass": 3}
    listed = sorted(entries, key=lambda entry: (order[entry.success], entry.task.id, entry.repeat))
    variant = variant_words(row.variant)
    kind = "baseline, " if row.kind == "baseline" else ""
    success = row.success
    return Group(
        title=f"{row.agent} ({kind}{row.condition})",
        summary=f"{success.passed} of {success.scored} succeed · {success.unscored} unscored · {variant}",
        findings=tuple(_findings(row, listed, places)),
        episodes=tuple(written[entry.id] for entry in listed if entry.id in written),
        unshown=sum(entry.id not in written for entry in listed),
    )


def _findings(row: Row, entries: Sequence[Entry], places: Mapping[str, _Place]) -> Iterator[Finding]:
    for label in row.labels:
        yield _finding(label, [e for e in entries if any(label in said.labels for said in e.required)], places)
    deceived = [e for e in entries if _outcome(e, "message") == "pass" and _outcome(e, "state") == "fail"]
    if deceived:
        yield _finding("The message passes, the record does not", deceived, places)


def _finding(what: str, entries: Sequence[Entry], places: Mapping[str, _Place]) -> Finding:
    shown = [entry for entry in entries if entry.id in places]
    links = tuple(Link(places[entry.id].anchor, entry.task.id) for entry in shown[:_LINKS])
    return Finding(what, len(entries), links, len(entries) - len(links))


def _outcome(entry: Entry, lens: str) -> str | None:
    said = entry.of(lens)
    return said.outcome if said else None


@dataclass(frozen=True, slots=True)
class Bar:
    """A row's success as a picture: rate and interval from 0 to 100, and the same in words."""

    name: str
    words: str
    rate: float | None
    low: float
    high: float
    is_baseline: bool


def _bar(row: Row) -> Bar:
    ci95 = row.success.ci95
    low, high = (100 * edge for edge in ci95) if ci95 else (0.0, 0.0)
    words = (row.success.why or "") if ci95 is None else f"{percent(row.success.rate, 1)} % ({interval(ci95)})"
    name = f"{row.agent}, {row.condition}"
    if row.variant.get("fault"):
        name += f", fault {row.variant['fault']}"
    rate = None if row.success.rate is None else 100 * row.success.rate
    return Bar(name, words, rate, low, high, row.kind == "baseline")


def _about(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was run, as names and texts: what one asks first."""
    facts: list[tuple[str, Any]] = [
        ("Command", shlex.join(map(str, about["command"])) if about.get("command") else None),
        ("Agents", ", ".join(_agent(agent) for agent in about.get("agents") or ())),
        ("Variants", "; ".join(variant_words(variant) for variant in about.get("variants") or ())),
        ("Repeats", about.get("repeats")),
        ("Played", _dict(about.get("times")).get("created")),
    ]
    return _facts(facts)


def _origin(about: Mapping[str, Any], summary: Summary) -> list[tuple[str, str]]:
    """What one needs to run it again: digests, versions, settings."""
    record = summary.record
    facts: list[tuple[str, Any]] = [
        ("Suite", summary.suite),
        ("Suite digest", summary.suite_digest),
        ("Record", record and record.hash),
        ("Clock", record and record.clock),
        ("Seed", summary.seed),
        ("Lens settings", "; ".join(f"{lens} {', '.join(keys)}" for lens, keys in summary.configs.items())),
        ("Python", about.get("python")),
        ("Packages", ", ".join(f"{name} {version}" for name, version in _dict(about.get("packages")).items())),
    ]
    return _facts(facts)


def _facts(facts: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(name, str(text)[:4000]) for name, text in facts if text not in (None, "")]


def _agent(agent: Any) -> str:
    agent = _dict(agent)
    settings = agent.get("settings")
    words = canonical(settings).decode() if settings else ""
    return f"{agent.get('name')} ({agent.get('kind')}) {words}".strip()


def _conditions(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each condition's prompt."""
    prompts = {name: _dict(condition).get("prompt") for name, condition in _dict(about.get("conditions")).items()}
    return [(name, str(prompt)[:20_000]) for name, prompt in prompts.items() if prompt]


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
    return environment


def text_node(text: str) -> Markup:
    """Untrusted text for between tags, never for an attribute: quotes stay, which JSON is full of."""
    return _markup(visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _markup(html: str) -> Markup:
    from markupsafe import Markup

    return Markup(html)  # noqa: S704 - only of our own templates' output, our style sheet, and text escaped above


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
