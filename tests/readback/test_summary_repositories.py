"""Quadrants, what a prompt changes, and what renaming changes: each number worked out by hand."""

# ruff: noqa: E501

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from harness.stats.differences import difference_in_differences
from harness.task import Task
from harness.trace import Episode, SelfCheck
from harness.verdict import Verdict
from readback.summary import Summary, summarise
from readback.summary.null import null_rates
from readback.tables import markdown, screen_of
from readback.tables.words import reasons_of_grounding

ORIGINAL: dict[str, Any] = {"protocol": "tools", "counterfactual": None}
RENAMED: dict[str, Any] = {"protocol": "tools", "counterfactual": 7}


def task(number: int, repository: str, *, bucket: str = "high", unknown: bool = False) -> Task:
    return Task.make(
        id=f"repoqa/{repository}/definition-{number:02}", suite="repoqa", template="definition", kind="read",
        requires=("answer",), needs_write=False, needs_chart=True, instruction="?", tools=(), clock="2026-01-15T10:15:00+00:00",
        cluster=repository,
        parameters={"bucket": bucket, "unknown": unknown, "questions": {"original": {"repository": repository}}},
    )  # fmt: skip


def played(
    task: Task, cell: str, condition: str = "default", *, variant: dict[str, Any] = ORIGINAL, agent: str = "openai:m",
    contains: bool = False, kind: Any = "model",
) -> tuple[Episode, list[Verdict]]:  # fmt: skip
    """One episode in a quadrant: CG, CU, IG, IU, C or I with R (refusal) or V (vacuous), `?` unscored."""
    id = f"{task.id} {agent} {condition} {variant['counterfactual']}"
    episode = Episode(
        id=id, task=task.id, task_digest=task.digest, agent=agent, agent_kind=kind, condition=condition, variant=variant,
        ending="provider_error" if cell == "?" else "finished", claim="done",
    )  # fmt: skip
    right = cell[0] == "C"
    outcome: Any = {"G": "pass", "U": "fail", "R": "vacuous", "V": "vacuous"}.get(cell[-1], "unscored")
    labels = {"U": ("UNGROUNDED",), "R": ("REFUSAL",)}.get(cell[-1], ())
    reason = "the episode ended" if outcome == "unscored" else None
    answer: Any = "unscored" if cell == "?" else "pass" if right else "fail"
    wrong = () if right or cell == "?" else ("WRONG_ANSWER",)
    return episode, [
        Verdict(episode=id, lens="answer", config="c", outcome=answer, label=wrong[0] if wrong else None, labels=wrong,
                notes=("CONTAINS_TRUTH",) if contains else (), reason=reason),
        Verdict(episode=id, lens="grounding", config="c", outcome=outcome, label=labels[0] if labels else None, labels=labels,
                reason=reason),
    ]  # fmt: skip


def summary_of(tasks: Iterable[Task], runs: Iterable[tuple[Episode, list[Verdict]]]) -> Summary:
    runs = list(runs)
    verdicts = [verdict for _, given in runs for verdict in given]
    return summarise({"suite": "repoqa"}, tasks, [episode for episode, _ in runs], verdicts, run="r")


CELLS = ("CG", "CU", "IG", "IU", "IR", "IV", "?")


def test_every_episode_is_in_one_cell_and_refusals_are_no_vacuous_ones() -> None:
    tasks = [task(number, "a", bucket="high" if number < 4 else "low") for number in range(7)]
    summary = summary_of(tasks, [played(one, cell) for one, cell in zip(tasks, CELLS, strict=True)])
    quadrants = summary.rows[0].quadrants
    assert quadrants is not None
    expected = {"CG": 1, "CU": 1, "IG": 1, "IU": 1, "refusal": 1, "vacuous": 1, "unscored": 1}
    assert {name: getattr(quadrants, name) for name in expected} == expected
    assert list(quadrants.by_bucket) == ["high", "low"]
    assert quadrants.by_bucket["low"].model_dump(exclude={"shares"}) == {
        **dict.fromkeys(expected, 0),
        "refusal": 1,
        "vacuous": 1,
        "unscored": 1,
    }
    rate = summary.rows[0].lenses["grounding"]
    assert (rate.passed, rate.fail, rate.vacuous, rate.unscored) == (2, 2, 2, 1)
    assert rate.cluster == "repository"


