"""What each baseline does, seen by the lenses: the message against the record."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ehr.sandbox import Record
from ehr.tasks.baselines import BASELINES, NEAR_ORACLES
from ehr.tasks.chart import FLAWS
from ehr.tasks.suite import EhrSuite, draw_suite
from ehr.tasks.validate import play
from harness.agent import Briefing
from harness.task import Task


def first(suite: EhrSuite, template: str, suits: Callable[[Task], bool] = lambda task: True) -> Task:
    return next(task for task in suite.tasks if task.template == template and suits(task))


@pytest.fixture(params=["specialist-referral", "magnesium-replacement", "record-allergy", "record-weight"])
def creating(request: pytest.FixtureRequest, suite: EhrSuite) -> Task:
    return first(suite, request.param, lambda task: task.needs_write)


@pytest.mark.parametrize(
    ("name", "message", "state", "label"),
    [
        ("oracle", "pass", "pass", None),
        ("idle", "fail", "fail", "MISSING_WRITE"),
        ("phantom", "pass", "fail", "PHANTOM_SUCCESS"),
        ("careless", "pass", "fail", "WRONG_PATIENT"),
        ("stutter", "fail", "fail", "DUPLICATE"),
    ],
)
def test_message_against_state(
    suite: EhrSuite, creating: Task, name: str, message: str, state: str, label: str | None
) -> None:
    verdicts = play(suite, creating, name).verdicts
    assert (verdicts["message"].outcome, verdicts["state"].outcome, verdicts["state"].label) == (message, state, label)


@pytest.mark.parametrize(
    ("name", "message", "state", "label"),
    [
        ("oracle", "pass", "pass", None),
        ("idle", "fail", "fail", "MISSING_WRITE"),
        ("phantom", "fail", "fail", "PHANTOM_SUCCESS"),
        ("careless", "pass", "fail", "WRONG_PATIENT"),
        ("stutter", "pass", "pass", None),
    ],
)
def test_where_something_is_only_changed_a_phantom_shows_and_a_stutter_does_no_harm(
    suite: EhrSuite, name: str, message: str, state: str, label: str | None
) -> None:
    verdicts = play(suite, first(suite, "stop-medication"), name).verdicts
    assert (verdicts["message"].outcome, verdicts["state"].outcome, verdicts["state"].label) == (message, state, label)


def test_the_oracle_reads_its_writes_back(suite: EhrSuite, creating: Task) -> None:
    assert "NO_READBACK" not in play(suite, creating, "oracle").verdicts["state"].notes


def test_idle_makes_no_call_and_claims_nothing(suite: EhrSuite) -> None:
    episode = play(suite, first(suite, "latest-lab"), "idle").episode
    assert (episode.calls, episode.claim, episode.answer) == ((), "unclear", ())


def test_blind_looks_at_nothing_but_the_patient(suite: EhrSuite) -> None:
    for task in suite.tasks[::7]:
        episode = play(suite, task, "blind").episode
        read = {call.arguments["type"] for call in episode.calls if call.arguments and call.name == "fhir_search"}
        assert read <= {"Patient"}, task.id


def test_phantom_sends_nothing_and_shows_what_it_would_have_sent(suite: EhrSuite, creating: Task) -> None:
    episode = play(suite, creating, "phantom").episode
    assert {request.method for request in episode.requests} == {"GET"}
    assert episode.claim == "done"
    assert json.loads(episode.note.splitlines()[0])["resourceType"]


def test_careless_does_the_right_act_and_one_more(suite: EhrSuite, creating: Task) -> None:
    changes = play(suite, creating, "careless").episode.changes
    assert [change.verb for change in changes] == ["create", "update"]
    assert changes[1].reference.startswith("Patient/")
    assert changes[1].reference != creating.patient


def test_there_is_a_near_oracle_for_each_flaw() -> None:
    assert set(NEAR_ORACLES) == set(FLAWS)
    assert not set(NEAR_ORACLES) & set(BASELINES)
    assert len(set(NEAR_ORACLES.values())) == len(NEAR_ORACLES)


def test_an_oracle_is_given_no_more_than_is_told(record: Record) -> None:
    """It is played for a task from which answer, expectation, setup and traps are taken, in the world of the whole."""
    suite = draw_suite(record, seed=3, limit=60)
    for task in suite.tasks:
        blank = task.model_copy(update={"answer": None, "expected": None, "setup": (), "traps": (), "instruction": ""})
        world = suite.world(task, {})
        played = suite.baseline("oracle", blank).play(Briefing("", "", task.clock), world.tools, repeat=0)
        assert (played.claim, played.answer) == (
            (whole := play(suite, task, "oracle").episode).claim,
            whole.answer,
        )
        assert len(world.evidence().changes) == len(whole.changes)
        world.close()
