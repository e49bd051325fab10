"""The suite: the same record and seed give the same tasks; limits; what cannot be drawn is said."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ehr.sandbox import Record, RecordError
from ehr.tasks import synthetic
from ehr.tasks.suite import EhrSuite, draw_suite
from ehr.tasks.template import CannotDrawError, Case, Drawing
from ehr.tasks.templates import all_templates
from harness.suite import Suite, World
from harness.task import Task
from tests.ehr.tasks.playing import CLOCK, PEOPLE


def test_the_same_record_and_seed_give_the_same_tasks(record: Record, suite: EhrSuite) -> None:
    again = draw_suite(record, seed=1)
    assert again.digest == suite.digest
    assert [task.line() for task in again.tasks] == [task.line() for task in suite.tasks]


def test_another_seed_gives_others_of_the_same_kinds(record: Record, suite: EhrSuite) -> None:
    other = draw_suite(record, seed=2)
    assert other.digest != suite.digest
    same = {task.instruction for task in other.tasks} & {task.instruction for task in suite.tasks}
    assert len(same) < len(suite.tasks) / 10
    assert Counter(task.template for task in other.tasks) == Counter(task.template for task in suite.tasks)


def test_tasks_survive_being_written_and_read(suite: EhrSuite) -> None:
    assert [Task.read(task.line()) for task in suite.tasks] == list(suite.tasks)


@pytest.mark.parametrize("limit", [1, 2, 3, 12, 40, 101])
def test_a_limit_keeps_twins_together_and_spreads_over_templates(record: Record, suite: EhrSuite, limit: int) -> None:
    limited = draw_suite(record, seed=1, limit=limit)
    ids = [task.id for task in limited.tasks]
    assert len(ids) == limit
    assert set(ids) <= {task.id for task in suite.tasks}
    assert ids == [task.id for task in suite.tasks if task.id in set(ids)]
    assert all(task.twin in ids for task in limited.tasks if task.twin)
    units = Counter(task.template for task in limited.tasks if not task.id.endswith("b"))
    assert max(units.values()) <= min(units.values()) + 1 if limit > 27 else max(units.values()) <= 2
    if limit >= 12:
        assert {task.kind for task in limited.tasks} == {"read", "write", "withhold"}


def test_twins_are_parted_only_where_nothing_else_is_left(record: Record) -> None:
    ids = [task.id for task in draw_suite(record, templates=["latest-lab"], limit=3).tasks]
    assert ids == ["ehr/latest-lab/0001a", "ehr/latest-lab/0001b", "ehr/latest-lab/0002a"]


def test_more_tasks_than_there_are_people_are_drawn_all_the_same(record: Record) -> None:
    drawn = draw_suite(record, templates=["record-weight", "lab-if-stale"], per_template=61)
    assert Counter(task.template for task in drawn.tasks) == {"record-weight": 61, "lab-if-stale": 62}
    assert len({task.digest for task in drawn.tasks}) == 123


def test_numbers_below_one_and_unknown_names_are_refused(record: Record) -> None:
    with pytest.raises(ValueError, match="limit is 0; expected at least 1"):
        draw_suite(record, limit=0)
    with pytest.raises(ValueError, match="per_template is -1"):
        draw_suite(record, per_template=-1)
    with pytest.raises(KeyError, match="no template 'latest-lap'; there are patient-lookup"):
        draw_suite(record, templates=["latest-lap"])


def test_what_cannot_be_drawn_is_named_with_the_reason(record: Record) -> None:
    def draw(drawing: Drawing) -> tuple[Case, ...]:
        raise CannotDrawError("nobody of 40 people has two heads")

    library = {
        "never": replace(all_templates()["record-weight"], name="never", draw=draw),
        "record-weight": all_templates()["record-weight"],
    }
    drawn = draw_suite(record, library=library)
    assert drawn.undrawn == {"never": "nobody of 40 people has two heads"}
    assert {task.template for task in drawn.tasks} == {"record-weight"}
    assert drawn.about["undrawn"] == drawn.undrawn


def test_a_template_that_runs_out_keeps_what_it_has_and_says_so(record: Record) -> None:
    weight = all_templates()["record-weight"]

    def draw(drawing: Drawing) -> tuple[Case, ...]:
        if drawing.index == 3:
            raise CannotDrawError("there is no fourth")
        return weight.draw(drawing)

    drawn = draw_suite(record, library={"few": replace(weight, name="few", draw=draw)})
    assert (len(drawn.tasks), drawn.undrawn) == (3, {"few": "there is no fourth"})


def test_a_record_of_nobody_gives_no_task_and_every_reason() -> None:
    with Record.build([{"resourceType": "Organization", "id": "o1"}], clock=CLOCK, synthetic=True) as empty:
        drawn = draw_suite(empty)
        assert drawn.tasks == ()
        assert set(drawn.undrawn) == set(all_templates())
        assert all("no living patient" in reason for reason in drawn.undrawn.values())


def test_a_record_of_three_patients_and_nothing_else_is_enough_for_most() -> None:
    with Record.build(PEOPLE, clock=CLOCK, synthetic=True) as small:
        drawn = draw_suite(small, per_template=2)
        assert set(drawn.undrawn) <= {"change-telephone"}
        assert len({task.template for task in drawn.tasks}) >= 26


@pytest.mark.parametrize(
    "wrong", [{"name": [5]}, {"name": [{"family": "Ito", "given": 5}]}, {"identifier": 5}, {"birthDate": False}]
)
def test_a_record_that_no_server_would_keep_so_is_blamed_and_not_the_program(wrong: dict[str, Any]) -> None:
    odd = {**PEOPLE[0], "id": "odd", **wrong}
    with (
        Record.build([*PEOPLE, odd], clock=CLOCK, synthetic=True) as built,
        pytest.raises(RecordError, match=r"^Patient/odd of the record is no valid resource of R4 \(.*mend it"),
    ):
        draw_suite(built, templates=["patient-age"])


def test_a_fault_in_a_template_is_no_fault_of_the_record(record: Record) -> None:
    def draw(drawing: Drawing) -> tuple[Case, ...]:
        raise TypeError("ours")

    faulty = {"patient-age": replace(all_templates()["patient-age"], draw=draw)}
    with pytest.raises(TypeError, match="ours"):
        draw_suite(record, library=faulty)


def test_it_is_a_suite(suite: EhrSuite) -> None:
    as_suite: Suite = suite
    assert as_suite.name == "ehr"
    assert set(as_suite.conditions) == {"default", "grounded"}
    assert as_suite.about["record"] == {"hash": suite.record.hash, "clock": synthetic.CLOCK, "synthetic": True}
    assert as_suite.about["seed"] == 1


def test_a_world_has_the_tasks_tools_and_setup(suite: EhrSuite) -> None:
    task = next(task for task in suite.tasks if task.template == "mean-lab")
    world: World = suite.world(task, {"validation": "hapi"})
    assert tuple(tool.name for tool in world.tools) == task.tools
    search = next(tool for tool in world.tools if tool.name == "fhir_read")
    planted = task.setup[-1]
    found = search.run({"type": planted["resourceType"], "id": planted["id"]})
    assert found.result["body"]["valueQuantity"]["value"] == planted["valueQuantity"]["value"]
    assert world.evidence().changes == ()
    world.close()
    assert tuple(tool.name for tool in suite.tools(task, {})) == task.tools


def test_an_unknown_baseline_is_refused_by_name(suite: EhrSuite) -> None:
    with pytest.raises(KeyError, match="no baseline 'oracel'; there are oracle, idle"):
        suite.baseline("oracel", suite.tasks[0])
