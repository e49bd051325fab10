"""The four outcomes of `kappa_ground`, and that a policy of any kind gets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from grounding import REFUSAL, Answer, Cache, Finding, Support, Trace, kappa_ground
from grounding.answer import LONGEST
from grounding.predicate import outcome_of
from harness.verdict import Outcome
from tests.grounding.build import ADAPTERS, judged, read, trace

FILE = read("src/requests/adapters.py", ADAPTERS)


def test_an_answer_whose_every_entity_was_seen_passes() -> None:
    said = judged("src/requests/adapters.py defines HTTPAdapter and get_adapter()", FILE)
    assert (said.outcome, said.labels, said.reason) == ("pass", (), None)
    assert [entity.outcome for entity in said.entities] == ["pass", "pass", "pass"]
    assert all(entity.support and entity.why is None for entity in said.entities)


def test_one_entity_that_was_not_seen_is_enough_to_fail() -> None:
    said = judged("src/requests/adapters.py defines HTTPAdapter and SessionPool", FILE)
    assert (said.outcome, said.labels) == ("fail", ("UNGROUNDED",))
    assert [entity.outcome for entity in said.entities] == ["pass", "pass", "fail"]
    assert said.entities[2].why


@pytest.mark.parametrize("answer", ["", "I do not know.", "It is defined in the sessions module.", "42"])
def test_an_answer_that_claims_nothing_is_vacuous(answer: str) -> None:
    said = judged(answer, FILE)
    assert (said.outcome, said.labels, said.entities) == ("vacuous", (), ())


def test_only_the_exact_sentence_is_a_refusal() -> None:
    assert judged(REFUSAL).labels == ("REFUSAL",)
    assert judged(f"  “{REFUSAL}”\n").labels == ("REFUSAL",)
    assert judged("I don't know; it was not found in the source I read.").labels == ()


def test_a_refusal_that_names_something_is_judged_as_an_answer() -> None:
    assert judged(f"{REFUSAL} Perhaps in src/b.py.", FILE).outcome == "fail"
    assert judged(f"{REFUSAL} Perhaps in src/requests/adapters.py.", FILE).outcome == "pass"
    refused = Answer(text=f"{REFUSAL}\nI looked in src/b.py", said=REFUSAL)
    assert judged(refused, FILE).outcome == "fail"  # type: ignore[arg-type]


def test_with_evidence_missing_an_answer_may_pass_and_never_fails() -> None:
    cut = read("src/requests/adapters.py", ADAPTERS[:200], cut_by="recorder")
    assert judged("src/requests/adapters.py", cut).outcome == "pass"
    said = judged("src/requests/adapters.py defines get_adapter()", cut)
    assert (said.outcome, said.labels) == ("unscored", ())
    assert said.reason == said.entities[1].why
    assert [entity.outcome for entity in said.entities] == ["pass", "unscored"]


def test_what_certainly_fails_fails_beside_what_is_uncertain() -> None:
    part = read("a.py", "    pool_size = 1\n")
    assert judged("pool_size and OtherThing", part).outcome == "fail"


def test_only_a_name_alone_may_be_the_beginning_of_what_is_uncertain() -> None:
    part = read("a.py", "    pool_size = 1\n")
    assert judged("pool_siz", part).outcome == judged("pool_size()", part).outcome == "unscored"
    assert judged("pool_siz()", part).outcome == "fail"


def test_an_answer_that_is_too_long_is_unscored() -> None:
    said = judged("a.py " * (LONGEST // 5 + 1), FILE)
    assert said.outcome == "unscored"
    assert said.reason == f"the answer has {LONGEST + 5:,} characters, and at most {LONGEST:,} are judged"


@pytest.mark.parametrize(
    ("outcomes", "outcome"),
    [
        ((), "vacuous"),
        (("pass", "pass"), "pass"),
        (("pass", "unscored"), "unscored"),
        (("unscored", "fail", "pass"), "fail"),
    ],
)
def test_the_outcome_of_several_claims(outcomes: Sequence[Outcome], outcome: Outcome) -> None:
    assert outcome_of(outcomes) == outcome


@dataclass(frozen=True)
class Number:
    text: str
    span: tuple[int, int]
    kind: str = "number"


@dataclass(frozen=True)
class Numbers:
    """Evidence of another kind: the numbers that calls gave, and whether one was lost."""

    seen: dict[str, int]
    doubts: Sequence[str] = ()


class Arithmetic:
    """A policy of another kind: a number is supported if a call gave it, or as the sum of all of them."""

    name = "arithmetic"
    digest = "sha256:a"
    refusals = ("No number.",)

    def claims(self, answer: Answer, given: Sequence[str]) -> list[Number]:
        words = [word for word in answer.text.split() if word.isdigit() and word not in given]
        return [Number(word, (answer.text.index(word), answer.text.index(word) + len(word))) for word in words]

    def evidence(self, trace: Trace, cache: Cache, given: Sequence[str]) -> Numbers:
        seen = {str(call.result): call.position for call in trace.calls if call.result is not None}
        return Numbers(seen, ["a number was lost"] if len(seen) < len(trace.calls) else [])

    def find(self, claim: Number, evidence: Numbers) -> Finding:
        if claim.text in evidence.seen:
            return Finding(outcome="pass", support=(Support(call=evidence.seen[claim.text], how="given"),))
        if evidence.seen and int(claim.text) == sum(map(int, evidence.seen)):
            operands = tuple(Support(call=call, how="operand", rule="sum") for call in evidence.seen.values())
            return Finding(outcome="pass", support=operands)
        return Finding(outcome="fail", why="no call gave it, and it is not their sum")


def test_a_policy_of_another_kind_gets_the_same_outcomes() -> None:
    def said(answer: str, *numbers: int | None, given: Sequence[str] = ()) -> tuple[Outcome, tuple[str, ...]]:
        calls = [read("x").model_copy(update={"result": number}) for number in numbers]
        ended = kappa_ground(trace(*calls), answer, Arithmetic(), given=given, cache=Cache())
        return ended.outcome, ended.labels

    assert said("2 and 3", 2, 3) == ("pass", ())
    assert said("it is 5", 2, 3) == ("pass", ())
    assert said("it is 6", 2, 3) == ("fail", ("UNGROUNDED",))
    assert said("it is 6", 2, None) == ("unscored", ())
    assert said("it is 6", 2, 3, given=["6"]) == ("vacuous", ())
    assert said("No number.", 2, 3) == ("vacuous", ("REFUSAL",))