def test_an_answer_whose_grounding_nobody_can_tell_is_in_no_quadrant() -> None:
    tasks = [task(number, "a") for number in range(3)]
    runs = [played(one, cell, contains=True) for one, cell in zip(tasks, ("C?", "I?", "CG"), strict=True)]
    (row,) = summary_of(tasks, runs).rows
    assert (row.success.passed, row.success.fail, row.success.unscored) == (2, 1, 0)
    assert row.quadrants is not None
    assert (row.quadrants.CG, row.quadrants.unscored, row.quadrants.shares["CG"].rate) == (1, 2, 1.0)
    assert row.quadrants.paper.model_dump() == {"CG": 1, "CU": 0, "IG": 0, "IU": 0, "unscored": 2}


def test_an_answer_that_one_of_the_lenses_did_not_judge_is_in_no_quadrant() -> None:
    tasks = [task(number, "a") for number in range(3)]
    (one, both), (other, given), (third, said) = (played(asked, "CG") for asked in tasks)
    runs = [(one, both[:1]), (other, given[1:]), (third, said[:0])]  # answer, grounding, nothing
    quadrants = summary_of(tasks, runs).rows[0].quadrants
    assert quadrants is not None
    assert (quadrants.unscored, quadrants.paper.unscored) == (3, 3)
    assert {cell: share.rate for cell, share in quadrants.shares.items()} == dict.fromkeys(
        ("CG", "CU", "IG", "IU", "refusal", "vacuous")
    )


def test_shares_have_the_error_between_repositories() -> None:
    tasks = [task(number, repository) for repository in "abcd" for number in range(5)]
    cells = {"a": "CG", "b": "CU", "c": "CU", "d": "?"}
    quadrants = summary_of(tasks, [played(one, cells[str(one.cluster)]) for one in tasks]).rows[0].quadrants
    assert quadrants is not None
    share = quadrants.shares["CG"]
    assert (share.rate, share.clusters) == (pytest.approx(1 / 3), 3)
    # Residuals by repository: 10/3, -5/3, -5/3; se = sqrt(3/2 * (100 + 25 + 25) / 9) / 15; t on 2 is 4.303.
    se = (1.5 * 150 / 9) ** 0.5 / 15
    assert share.ci95_cluster == (0.0, pytest.approx(min(1.0, 1 / 3 + 4.302653 * se)))
    assert quadrants.shares["IG"].rate == 0.0 and quadrants.shares["IG"].ci95_cluster is None


def test_by_the_studys_own_rules_refusals_are_grounded_and_containment_is_right() -> None:
    tasks = [task(number, "a") for number in range(3)]
    runs = [played(tasks[0], "IG", contains=True), played(tasks[1], "IR"), played(tasks[2], "IU", contains=True)]
    quadrants = summary_of(tasks, runs).rows[0].quadrants
    assert quadrants is not None
    assert quadrants.paper.model_dump() == {"CG": 1, "CU": 1, "IG": 1, "IU": 0, "unscored": 0}
    assert (quadrants.CG, quadrants.IG, quadrants.IU) == (0, 1, 1)


def test_other_suites_have_no_quadrants() -> None:
    one = task(1, "a").model_copy(update={"suite": "ehr", "parameters": {"bucket": "high"}})
    summary = summary_of([one], [played(one, "CG")])
    assert summary.rows[0].quadrants is None and summary.counterfactual == ()


def test_a_prompt_that_only_makes_agents_refuse_raises_grounding_over_all_and_not_over_answers() -> None:
    tasks = [task(number, repository) for repository in "abcdefgh" for number in range(2)]
    runs = []
    for number, one in enumerate(tasks):
        runs += [played(one, "CU"), played(one, "IR" if number % 2 else "CU", "grounded")]
    found = {one.measure: one for one in summary_of(tasks, runs).comparisons}
    assert found.keys() == {"success", "grounded", "grounded_answered", "CG"}
    assert found["grounded"].difference == 0.5 and found["grounded"].pairs == 16
    assert found["grounded_answered"].difference == 0.0 and found["grounded_answered"].pairs == 8
    assert found["CG"].difference == 0.0
    assert found["success"].difference == -0.5
    assert found["grounded"].p_sign_flip == pytest.approx(2 / 2**8)
    assert found["grounded"].clusters == 8


