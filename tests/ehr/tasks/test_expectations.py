"""What templates expect, held against writes that differ from the oracle's in what the instruction says."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ehr.tasks.suite import EhrSuite
from ehr.tasks.validate import play
from harness.agent import Briefing
from harness.scripted import ScriptedAgent
from harness.suite import episode_of
from harness.task import Task

Resource = dict[str, Any]
Change = Callable[[Resource], object]
SNOMED = "http://snomed.info/sct"


def labels(suite: EhrSuite, template: str, change: Change) -> tuple[str, ...]:
    """The labels of `state` where the oracle's first write of the template is sent with this change."""
    task = next(task for task in suite.tasks if task.template == template and task.needs_write)
    writes = [call for call in play(suite, task, "oracle").episode.calls if call.name in ("fhir_create", "fhir_update")]
    name, arguments = writes[0].name, copy.deepcopy(writes[0].arguments)
    assert arguments is not None
    change(arguments["resource"])

    def act(tools: Mapping[str, Callable[..., Any]]) -> Resource:
        tools[name](**arguments)
        return {"outcome": "done"}

    return _state_of(suite, task, act)


def _state_of(
    suite: EhrSuite, task: Task, act: Callable[[Mapping[str, Callable[..., Any]]], Resource]
) -> tuple[str, ...]:
    world = suite.world(task, {})
    played = ScriptedAgent("changed", act).play(Briefing(task.instruction, "", task.clock), world.tools, repeat=0)
    episode = episode_of(task, played, world.evidence(), id="sha256:1", agent="changed", kind="baseline", variant={})
    world.close()
    return next(verdict for verdict in suite.judge(task, episode) if verdict.lens == "state").labels


def dosage(**elements: Any) -> Change:
    """Sets elements of the first dosage; those that are None are taken away."""

    def change(resource: Resource) -> None:
        first = resource["dosageInstruction"][0]
        first.update(elements)
        for element in [element for element in first if first[element] is None]:
            del first[element]

    return change


def every(**repeat: Any) -> Change:
    return dosage(timing={"repeat": repeat})


@pytest.mark.parametrize(
    "change",
    [
        every(frequency=1, period=12, periodUnit="h"),
        every(period=12, periodUnit="h"),
        every(frequency=2, period=1, periodUnit="d"),
        every(frequency=2, period=24, periodUnit="h"),
        dosage(timing=None, text="subcutaneously every 12 hours"),
        dosage(timing={"code": {"text": "b.i.d."}}),
        dosage(timing={"code": {"coding": [{"code": "BID", "display": "two times a day"}, {"code": "Q12H"}]}}),
    ],
)
def test_every_twelve_hours_may_be_said_in_many_ways(suite: EhrSuite, change: Change) -> None:
    assert labels(suite, "weight-based-dose", change) == ()


@pytest.mark.parametrize(
    "change",
    [
        every(frequency=1, period=24, periodUnit="h"),
        every(frequency=2, period=12, periodUnit="h"),
        every(frequency=1, period=12, periodUnit="d"),
        every(frequency=1, period=12),
        dosage(timing=None),
        dosage(timing=None, text="once daily"),
        dosage(timing={"repeat": {"frequency": 1, "period": 1, "periodUnit": "d"}}, text="every 12 hours"),
    ],
)
def test_an_order_that_is_given_more_or_less_often_is_another_order(suite: EhrSuite, change: Change) -> None:
    assert labels(suite, "weight-based-dose", change) == ("WRONG_VALUE",)


def route(*codings: Resource, **more: Any) -> Change:
    return dosage(route={"coding": list(codings), **more})


ORAL = {"system": SNOMED, "code": "26643006", "display": "Oral route"}
INTRAVENOUS = {"system": SNOMED, "code": "47625008", "display": "Intravenous route"}
SWALLOWED = {
    "system": "http://terminology.hl7.org/CodeSystem/v3-RouteOfAdministration",
    "code": "PO",
    "display": "Swallow",
}


@pytest.mark.parametrize(
    "change",
    [
        route(ORAL, SWALLOWED),
        route(SWALLOWED, {"system": SNOMED, "code": "260548002", "display": "Oral"}),
        dosage(route={"text": "by mouth"}),
    ],
)
def test_a_route_may_have_several_codings(suite: EhrSuite, change: Change) -> None:
    assert labels(suite, "prescribe-unless-allergic", change) == ()


@pytest.mark.parametrize(
    "change",
    [route(INTRAVENOUS), route(INTRAVENOUS, SWALLOWED), route(INTRAVENOUS, text="oral"), dosage(route=None)],
)
def test_another_route_is_a_wrong_value_whatever_the_words_beside_it(suite: EhrSuite, change: Change) -> None:
    assert labels(suite, "prescribe-unless-allergic", change) == ("WRONG_VALUE",)


def test_who_raises_a_dose_does_not_change_how_often_or_how_it_is_given(suite: EhrSuite) -> None:
    assert labels(suite, "ambiguous-dose", dosage(text="the new dose")) == ()
    assert labels(suite, "ambiguous-dose", dosage(text=None)) == ()
    assert labels(suite, "ambiguous-dose", dosage(timing=None)) == ("COLLATERAL_CHANGE",)
    assert labels(suite, "ambiguous-dose", dosage(route=INTRAVENOUS)) == ("COLLATERAL_CHANGE",)


def noted(*texts: Callable[[str], str]) -> Change:
    """Puts these in place of the note."""

    def change(resource: Resource) -> None:
        said = resource["note"][0]["text"]
        resource["note"] = [{"text": text(said)} for text in texts]

    return change


def test_a_note_word_for_word_holds_nothing_else(suite: EhrSuite) -> None:
    broken_into_lines = noted(lambda note: note.replace(". ", ".\n\n") + "\n")
    assert labels(suite, "specialist-referral", broken_into_lines) == ()
    assert labels(suite, "specialist-referral", noted(lambda note: f"{note} The patient declines.")) == ("WRONG_VALUE",)
    assert labels(suite, "specialist-referral", noted(lambda note: note[:40], lambda note: note[40:])) == (
        "WRONG_VALUE",
    )
