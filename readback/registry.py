"""Suites and agents by name: the one place where a name becomes an object.

A suite is added by a line in `SUITES`; commands know suites only through `SuiteSource`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from harness.suite import Suite
    from harness.task import Task
    from harness.trace import Episode
    from harness.verdict import Verdict
    from readback.documents import Validation

SUITES = {"ehr": "readback.suites.ehr", "repoqa": "readback.suites.repoqa"}
"""Suite -> the module whose `SOURCE` opens it."""


class UnknownNameError(ValueError):
    """There is nothing of this name. The message is one sentence with the nearest names."""

    def __init__(self, kind: str, name: str, known: Collection[str], more: str = "") -> None:
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        if close:
            hint = f"; did you mean {' or '.join(map(repr, close))}?"
        elif len(known) <= 12:
            hint = f"; choose from {', '.join(sorted(known))}" if known else ""
        else:
            hint = ""
        if more:
            hint += f" {more[:1].upper()}{more[1:]}" if hint.endswith("?") else f"; {more}"
        super().__init__(f"there is no {kind} {name!r}{hint}")


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user chose about a suite; None is the suite's own default.

    `record` is a file, `server` the address of a live server that holds one instead.

    `tasks` are ids of tasks and names of templates, without any all are meant; `limit` is how many at most, spread over
    the templates; `per_template` how many are drawn of each.

    For suites of repositories: `lock` is a file of pinned ones, `counterfactual` are seeds by which they are renamed as
    well, `kinds` kinds of questions beside the usual, and `search` offers a search.

    `say` is told in a sentence what is about to take long, `progress` how far it is: stage, done, of how many.
    """

    record: Path | None = None
    server: str | None = None
    seed: int | None = None
    tasks: tuple[str, ...] = ()
    limit: int | None = None
    per_template: int | None = None
    lock: Path | None = None
    counterfactual: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    search: bool = False
    say: Callable[[str], None] = lambda sentence: None
    progress: Callable[[str, int, int | None], None] = lambda stage, done, of: None


class SuiteSource(Protocol):
    """A suite by name: what can be said of it without opening it, and how it is opened."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def about(self) -> str:
        """What it measures, in one sentence."""
        ...

    @property
    def baselines(self) -> Mapping[str, str]:
        """Its baselines in the order of the table: name -> what it does, in one clause."""
        ...

    @property
    def beside(self) -> Sequence[str]:
        """The baselines that stand beside every agent: without them its score says little."""
        ...

    @property
    def conditions(self) -> Collection[str]:
        """The names of its own conditions, those of the suite that is opened."""
        ...

    def open(self, choices: Choices) -> AbstractContextManager[Suite]:
        """The suite, ready to be played. Raises what says in one sentence why it cannot be."""
        ...

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        """Every lens that applies, from the episode alone."""
        ...

    def undrawn(self, suite: Suite) -> Mapping[str, str]:
        """The templates that gave no tasks: name -> the reason."""
        ...

    def validate(self, suite: Suite, progress: Callable[[int, int], None]) -> Validation:
        """Whether the suite is sound, and what is not. `progress` is told how many of how many tasks are done."""
        ...


@dataclass(frozen=True, slots=True)
class AgentForm:
    """A way to name an agent that belongs to no suite.

    `key` is the environment variable that it needs; none where another server than the provider's own is asked, by
    `--base-url` or the variable `url`.
    """

    name: str
    kind: Literal["model", "program"]
    about: str
    key: str | None = None
    url: str | None = None

    def missing(self, environment: Mapping[str, str]) -> str | None:
        """What it lacks to be run, or None."""
        if self.key is None or environment.get(self.key) or (self.url and environment.get(self.url)):
            return None
        return f"{self.key} is not set; another server, by --base-url, may need none"


@runtime_checkable
class Faulty(Protocol):
    """What a suite that knows faults and ways of validating says beside."""

    @property
    def faults(self) -> Mapping[str, str]:
        """Its faults: name -> what happens, in one clause."""
        ...

    @property
    def under_fault(self) -> Mapping[str, str]:
        """The baselines that stand beside the others where a fault is injected."""
        ...

    @property
    def validations(self) -> Sequence[str]:
        """How its server may validate what is written; the first is the usual."""
        ...

    def validate(
        self, suite: Suite, progress: Callable[[int, int], None], *, fault: str | None = None
    ) -> Validation:  # fmt: skip
        """See `SuiteSource`; under a fault where one is named."""
        ...


@runtime_checkable
class Renaming(Protocol):
    """A suite of pinned repositories, which can be played under other names, too."""

    @property
    def renames(self) -> bool:
        """True."""
        ...


AGENT_FORMS = (
    AgentForm(
        "openai:MODEL",
        "model",
        "a model of OpenAI, or of any compatible server",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ),
    AgentForm("anthropic:MODEL", "model", "a model of Anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    AgentForm("python:MODULE:CALLABLE", "program", "your own program; see docs/agents.md"),
)
"""How agents are named that are no suite's baseline."""


def suite_names() -> list[str]:
    """The names of all suites."""
    return list(SUITES)


def suite_source(name: str) -> SuiteSource:
    """The suite of this name. Raises `UnknownNameError`."""
    if name not in SUITES:
        raise UnknownNameError("suite", name, SUITES, "see readback list suites")
    source: SuiteSource = import_module(SUITES[name]).SOURCE
    return source
