"""An answer as text, and what counts as a refusal."""

from __future__ import annotations

import pytest

from grounding import REFUSAL, Answer, answer_of
from grounding.answer import LONGEST, is_refusal, normal
from harness.trace import Episode


def episode(**fields: object) -> Episode:
    plain = {"id": "e", "task": "t", "task_digest": "d", "agent": "a", "condition": "default", "variant": {}}
    return Episode(**plain, ending="finished", **fields)  # type: ignore[arg-type]


def test_the_answer_of_an_episode_is_its_values_and_its_note() -> None:
    answer = answer_of(episode(answer=("src/a.py", 3, 1.5), note="in Foo"))
    assert answer == Answer("src/a.py\n3\n1.5\nin Foo", "src/a.py\n3\n1.5")


def test_without_values_the_note_is_what_is_said() -> None:
    assert answer_of(episode(note="src/a.py")) == Answer("src/a.py", "src/a.py")
    assert answer_of(episode()) == Answer("", "")


@pytest.mark.parametrize(
    "said",
    [
        REFUSAL,
        "I don't know - not found in the source I read.",
        "I don't know — not found in the source I read",
        "i don’t know – not found in the source  I read.",
        '"I don\'t know - not found in the source I read."',
        "**I don't know - not found in the source I read.**\n",
        "I don't know-not found in the source I read.",
        '"I don\'t know - not found in the source I read".',
        "**I don't know - not found in the source I read**.",
    ],
)
def test_the_exact_sentence_is_a_refusal_however_it_is_typed(said: str) -> None:
    assert is_refusal(Answer.of(said), [REFUSAL])


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I don't know.",
        "I don't know - not found in the source I read. Maybe elsewhere.",
        "Not found.",
        "I do know - found",
    ],
)
def test_any_other_sentence_is_none(said: str) -> None:
    assert not is_refusal(Answer.of(said), [REFUSAL])


def test_one_of_several_sentences_is_enough() -> None:
    assert is_refusal(Answer.of("No number."), [REFUSAL, "No number."])
    assert not is_refusal(Answer.of("No number."), [])


def test_a_note_beside_a_refusal_does_not_undo_it() -> None:
    assert is_refusal(answer_of(episode(answer=(REFUSAL,), note="I looked everywhere.")), [REFUSAL])
    assert is_refusal(answer_of(episode(note=REFUSAL)), [REFUSAL])
    assert not is_refusal(answer_of(episode(answer=("src",), note=REFUSAL)), [REFUSAL])


@pytest.mark.parametrize("flood", ["\n", " ", "- ", "\u00a0", "*`", " -"])
def test_an_answer_of_blanks_and_marks_is_compared_in_bounded_time(flood: str) -> None:
    assert not is_refusal(Answer.of(flood * (LONGEST // len(flood))), [REFUSAL])


def test_normal_keeps_words_apart() -> None:
    assert normal("  A  b—C. ") == "a b-c"
