"""Votes counted: quorum, majority, ties, means, and what a verdict says of them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.verdict import Verdict
from judges.judge import Judge
from judges.rubric import Rubric
from judges.scripted import rule_model
from judges.tally import nothing_to_judge, tally, too_long, verdict_of
from judges.vote import JudgeSetting, Vote, outcome_of

SAID = {"s": "supported", "n": "not_supported", "c": "no_claim", "u": None}


def setting(votes: int) -> JudgeSetting:
    return Judge(rule_model("overlap"), Rubric("facts"), votes=votes).setting


def votes(letters: str, *, doubt: str | None = None, flags: tuple[str, ...] = ()) -> list[Vote]:
    """s: supported, n: not supported, c: no claim, u: unscored."""
    return [
        Vote(
            episode="sha256:1", config="sha256:j", number=number, judge="j", rubric="facts", trace=True,
            said=SAID[letter], outcome=outcome_of(SAID[letter], doubt), fault=None if SAID[letter] else "unparseable",  # type: ignore[arg-type]
            error=None if SAID[letter] else "no JSON", reason=f"reason {number}", doubt=doubt, flags=flags,
            failed=("a.py",) if letter == "n" else (), seen="sha256:s", model="m", prompt_digest="sha256:p",
        )
        for number, letter in enumerate(letters, 1)
    ]  # fmt: skip


def verdict(letters: str, planned: int | None = None, **more: object) -> Verdict:
    return verdict_of(setting(planned or len(letters)), votes(letters, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("letters", "outcome", "label"),
    [
        ("s", "pass", None), ("n", "fail", "UNSUPPORTED"), ("c", "vacuous", None), ("u", "unscored", "NO_QUORUM"),
        ("ss", "pass", None), ("sn", "unscored", "TIE"), ("nn", "fail", "UNSUPPORTED"), ("su", "unscored", "NO_QUORUM"),
        ("ssn", "pass", None), ("snn", "fail", "UNSUPPORTED"), ("snc", "unscored", "TIE"), ("ssu", "pass", None),
        ("snu", "unscored", "TIE"), ("suu", "unscored", "NO_QUORUM"), ("ccs", "vacuous", None),
        ("ssnn", "unscored", "TIE"), ("sssn", "pass", None), ("ssuu", "unscored", "NO_QUORUM"), ("ssnu", "pass", None),
        ("ssnc", "unscored", "TIE"), ("nnnc", "fail", "UNSUPPORTED"), ("snuu", "unscored", "NO_QUORUM"),
        ("sssnn", "pass", None), ("ssnnn", "fail", "UNSUPPORTED"), ("ssnnu", "unscored", "TIE"),
        ("sssuu", "pass", None), ("ssuuu", "unscored", "NO_QUORUM"), ("ssncu", "unscored", "TIE"),
        ("ssnnc", "unscored", "TIE"), ("ccccn", "vacuous", None), ("nnnnn", "fail", "UNSUPPORTED"),
        ("uuuuu", "unscored", "NO_QUORUM"),
    ],
)  # fmt: skip
def test_a_strict_majority_of_a_quorum_decides(letters: str, outcome: str, label: str | None) -> None:
    found = verdict(letters)
    assert (found.outcome, found.label) == (outcome, label)
    assert found.lens == "judge"
    assert found.config == setting(len(letters)).config
    assert found.episode == "sha256:1"


def test_by_hand_for_every_table_of_up_to_six_votes() -> None:
    """The rule again, in other words: sort the valid votes; what stands in the middle from both sides is decided."""
    for size in range(1, 7):
        for letters in product("sncu", repeat=size):
            valid = sorted(letter for letter in letters if letter != "u")
            wanted = None
            if len(valid) > size / 2:
                most = max(valid, key=valid.count)
                wanted = SAID[most] if valid.count(most) > len(valid) / 2 else None
            counted = tally(votes("".join(letters)), size)
            assert counted.decided == wanted, letters


def test_missing_votes_count_against_the_quorum() -> None:
    counted = tally(votes("ss"), 5)
    assert (counted.valid, counted.unscored, counted.has_quorum, counted.decided) == (2, 3, False, None)
    assert tally(votes("sss"), 5).decided == "supported"
    assert verdict("sss", planned=5).outcome == "pass"
    assert verdict("ss", planned=5).label == "NO_QUORUM"


@pytest.mark.parametrize(
    ("letters", "mean"),
    [("sss", 1.0), ("ssn", 2 / 3), ("nn", 0.0), ("snu", 0.5), ("sc", 1.0), ("c", None), ("u", None)],
)
def test_the_mean_is_of_votes_for_and_against(letters: str, mean: float | None) -> None:
    assert tally(votes(letters), len(letters)).mean == mean


def test_the_reason_tells_the_counts_and_the_mean() -> None:
    assert verdict("ssnnu").reason == (
        "scripted:overlap, facts: 2 supported, 2 not supported, 0 no claim, 1 unscored of 5 votes; mean 0.50: nothing"
        " is said by over half of the valid votes"
    )
    assert verdict("c").reason == (
        "scripted:overlap, facts: 0 supported, 0 not supported, 1 no claim, 0 unscored of 1 votes; mean undefined"
    )


def test_where_something_is_gone_what_is_supported_stands_and_the_rest_is_unscored() -> None:
    doubt = "calls 3 to 9 of 12 were left out, the whole being too long"
    passed = verdict("sssnn", doubt=doubt)
    assert (passed.outcome, passed.labels, passed.notes) == ("pass", (), ("SPLIT", "TRACE_CUT"))
    assert [clause.outcome for clause in passed.clauses] == ["pass", "pass", "pass", "unscored", "unscored"]
    failed = verdict("ssnnn", doubt=doubt)
    assert (failed.outcome, failed.labels) == ("unscored", ("TRACE_CUT",))
    assert failed.reason is not None
    assert failed.reason.endswith(f"but {doubt}, so nobody knows what is not supported")
    assert verdict("ccc", doubt=doubt).outcome == "vacuous"


def test_notes_say_what_a_reader_should_know() -> None:
    assert verdict("sss").notes == verdict("nnn").notes == verdict("ccc").notes == ()
    assert verdict("ssn").notes == ("SPLIT",)
    assert verdict("ssu").notes == ("VOTES_UNSCORED",)
    assert verdict("sss", flags=("UNKNOWN_CALL",)).notes == ("VOTES_FLAGGED",)
    first, *others = votes("sss")
    one_flagged = [first.model_copy(update={"flags": ("UNKNOWN_CALL",)}), *others]
    assert verdict_of(setting(3), one_flagged).notes == ("VOTES_FLAGGED",)
    rule = Judge(rule_model("overlap"), Rubric("facts"), is_rule=True, votes=1).setting
    for said in (verdict_of(rule, votes("s")), nothing_to_judge(rule, "sha256:1"), too_long(rule, "sha256:1")):
        assert said.notes == ("SCRIPTED_JUDGE",)
        assert (said.reason or "").startswith("scripted:overlap (a rule, no model), facts: ")


def test_each_vote_is_a_clause_with_the_judges_own_words() -> None:
    clauses = verdict("snu").clauses
    assert [clause.name for clause in clauses] == ["vote 1", "vote 2", "vote 3"]
    assert [clause.outcome for clause in clauses] == ["pass", "fail", "unscored"]
    assert [clause.actual for clause in clauses] == [None, "a.py", None]
    assert [clause.expected for clause in clauses] == [None, "every claim supported", None]
    assert [clause.why for clause in clauses] == ["reason 1", "reason 2", "unparseable: no JSON"]
    assert [clause.label for clause in clauses] == [None, "UNSUPPORTED", None]


def test_episodes_without_a_vote_are_said_to_be_so() -> None:
    silent, long = nothing_to_judge(setting(5), "sha256:9"), too_long(setting(5), "sha256:9")
    assert (silent.outcome, silent.label) == ("vacuous", None)
    assert (long.outcome, long.label) == ("unscored", "TOO_LONG")
    assert "200000 characters" in (long.reason or "")


@given(st.text("sncu", min_size=1, max_size=9), st.randoms())
def test_the_order_of_votes_is_nothing(letters: str, chance: object) -> None:
    given_votes = votes(letters)
    shuffled = list(given_votes)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert verdict_of(setting(len(letters)), shuffled) == verdict_of(setting(len(letters)), given_votes)


@given(st.text("sncu", min_size=1, max_size=9))
def test_one_more_vote_for_what_is_decided_changes_nothing(letters: str) -> None:
    decided = tally(votes(letters), len(letters)).decided
    if decided is not None:
        letter = {said: letter for letter, said in SAID.items()}[decided]
        assert tally(votes(letters + letter), len(letters) + 1).decided == decided


def test_a_vote_twice_and_votes_about_two_episodes_are_refused() -> None:
    one, two = votes("ss")
    with pytest.raises(ValueError, match="each once"):
        tally([one, one], 2)
    with pytest.raises(ValueError, match="each once"):
        tally([two], 1)
    with pytest.raises(ValueError, match="about one episode"):
        verdict_of(setting(2), [one, two.model_copy(update={"episode": "sha256:2"})])
    with pytest.raises(ValueError, match="needs votes"):
        verdict_of(setting(2), [])


def test_a_vote_that_does_not_hang_together_is_refused() -> None:
    fields = votes("s")[0].model_dump()
    for wrong in ({"said": None}, {"outcome": "fail"}, {"fault": "refused"}, {"doubt": None, "said": "not_supported"}):
        with pytest.raises(ValueError, match="vote"):
            Vote(**{**fields, **wrong})
