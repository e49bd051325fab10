"""The documents that commands print with `--json`, and `run.json`: the stable surface beside task, episode and verdict.

Within a version keys are only added. An undefined value is null.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict

from harness.task import Task
from harness.trace import Episode
from harness.values import Value
from harness.verdict import Verdict


class Refused(Value):
    """A request of a case, counted from 1, that the server refused."""

    request: int
    status: int


class VerifiedCase(Value):
    """What came of one case. `agrees` is null where the case states no verdict; `differences` are sentences."""

    id: str
    verdicts: tuple[Verdict, ...]
    refused: tuple[Refused, ...]
    agrees: bool | None
    differences: tuple[str, ...]


class Verification(Value):
    """`readback verify --json`."""

    format: Literal["readback.verification/1"] = "readback.verification/1"
    cases: tuple[VerifiedCase, ...]
    agree: int
    disagree: int
    unstated: int


class TaskList(Value):
    """`readback list tasks --json`. Without `--answers`, what would give them away is left out of each task.

    `undrawn` names the templates that this record gives no tasks for, each with the reason.
    """

    format: Literal["readback.tasks/1"] = "readback.tasks/1"
    suite: str
    suite_digest: str
    tasks: tuple[dict[str, Any], ...]
    undrawn: dict[str, str]


class NamedSuite(Value):
    """A suite, and its baselines with what each does."""

    name: str
    about: str
    baselines: dict[str, str]


class SuiteList(Value):
    """`readback list suites --json`."""

    format: Literal["readback.suites/1"] = "readback.suites/1"
    suites: tuple[NamedSuite, ...]


class NamedAgent(Value):
    """What may be given to `--agent`. `suite` is the one that a baseline belongs to; `ready` whether it can be run now.

    `why` says what is missing where it cannot.
    """

    name: str
    kind: Literal["model", "program", "baseline"]
    suite: str | None
    about: str
    ready: bool
    why: str | None


class AgentList(Value):
    """`readback list agents --json`."""

    format: Literal["readback.agents/1"] = "readback.agents/1"
    agents: tuple[NamedAgent, ...]


class NamedFault(Value):
    """What may be given to `--fault`. `recoverable`: an agent that looks can still do what the task asks."""

    name: str
    suite: str
    about: str
    recoverable: bool


class FaultList(Value):
    """`readback list faults --json`."""

    format: Literal["readback.faults/1"] = "readback.faults/1"
    faults: tuple[NamedFault, ...]


class RecordInfo(Value):
    """`readback record info --json`, and what `build` and `import` print."""

    format: Literal["readback.record/1"] = "readback.record/1"
    path: str
    hash: str
    clock: str
    synthetic: bool
    resources: int
    counts: dict[str, int]
    bytes: int


class PlannedAgent(Value):
    """How many episodes an agent would play."""

    agent: str
    kind: str
    episodes: int


class PlanDocument(Value):
    """`readback run --dry-run --json`: what would be played.

    `model_calls` and `cost_usd` are guesses; `cost_usd` is null where a price is unknown, and `why` says whose.
    """

    format: Literal["readback.plan/1"] = "readback.plan/1"
    suite: str
    suite_digest: str
    record: dict[str, Any] | None
    seed: int | None
    tasks: int
    templates: dict[str, int]
    kinds: dict[str, int]
    undrawn: dict[str, str]
    conditions: tuple[str, ...]
    variants: tuple[dict[str, Any], ...]
    repeats: int
    agents: tuple[PlannedAgent, ...]
    episodes: int
    model_calls: int
    model_calls_at_most: int
    cost_usd: float | None
    why: str | None


class Unsound(Value):
    """One thing that does not hold: of which task (null: of the whole suite), what must be, and what came instead."""

    task: str | None
    check: str
    expected: str
    found: str


class Validation(Value):
    """`readback validate --json`. `successes` counts, for each baseline, the tasks on which it succeeds."""

    format: Literal["readback.validation/1"] = "readback.validation/1"
    suite: str
    suite_digest: str
    sound: bool
    tasks: int
    episodes: int
    successes: dict[str, int]
    traps: dict[str, int]
    undrawn: dict[str, str]
    problems: tuple[Unsound, ...]


class EpisodeLine(Value):
    """One episode in the list that `readback show RUN` prints."""

    id: str
    task: str
    agent: str
    condition: str
    variant: dict[str, Any]
    repeat: int
    ending: str
    claim: str | None
    success: str
    labels: tuple[str, ...]


class EpisodeList(Value):
    """`readback show RUN --json`."""

    format: Literal["readback.episodes/1"] = "readback.episodes/1"
    run: str
    episodes: tuple[EpisodeLine, ...]


class ShownEpisode(Value):
    """`readback show RUN EPISODE --json`: all that is known about one episode."""

    format: Literal["readback.shown/1"] = "readback.shown/1"
    task: Task
    episode: Episode
    verdicts: tuple[Verdict, ...]


class RunAgent(Value):
    """An agent of a run, with the settings that change what it does."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str
    kind: str
    digest: str


class RunCondition(Value):
    """A condition of a run: its prompt, and the prompt's digest."""

    digest: str
    prompt: str


class RunDocument(Value):
    """`run.json`. A suite may add keys of its own, as `ehr` adds `record` and `seed`."""

    model_config = ConfigDict(frozen=True, extra="allow")

    format: Literal["readback.run/1"] = "readback.run/1"
    suite: str
    suite_digest: str
    agents: tuple[RunAgent, ...]
    conditions: dict[str, RunCondition]
    variants: tuple[dict[str, Any], ...]
    repeats: int
    tools: dict[str, str]
    planned: int
    options: dict[str, Any]
    command: tuple[str, ...]
    python: str
    packages: dict[str, str]
    times: dict[str, str]


class RepositoryState(Value):
    """One repository in `readback repos sync` and `verify`: whether it is as pinned, and why not."""

    name: str
    version: str
    ok: bool
    new: bool
    why: str | None


class RepositoryStates(Value):
    """`readback repos sync --json` and `verify --json`."""

    format: Literal["readback.repository-states/1"] = "readback.repository-states/1"
    repositories: tuple[RepositoryState, ...]


class RepositoryLine(Value):
    """One pinned repository. The numbers are null where it is not here; `once` counts what questions can be about."""

    name: str
    version: str
    bucket: str
    figure: str
    licence: str
    released: str
    first_released: str
    unknown: bool
    here: bool
    files: int | None = None
    bytes: int | None = None
    public: int | None = None
    once: int | None = None
    unparsed: int | None = None


class RepositoryList(Value):
    """`readback repos list --json`. `lock` is the digest of the lock file's content."""

    format: Literal["readback.repositories/1"] = "readback.repositories/1"
    lock: str
    repositories: tuple[RepositoryLine, ...]
