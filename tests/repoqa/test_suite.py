"""The suite as it is played: tasks, baselines, verdicts from the folder alone, counterfactuals, and the proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grounding import REFUSAL
from harness.plan import make_plan
from harness.runfolder import RunFolder
from harness.runner import execute, score
from harness.task import Task
from harness.trace import Episode
from repoqa import validate as proof
from repoqa.baselines import BASELINES
from repoqa.fetch import Repository, shipped_repository
from repoqa.prompts import prompts
from repoqa.suite import RepoqaError, RepoqaSuite, draw_suite, judge, open_repository, truth_of
from tests.repoqa.test_counterfactual import PROJECT
from tests.repoqa.trees import pin_of, written

SEED = 7


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RepoqaSuite]:
    cache = tmp_path_factory.mktemp("cache")
    tea = Repository(pin_of("tea-kit", bucket="high"), written(tmp_path_factory.mktemp("tea"), PROJECT))
    opened = [open_repository(one, cache, counterfactuals=(SEED,)) for one in (shipped_repository(), tea)]
    yield draw_suite(opened, lock="sha256:x", per_repository=6)


def test_the_same_trees_and_seed_give_the_same_tasks(suite: RepoqaSuite, tmp_path: Path) -> None:
    again = draw_suite(suite.opened, lock="sha256:x", per_repository=6)
    other = draw_suite(suite.opened, lock="sha256:x", per_repository=6, seed=2)
    assert again.digest == suite.digest != other.digest
    assert {task.cluster for task in suite.tasks} == {"ferrytide", "tea-kit"}
    assert all(task.requires == ("answer",) and task.kind == "read" for task in suite.tasks)


def test_a_task_says_what_is_known_of_its_repository(suite: RepoqaSuite) -> None:
    pins = {one.repository.name: one.repository.pin for one in suite.opened}
    assert {(pin.bucket, pin.unknown) for pin in pins.values()} == {("high", False), (pins["ferrytide"].bucket, True)}
    assert pins["ferrytide"].bucket != "high"
    for task in suite.tasks:
        pin = pins[str(task.cluster)]
        assert (task.parameters["bucket"], task.parameters["unknown"]) == (pin.bucket, pin.unknown)


def test_the_name_of_the_repository_is_no_claim_under_whichever_name_it_is_asked_about(suite: RepoqaSuite) -> None:
    task = suite.tasks[0]
    asked = {"original": "tea_kit", str(SEED): "zarser_kit"}
    questions = {seed: {**one, "repository": asked[seed]} for seed, one in task.parameters["questions"].items()}
    renamed = task.model_copy(update={"parameters": {**task.parameters, "questions": questions}})

    def outcome(answer: str, seed: int | None) -> str:
        episode = Episode(
            id="e", task=task.id, task_digest=task.digest, agent="a", condition="default", ending="finished",
            variant={"counterfactual": seed}, answer=(answer,),
        )  # fmt: skip
        return judge(renamed, episode)[1].outcome

    assert (outcome("In tea_kit.", None), outcome("In zarser_kit.", SEED)) == ("vacuous", "vacuous")
    assert (outcome("In zarser_kit.", None), outcome("In tea_kit.", SEED)) == ("fail", "fail")


def test_a_limit_is_spread_over_the_repositories(suite: RepoqaSuite) -> None:
    few = draw_suite(suite.opened, lock="sha256:x", per_repository=6, limit=3)
    assert [task.cluster for task in few.tasks] == ["ferrytide", "ferrytide", "tea-kit"]
    assert {task.id for task in few.tasks} <= {task.id for task in suite.tasks}


def test_a_counterfactual_asks_the_same_task_in_other_words(suite: RepoqaSuite) -> None:
    for task in suite.tasks:
        original, renamed = truth_of(task, {"counterfactual": None}), truth_of(task, {"counterfactual": SEED})
        assert suite.instruction(task, {}) == task.instruction == original["instruction"]
        assert suite.instruction(task, {"counterfactual": SEED}) == renamed["instruction"]
        for old in (original["name"], original["repository"], original["path"]):
            assert old not in renamed["instruction"] + str(renamed["answer"])
        root = suite._root(task, {"counterfactual": SEED})
        assert renamed["name"] in (root / renamed["path"]).read_text().splitlines()[renamed["line"] - 1]


def test_two_seeds_of_a_task_stand_side_by_side(tmp_path: Path) -> None:
    opened = [open_repository(shipped_repository(), tmp_path, counterfactuals=(1, 2))]
    task = draw_suite(opened, lock="x", limit=1).tasks[0]
    assert task.parameters["questions"].keys() == {"original", "1", "2"}
    with pytest.raises(KeyError):
        truth_of(task, {"counterfactual": 3})
    with pytest.raises(RepoqaError, match=r"holds no questions, but 1\.5; put back the tasks of its run"):
        truth_of(task.model_copy(update={"parameters": {"questions": 1.5}}), {})


def test_a_run_fills_the_quadrants_as_known_in_advance_and_is_judged_again_from_its_folder(
    suite: RepoqaSuite, tmp_path: Path
) -> None:
    variants = [{"protocol": "tools", "counterfactual": None}, {"protocol": "tools", "counterfactual": SEED}]
    plan = make_plan(suite, list(BASELINES), conditions=dict(suite.conditions), variants=variants)
    with RunFolder.create(tmp_path / "run", plan.about(options={}), plan.tasks) as folder:
        report = execute(plan, folder, jobs=2)
        assert report.is_complete and not report.problems
    opened = RunFolder.open(tmp_path / "run")
    tasks = {task.id: task for task in opened.tasks()}
    verdicts = {(one.episode, one.lens): one for one in opened.verdicts()}
    seen = set()
    for episode in opened.episodes():
        assert episode.ending == "finished", episode.error
        truth = truth_of(tasks[episode.task], episode.variant)
        renamed = episode.variant["counterfactual"] is not None
        both = {lens: verdicts[episode.id, lens] for lens in ("answer", "grounding")}
        found = proof.quadrant(both)
        assert found in proof.expected_quadrant(episode.agent, truth, renamed=renamed).split(), (episode.agent, truth)
        assert judge(tasks[episode.task], episode) == list(both.values())
        seen.add(found)
    assert seen >= {"CG", "CU", "IG", "IU", "refusal", "vacuous"}
    with RunFolder.append(tmp_path / "run") as folder:
        assert score(folder, judge).is_complete


def test_validate_finds_the_suite_sound(suite: RepoqaSuite) -> None:
    report = proof.validate(suite)
    assert report.is_sound, report.problems
    assert report.successes["oracle"] == report.successes["recall"] == len(suite.tasks)
    assert report.successes["guess"] == report.successes["shotgun"] == report.successes["refuser"] == 0
    assert report.successes["lister"] == sum(not task.needs_chart for task in suite.tasks)
    assert report.quadrants["shotgun"] == {"IG": 2 * len(suite.tasks)}


def changed(suite: RepoqaSuite, **question: object) -> RepoqaSuite:
    """The suite with one task whose question says something else."""
    first = suite.tasks[0]
    questions = {**first.parameters["questions"]}
    questions["original"] = {**questions["original"], **question}
    fields = first.model_dump(exclude={"digest", "format"})
    broken = Task.make(**{**fields, "parameters": {**first.parameters, "questions": questions}})
    return RepoqaSuite(suite.opened, [broken], seed=1, lock="x")


@pytest.mark.parametrize(
    ("question", "check"),
    [
        ({"answer": ["src/ferrytide/nowhere.py"]}, "oracle"),
        ({"path": "src/ferrytide/nowhere.py"}, "oracle"),
        ({"answer": []}, "answer"),
        ({"visible": True}, "lister"),
        ({"decoy": None}, "guess"),
    ],
)
def test_validate_catches_a_task_that_is_broken_on_purpose(
    suite: RepoqaSuite, question: dict[str, object], check: str
) -> None:
    base = next(task for task in suite.tasks if task.needs_chart)
    only = RepoqaSuite(suite.opened, [base], seed=1, lock="x")
    if "decoy" in question:
        question = {"decoy": base.parameters["questions"]["original"]["path"]}
    report = proof.validate(changed(only, **question))
    assert not report.is_sound
    assert any(problem.check.startswith(check) for problem in report.problems), report.problems
    assert all(problem.task == base.id for problem in report.problems)


@pytest.mark.parametrize("key", ["name", "path", "repository"])
def test_validate_catches_a_counterfactual_that_shares_a_name(suite: RepoqaSuite, key: str) -> None:
    task = suite.tasks[0]
    asked = task.parameters["questions"]
    shared = proof.validate(changed(suite, **{key: asked[str(SEED)][key]})).problems
    found = [one for one in shared if one.check == f"counterfactual {SEED}"]
    assert [one.found for one in found] == [f"{key} is {asked[str(SEED)][key]!r} in both"]


def test_a_symbol_without_a_counterpart_is_one_sentence(tmp_path: Path) -> None:
    one = open_repository(shipped_repository(), tmp_path, counterfactuals=(1,))
    made, catalog = one.counterfactuals[1]
    empty = replace(one, counterfactuals={1: (made, catalog.model_copy(update={"entries": ()}))})
    with pytest.raises(RepoqaError, match="has no counterpart with seed 1; take another seed"):
        draw_suite([empty], lock="x")


def test_prompts_share_the_preamble_and_the_grounded_one_has_the_exact_sentence() -> None:
    texts = prompts()
    assert texts.keys() == {"default", "grounded"}
    shared = texts["default"].partition("\nSome advice:")[0]
    assert texts["grounded"].startswith(shared)
    assert REFUSAL in texts["grounded"] and REFUSAL not in texts["default"]
    assert "{" not in texts["default"] + texts["grounded"]
    assert "search" not in texts["default"] and "search" in prompts(search=True)["default"]


def test_with_search_the_world_has_it_and_the_tasks_are_others(suite: RepoqaSuite) -> None:
    searching = draw_suite(suite.opened, lock="x", per_repository=1, search=True)
    world = searching.world(searching.tasks[0], {})
    assert [tool.name for tool in world.tools] == ["list_directory", "read_file", "search", "finish"]
    assert searching.digest != draw_suite(suite.opened, lock="x", per_repository=1).digest
