"""The grounding lens on the suite: an oracle is grounded; of the careless, those who say what no row says are not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from ehr.tasks.suite import EhrSuite
from ehr.tasks.validate import play
from harness.task import Task
from harness.verdict import Verdict

MEASURED = (
    "latest-lab", "mean-lab", "highest-lab", "latest-vital", "lab-if-stale", "magnesium-replacement",
    "potassium-replacement", "hyperkalaemia-ecg", "metformin-renal", "warfarin-inr", "weight-based-dose", "patient-age",
)  # fmt: skip


def grounding(suite: EhrSuite, task: Task, name: str) -> Verdict:
    return play(suite, task, name).verdicts["grounding"]


def of_template(suite: EhrSuite, name: str) -> list[Task]:
    return [task for task in suite.tasks if task.template == name]


def with_trap(suite: EhrSuite, trap: str, *templates: str) -> Iterator[Task]:
    return (task for task in suite.tasks if trap in task.traps and task.template in (templates or MEASURED))


@pytest.mark.parametrize("template", MEASURED)
def test_an_oracle_is_grounded(suite: EhrSuite, template: str) -> None:
    """Or claims nothing, where it answers with a time, or with a number that the instruction gives."""
    tasks = of_template(suite, template)[:6]
    verdicts = [grounding(suite, task, "oracle") for task in tasks]
    assert {verdict.outcome for verdict in verdicts} <= {"pass", "vacuous"}, verdicts
    assert any(verdict.outcome == "pass" for verdict in verdicts)


@pytest.mark.parametrize("template", ["active-medications", "active-problems", "patient-lookup", "allergy-check"])
def test_codes_names_and_record_numbers_are_no_values(suite: EhrSuite, template: str) -> None:
    for task in of_template(suite, template)[:3]:
        assert grounding(suite, task, "oracle").outcome == "vacuous"


@pytest.mark.parametrize(
    ("name", "trap", "templates"),
    [
        ("ignore_unit", "unit", ("mean-lab", "highest-lab", "magnesium-replacement", "latest-vital")),
        ("ignore_status", "status", ("mean-lab", "highest-lab", "latest-vital", "hyperkalaemia-ecg")),
        ("year_only", "birthday", ("patient-age",)),
    ],
)
def test_what_no_row_says_is_ungrounded(suite: EhrSuite, name: str, trap: str, templates: tuple[str, ...]) -> None:
    tasks = [task for template in templates for task in islice(with_trap(suite, trap, template), 2)]
    assert len(tasks) > 1
    for task in tasks:
        assert grounding(suite, task, name).outcome == "fail", task.id


@pytest.mark.parametrize(
    ("name", "trap", "templates"),
    [
        ("first_page", "page", ("mean-lab", "highest-lab")),
        ("newest_id", "id", ("latest-vital", "metformin-renal")),
        ("ignore_window", "window", ("mean-lab", "highest-lab")),
    ],
)
def test_a_row_of_the_wrong_page_time_or_place_is_grounded_and_wrong(
    suite: EhrSuite, name: str, trap: str, templates: tuple[str, ...]
) -> None:
    tasks = [task for template in templates for task in islice(with_trap(suite, trap, template), 2)]
    assert len(tasks) > 1
    for task in tasks:
        result = play(suite, task, name)
        assert (result.verdicts["grounding"].outcome, result.verdicts["answer"].outcome) == ("pass", "fail"), task.id
