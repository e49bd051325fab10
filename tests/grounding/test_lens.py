"""The predicate as a verdict about an episode."""

from __future__ import annotations

import pytest

from grounding import PAPER, REFUSAL, Cache, judge_grounding
from harness.trace import Call, Episode
from harness.verdict import Verdict
from tests.grounding.build import ADAPTERS, read, trace


def episode(*calls: Call, **fields: object) -> Episode:
    plain = {"id": "e", "task": "t", "task_digest": "d", "agent": "a", "condition": "default", "variant": {}}
    return Episode(**plain | {"ending": "finished", "calls": tuple(trace(*calls).calls)} | fields)  # type: ignore[arg-type]


def verdict(*calls: Call, **fields: object) -> Verdict:
    said = judge_grounding(episode(*calls, **fields), PAPER, cache=Cache())
    assert (said.lens, said.config, said.episode) == ("grounding", PAPER.digest, "e")
    assert Verdict.read(said.line()) == said
    return said


def test_an_episode_is_judged_by_its_answer_and_note_with_a_clause_an_entity() -> None:
    file = read("src/a.py", ADAPTERS)
    said = verdict(file, answer=("src/a.py",), note="It is SessionPool.", claim="done")
    assert (said.outcome, said.label, said.labels) == ("fail", "UNGROUNDED", ("UNGROUNDED",))
    path, name = said.clauses
    assert (path.name, path.outcome, path.label, path.actual) == ("path src/a.py", "pass", None, "read at 0")
    assert path.evidence is not None
    assert path.evidence.call == 1
    assert (name.name, name.outcome, name.label) == ("identifier SessionPool", "fail", "UNGROUNDED")
    assert (name.actual, name.why, name.evidence) == ("not seen", "no definition in any read_file result", None)


def test_a_refusal_is_vacuous_under_its_label() -> None:
    said = verdict(answer=(REFUSAL,), note="I looked at every module.", claim="not_done")
    assert (said.outcome, said.label) == ("vacuous", "REFUSAL")


def test_an_episode_without_an_answer_is_vacuous() -> None:
    assert verdict(read("src/a.py", ADAPTERS), ending="max_turns").outcome == "vacuous"


@pytest.mark.parametrize("ending", ["provider_error", "auth", "budget", "wall_time", "harness_error"])
def test_an_episode_that_was_not_played_to_its_end_is_unscored(ending: str) -> None:
    said = verdict(answer=("src/a.py",), ending=ending)
    assert (said.outcome, said.reason) == ("unscored", f"the episode ended as {ending}")


def test_a_cut_by_the_recorder_is_unscored_with_its_reason() -> None:
    said = verdict(read("src/a.py", ADAPTERS, cut_by="recorder"), answer=("SessionPool",))
    assert said.outcome == "unscored"
    assert said.reason == "call 1 (read_file) was cut by the recorder; no definition in any read_file result"


def test_given_names_are_no_claims() -> None:
    played = episode(answer=("In my_tool",))
    assert judge_grounding(played, PAPER, given=["my_tool"], cache=Cache()).outcome == "vacuous"
    assert judge_grounding(played, PAPER, cache=Cache()).outcome == "fail"
