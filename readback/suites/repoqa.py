"""The suite `repoqa` by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from readback.registry import Choices, UnknownNameError

if TYPE_CHECKING:
    from harness.suite import Suite
    from harness.task import Task
    from harness.trace import Episode
    from harness.verdict import Verdict
    from readback.documents import Validation
    from repoqa.fetch import Repository
    from repoqa.lockfile import Lock
    from repoqa.questions import QuestionKind
    from repoqa.suite import Opened, RepoqaSuite

_ALL = "see readback list tasks repoqa"
_NAMED = 4
"""So many repositories that are not here are named; the rest is counted."""


class RepoqaSource:
    """See `readback.registry.SuiteSource`."""

    name = "repoqa"
    about = "questions about pinned repositories of Python code: is the answer right, and was it read?"
    beside: Sequence[str] = ()
    renames = True

    @property
    def baselines(self) -> Mapping[str, str]:
        """The baselines of `repoqa.baselines`."""
        from repoqa.baselines import BASELINES

        return BASELINES

    @property
    def conditions(self) -> Sequence[str]:
        """Those of `repoqa.prompts`."""
        from repoqa.prompts import prompts

        return tuple(prompts())

    @contextmanager
    def open(self, choices: Choices) -> Iterator[Suite]:
        """The suite over the repositories that are here; where none is, over the one that comes with Readback."""
        yield _drawn(choices)

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        """The lenses `answer` and `grounding`."""
        from repoqa.suite import judge

        return judge(task, episode)

    def instruction(self, task: Task, variant: Mapping[str, Any]) -> str:
        """What the agent was asked under this variant: of a counterfactual tree in its names. See `Rewords`."""
        from repoqa.suite import truth_of

        is_renamed = variant.get("counterfactual") is not None
        return str(truth_of(task, variant)["instruction"]) if is_renamed else task.instruction

    def undrawn(self, suite: Suite) -> Mapping[str, str]:
        """Nothing: a repository that is not here is said when the suite is opened."""
        return {}

    def validate(
        self, suite: Suite, progress: Callable[[int, int], None], *, fault: str | None = None
    ) -> Validation:  # fmt: skip
        """Every baseline on every task; see `repoqa.validate`."""
        from readback.documents import Unsound, Validation
        from repoqa.validate import validate

        report = validate(cast("RepoqaSuite", suite), progress=progress)
        return Validation(
            suite=suite.name,
            suite_digest=suite.digest,
            sound=report.is_sound,
            tasks=report.tasks,
            episodes=report.episodes,
            successes=report.successes,
            traps={"visible_in_listing": report.visible},
            undrawn={},
            problems=tuple(
                Unsound(task=one.task, check=one.check, expected=one.expected, found=one.found)
                for one in report.problems
            ),
        )


def lock_of(path: Path | None) -> Lock:
    """The lock file that was named, else the one that comes with Readback."""
    from repoqa.lockfile import default_lock_path, read_lock

    return read_lock(path or default_lock_path())


def _drawn(choices: Choices) -> RepoqaSuite:
    from repoqa.questions import PER_REPOSITORY
    from repoqa.suite import RepoqaSuite, draw_suite

    lock = lock_of(choices.lock)
    suite = draw_suite(
        _opened(lock, choices),
        lock=lock.digest,
        seed=1 if choices.seed is None else choices.seed,
        kinds=_kinds(choices.kinds),
        per_repository=choices.per_template or PER_REPOSITORY,
        limit=None if choices.tasks else choices.limit,
        search=choices.search,
    )
    if not choices.tasks:
        return suite
    names = {name for task in suite.tasks for name in (task.id, str(task.cluster), task.template)}
    for name in choices.tasks:
        if name not in names:
            raise UnknownNameError("task or repository", name, names, _ALL)
    wanted = set(choices.tasks)
    chosen = [task for task in suite.tasks if {task.id, str(task.cluster), task.template} & wanted]
    return RepoqaSuite(
        list(suite.opened), chosen[: choices.limit], seed=suite.seed, lock=suite.lock, search=suite.search
    )


def _opened(lock: Lock, choices: Choices) -> list[Opened]:
    """The repositories, ready to be asked about; with tasks named, only those that they are of."""
    from readback.records import cache_folder
    from repoqa.suite import open_repository

    cache = cache_folder()
    repositories = _here(lock, cache, choices)
    opened = []
    for number, repository in enumerate(repositories):
        choices.progress("reading repositories", number, len(repositories))
        opened.append(open_repository(repository, cache, counterfactuals=choices.counterfactual))
    choices.progress("reading repositories", len(repositories), len(repositories))
    return opened


def _here(lock: Lock, cache: Path, choices: Choices) -> list[Repository]:
    from repoqa.fetch import present_all, shipped_repository

    here, missing = present_all(lock, cache)
    shipped = shipped_repository()
    named = {_repository_of(name) for name in choices.tasks}
    known = {pin.name for pin in lock.repositories} | {shipped.name}
    wanted = named & known
    if wanted and wanted == named:
        for pin in missing:
            if pin.name in wanted:
                raise UnknownNameError("repository here", pin.name, (), "bring it by readback repos sync")
        return [one for one in (*here, shipped) if one.name in wanted]
    if missing:
        names = ", ".join(pin.name for pin in missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
        which = f"the {len(here)} that are" if here else f"{shipped.name}, which comes with Readback"
        choices.say(
            f"{len(missing)} of {len(lock.repositories)} repositories are not here yet ({names}): readback repos sync"
            f" brings them; asked about are {which}"
        )
    return here or [shipped]


def _repository_of(name: str) -> str:
    return name.split("/")[1] if name.count("/") == 2 else name


def _kinds(names: Sequence[str]) -> list[QuestionKind]:
    from repoqa.questions import KINDS

    for name in names:
        if name not in KINDS:
            raise UnknownNameError("kind of question", name, KINDS)
    return [kind for kind in KINDS if kind == "definition" or kind in names]


SOURCE = RepoqaSource()
