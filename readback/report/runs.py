"""A run as the page shows it, apart from its episodes: what was run, its tables, its pictures."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.counted import counted
from harness.values import canonical
from readback.comparison.reading import Source
from readback.report.plots import Bars, Flow, LabelProfile, Stacks, bars_of, flows_of, labels_of, stacks_of
from readback.summary.document import Rate, Row, Summary
from readback.tables.content import screen_of
from readback.tables.grid import Screen
from readback.tables.words import variant_words

Facts = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of the rows without a fault, or of those `under` one, such as `fault lost_write`."""

    under: str
    bars: Sequence[Bars]
    stacks: Sequence[Stacks]
    flows: Sequence[Flow]
    labels: LabelProfile | None


@dataclass(frozen=True, slots=True)
class RunView:
    """One run. `number` tells it from the others in the page."""

    number: int
    name: str
    suite: str
    summary: Summary
    summary_json: str
    screen: Screen
    pictures: Sequence[Pictures]
    about: Facts
    origin: Facts
    judges: Facts
    conditions: Facts
    is_synthetic: bool


Judged = Mapping[str, Sequence[Rate | None]]
"""By a judge's name, its rate in each row of the summary; None where it judged nothing of a row."""


def run_view(number: int, source: Source, summary: Summary, judged: Judged) -> RunView:
    """The view of one run."""
    screen = screen_of(summary, labels=6)
    return RunView(
        number=number,
        name=source.run,
        suite=summary.suite,
        summary=summary,
        summary_json=summary.model_dump_json(indent=1, ensure_ascii=True),
        screen=screen,
        pictures=() if screen.withheld else _pictures(summary.rows, judged),
        about=_about(source.stored.about),
        origin=_origin(source.stored.about, summary),
        judges=[(judge.title, f"{judge.about}; {counted(judge.votes, 'vote')}") for judge in source.judges.values()],
        conditions=_conditions(source.stored.about),
        is_synthetic=summary.record is None or summary.record.synthetic,
    )


def _pictures(rows: Sequence[Row], judged: Judged) -> list[Pictures]:
    """Headline rows in one picture; those under a fault in one of their own, never beside the headline."""
    found = []
    for fault in dict.fromkeys(row.variant.get("fault") for row in rows):
        places = [place for place, row in enumerate(rows) if row.variant.get("fault") == fault]
        chosen = [rows[place] for place in places]
        here = {name: [rates[place] for place in places] for name, rates in judged.items()}
        under = f"fault {fault}" if fault else ""
        found.append(Pictures(under, bars_of(chosen, here), stacks_of(chosen), flows_of(chosen), labels_of(chosen)))
    return found


def _about(about: Mapping[str, Any]) -> Facts:
    """What was run, as names and texts: what one asks first."""
    facts: list[tuple[str, Any]] = [
        ("Command", shlex.join(map(str, about["command"])) if about.get("command") else None),
        ("Agents", ", ".join(_agent(agent) for agent in about.get("agents") or ())),
        ("Variants", "; ".join(variant_words(_dict(variant)) for variant in about.get("variants") or ())),
        ("Repeats", about.get("repeats")),
        ("Played", _dict(about.get("times")).get("created")),
    ]
    return _facts(facts)


def _origin(about: Mapping[str, Any], summary: Summary) -> Facts:
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


def _facts(facts: Iterable[tuple[str, Any]]) -> Facts:
    return [(name, str(text)[:4000]) for name, text in facts if text not in (None, "")]


def _agent(agent: Any) -> str:
    agent = _dict(agent)
    settings = agent.get("settings")
    words = canonical(settings).decode() if settings else ""
    return f"{agent.get('name')} ({agent.get('kind')}) {words}".strip()


def _conditions(about: Mapping[str, Any]) -> Facts:
    """Each condition's prompt."""
    prompts = {name: _dict(condition).get("prompt") for name, condition in _dict(about.get("conditions")).items()}
    return [(name, str(prompt)[:20_000]) for name, prompt in prompts.items() if prompt]


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
