"""What the report marks, shows of votes, draws, and filters by: as values, before they are a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding import PAPER, judge_grounding
from harness.trace import Call, Episode
from harness.verdict import Clause, Verdict
from readback.report.allowance import Allowance
from readback.report.marks import Entity, Marked, Piece, entities_of, take_excerpt, take_marked
from readback.report.plots import flows_of, labels_of, mosaics_of, stacks_of
from readback.report.votes import VoteView, votes_view
from readback.summary import summarise
from tests.readback.hand import ABOUT, Run, task
from tests.readback.raters import Rated, question, with_cells

CONTENT = "import os\n\n\ndef other():\n    pass\n\n\nclass FooCase:\n    def bar(self):\n        return 1\n"
PLACE = CONTENT.index("FooCase")


def episode(answer: tuple[str, ...] = ("src/a.py",), note: str = "FooCase is there, NopeCase is not.") -> Episode:
    call = Call(
        position=3, step=1, name="read_file", arguments={"path": "src/a.py"}, status="ok",
        result={"path": "src/a.py", "content": CONTENT, "start_line": 1, "end_line": 10, "total_lines": 10},
    )  # fmt: skip
    return Episode(
        id="sha256:1", task="t", task_digest="sha256:0", agent="m", condition="default", variant={}, ending="finished",
        claim="done", answer=answer, note=note, calls=(call,),
    )  # fmt: skip


def plenty() -> Allowance:
    return Allowance(1_000_000)


def test_what_the_grounding_lens_found_is_marked_where_it_stands() -> None:
    played = episode()
    entities = entities_of([judge_grounding(played, PAPER)])
    assert [(one.text, one.outcome, one.call, one.at) for one in entities] == [
        ("src/a.py", "pass", 3, None), ("FooCase", "pass", 3, PLACE), ("NopeCase", "fail", None, None),
    ]  # fmt: skip
    assert take_marked(plenty(), played.note, entities, 1000).pieces == (
        Piece("FooCase", "pass", 3), Piece(" is there, "), Piece("NopeCase", "fail"), Piece(" is not."),
    )  # fmt: skip
    assert take_marked(plenty(), "src/a.py", entities, 1000).pieces == (Piece("src/a.py", "pass", 3),)
    shown = take_excerpt(plenty(), CONTENT, entities[:2], 1, 1000)
    assert shown.pieces == (
        Piece(CONTENT[:PLACE]), Piece("FooCase", "pass"), Piece(CONTENT[PLACE + 7 :]),
    )  # fmt: skip


def test_a_longer_name_is_never_marked_as_a_shorter_one() -> None:
    entities = [Entity("Foo", "fail", None, None), Entity("FooBar", "pass", 1, None), Entity("a.py", "pass", 2, None)]
    assert take_marked(plenty(), "FooBar Foo xFoo Food a.py", entities, 1000).pieces == (
        Piece("FooBar", "pass", 1), Piece(" "), Piece("Foo", "fail"), Piece(" xFoo Food "), Piece("a.py", "pass", 2),
    )  # fmt: skip


def test_of_a_long_text_the_lines_around_the_marks_are_shown() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 101))
    entity = Entity("line 50", "pass", 1, text.index("line 50"))
    shown = take_excerpt(plenty(), text, [entity], 201, 400)
    assert shown.pieces[0] == Piece("… lines 201–246 …\n", "gap")
    assert shown.pieces[1:4] == (Piece("line 47\nline 48\nline 49\n"), Piece("line", "pass"), Piece(" 50\n" + "".join(
        f"line {number}\n" for number in range(51, 55))))  # fmt: skip
    assert shown.pieces[4] == Piece("… lines 255–300 …\n", "gap")
    assert shown.more is None


def test_a_place_outside_of_the_text_is_no_mark() -> None:
    entity = Entity("x", "pass", 1, 99_999)
    assert take_excerpt(plenty(), CONTENT, [entity], 1, 1000) == Marked((Piece(CONTENT),))
    assert take_excerpt(plenty(), "", [entity], 1, 1000) == Marked(())


names = st.sampled_from(["Foo", "FooBar", "a.py", "src/a.py", "run(", "_x", "é"])


@given(st.lists(st.one_of(names, st.text(max_size=5)), max_size=12), st.lists(names, max_size=4), st.integers(0, 400))
def test_marking_changes_no_text_and_keeps_to_its_bytes(parts: list[str], marked: list[str], most: int) -> None:
    text = "".join(parts)
    entities = [Entity(name, "pass", 1, None) for name in marked]
    whole = take_marked(plenty(), text, entities, 1_000_000)
    assert whole.text == Allowance(1_000_000).take(text, 1_000_000).text
    assert {piece.text for piece in whole.pieces if piece.mark} <= set(marked)
    purse = Allowance(300)
    short = take_marked(purse, text, entities, most)
    assert purse.left >= 0
    assert len(short.text.encode(errors="replace")) <= min(300, most)
    if short.more is None:
        assert short.text == whole.text


def judged(*votes: tuple[str, str]) -> Verdict:
    outcome = "fail" if sum(said == "fail" for said, _ in votes) * 2 > len(votes) else "pass"
    return Verdict(
        episode="e", lens="judge", config="c", outcome=outcome,  # type: ignore[arg-type]
        clauses=tuple(
            Clause(name=f"vote {number}", outcome=said, why=why, actual="the claim" if said == "fail" else None)  # type: ignore[arg-type]
            for number, (said, why) in enumerate(votes, 1)
        ),
    )  # fmt: skip


def test_equal_votes_are_shown_once_those_of_the_verdict_first() -> None:
    verdict = judged(("pass", "fine"), ("fail", "bad"), ("fail", "bad"), ("fail", "worse"), ("fail", "bad"))
    shown, unshown = votes_view(verdict, plenty(), 10_000)
    assert unshown == 0
    assert [(vote.numbers, vote.outcome, vote.reason and vote.reason.text) for vote in shown] == [
        ("2–3, 5", "fail", "bad"), ("4", "fail", "worse"), ("1", "pass", "fine"),
    ]  # fmt: skip
    assert isinstance(shown[0], VoteView) and shown[0].failed is not None and shown[0].failed.text == "the claim"


def test_with_little_room_votes_of_one_outcome_are_shown_together() -> None:
    verdict = judged(*(("fail", f"{number} " + "because " * 60) for number in range(4)), ("pass", "it is there"))
    purse = Allowance(2000)
    shown, unshown = votes_view(verdict, purse, 500)
    assert [(vote.numbers, vote.outcome) for vote in shown] == [("1–4", "fail"), ("5", "pass")]
    assert shown[0].reason is not None and shown[0].reason.more
    assert unshown == 0 and purse.left > 1000
    assert votes_view(verdict, Allowance(10), 500) == ((), 5)


def test_a_flow_leads_every_episode_from_the_message_to_the_record() -> None:
    run = Run([task(f"dose/000{i}a") for i in range(4)])
    says = ["pass pass", "pass fail", "pass fail", "fail fail"]
    for i, words in enumerate(says):
        message, state = words.split()
        run.play(f"dose/000{i}a", says={"message": message, "state": state})
    (flow,) = flows_of(summarise(ABOUT, run.tasks, run.episodes, run.verdicts, run="r").rows)
    assert {(node.side, node.outcome): node.count for node in flow.nodes} == {
        ("left", "pass"): 3, ("left", "fail"): 1, ("right", "pass"): 1, ("right", "fail"): 3,
    }  # fmt: skip
    assert {band.cell: band.count for band in flow.bands} == {"pass_pass": 1, "pass_fail": 2, "fail_fail": 1}
    assert flow.words == "both pass 1, message only 2, state only 0, neither 1"
    for side in ("left", "right"):
        heights = [node.height for node in flow.nodes if node.side == side]
        assert sum(heights) == pytest.approx(90)


def test_labels_are_counted_by_row_the_most_frequent_first() -> None:
    run = Run([task("dose/0001a"), task("dose/0002a")])
    for agent, labels in (("a", "fail X"), ("b", "fail X Y")):
        run.play("dose/0001a", agent, says={"state": labels})
        run.play("dose/0002a", agent, says={"state": "pass"})
    profile = labels_of(summarise(ABOUT, run.tasks, run.episodes, run.verdicts, run="r").rows)
    assert profile is not None
    assert profile.columns == ("a, default", "b, default")
    assert [(row.label, [(one.count, one.share) for one in row.counts]) for row in profile.rows] == [
        ("X", [(1, 50.0), (1, 50.0)]), ("Y", [(0, 0.0), (1, 50.0)]),
    ]  # fmt: skip


def test_the_parts_of_a_bar_of_quadrants_fill_it() -> None:
    run = Rated([question("r0/01", bucket="low"), question("r1/01", bucket="high")])
    for i, (answer, grounding) in enumerate(
        [("pass", "pass"), ("fail", "fail"), ("pass", "fail REFUSAL"), ("fail", "vacuous")]
    ):
        run.say(f"repoqa/r{i % 2}/01", repeat=i, answer=answer, grounding=grounding)
    rows = summarise(run.about, run.tasks, run.episodes, run.verdicts, run="r").rows
    everything, high, low = stacks_of(rows)
    assert [(part.code, part.count, part.start, part.width) for part in everything.stacks[0].segments] == [
        ("CG", 1, 0, 25), ("CU", 1, 25, 25), ("IU", 1, 50, 25), ("vacuous", 1, 75, 25),
    ]  # fmt: skip
    assert (high.title, low.title) == ("Bucket high", "Bucket low")
    assert low.stacks[0].words == "CG 1 · CU 1"


def test_the_tiles_of_a_mosaic_are_as_large_as_their_shares() -> None:
    from readback.comparison.compare import compare_read
    from readback.comparison.reading import Source, read_runs
    from tests.readback.test_report import Stored

    known = {("pass", "pass"): 2, ("pass", "fail"): 6, ("fail", "pass"): 4, ("fail", "fail"): 28}
    rated = with_cells(known)
    stored = Stored(rated, rated.about)  # type: ignore[arg-type]
    pairs = compare_read(read_runs([Source(stored, "r")])).pairs
    mosaic = mosaics_of(pairs)[0]
    areas = {tile.cell: tile.width * tile.height / (300 * 150) for tile in mosaic.tiles}
    assert areas == pytest.approx({"pass_pass": 0.05, "pass_fail": 0.15, "fail_pass": 0.1, "fail_fail": 0.7})
    assert mosaic.words.startswith("kappa 0.14 (") and mosaic.words.endswith("at most 0.83 · agreement 75.0 %")
    assert mosaic.gauge is not None
    assert mosaic.gauge.zero == pytest.approx(100 / 3)
