"""The `repoqa` suite: questions about pinned repositories, played on their trees or on their counterfactuals.

A task is one question. Under the variant `{"counterfactual": SEED}` the same task is asked about the renamed tree: the
instruction, the tree and the right answer are those of its counterpart, which the task holds as data, so that an
episode can be judged from the run folder alone and original and counterfactual are paired by the task's id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.task import Task
from harness.values import digest
from repoqa.catalog import Catalog, catalog_of, kept_catalog
from repoqa.counterfactual import Counterfactual, counterfactual
from repoqa.fetch import Repository, tree_digest
from repoqa.layout import Layout
from repoqa.questions import PER_REPOSITORY, Question, QuestionKind, asked_again, draw
from repoqa.symbols import Index
from repoqa.world import RepositoryWorld

if TYPE_CHECKING:
    from grounding.cache import Cache
    from harness.agent import Agent
    from harness.suite import World
    from harness.tool import Tool
    from harness.trace import Episode
    from harness.verdict import Verdict

NAME = "repoqa"
CLOCK = "2026-01-15T10:15:00+00:00"
CANARY = "READBACK BENCHMARK DATA: keep out of training corpora. canary 0b6f7d52-3a5d-4f6e-8c1e-7a54d1c2b96e"
TOOLS = ("list_directory", "read_file", "finish")
TOOLS_WITH_SEARCH = ("list_directory", "read_file", "search", "finish")

Progress = Callable[[str, int, int | None], None]


class RepoqaError(Exception):
    """The suite cannot be made as asked. One clear sentence."""


@dataclass(frozen=True)
class Opened:
    """A repository with its catalog, and its counterfactuals by seed, each with its own catalog."""

    repository: Repository
    catalog: Catalog
    counterfactuals: Mapping[int, tuple[Counterfactual, Catalog]] = field(default_factory=dict)


class RepoqaSuite:
    """Questions over repositories. `lock` is the digest of the lock file that they were pinned by."""

    name = NAME

    def __init__(
        self, opened: Sequence[Opened], tasks: Sequence[Task], *, seed: int, lock: str, search: bool = False
    ) -> None:
        self._opened = {one.repository.name: one for one in opened}
        self.tasks = tuple(tasks)
        self.seed, self.lock, self.search = seed, lock, search
        self.digest = digest([task.digest for task in self.tasks])
        self._cache: Cache | None = None

    @property
    def opened(self) -> Sequence[Opened]:
        """The repositories that are asked about."""
        return tuple(self._opened.values())

    @property
    def conditions(self) -> Mapping[str, str]:
        """`default` and `grounded`."""
        from repoqa.prompts import prompts

        return prompts(search=self.search)

    @property
    def about(self) -> Mapping[str, Any]:
        """For `run.json`: the seed, the lock's digest, and each repository with its version, bucket and names."""
        repositories = {
            name: {
                "version": one.repository.pin.version,
                "source": one.repository.pin.digest,
                "bucket": one.repository.pin.bucket,
                "unknown": one.repository.pin.unknown,
                "counterfactuals": {str(seed): made.digest for seed, (made, _) in one.counterfactuals.items()},
            }
            for name, one in self._opened.items()
        }
        return {"seed": self.seed, "lock": self.lock, "repositories": repositories}

    def instruction(self, task: Task, variant: Mapping[str, Any]) -> str:
        """What the agent is asked under this variant."""
        return str(truth_of(task, variant)["instruction"])

    def world(self, task: Task, variant: Mapping[str, Any]) -> World:
        """The tools over the tree of this variant."""
        return RepositoryWorld(self._root(task, variant), search="search" in task.tools)

    def tools(self, task: Task, variant: Mapping[str, Any]) -> Sequence[Tool]:
        """The tools of any task's world."""
        return self.world(task, variant).tools

    def baseline(self, name: str, task: Task) -> Agent:
        """The named baseline. Raises `KeyError` for an unknown name."""
        from repoqa.baselines import baseline

        return baseline(name, task)

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        """The verdicts of `answer` and `grounding`."""
        if self._cache is None:
            from grounding.cache import Cache

            self._cache = Cache()
        return judge(task, episode, self._cache)

    def _root(self, task: Task, variant: Mapping[str, Any]) -> Path:
        one = self._opened[str(task.cluster)]
        seed = variant.get("counterfactual")
        return one.repository.root if seed is None else one.counterfactuals[int(seed)][0].root


def judge(task: Task, episode: Episode, cache: Cache | None = None) -> list[Verdict]:
    """Every lens that applies, from task and episode alone."""
    from grounding import PAPER
    from grounding.lens import judge_grounding
    from repoqa.correctness import judge_answer

    truth = truth_of(task, episode.variant)
    return [
        judge_answer(task, episode, truth),
        judge_grounding(episode, PAPER, given=(str(truth["repository"]),), cache=cache),
    ]