def test_pairs_that_claim_nothing_are_told_from_pairs_that_are_unscored() -> None:
    tasks = [task(number, "a") for number in range(6)]
    after = ["CG", "IU", "IR", "IV", "?", "?"]
    runs = [played(one, "IR" if number == 5 else "CU") for number, one in enumerate(tasks)]
    runs += [played(one, cell, "grounded") for one, cell in zip(tasks, after, strict=True)]
    found = {one.measure: one for one in summary_of(tasks, runs).comparisons}
    counts = {name: (one.pairs, one.unscored, one.vacuous) for name, one in found.items()}
    assert counts == {"success": (4, 2, 0), "grounded": (4, 2, 0), "grounded_answered": (2, 2, 2), "CG": (4, 2, 0)}


def test_holm_is_over_the_comparisons_of_one_measure() -> None:
    tasks = [task(number, repository) for repository in "abcdefgh" for number in range(2)]
    runs = [run for one in tasks for run in (played(one, "CU"), played(one, "CG", "grounded"))]
    for one in summary_of(tasks, runs).comparisons:
        assert one.p_holm == one.p_sign_flip


def test_agents_are_compared_in_success_and_never_against_another_tree() -> None:
    tasks = [task(1, "a"), task(2, "b")]
    runs = [played(one, "CG", agent=agent) for one in tasks for agent in ("openai:m", "openai:n")]
    runs += [played(one, "IU", variant=RENAMED) for one in tasks]
    summary = summary_of(tasks, runs)
    assert {(one.measure, one.a.agent, one.b.agent) for one in summary.comparisons} == {
        ("success", "openai:m", "openai:n")
    }


def test_renaming_is_measured_against_repositories_that_nobody_knows() -> None:
    known = [task(number, repository) for repository in "abc" for number in range(4)]
    unknown = [task(number, repository, bucket="low", unknown=True) for repository in "xyz" for number in range(4)]
    runs = []
    for number, one in enumerate(known):  # from 12 of 12 to 3 of 12
        runs += [played(one, "CU"), played(one, "CG" if number % 4 == 0 else "IU", variant=RENAMED)]
    for number, one in enumerate(unknown):  # from 6 of 12 to 3 of 12: renaming makes it harder, too
        runs += [
            played(one, "CG" if number % 2 == 0 else "IU"),
            played(one, "CG" if number % 4 == 0 else "IU", variant=RENAMED),
        ]
    (found,) = summary_of([*known, *unknown], runs).counterfactual
    assert (found.known.original, found.known.counterfactual, found.known.difference) == (1.0, 0.25, -0.75)
    assert (found.unknown.original, found.unknown.counterfactual, found.unknown.difference) == (0.5, 0.25, -0.25)
    assert found.difference_in_differences == -0.5
    assert (found.known.pairs, found.known.clusters, found.seed, found.unscored) == (12, 3, 7, 0)


def test_pairs_that_are_not_scored_on_both_sides_are_left_out_and_counted() -> None:
    tasks = [task(1, "a"), task(2, "a"), task(1, "x", unknown=True)]
    runs = [played(one, "CG") for one in tasks]
    runs += [
        played(tasks[0], "?", variant=RENAMED),
        played(tasks[1], "CG", variant=RENAMED),
        played(tasks[2], "CG", variant=RENAMED),
    ]
    (found,) = summary_of(tasks, runs).counterfactual
    assert (found.unscored, found.known.pairs, found.unknown.pairs) == (1, 1, 1)
    assert found.ci95 is None and found.why == "a group of one cluster cannot be resampled"


def test_the_difference_of_differences_is_undefined_without_a_group() -> None:
    found = difference_in_differences([("a", True, True, False)])
    assert found.difference.value is None and "second group" in str(found.difference.why)


def test_the_interval_of_the_difference_of_differences_covers_it_and_is_the_same_each_time() -> None:
    pairs = [(f"k{n}", True, True, n % 3 == 0) for n in range(12)] + [
        (f"u{n}", False, n % 2 == 0, n % 4 == 0) for n in range(12)
    ]
    once, again = difference_in_differences(pairs), difference_in_differences(reversed(pairs))
    assert once.difference.value == again.difference.value == pytest.approx(-2 / 3 + 1 / 4)
    low, high = once.difference.ci95 or (0, 0)
    assert low < -2 / 3 + 1 / 4 < high <= 0


def test_original_rows_stand_before_renamed_ones_and_the_tables_say_which() -> None:
    tasks = [task(number, repository, unknown=repository == "x") for repository in "ax" for number in range(2)]
    runs = [run for one in tasks for run in (played(one, "CU", variant=RENAMED), played(one, "CG"))]
    summary = summary_of(tasks, runs)
    assert [row.variant["counterfactual"] for row in summary.rows] == [None, 7]
    text = markdown(screen_of(summary))
    assert text.index("Quadrants (protocol tools), in episodes") < text.index("Quadrants (counterfactual 7")
    assert "Success on original and on renamed repositories" in text and "Twins" not in text
    assert Summary.read(summary.line()) == summary


