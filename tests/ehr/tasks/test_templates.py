"""What holds for every template: their words, their tasks, their traps, their expectations."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from ehr.sandbox import Record
from ehr.sandbox.definitions import resource_types
from ehr.tasks.baselines import NEAR_ORACLES
from ehr.tasks.suite import CANARY, EhrSuite, draw_suite
from ehr.tasks.templates import all_templates
from ehr.verify import Answer, Expected, problems
from harness.task import Task

ASKED_FOR = {
    "patient-lookup", "patient-age", "latest-lab", "mean-lab", "latest-vital", "active-medications", "active-problems",
    "allergy-check", "record-blood-pressure", "record-weight", "specialist-referral", "lab-if-stale",
    "magnesium-replacement", "potassium-replacement", "stop-medication", "prescribe-unless-allergic", "record-allergy",
    "resolve-problem", "correct-observation", "change-telephone", "cancel-duplicate-order", "ambiguous-dose",
}  # fmt: skip
ELEMENTS = re.compile(r"\b(?=[a-z]+[A-Z])[A-Za-z]+\b")
"""Words in camel case: elements of FHIR."""


def of_template(suite: EhrSuite) -> dict[str, list[Task]]:
    found: dict[str, list[Task]] = defaultdict(list)
    for task in suite.tasks:
        found[task.template].append(task)
    return found


def test_there_are_ten_tasks_of_every_template(suite: EhrSuite) -> None:
    assert set(all_templates()) >= ASKED_FOR
    assert len(all_templates()) >= 22
    assert suite.undrawn == {}
    assert {name: len(tasks) for name, tasks in of_template(suite).items()} == dict.fromkeys(all_templates(), 10)


def test_instructions_are_a_clinicians_words(suite: EhrSuite) -> None:
    types = set(resource_types()) - {"Patient", "Group", "Person", "Task", "List", "Flag", "Goal", "Basic", "Slot"}
    for task in suite.tasks:
        words = set(re.findall(r"\w+", task.instruction))
        assert not words & (types - {"Observation", "Condition", "Measure", "Library"}), task.instruction
        assert set(ELEMENTS.findall(task.instruction)) <= {"dL", "eGFR", "mEq", "mL", "mmHg"}, task.instruction
        assert task.instruction[0].isupper() or task.instruction[0].isdigit()
        assert "  " not in task.instruction
        ids = {row["id"] for row in task.setup} | {(task.patient or "/").split("/")[1]}
        assert not words & ids


def test_each_template_has_several_phrasings(suite: EhrSuite) -> None:
    for name, tasks in of_template(suite).items():
        openings = {task.instruction.split(" (")[0][:9] for task in tasks}
        assert len(openings) >= 2, name


def test_patients_are_named_by_record_number_or_by_name_and_birth_date(suite: EhrSuite) -> None:
    for task in suite.tasks:
        for told in task.parameters.get("people", [task.parameters.get("patient")]):
            assert set(told) in ({"mrn"}, {"given", "family", "birth_date"})
            named = told.get("mrn") or f"{told['given']} {told['family']}"
            assert named in task.instruction


def test_each_task_reads_writes_or_withholds_as_it_says(suite: EhrSuite) -> None:
    for task in suite.tasks:
        expected = Expected.model_validate(task.expected)
        assert task.needs_write == (task.kind == "write") == (not expected.is_nothing)
        assert task.requires == (("state", "answer") if task.answer else ("state",))
        if task.kind != "write":
            assert task.answer is not None
        if task.answer:
            Answer.model_validate(task.answer)
        assert problems(expected) == ()


def test_created_orders_are_checked_for_patient_code_value_time_and_status(suite: EhrSuite) -> None:
    for task in suite.tasks:
        expected = Expected.model_validate(task.expected)
        for create in expected.creates:
            labels = {clause.label for clause in create.clauses}
            assert {"WRONG_PATIENT", "WRONG_CODE", "WRONG_STATUS"} <= labels, task.id
            if create.type != "AllergyIntolerance":
                assert "WRONG_TIME" in labels, task.id
            if create.type in ("Observation", "MedicationRequest"):
                assert "WRONG_VALUE" in labels, task.id


def test_conditional_templates_come_in_twins(suite: EhrSuite) -> None:
    by_id = {task.id: task for task in suite.tasks}
    for task in suite.tasks:
        template = all_templates()[task.template]
        assert (task.twin is not None) == template.twins
        if task.twin:
            twin = by_id[task.twin]
            assert twin.twin == task.id
            assert {task.id[-1], twin.id[-1]} == {"a", "b"}
            assert (twin.instruction, twin.parameters) == (task.instruction, task.parameters)


@pytest.mark.parametrize("name", [name for name, template in all_templates().items() if template.twins])
def test_both_right_acts_occur_in_each_conditional_template(suite: EhrSuite, name: str) -> None:
    tasks = of_template(suite)[name]
    if any(task.kind == "withhold" for task in tasks):
        assert 3 <= sum(task.kind == "withhold" for task in tasks) <= 7
    assert len({str(task.expected) + str(task.answer) for task in tasks}) >= 2


def test_every_trap_is_laid_and_none_of_them_everywhere(record: Record) -> None:
    laid = Counter(trap for task in draw_suite(record, seed=2).tasks for trap in task.traps)
    assert set(laid) == set(NEAR_ORACLES.values())
    assert all(count < 160 for count in laid.values())


def test_thresholds_have_sources_with_a_year(suite: EhrSuite) -> None:
    with_numbers = {
        "magnesium-replacement", "potassium-replacement", "hyperkalaemia-ecg", "metformin-renal", "warfarin-inr",
        "weight-based-dose", "lab-if-stale", "prescribe-unless-allergic", "specialist-referral",
    }  # fmt: skip
    for name, template in all_templates().items():
        assert bool(template.sources) == (name in with_numbers), name
        assert all(re.search(r"\b(19|20)\d\d\b", source) for source in template.sources)
    assert all(task.sources == all_templates()[task.template].sources for task in suite.tasks)


def test_every_task_carries_the_canary_and_the_records_clock(suite: EhrSuite) -> None:
    assert {task.canary for task in suite.tasks} == {CANARY}
    assert {task.clock for task in suite.tasks} == {suite.record.clock}


def test_the_fact_that_counts_stands_first_last_and_between(suite: EhrSuite) -> None:
    """Where it always stood in one place, place alone would give it away."""
    tasks = [task for task in suite.tasks if task.template in ("latest-vital", "weight-based-dose", "metformin-renal")]
    assert {frozenset(task.traps) & {"order", "id"} for task in tasks} >= {
        frozenset({"order", "id"}),
        frozenset({"id"}),
    }


def test_a_time_that_is_checked_is_told(suite: EhrSuite) -> None:
    for task in suite.tasks:
        for create in Expected.model_validate(task.expected).creates:
            if any(clause.instant and clause.instant.at == task.clock for clause in create.clauses):
                assert "dated now" in task.instruction, task.instruction
            if any(clause.instant and clause.instant.path == "occurrence" for clause in create.clauses):
                assert "08:00" in task.instruction


def test_every_code_that_is_checked_is_told(suite: EhrSuite) -> None:
    for task in suite.tasks:
        for create in Expected.model_validate(task.expected).creates:
            for code in (clause.coded.code for clause in create.clauses if clause.coded):
                assert code in task.instruction, task.instruction