def truth_of(task: Task, variant: Mapping[str, Any]) -> Mapping[str, Any]:
    """The question as data, as it is asked under this variant. Raises `KeyError` where the task was not made for it,
    and `RepoqaError` where what it holds is no question.
    """
    seed = variant.get("counterfactual")
    questions = task.parameters.get("questions")
    if not isinstance(questions, Mapping) or not all(isinstance(one, Mapping) for one in questions.values()):
        raise RepoqaError(f"task {task.id!r} holds no questions, but {questions!r:.60}; put back the tasks of its run")
    truth: Mapping[str, Any] = questions["original" if seed is None else str(seed)]
    return truth


def open_repository(
    repository: Repository, cache: Path, *, counterfactuals: Iterable[int] = (), digest_of_tree: str | None = None
) -> Opened:
    """A repository ready to be asked about; what is made of it is kept in the cache folder.

    Raises `CounterfactualError`.
    """
    tree = digest_of_tree or (tree_digest(repository.root) if repository.pin.shipped else repository.pin.digest)
    name = repository.name
    indexed: list[Index] = []

    def index() -> Index:
        if not indexed:
            indexed.append(Index(Layout.read(repository.root)))
        return indexed[0]

    catalog = kept_catalog(tree, cache, lambda: catalog_of(name, index()))
    made: dict[int, tuple[Counterfactual, Catalog]] = {}
    for seed in counterfactuals:
        other = counterfactual(repository, cache, seed, index=indexed[0] if indexed else None)
        made[seed] = other, kept_catalog(digest([tree, seed, other.digest]), cache, partial(_catalog_again, other))
    return Opened(repository, catalog, made)


def draw_suite(
    opened: Sequence[Opened],
    *,
    lock: str,
    seed: int = 1,
    kinds: Sequence[QuestionKind] = ("definition",),
    per_repository: int = PER_REPOSITORY,
    limit: int | None = None,
    search: bool = False,
) -> RepoqaSuite:
    """Draw the questions. `limit` is how many tasks at most are kept, spread over the repositories.

    The same trees, seed and numbers give the same tasks. Raises `RepoqaError` where a question has no counterpart.
    """
    drawn = [
        list(_tasks(one, draw(one.repository.name, one.catalog, seed=seed, kinds=kinds, number=per_repository), search))
        for one in opened
    ]
    if limit is not None:
        kept = {task.id for task in [task for row in zip_longest(*drawn) for task in row if task is not None][:limit]}
        drawn = [[task for task in tasks if task.id in kept] for tasks in drawn]
    return RepoqaSuite(opened, [task for tasks in drawn for task in tasks], seed=seed, lock=lock, search=search)


def _catalog_again(made: Counterfactual) -> Catalog:
    return catalog_of(made.name, Index(Layout.read(made.root)), is_renamed=True)


def _tasks(one: Opened, questions: Sequence[Question], search: bool) -> Iterator[Task]:
    numbers: dict[str, int] = {}
    pin = one.repository.pin
    source = pin.sdist.sha256 if pin.sdist else pin.git.commit if pin.git else "shipped with Readback"
    for question in questions:
        numbers[question.kind] = number = numbers.get(question.kind, 0) + 1
        yield Task.make(
            id=f"{NAME}/{pin.name}/{question.kind}-{number:02}",
            suite=NAME,
            template=question.kind,
            kind="read",
            requires=("answer",),
            needs_write=False,
            # A question that a listing answers needs no reading.
            needs_chart=not question.visible,
            instruction=question.instruction,
            tools=TOOLS_WITH_SEARCH if search else TOOLS,
            clock=CLOCK,
            sources=(f"{pin.name} {pin.version} ({source})",),
            answer={"values": [{"text": text} for text in question.answer], "order": "any"},
            parameters={
                "bucket": pin.bucket,
                "unknown": pin.unknown,
                "questions": dict(_versions(one, question)),
            },
            cluster=pin.name,
            canary=CANARY,
        )


def _versions(one: Opened, question: Question) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "original", {**question.as_data(), "decoy": _decoy(one.catalog, question)}
    for seed, (made, catalog) in sorted(one.counterfactuals.items()):
        name = made.words[question.name]
        again = asked_again(question, name, made.name, catalog)
        if again is None:
            raise RepoqaError(
                f"the question about {question.name!r} of {one.repository.name} has no counterpart with seed {seed};"
                " take another seed"
            )
        yield str(seed), {**again.as_data(), "decoy": _decoy(catalog, again)}


def _decoy(catalog: Catalog, question: Question) -> str:
    """A plausible path that is wrong: of the repository's own code, by the listing's words if it can be."""
    wrong = set(question.answer) | {question.path}
    others = [path for path in catalog.own if path not in wrong]
    near = [path for path in others if path.rpartition("/")[0] == question.path.rpartition("/")[0]]
    return min(
        near or others or ["setup.py"], key=lambda path: (path.endswith("__init__.py"), digest([path, question.name]))
    )
