"""The suite is sound on records of several makes, and a template broken on purpose is caught in each way there is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ehr.sandbox import Record
from ehr.sandbox.files.load import load
from ehr.tasks import synthetic
from ehr.tasks.chart import Chart
from ehr.tasks.indistinct import tell_tales
from ehr.tasks.suite import EhrSuite, draw_suite
from ehr.tasks.template import Finish
from ehr.tasks.templates import all_templates
from ehr.tasks.validate import Report, validate
from harness.task import Task
from tests.support import shared


def test_the_default_suite_is_sound() -> None:
    with Record.build(synthetic.generate(), clock=synthetic.CLOCK, synthetic=True) as record:
        report = validate(draw_suite(record, seed=1))
    assert [str(problem) for problem in report.problems] == []
    assert report.is_sound
    assert (report.tasks, report.undrawn) == (270, {})
    assert report.successes["oracle"] == 270
    assert report.successes["idle"] == report.successes["careless"] == 0
    assert report.successes["blind"] == 50  # the five templates that need no chart
    assert report.episodes == 270 * 17


def test_a_suite_on_the_synthea_record_is_sound() -> None:
    loaded = load([shared("data", "synthea")])
    assert loaded.clock is not None
    with Record.build(loaded.resources(), clock=loaded.clock, synthetic=True) as record:
        report = validate(draw_suite(record, seed=1, per_template=1))
    assert [str(problem) for problem in report.problems] == []
    assert (report.tasks, report.undrawn) == (41, {})


def test_a_private_seed_is_as_sound(record: Record) -> None:
    report = validate(draw_suite(record, seed=4711, limit=14))
    assert [str(problem) for problem in report.problems] == []


def test_progress_is_told_and_the_report_is_one_document(record: Record) -> None:
    told: list[tuple[int, int]] = []
    report = validate(draw_suite(record, limit=3), progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    document = json.loads(json.dumps(report.as_json()))
    assert (document["format"], document["sound"], document["problems"]) == ("readback.validation/1", True, [])
    assert document["successes"]["oracle"] == 3


# Broken on purpose


def broken(suite: EhrSuite, template: str, change: Callable[[Task], Task], number: int = 2) -> Report:
    """The report on a template whose tasks were changed after they were drawn."""
    tasks = [task for task in suite.tasks if task.template == template][:number]
    return validate(of_tasks(suite, [change(task) for task in tasks]))


def of_tasks(suite: EhrSuite, tasks: Sequence[Task]) -> EhrSuite:
    return EhrSuite(suite.record, tasks, seed=1, undrawn={}, ward=suite.ward)


def with_template(record: Record, name: str, number: int = 2, **changes: Any) -> Report:
    """The report on a template of which a function or a declaration was replaced."""
    library = {name: replace(all_templates()[name], **changes)}
    return validate(draw_suite(record, library=library, per_template=number))


def found(report: Report) -> set[tuple[str | None, str]]:
    return {(problem.task, problem.check) for problem in report.problems}


def test_an_oracle_that_fails_is_caught(record: Record) -> None:
    def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
        return Finish("done", ["12"])

    report = with_template(record, "latest-vital", oracle=oracle)
    assert ("ehr/latest-vital/0001", "oracle") in found(report)
    assert "expected success" in str(report.problems[0])
    assert "answer fail WRONG_ANSWER" in str(report.problems[0])
    assert not report.is_sound


def test_an_oracle_that_crashes_is_caught(record: Record) -> None:
    def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
        raise ZeroDivisionError("no dose")

    report = with_template(record, "record-weight", oracle=oracle)
    assert any("ZeroDivisionError: no dose" in str(problem) for problem in report.problems)


def test_an_answer_that_is_not_what_the_record_says_is_caught(suite: EhrSuite) -> None:
    def change(task: Task) -> Task:
        return task.model_copy(update={"answer": {"values": [{"text": "something else"}], "order": "any"}})

    assert ("ehr/mean-lab/0001", "oracle") in found(broken(suite, "mean-lab", change))


def test_a_task_on_which_idle_succeeds_is_caught(suite: EhrSuite) -> None:
    def change(task: Task) -> Task:
        return task.model_copy(update={"requires": ("state",), "answer": None})

    report = broken(suite, "latest-vital", change)
    assert ("ehr/latest-vital/0002", "idle") in found(report)


def test_blind_success_where_the_chart_is_said_to_be_needed_is_caught(record: Record) -> None:
    report = with_template(record, "record-weight", needs_chart=True)
    assert ("ehr/record-weight/0001", "blind") in found(report)


def test_blind_success_on_both_of_two_twins_is_caught(record: Record) -> None:
    enoxaparin = all_templates()["weight-based-dose"]
    report = with_template(record, "weight-based-dose", blind=enoxaparin.oracle, needs_chart=False)
    assert {problem.expected for problem in report.problems} == {"failure on one of two twins"}
    assert found(report) == {("ehr/weight-based-dose/0001a", "blind")}


def test_a_template_said_to_need_no_chart_that_blind_never_gets_is_caught(record: Record) -> None:
    report = with_template(record, "latest-vital", needs_chart=False)
    assert found(report) == {(None, "blind")}
    assert "it fails on all 2 tasks of latest-vital" in str(report.problems[0])


def test_a_trap_that_is_not_declared_is_caught(suite: EhrSuite) -> None:
    report = broken(suite, "active-problems", lambda task: task.model_copy(update={"traps": ()}))
    assert ("ehr/active-problems/0001", "ignore_status") in found(report)
    assert "expected success, without the trap 'status'" in str(report.problems[0])


def test_a_trap_that_is_none_is_caught(suite: EhrSuite) -> None:
    report = broken(suite, "record-weight", lambda task: task.model_copy(update={"traps": ("unit", "haste")}))
    assert ("ehr/record-weight/0001", "ignore_unit") in found(report)
    assert "failure, as the trap 'unit' is declared" in str(report.problems[0])
    assert any(problem.check == "traps" and "['haste'] has none" in problem.found for problem in report.problems)


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ({"name": "x", "label": "WRONG_STATUS", "fhirpath": "status = = 'active'"}, "status = = 'active'"),
        ({"name": "x", "label": "WRONG_STATUS", "fhirpath": "authoredOn < now()"}, "now()"),
        ({"name": "x", "label": "WRONG_VALUE", "quantity": {"path": "value", "value": "2", "unit": "grams"}}, "grams"),
    ],
)
def test_an_expectation_that_nobody_can_judge_is_caught_and_not_played(
    suite: EhrSuite, clause: dict[str, Any], said: str
) -> None:
    def change(task: Task) -> Task:
        assert task.expected is not None
        create = task.expected["creates"][0]
        creates = [{**create, "clauses": [*create["clauses"], clause]}]
        return task.model_copy(update={"expected": {**task.expected, "creates": creates}})

    report = broken(suite, "record-weight", change)
    assert found(report) == {(f"ehr/record-weight/{n:04d}", "expectation") for n in (1, 2)}
    assert all(said in problem.found for problem in report.problems)
    assert report.episodes == 0


def test_an_expectation_that_lets_a_second_write_pass_is_caught(suite: EhrSuite) -> None:
    """Two expected where one is asked for: the stutter does what is expected, and the oracle does not."""

    def change(task: Task) -> Task:
        assert task.expected is not None
        return task.model_copy(update={"expected": {**task.expected, "creates": task.expected["creates"] * 2}})

    checks = {check for _, check in found(broken(suite, "record-weight", change))}
    assert {"oracle", "stutter (message against state)"} <= checks


@pytest.mark.parametrize("name", ["phantom", "careless", "stutter"])
def test_a_baseline_that_does_not_do_its_part_is_caught(suite: EhrSuite, name: str) -> None:
    """Each of them is replaced by the oracle, so that its row of the table does not come out."""

    class Lazy(EhrSuite):
        def baseline(self, asked: str, task: Task) -> Any:
            return super().baseline("oracle" if asked == name else asked, task)

    tasks = [task for task in suite.tasks if task.template == "record-weight"][:1]
    report = validate(Lazy(suite.record, tasks, seed=1, undrawn={}, ward=suite.ward))
    assert ("ehr/record-weight/0001", f"{name} (message against state)") in found(report)


def twins(suite: EhrSuite, change: Callable[[Task, Task], Task]) -> Report:
    """The report on one pair of twins, of which the second was changed (it is given after the first)."""
    first, second = [task for task in suite.tasks if task.template == "hyperkalaemia-ecg"][:2]
    return validate(of_tasks(suite, [first, change(first, second)]))


def test_twins_with_different_instructions_are_caught(suite: EhrSuite) -> None:
    report = twins(suite, lambda first, task: task.model_copy(update={"instruction": task.instruction + " Hurry."}))
    assert found(report) == {("ehr/hyperkalaemia-ecg/0001a", "twins")}
    assert "the same instruction" in str(report.problems[0])


def test_twins_whose_oracles_are_told_different_things_are_caught(suite: EhrSuite) -> None:
    report = twins(suite, lambda first, task: task.model_copy(update={"parameters": {**task.parameters, "dose": 2}}))
    assert "the same parameters" in str(report.problems[0])


def test_twins_that_differ_in_more_than_one_fact_are_caught(suite: EhrSuite) -> None:
    report = twins(suite, lambda first, task: task.model_copy(update={"setup": task.setup[:-1]}))
    assert any("one planted fact that differs" in str(problem) for problem in report.problems)


def test_twins_with_the_same_right_act_are_caught(suite: EhrSuite) -> None:
    def change(first: Task, second: Task) -> Task:
        return second.model_copy(update={"expected": first.expected, "answer": first.answer})

    report = twins(suite, change)
    assert any("another right act" in str(problem) for problem in report.problems)


def test_twins_that_do_not_name_each_other_are_caught(suite: EhrSuite) -> None:
    report = twins(suite, lambda first, task: task.model_copy(update={"twin": "ehr/other/0001a"}))
    assert any("to name it as its twin" in str(problem) for problem in report.problems)


def test_a_setup_that_the_server_does_not_take_is_caught(suite: EhrSuite) -> None:
    report = broken(suite, "record-weight", lambda task: task.model_copy(update={"setup": ({"id": "x"},)}), 1)
    assert ("ehr/record-weight/0001", "oracle") in found(report)
    assert any("has no type or no id" in problem.found for problem in report.problems)


# Planted rows that can be told


def planted(suite: EhrSuite, change: Callable[[dict[str, Any]], dict[str, Any]], number: int = 3) -> list[str]:
    """What is said of planted rows when each planted Observation is changed."""

    def changed(task: Task) -> Task:
        rows = [change(row) if row["resourceType"] == "Observation" else row for row in task.setup]
        return task.model_copy(update={"setup": tuple(rows)})

    return [p.found for p in broken(suite, "mean-lab", changed, number).problems if p.check == "planted rows"]


def test_ids_of_another_shape_give_planted_rows_away(suite: EhrSuite) -> None:
    said = planted(suite, lambda row: {**row, "id": "planted-" + row["id"]}, 1)
    assert any("has not the shape of the record's ids" in sentence for sentence in said)


def test_ids_in_one_corner_give_planted_rows_away(suite: EhrSuite) -> None:
    said = planted(suite, lambda row: {**row, "id": "b0" + row["id"][2:]})
    assert any("the ids of planted Observation rows are not spread" in sentence for sentence in said)


def test_an_element_of_their_own_gives_planted_rows_away(suite: EhrSuite) -> None:
    said = planted(suite, lambda row: {**row, "note": [{"text": "planted"}], "method": {"text": "x"}}, 1)
    assert any("has elements that no row of its kind has together" in sentence for sentence in said)


def test_more_digits_than_the_records_give_planted_rows_away(suite: EhrSuite) -> None:
    def change(row: dict[str, Any]) -> dict[str, Any]:
        quantity = row["valueQuantity"]
        return {**row, "valueQuantity": {**quantity, "value": quantity["value"] + 0.125}}

    assert any("decimals" in sentence for sentence in planted(suite, change, 1))


def test_round_times_give_planted_rows_away(suite: EhrSuite) -> None:
    def change(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "effectiveDateTime": row["effectiveDateTime"][:14] + "15:00+00:00"}

    said = planted(suite, change)
    assert any("not as often whole quarters of an hour as the record's" in sentence for sentence in said)


@pytest.mark.parametrize("seed", [1, 3, 4, 5])
def test_few_rows_of_the_record_do_not_make_planted_rows_look_odd(seed: int) -> None:
    """What few rows show of how a record's rows are spread is no more exact than few rows are."""
    resources = [json.loads(body) for body in synthetic.generate(patients=2, seed=seed)]
    observations = [row["id"] for row in resources if row["resourceType"] == "Observation"][:25]
    few = [row for row in resources if row["resourceType"] != "Observation" or row["id"] in observations]
    record = Record.build(few, clock=synthetic.CLOCK, synthetic=True)
    drawn = draw_suite(record, templates=["mean-lab", "highest-lab", "latest-lab", "latest-vital"])
    assert sum(row["resourceType"] == "Observation" for task in drawn.tasks for row in task.setup) > 500
    assert list(tell_tales(drawn)) == []
