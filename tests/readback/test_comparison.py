"""The comparison: which episodes count, every number of every pair, several runs, splits, and who disagrees how."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import krippendorff
import pytest
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support

from harness.runfolder import RunFolder
from harness.trace import Call
from harness.verdict import Clause, Evidence
from judges.vote import JudgeSetting
from judges.votefile import VoteFile
from readback.comparison import Comparison, ComparisonError, compare_runs
from readback.comparison.document import Pair
from tests.readback import hand
from tests.readback.command import readback
from tests.readback.raters import Rated, question, with_cells

OUTCOMES = ("pass", "fail", "vacuous", "unscored")


def compared(*paths: Path, **options: int | bool) -> Comparison:
    return compare_runs([RunFolder.open(path) for path in paths], **options)  # type: ignore[arg-type]


def pair(comparison: Comparison, a: str, b: str, population: str = "answered") -> Pair:
    found = [
        one for one in comparison.pairs if (one.a.lens, one.b.lens, one.population) == (a, b, population)
    ]  # fmt: skip
    assert len(found) == 1, [(one.a.name, one.b.name, one.population) for one in comparison.pairs]
    return found[0]


def cells(one: Pair) -> tuple[int, int, int, int]:
    return (one.cells.pass_pass, one.cells.pass_fail, one.cells.fail_pass, one.cells.fail_fail)


def test_known_cells_come_back_exactly(tmp_path: Path) -> None:
    known = {("pass", "pass"): 24, ("pass", "fail"): 18, ("fail", "pass"): 4, ("fail", "fail"): 75}
    aside = {
        ("vacuous", "pass"): 3, ("vacuous", "vacuous"): 5, ("fail", "vacuous"): 2, ("vacuous", "unscored"): 6,
        ("unscored", "vacuous"): 7, ("unscored", "unscored"): 8, ("unscored", "fail"): 9, ("pass", "unscored"): 10,
    }  # fmt: skip
    comparison = compared(with_cells({**known, **aside}).write(tmp_path / "a"))
    answered = pair(comparison, "grounding", "judge")
    assert cells(answered) == (24, 18, 4, 75)
    assert answered.n == 121
    assert answered.excluded.model_dump() == {"vacuous": 3 + 5 + 2 + 6 + 7, "unscored_a": 8 + 9, "unscored_b": 10}
    assert answered.unjudged.model_dump() == {"a": 0, "b": 0}
    assert {key: count for key, count in answered.outcomes.items() if count} == {
        f"{a}_{b}": count for (a, b), count in {**known, **aside}.items()
    }
    assert len(answered.outcomes) == 16
    everything = pair(comparison, "grounding", "judge", "all")
    assert cells(everything) == (24 + 3 + 5, 18, 4 + 2, 75)
    assert everything.excluded.model_dump() == {"vacuous": 0, "unscored_a": 7 + 8 + 9, "unscored_b": 6 + 10}
    assert everything.outcomes == answered.outcomes
    assert answered.n + sum(answered.excluded.model_dump().values()) == comparison.episodes == 171


def test_every_number_of_known_cells(tmp_path: Path) -> None:
    known = {("pass", "pass"): 40, ("pass", "fail"): 10, ("fail", "pass"): 20, ("fail", "fail"): 30}
    one = pair(compared(with_cells(known).write(tmp_path / "a")), "grounding", "judge")
    assert one.agreement.value == 0.7
    assert one.cohen_kappa.value == pytest.approx((0.7 - 0.5) / 0.5)
    assert one.cohen_kappa.max == pytest.approx((0.9 - 0.5) / 0.5)
    q = (0.5 + 0.6) / 2
    assert one.ac1.value == pytest.approx((0.7 - 2 * q * (1 - q)) / (1 - 2 * q * (1 - q)))
    assert one.positive_agreement.value == pytest.approx(80 / 110)
    assert one.negative_agreement.value == pytest.approx(60 / 90)
    assert one.bootstrap.model_dump() == {"draws": 2000, "cluster": "repository", "clusters": 4, "seed": 1}
    low, high = one.agreement.ci95 or (math.nan, math.nan)
    assert 0.6 < low < 0.7 < high < 0.8


def test_the_worked_example_of_the_study(tmp_path: Path) -> None:
    """Margins 20.9 % and 6.4 %, agreement 77.6 %: what the cells must be, and what follows from them."""
    share = {("pass", "pass"): 49, ("pass", "fail"): 369, ("fail", "pass"): 79, ("fail", "fail"): 1503}
    one = pair(compared(with_cells(share, repositories=16).write(tmp_path / "a")), "grounding", "judge")
    assert one.n == 2000
    assert [cell / 20 for cell in cells(one)] == [2.45, 18.45, 3.95, 75.15]
    assert round(one.agreement.value or 0, 3) == 0.776
    assert round(one.cohen_kappa.value or 0, 2) == 0.09
    assert round(one.cohen_kappa.max or 0, 2) == 0.41
    assert round(one.positive_agreement.value or 0, 2) == 0.18
    assert round(one.cells.fail_pass / (one.cells.pass_pass + one.cells.fail_pass), 2) == 0.62


@pytest.mark.parametrize("seed", range(4))
def test_numbers_agree_with_another_implementation(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    run = Rated([question(f"r{i}/01") for i in range(5)])
    rows = []
    for number in range(120):
        a, b, right = (generator.choices(OUTCOMES, (4, 4, 1, 1))[0] for _ in range(3))
        run.say(f"repoqa/r{number % 5}/01", repeat=number, grounding=a, judge=b, answer=right)
        if {a, b} <= {"pass", "fail"}:
            rows.append((a, b, right))
    one = pair(compared(run.write(tmp_path / "a")), "grounding", "judge")
    assert one.n == len(rows)
    assert one.cohen_kappa.value == pytest.approx(cohen_kappa_score([a for a, _, _ in rows], [b for _, b, _ in rows]))
    known = [(a == "fail", right == "fail") for a, _, right in rows if right in ("pass", "fail")]
    assert one.detector.episodes == len(known)
    expected = precision_recall_fscore_support(
        [wrong for _, wrong in known], [flag for flag, _ in known], average="binary"
    )
    side = one.detector.a
    assert (side.precision, side.recall, side.f1) == pytest.approx(expected[:3])


def test_a_fail_is_a_flag_for_incorrect_answers(tmp_path: Path) -> None:
    run = Rated([question("r0/01"), question("r1/01")])
    counts = {
        ("fail", "fail"): 5,
        ("fail", "pass"): 2,
        ("pass", "fail"): 3,
        ("pass", "pass"): 7,
        ("fail", "unscored"): 4,
    }
    for (grounding, answer), times in counts.items():
        for _ in range(times):
            name = f"repoqa/r{len(run.episodes) % 2}/01"
            run.say(name, repeat=len(run.episodes), grounding=grounding, answer=answer, judge="pass")
    detector = pair(compared(run.write(tmp_path / "a")), "grounding", "judge").detector
    assert detector.target == "incorrect"
    assert detector.episodes == 17
    assert (detector.a.tp, detector.a.fp, detector.a.fn, detector.a.tn) == (5, 2, 3, 7), "IU, CU, IG, CG"
    assert (detector.a.precision, detector.a.recall, detector.a.f1) == (5 / 7, 5 / 8, 10 / 15)
    assert (detector.b.precision, detector.b.recall, detector.b.f1) == (None, 0.0, 0.0)
    assert detector.b.why == "nothing was flagged"


def test_where_no_answer_is_wrong_or_scored_the_detector_says_so(tmp_path: Path) -> None:
    known = {("pass", "fail"): 3, ("fail", "pass"): 3}
    right = pair(compared(with_cells(known).write(tmp_path / "a")), "grounding", "judge").detector
    assert (right.a.precision, right.a.recall, right.a.f1, right.a.why) == (None, None, None, "no incorrect answers")
    without = pair(compared(with_cells(known, correct=False).write(tmp_path / "b")), "grounding", "judge").detector
    assert without.episodes == 0
    assert without.a.why == without.b.why == "no answer is scored by the lens answer"


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({("pass", "pass"): 4}, "both always say the same one thing, so chance agreement is 1"),
        ({("vacuous", "pass"): 4}, "no episode is scored by both"),
    ],
)
def test_what_is_undefined_is_null_with_its_reason(tmp_path: Path, known: dict[tuple[str, str], int], why: str) -> None:
    one = pair(compared(with_cells(known).write(tmp_path / "a")), "grounding", "judge")
    assert (one.cohen_kappa.value, one.cohen_kappa.max, one.cohen_kappa.why) == (None, None, why)
    assert one.negative_agreement.value is None and one.negative_agreement.why
    assert one.agreement.value == (1.0 if one.n else None)
    assert one.agreement.ci95 is None and one.agreement.why


def test_an_episode_that_ended_unscored_is_unscored_for_everybody(tmp_path: Path) -> None:
    run = with_cells({("pass", "pass"): 2})
    run.say("repoqa/r0/01", repeat=98, ending="wall_time", grounding="pass", judge="fail")
    run.say("repoqa/r0/01", repeat=99, state="unscored SELF_CHECK_FAILED", grounding="pass", judge="fail")
    one = pair(compared(run.write(tmp_path / "a")), "grounding", "judge")
    assert cells(one) == (2, 0, 0, 0)
    assert one.excluded.model_dump() == {"vacuous": 0, "unscored_a": 2, "unscored_b": 0}


def test_episodes_that_only_one_judged_are_counted_apart(tmp_path: Path) -> None:
    run = with_cells({("pass", "pass"): 2})
    run.say("repoqa/r0/01", repeat=96, answer="pass")
    run.say("repoqa/r0/01", repeat=97, grounding="pass")
    run.say("repoqa/r0/01", repeat=98, grounding="unscored")
    run.say("repoqa/r0/01", repeat=99, judge="fail")
    one = pair(compared(run.write(tmp_path / "a")), "grounding", "judge")
    assert one.n == 2
    assert one.unjudged.model_dump() == {"a": 1, "b": 2}


def test_who_is_compared_with_whom(tmp_path: Path) -> None:
    run = Rated([question("r0/01"), question("r1/01")])
    said = dict.fromkeys(("grounding", "state", "message", "answer", "judge_one", "judge_two"), "pass")
    for i in range(4):
        run.say(f"repoqa/r{i % 2}/01", repeat=i, **said)
    path = run.write(tmp_path / "a")
    named = _described(path, one="model", two="people")
    comparison = compared(path)
    assert {(one.a.name, one.b.name) for one in comparison.pairs} == {
        ("kappa_ground", named["one"]), ("kappa_ground", named["two"]), ("state", "message"), ("state", named["one"]),
        ("state", named["two"]), ("message", named["two"]), ("answer", named["two"]), (named["one"], named["two"]),
    }  # fmt: skip
    assert [(rater.name, rater.kind) for rater in comparison.raters][-2:] == [
        (named["one"], "model"), (named["two"], "people"),
    ]  # fmt: skip


def test_figures_with_people_are_said_to_be_of_a_sample_over_disagreements(tmp_path: Path) -> None:
    run = Rated([question("r0/01"), question("r1/01")])
    for i in range(4):
        run.say(f"repoqa/r{i % 2}/01", repeat=i, grounding="pass", judge_one="pass", judge_two="pass")
    path = run.write(tmp_path / "a")
    _described(path, one="model", two="model")
    assert "People label a sheet" not in readback("compare", path).out
    _described(path, two="people")
    assert "People label a sheet that is drawn over the disagreements" in readback("compare", path).out


def _described(path: Path, **kinds: str) -> dict[str, str]:
    """Describe judges in the run: name -> title."""
    settings = [
        JudgeSetting(
            config=f"sha256:{name}", name=f"{name}:x", kind=kind, about="a judge", rubric="facts", trace=True, votes=5,
            model=None, prompt_digest="sha256:p", prompt="Judge.",
        )
        for name, kind in kinds.items()
    ]  # type: ignore[arg-type]  # fmt: skip
    with RunFolder.append(path):
        VoteFile(path).store_judges(settings)
    return {setting.name.partition(":")[0]: setting.title for setting in settings}


def test_a_rule_is_called_a_rule_even_where_the_run_does_not_describe_it(tmp_path: Path) -> None:
    run = Rated([question("r0/01"), question("r1/01")])
    for i in range(4):
        run.say(
            f"repoqa/r{i % 2}/01", repeat=i, grounding="pass", judge_rule="pass ppp", judge_model="fail fff",
            notes={"judge_rule": ("SCRIPTED_JUDGE",)},
        )  # fmt: skip
    ended = readback("compare", run.write(tmp_path / "a"))
    assert ended.code == 0, ended.err
    assert "judge (a rule, no model)" in ended.out
    assert "A judge marked as a rule is no model" in ended.out


def test_two_settings_of_one_lens_are_told_apart(tmp_path: Path) -> None:
    run = Rated([question("r0/01"), question("r1/01")])
    for i in range(4):
        run.say(f"repoqa/r{i % 2}/01", repeat=i, grounding_one="pass", grounding_two="fail")
    comparison = compared(run.write(tmp_path / "a"))
    assert [rater.name for rater in comparison.raters] == ["kappa_ground [one]", "kappa_ground [two]"]
    assert cells(pair(comparison, "grounding", "grounding")) == (0, 4, 0, 0)


def test_the_policy_is_named(tmp_path: Path) -> None:
    from grounding import PAPER

    run = with_cells({("pass", "pass"): 2, ("fail", "fail"): 2})
    run.verdicts = [
        one.model_copy(update={"config": PAPER.digest}) if one.lens == "grounding" else one for one in run.verdicts
    ]
    assert compared(run.write(tmp_path / "a")).raters[0].name == "kappa_ground (paper)"


def test_votes_are_counted_and_their_alpha_is_krippendorffs(tmp_path: Path) -> None:
    ballots = ["ppppp", "ppfff", "fffff", "ppufu", "uuuup", "vvvvv", "pfpfp", "ffffp"]
    run = Rated([question(f"r{i}/01") for i in range(4)])
    for i, ballot in enumerate(ballots):
        run.say(f"repoqa/r{i % 4}/01", repeat=i, grounding="pass", judge=f"pass {ballot}")
    comparison = compared(run.write(tmp_path / "a"))
    rater = comparison.raters[-1]
    assert rater.votes is not None and rater.alpha is not None
    assert (rater.votes.given, rater.votes.unscored) == (34, 6)
    values = {"p": 1.0, "f": 2.0, "v": 3.0, "u": math.nan}
    table = [[values[ballot[voter]] for ballot in ballots] for voter in range(5)]
    expected = krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
    assert rater.alpha.value == pytest.approx(expected)
    assert rater.alpha.ci95 is not None
    alpha = pair(comparison, "grounding", "judge").alpha
    assert alpha.a is None
    assert alpha.b == rater.alpha


def test_one_vote_each_has_no_alpha(tmp_path: Path) -> None:
    run = Rated([question("r0/01"), question("r1/01")])
    for i in range(4):
        run.say(f"repoqa/r{i % 2}/01", repeat=i, grounding="pass", judge="pass p")
    alpha = compared(run.write(tmp_path / "a")).raters[-1].alpha
    assert alpha is not None
    assert (alpha.value, alpha.why) == (None, "no unit has two votes")


def test_parts_by_condition_agent_and_bucket(tmp_path: Path) -> None:
    run = Rated([question("r0/01", bucket="low"), question("r1/01", bucket="high"), question("r2/01", bucket="low")])
    places = [(a, c, r) for a in ("m", "n") for c in ("grounded", "default") for r in range(3)]
    for i, (agent, condition, repository) in enumerate(places):
        run.say(
            f"repoqa/r{repository}/01", agent=agent, condition=condition, answer="pass",
            grounding="pass" if condition == "grounded" else "fail", judge="pass" if i % 2 else "fail",
        )  # fmt: skip
    comparison = compared(run.write(tmp_path / "a"))
    assert [(split.by, split.value) for split in comparison.splits] == [
        ("condition", "default"), ("condition", "grounded"), ("agent", "m"), ("agent", "n"),
        ("bucket", "high"), ("bucket", "low"),
    ]  # fmt: skip
    counts = {
        (split.by, split.value): cells(next(one for one in split.pairs if one.population == "answered"))
        for split in comparison.splits
    }
    assert counts["condition", "grounded"] == (2, 4, 0, 0)
    assert counts["condition", "default"] == (0, 0, 4, 2)
    assert sum(counts["bucket", "low"]) == 8
    for by in ("condition", "agent", "bucket"):
        total = [sum(column) for column in zip(*(c for (b, _), c in counts.items() if b == by), strict=True)]
        assert tuple(total) == cells(pair(comparison, "grounding", "judge"))


def test_what_all_episodes_have_in_common_is_no_part(tmp_path: Path) -> None:
    assert compared(with_cells({("pass", "fail"): 4}).write(tmp_path / "a")).splits == ()


def test_baselines_take_no_part_beside_measured_agents(tmp_path: Path) -> None:
    run = with_cells({("pass", "pass"): 3})
    for i in range(5):
        run.say("repoqa/r0/01", agent="oracle", kind="baseline", repeat=i, grounding="fail", judge="fail")
    path = run.write(tmp_path / "a")
    comparison = compared(path)
    assert comparison.baselines_left_out == 5
    assert cells(pair(comparison, "grounding", "judge")) == (3, 0, 0, 0)
    assert cells(pair(compared(path, baselines=True), "grounding", "judge")) == (3, 0, 0, 5)
    alone = Rated(run.tasks, run.about, run.episodes[3:], run.verdicts)
    assert cells(pair(compared(alone.write(tmp_path / "b")), "grounding", "judge")) == (0, 0, 0, 5)


def test_what_was_played_under_a_fault_is_in_no_figure_with_what_was_not(tmp_path: Path) -> None:
    run = hand.Run([hand.task("dose/0001a"), hand.task("lab/0001a")])
    for name in ("dose/0001a", "lab/0001a"):
        run.play(name, says={"state": "pass", "message": "pass"})
        fault = {**hand.VARIANT, "fault": "lost_write"}
        run.play(name, says={"state": "fail MISSING_WRITE", "message": "pass"}, variant=fault)
    with RunFolder.create(tmp_path / "a", hand.ABOUT, run.tasks) as folder:
        folder.store([(one, [v for v in run.verdicts if v.episode == one.id]) for one in run.episodes])
    with RunFolder.create(tmp_path / "b", hand.ABOUT, run.tasks) as folder:
        folder.store([(one, [v for v in run.verdicts if v.episode == one.id]) for one in run.episodes[1::2]])
    comparison = compared(tmp_path / "a")
    assert comparison.faults_left_out == 2
    assert cells(pair(comparison, "state", "message")) == (2, 0, 0, 0)
    assert cells(pair(compared(tmp_path / "b"), "state", "message")) == (0, 0, 2, 0)


def test_a_run_that_was_copied_and_judged_on_another_day_compares(tmp_path: Path) -> None:
    run = Rated([question("r0/01"), question("r1/01")])
    later = Rated(run.tasks, {**run.about, "times": {"created": "2026-02-01"}})
    for i, (a, b) in enumerate([("pass", "pass"), ("pass", "fail"), ("fail", "pass")]):
        run.say(f"repoqa/r{i % 2}/01", repeat=i, grounding=a)
        later.say(f"repoqa/r{i % 2}/01", repeat=i, judge=b, fields={"started": "2026-02-01T00:00:00+00:00"})
    comparison = compared(run.write(tmp_path / "a"), later.write(tmp_path / "b"))
    assert (comparison.episodes, comparison.same) == (3, 3)
    assert cells(pair(comparison, "grounding", "judge")) == (1, 1, 1, 0)
    assert [one.created for one in comparison.runs] == ["2026-01-20T08:00:00Z", "2026-02-01"]


@pytest.mark.parametrize("answered_in", [0, 1])
def test_whether_an_answer_is_right_is_known_from_whichever_run_judged_it(tmp_path: Path, answered_in: int) -> None:
    runs = [Rated([question("r0/01"), question("r1/01")]) for _ in range(2)]
    for i in range(2):
        for number, run in enumerate(runs):
            answer = {"answer": "fail"} if number == answered_in else {}
            said = {"grounding": "fail"} if number == 0 else {"judge": "pass"}
            run.say(f"repoqa/r{i}/01", repeat=i, **said, **answer)
    comparison = compared(*(run.write(tmp_path / str(number)) for number, run in enumerate(runs)))
    detector = pair(comparison, "grounding", "judge").detector
    assert (detector.episodes, detector.a.tp, detector.b.fn) == (2, 2, 2)


def test_the_same_episode_with_another_trace_is_another_episode(tmp_path: Path) -> None:
    one, other = Rated([question("r0/01"), question("r1/01")]), Rated([question("r0/01"), question("r1/01")])
    calls = (Call(position=1, step=1, name="read_file", arguments={"path": "x"}, status="ok", result={"content": "x"}),)
    one.say("repoqa/r0/01", key="same", grounding="pass", judge="pass")
    other.say("repoqa/r0/01", key="same", grounding="fail", judge="pass", fields={"calls": calls})
    comparison = compared(one.write(tmp_path / "a"), other.write(tmp_path / "b"), disagreements=2)
    assert (comparison.episodes, comparison.same) == (2, 0)
    assert cells(pair(comparison, "grounding", "judge")) == (1, 0, 1, 0)
    (found,) = comparison.disagreements
    assert found.run == str(tmp_path / "b")
    assert [(said.lens, said.outcome) for said in found.opinions] == [("grounding", "fail"), ("judge", "pass")]


def test_of_two_verdicts_of_one_rater_the_later_run_counts(tmp_path: Path) -> None:
    one, other = Rated([question("r0/01")]), Rated([question("r0/01")])
    one.say("repoqa/r0/01", grounding="pass", judge="pass")
    other.say("repoqa/r0/01", grounding="pass", judge="fail")
    comparison = compared(one.write(tmp_path / "a"), other.write(tmp_path / "b"))
    assert cells(pair(comparison, "grounding", "judge")) == (0, 1, 0, 0)


def test_suites_are_compared_apart(tmp_path: Path) -> None:
    ehr = hand.Run([hand.task("dose/0001a"), hand.task("lab/0001a")])
    for name in ("dose/0001a", "lab/0001a"):
        ehr.play(name, says={"state": "fail MISSING_WRITE", "message": "pass"})
    with RunFolder.create(tmp_path / "b", hand.ABOUT, ehr.tasks) as folder:
        folder.store([(one, [v for v in ehr.verdicts if v.episode == one.id]) for one in ehr.episodes])
    comparison = compared(with_cells({("pass", "pass"): 3}).write(tmp_path / "a"), tmp_path / "b")
    assert [(one.suite, one.a.lens, one.b.lens, one.bootstrap.cluster) for one in comparison.pairs] == [
        ("repoqa", "grounding", "judge", "repository"), ("repoqa", "grounding", "judge", "repository"),
        ("ehr", "state", "message", "template"), ("ehr", "state", "message", "template"),
    ]  # fmt: skip
    assert cells(pair(comparison, "state", "message")) == (0, 0, 2, 0)


def disagreeing() -> Rated:
    run = Rated([question(f"r{i}/0{j}") for i in range(2) for j in range(2)])
    failed = Clause(name="path src/a.py", outcome="fail", label="UNGROUNDED", expected="seen", actual="not seen",
                    why="no read_file result", evidence=Evidence(call=2))  # fmt: skip
    seen = Clause(name="identifier Foo", outcome="pass", expected="seen", actual="defined at 3")
    for i in range(2):
        for j in range(2):
            name = f"repoqa/r{i}/0{j}"
            run.say(
                name, grounding="fail UNGROUNDED", judge="pass ppppf", answer="fail",
                clauses={"grounding": (failed, seen)},
            )  # fmt: skip
            run.say(name, condition="grounded", grounding="pass", judge="fail pppff", answer="pass")
            run.say(name, condition="grounded", repeat=1, grounding="pass", judge="fail fffff")
    return run


def test_disagreements_show_both_directions_many_tasks_and_who_is_sure(tmp_path: Path) -> None:
    path = disagreeing().write(tmp_path / "a")
    found = compared(path, disagreements=4).disagreements
    assert [one.pair for one in found] == ["kappa_ground passes, judge fails", "judge passes, kappa_ground fails"] * 2
    assert len({one.task for one in found[::2]}) == len({one.task for one in found[1::2]}) == 2
    assert {one.task.split("/")[1] for one in found[::2]} == {"r0", "r1"}, (
        "another repository comes before another task"
    )
    first = found[1]
    assert first.question.startswith("In the r0 repository, where is")
    assert (first.answer, first.claim, first.correct) == (("src/a.py",), "done", False)
    grounding, answer, judge = first.opinions
    assert grounding.evidence == (
        "path src/a.py: fail UNGROUNDED: not seen, no read_file result, call 2", "identifier Foo: pass: defined at 3",
    )  # fmt: skip
    assert answer.outcome == "fail"
    assert judge.votes == {"pass": 4, "fail": 1, "vacuous": 0, "unscored": 0}
    assert judge.evidence == ("vote 1: pass; reason 1", "vote 5: fail; reason 5")
    assert len(compared(path, disagreements=99).disagreements) == 12
    assert compared(path).disagreements == ()


def test_what_only_one_of_a_pair_judged_is_no_disagreement(tmp_path: Path) -> None:
    run = with_cells({("pass", "fail"): 1})
    run.say("repoqa/r0/01", repeat=97, grounding="pass")
    run.say("repoqa/r0/01", repeat=98, judge="fail")
    found = compared(run.write(tmp_path / "a"), disagreements=9).disagreements
    assert [[said.lens for said in one.opinions] for one in found] == [["grounding", "answer", "judge"]]


def test_the_evidence_of_an_opinion_is_its_reason_what_failed_and_some_of_what_passed(tmp_path: Path) -> None:
    passed = [Clause(name=f"identifier {letter}", outcome="pass", expected="seen") for letter in "ABCDE"]
    lost = Clause(name="path b.py", outcome="unscored", expected="seen", why="nobody knows")
    failed = Clause(name="dose", outcome="fail", label="WRONG_UNIT", expected="2 g", actual="2 mg",
                    evidence=Evidence(resource="MedicationRequest/1", path="dose"))  # fmt: skip
    run = Rated([question("r0/01")])
    run.say(
        "repoqa/r0/01", grounding="fail", judge="pass", answer="unscored",
        clauses={"grounding": (*passed[:3], lost, failed, *passed[3:])},
    )  # fmt: skip
    (found,) = compared(run.write(tmp_path / "a"), disagreements=1).disagreements
    grounding, answer, _ = found.opinions
    assert grounding.evidence == (
        "dose: fail WRONG_UNIT: expected 2 g, found 2 mg, MedicationRequest/1 dose",
        "path b.py: unscored: nobody knows",
        "identifier A: pass", "identifier B: pass", "identifier C: pass", "2 more pass",
    )  # fmt: skip
    assert answer.evidence == ("not judged",)


def test_the_command_lists_them_with_every_untrusted_text_on_its_line(tmp_path: Path) -> None:
    run = disagreeing()
    run.episodes = [one.model_copy(update={"note": "\x1b[31m red\nline\u202e"}) for one in run.episodes]
    ended = readback("compare", run.write(tmp_path / "a"), "--disagreements", "1")
    assert ended.code == 0
    assert "1. kappa_ground passes, judge fails" in ended.out
    assert "question  In the r0 repository" in ended.out
    assert "answer    src/a.py (correct; claims done)" in ended.out
    assert "note      ‹U+001B›[31m red⏎line‹U+202E›" in ended.out
    assert "- judge: fail" in ended.out


def keys(value: object, where: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{where}{key}"
            yield from keys(item, f"{where}{key}.")


def test_the_document_is_the_one_that_is_written_down(tmp_path: Path) -> None:
    ended = readback("compare", with_cells({("pass", "pass"): 3, ("fail", "fail"): 3}).write(tmp_path / "a"), "--json")
    assert ended.code == 0 and ended.err == ""
    assert ended.document["format"] == "readback.comparison/1"
    one = ended.document["pairs"][0]
    assert {
        "a.lens", "a.config", "b.lens", "b.config", "population", "n", "excluded.vacuous", "excluded.unscored_a",
        "excluded.unscored_b", "cells.pass_pass", "cells.pass_fail", "cells.fail_pass", "cells.fail_fail",
        "agreement.value", "agreement.ci95", "cohen_kappa.value", "cohen_kappa.ci95", "cohen_kappa.max",
        "cohen_kappa.why", "ac1.value", "positive_agreement.value", "negative_agreement.value", "detector.target",
        "detector.a.precision", "detector.a.recall", "detector.a.f1", "detector.a.why", "detector.b.why",
        "bootstrap.draws", "bootstrap.cluster", "bootstrap.clusters", "bootstrap.seed",
    } <= set(keys(one))  # fmt: skip
    assert list(one["cohen_kappa"]) == ["value", "ci95", "max", "why"]
    assert Comparison.read(ended.out).line() == ended.out.strip()


def test_the_tables_show_both_populations_and_what_is_aside(tmp_path: Path) -> None:
    known = {
        ("pass", "pass"): 6,
        ("pass", "fail"): 2,
        ("fail", "fail"): 4,
        ("vacuous", "pass"): 3,
        ("fail", "unscored"): 1,
    }
    out = readback("compare", with_cells(known).write(tmp_path / "a")).out
    rows = [line.split() for line in out.splitlines() if line.startswith("A kappa_ground / ")]
    assert rows[0][5:8] == ["answered", "12", "83.3"] and rows[1][5:8] == ["all", "15", "86.7"]
    assert rows[2][5:] == ["answered", "12", "6", "2", "0", "4", "3", "0", "+", "1", "0", "+", "0"]
    assert rows[3][5:] == ["all", "15", "9", "2", "0", "4", "0", "0", "+", "1", "0", "+", "0"]


def test_nothing_to_compare_is_said_with_the_next_step(tmp_path: Path) -> None:
    run = Rated([question("r0/01")])
    run.say("repoqa/r0/01", grounding="pass")
    path = run.write(tmp_path / "a")
    ended = readback("compare", path)
    assert ended.code == 2
    assert ended.sentence == (
        f"there is nothing to compare in '{path}': judged by kappa_ground; have it judged by readback judge {path}"
        " --model MODEL, then compare again"
    )
    baselines = Rated([question("r0/01")])
    baselines.say("repoqa/r0/01", key="b", agent="oracle", kind="baseline", grounding="pass", judge_one="pass")
    judged = baselines.write(tmp_path / "c")
    assert readback("compare", judged, path).sentence == (
        f"there is nothing to compare in '{judged}' and '{path}': judged by kappa_ground; have it judged by readback"
        f" judge {path} --model MODEL, then compare again, or take 1 episode of baselines in by --baselines"
    )
    assert readback("compare", judged, path, "--baselines").code == 0
    empty = Rated([question("r0/01")]).write(tmp_path / "b")
    with pytest.raises(ComparisonError, match="holds no episode; go on with it by readback resume"):
        compared(empty)
    assert "is no run folder" in readback("compare", tmp_path / "nowhere").sentence


def test_a_run_named_twice_is_taken_once(tmp_path: Path) -> None:
    path = with_cells({("pass", "pass"): 3}).write(tmp_path / "a")
    ended = readback("compare", path, path, "--json")
    assert (len(ended.document["runs"]), ended.document["same"]) == (1, 0)


def test_the_same_runs_give_the_same_document(tmp_path: Path) -> None:
    path = disagreeing().write(tmp_path / "a")
    assert compared(path, disagreements=3).line() == compared(path, disagreements=3).line()