def test_a_grounded_rate_that_is_undefined_or_without_a_null_says_why() -> None:
    tasks = [task(number, "a") for number in range(2)]
    rows = summary_of(tasks, [played(one, cell, agent=cell) for one in tasks for cell in ("CG", "IR")]).rows
    rates = {row.agent: row.lenses["grounding"] for row in rows}
    assert (rates["IR"].rate, rates["IR"].why) == (None, "nothing was scored")
    lonely = rates["CG"].model_copy(update={"null_why": "no other question"})
    assert reasons_of_grounding([lonely, rates["IR"]]) == [
        "– Grounded: nothing was scored.", "– Null: no other question.",
    ]  # fmt: skip
    assert reasons_of_grounding([lonely.model_copy(update={"null_rate": 0.1, "null_why": None})]) == []
    text = markdown(screen_of(summary_of(tasks, [played(one, "IR") for one in tasks])))
    assert "– Grounded: nothing was scored." in text


def test_the_null_is_the_same_answers_against_reads_for_other_questions() -> None:
    tasks = [task(number, "a") for number in range(4)]
    episodes = []
    for number, one in enumerate(tasks):
        read = {"path": f"src/f{number}.py", "content": "x = 1\n", "start_line": 1, "end_line": 1, "total_lines": 1}
        # The last one also reads what the others name.
        paths = [number] if number < 3 else [0, 1, 2, 3]
        calls = [
            {"position": at, "step": at, "name": "read_file", "arguments": {"path": f"src/f{n}.py"}, "status": "ok",
             "result": {**read, "path": f"src/f{n}.py"}}
            for at, n in enumerate(paths, 1)
        ]  # fmt: skip
        episodes.append(
            Episode.model_validate(
                {"id": one.id, "task": one.id, "task_digest": one.digest, "agent": "m", "condition": "default", "variant": ORIGINAL,
                 "ending": "finished", "answer": (f"src/f{number}.py",), "calls": tuple(calls)}
            )
        )  # fmt: skip
    ((key, null),) = null_rates(tasks, episodes).items()
    assert key[:2] == ("m", "default")
    # Each of the first three answers is supported by one trace of three others, the last one's by none.
    assert null.rate == pytest.approx((1 / 3 + 1 / 3 + 1 / 3 + 0) / 4)
    # Without the last one's, no trace supports another answer: as where nobody can judge its episode.
    for unjudged in ({"ending": "provider_error"}, {"self_check": SelfCheck(agrees=False)}):
        three = [*episodes[:3], episodes[3].model_copy(update=unjudged)]
        (null,) = null_rates(tasks, three).values()
        assert (null.rate, null.answers, null.pairs) == (0.0, 3, 6)


def test_in_the_null_too_the_name_of_the_repository_is_that_of_the_tree_that_was_read() -> None:
    def reads_of_both(one: Task, variant: dict[str, Any]) -> Episode:
        calls = [
            {"position": n, "step": n, "name": "read_file", "arguments": {"path": f"f{n}.py"}, "status": "ok",
             "result": {"path": f"f{n}.py", "content": "x = 1\n", "start_line": 1, "end_line": 1, "total_lines": 1}}
            for n in (1, 2)
        ]  # fmt: skip
        return Episode.model_validate(
            {"id": f"{one.id} {variant['counterfactual']}", "task": one.id, "task_digest": one.digest, "agent": "m",
             "condition": "default", "variant": variant, "ending": "finished", "answer": ("f1.py of zarser_kit",),
             "calls": tuple(calls)}
        )  # fmt: skip

    questions = {"original": {"repository": "tea_kit"}, "7": {"repository": "zarser_kit"}}
    tasks = [
        one.model_copy(update={"parameters": {**one.parameters, "questions": questions}})
        for one in (task(number, "a") for number in range(2))
    ]
    nulls = null_rates(tasks, [reads_of_both(one, variant) for one in tasks for variant in (ORIGINAL, RENAMED)])
    rates = {json.loads(variant)["counterfactual"]: null.rate for (_, _, variant), null in nulls.items()}
    assert rates == {7: 1.0, None: 0.0}, "of the original it is a name like any other, and nothing read defines it"
