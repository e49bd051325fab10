"""The null: the same answers against traces that answer other questions."""

from __future__ import annotations

import random

import pytest

from grounding import PAPER, REFUSAL, Answer, Answered, Cache, Null, null_rate
from harness.trace import Call
from tests.grounding.build import read, trace

ONE, TWO, BOTH = read("one.py", "class FirstThing: ..."), read("two.py", "class OtherThing: ..."), read("b.py", "x = 1")


def answered(name: str, answer: str, *calls: Call, group: str = "g", question: str | None = None) -> Answered:
    return Answered(name, group, question or name, trace(*calls), Answer.of(answer))


def null(*items: Answered, partners: int | None = None, seed: int = 1) -> Null:
    return null_rate(items, PAPER, partners=partners, seed=seed, cache=Cache())


def test_agents_that_read_everything_pass_against_each_other() -> None:
    items = [answered("a", "one.py", ONE, TWO), answered("b", "two.py", ONE, TWO)]
    assert null(*items) == Null(1.0, 2, 2)


def test_agents_that_read_only_what_they_need_do_not() -> None:
    assert null(answered("a", "one.py", ONE), answered("b", "two.py", TWO)) == Null(0.0, 2, 2)


def test_every_answer_has_the_same_weight_however_many_partners_it_has() -> None:
    # a passes against b and not against c; b and c pass against nothing
    items = [answered("a", "one.py", ONE), answered("b", "two.py", ONE), answered("c", "zzz.py", BOTH)]
    assert null(*items) == Null((0.5 + 0 + 0) / 3, 3, 6)


def test_traces_of_the_same_question_or_of_another_group_are_no_partners() -> None:
    same = [answered("a", "one.py", ONE, question="q"), answered("b", "one.py", ONE, question="q")]
    assert null(*same).rate is None
    apart = [answered("a", "one.py", ONE), answered("b", "two.py", ONE, group="h")]
    assert null(*apart) == Null(None, 0, 0, "no answer could be judged against a trace of another question")


def test_answers_that_claim_nothing_take_no_part_but_their_traces_do() -> None:
    items = [answered("a", "one.py", ONE), answered("b", REFUSAL, ONE)]
    assert null(*items) == Null(1.0, 1, 1)


def test_pairs_that_cannot_be_scored_are_in_no_share() -> None:
    cut = read("c.py", "x = 1", cut_by="recorder")
    items = [answered("a", "one.py", ONE), answered("b", "one.py", cut), answered("c", REFUSAL, TWO)]
    # a: unscored against b, fails against c; b: passes against a, fails against c
    assert null(*items) == Null((0.0 + 0.5) / 2, 2, 3)
    items = [answered("a", "one.py", ONE), answered("b", REFUSAL, cut), answered("c", REFUSAL, ONE)]
    assert null(*items) == Null(1.0, 1, 1), "the one trace that scores it supports it"


def test_a_sample_is_drawn_by_the_seed_and_the_answers_id_alone() -> None:
    items = [answered(f"a{at}", "one.py", ONE if at % 3 else TWO) for at in range(30)]
    first = null(*items, partners=5)
    assert first.pairs == 150
    random.Random(1).shuffle(items)
    assert null(*items, partners=5) == first
    assert null(*items, partners=5, seed=2) != first
    assert null(*items, partners=29) == null(*items, partners=None)


def test_the_sample_estimates_the_whole() -> None:
    items = [answered(f"a{at}", "one.py", ONE if at % 3 else TWO) for at in range(60)]
    whole, part = null(*items, partners=None), null(*items, partners=10)
    assert whole.rate == pytest.approx(2 / 3, abs=0.02)
    assert part.rate == pytest.approx(whole.rate, abs=0.05)
