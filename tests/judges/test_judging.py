"""Judging a run: only what is missing is asked, nothing is lost, and the files say the same whatever the jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.cache import Cache
from harness.limits import Budget
from harness.models.exchange import Exchange
from harness.models.model import NoReplyError, Reply
from harness.models.openai import openai_model
from harness.prices import Price, Prices
from harness.runfolder import RunFolder
from harness.trace import SelfCheck
from harness.verdict import Verdict
from judges.estimate import estimate
from judges.judge import Judge
from judges.judging import Judging, JudgingError, Progress, Report, Wanted
from judges.rubric import Rubric
from judges.scripted import data_of, rule_model
from judges.standing import standing
from judges.votefile import VoteFile, VoteFileError
from tests.harness.provider import Provider, Say
from tests.judges.build import KEY, NO, episode, run, said, task
from tests.judges.oracle import Oracle, always, asked_of, judge_of
from tests.judges.provider import judge_at


def some(path: Path, numbers: Sequence[int] = (1, 2, 3, 4), **more: Any) -> RunFolder:
    return run(path, [episode(number, answer=[f"src/{number}.py"]) for number in numbers], **more)


def judged(folder: RunFolder, *judges: Judge, jobs: int = 2, **more: Any) -> Report:
    how = {key: more.pop(key) for key in ("budget", "progress") if key in more}
    return Judging(folder, judges, key=KEY, **more).judge(jobs=jobs, **how)


def outcomes(folder: RunFolder) -> dict[str, str]:
    return {verdict.episode[-1]: verdict.outcome for verdict in folder.verdicts() if verdict.lens == "judge"}


def test_every_finished_episode_is_judged_by_its_votes(tmp_path: Path) -> None:
    # The first is supported 3 : 0, the second 2 : 1, the third 1 : 2; of the fourth, two votes are no votes.
    table = {1: "sss", 2: "ssn", 3: "snn", 4: "sxx"}
    texts = {"s": said(), "n": NO, "x": "well"}
    judge = judge_of(lambda number, repeat: texts[table[number][repeat]])
    with some(tmp_path / "r") as folder:
        report = judged(folder, judge)
        assert outcomes(folder) == {"1": "pass", "2": "pass", "3": "fail", "4": "unscored"}
        votes = list(VoteFile(folder.path).votes())
        judges = VoteFile(folder.path).judges()
    assert asked_of(judge) == [(number, repeat) for number in (1, 2, 3, 4) for repeat in (0, 1, 2)]
    assert report.asked == {judge.setting.config: 12}
    assert report.left == {judge.setting.config: 0}
    assert (report.written, report.interrupted, report.problems) == (4, False, [])
    assert [(one.episode[-1], one.number) for one in votes] == [(str(n), k) for n in (1, 2, 3, 4) for k in (1, 2, 3)]
    assert judges == {judge.setting.config: judge.setting}
    assert sorted(path.name for path in folder.path.iterdir()) == [
        ".lock", "episodes.jsonl", "judges.jsonl", "run.json", "tasks.jsonl", "verdicts.jsonl", "votes.jsonl",
    ]  # fmt: skip


def test_judging_again_asks_for_nothing_and_changes_nothing(tmp_path: Path) -> None:
    judge = judge_of(always(said()))
    with some(tmp_path / "r") as folder:
        judged(folder, judge)
        before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
        again = judge_of(always("not asked"))
        report = judged(folder, again)
        assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == before
    assert asked_of(again) == []
    assert (report.written, len(report.verdicts)) == (0, 4)


def test_a_vote_that_came_to_nothing_is_asked_again_and_only_that(tmp_path: Path) -> None:
    bad = {(2, 1), (4, 0), (4, 2)}
    first = judge_of(lambda number, repeat: "hm" if (number, repeat) in bad else said())
    with some(tmp_path / "r") as folder:
        judged(folder, first)
        assert outcomes(folder) == {"1": "pass", "2": "pass", "3": "pass", "4": "unscored"}
        second = judge_of(always(NO))
        report = judged(folder, second)
        assert asked_of(second) == [(2, 1_001), (4, 1_000), (4, 1_002)]
        assert outcomes(folder) == {"1": "pass", "2": "pass", "3": "pass", "4": "fail"}
        votes = {(one.episode[-1], one.number): one for one in VoteFile(folder.path).votes()}
    assert report.written == 2  # that of the fourth, and that of the second, whose reason is another
    assert (votes["4", 1].attempt, votes["4", 2].attempt) == (1, 0)
    assert votes["4", 1].usage.calls == 2
    assert len(votes) == 12


def test_what_is_there_of_a_killed_judging_is_gone_on_with(tmp_path: Path) -> None:
    judge = judge_of(always(said()))
    with some(tmp_path / "r") as folder:
        judged(folder, judge)
    # As it may be found after a kill: some votes, one of them torn, and no verdict.
    lines = (tmp_path / "r/votes.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "r/votes.jsonl").write_bytes(b"".join(lines[:7]) + lines[7][:50])
    (tmp_path / "r/verdicts.jsonl").write_bytes(b"")
    told: list[str] = []
    again = judge_of(always(said()))
    with RunFolder.append(tmp_path / "r") as folder:
        judged(folder, again, warn=told.append)
        assert outcomes(folder) == dict.fromkeys("1234", "pass")
    assert asked_of(again) == [(3, 1), (3, 2), (4, 0), (4, 1), (4, 2)]
    assert any("torn" in sentence for sentence in told)
    kept = (tmp_path / "r/votes.jsonl").read_bytes().splitlines(keepends=True)
    assert kept[:7] == lines[:7]
    assert len(kept) == 12


def test_verdicts_alone_are_made_again_from_the_votes(tmp_path: Path) -> None:
    judge = judge_of(lambda number, repeat: said() if number % 2 else NO)
    with some(tmp_path / "r") as folder:
        judged(folder, judge)
        before = (folder.path / "verdicts.jsonl").read_bytes()
        (folder.path / "verdicts.jsonl").write_bytes(b"")
        report = Judging(folder, [judge_of(always("not asked"))], key=KEY).conclude()
        assert (folder.path / "verdicts.jsonl").read_bytes() == before
    assert report.written == 4


def without_times(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in ("started", "ended")} for line in lines]


def test_the_files_are_the_same_whatever_the_jobs(tmp_path: Path) -> None:
    def says(number: int, repeat: int) -> str:
        return [said(), NO, "hm"][(number * 7 + repeat * 3) % 3]

    for jobs in (1, 2, 16):
        with some(tmp_path / str(jobs), range(1, 30)) as folder:
            judged(folder, judge_of(says), judge_of(says, rubric=Rubric("predicate"), name="oracle:n"), jobs=jobs)
    for name in ("votes.jsonl", "verdicts.jsonl", "judges.jsonl"):
        one, *others = (without_times(tmp_path / str(jobs) / name) for jobs in (1, 2, 16))
        assert others == [one, one]


def test_judges_stand_side_by_side_and_their_votes_come_in_blocks(tmp_path: Path) -> None:
    order: list[tuple[str, int, int]] = []

    def noting(name: str) -> Callable[[int, int], str]:
        def says(number: int, repeat: int) -> str:
            order.append((name, number, repeat))
            return said()

        return says

    a, b = judge_of(noting("a"), name="oracle:a", votes=2), judge_of(noting("b"), name="oracle:b", votes=2)
    with some(tmp_path / "r", (1, 2, 3)) as folder:
        judged(folder, a, b, jobs=1)
    # With one job the blocks are of one episode: all first votes before any second.
    assert order == [(name, n, repeat) for n in (1, 2, 3) for repeat in (0, 1) for name in ("a", "b")]
    order.clear()
    with some(tmp_path / "s", (1, 2, 3)) as folder:
        judged(folder, a, b, jobs=3)
    assert [repeat for _, _, repeat in order] == [0] * 6 + [1] * 6
    with RunFolder.append(tmp_path / "r") as folder:
        assert len([verdict for verdict in folder.verdicts() if verdict.lens == "judge"]) == 6
        assert list(VoteFile(folder.path).judges()) == [a.setting.config, b.setting.config]


def test_verdicts_of_other_lenses_and_of_other_judges_stay(tmp_path: Path) -> None:
    answer = Verdict(episode=episode(1).id, lens="answer", config="sha256:a", outcome="pass")
    with run(tmp_path / "r", [episode(1)], [answer]) as folder:
        judged(folder, judge_of(always(said()), name="oracle:a"))
        judged(folder, judge_of(always(NO), name="oracle:b"))
        found = folder.verdicts_of(episode(1).id)
    assert [(verdict.lens, verdict.outcome) for verdict in found] == [
        ("answer", "pass"), ("judge", "pass"), ("judge", "fail"),
    ]  # fmt: skip


@pytest.mark.parametrize("ending", ["provider_error", "auth", "budget", "wall_time", "harness_error"])
def test_an_episode_that_ended_unscored_is_not_judged(tmp_path: Path, ending: Any) -> None:
    judge = judge_of(always(said()))
    with run(tmp_path / "r", [episode(1), episode(2, ending=ending)]) as folder:
        judging = Judging(folder, [judge], key=KEY)
        judging.judge()
        assert outcomes(folder) == {"1": "pass"}
    assert judging.unfinished == 1


@pytest.mark.parametrize("check", [SelfCheck(agrees=False), SelfCheck(agrees=True, foreign=("Patient/p1",))])
def test_an_episode_whose_self_check_failed_is_not_judged(tmp_path: Path, check: SelfCheck) -> None:
    """It is played again under the same name, and the verdict would be about another trace."""
    with run(tmp_path / "r", [episode(1, self_check=SelfCheck(agrees=True)), episode(2, self_check=check)]) as folder:
        judging = Judging(folder, [judge_of(always(said()))], key=KEY)
        judging.judge()
        assert outcomes(folder) == {"1": "pass"}
    assert judging.unfinished == 1


@pytest.mark.parametrize("ending", ["refused", "no_finish", "cut_off", "max_turns", "bad_format"])
def test_what_was_said_at_any_scored_end_is_judged(tmp_path: Path, ending: Any) -> None:
    judge = judge_of(always(said()))
    with run(tmp_path / "r", [episode(1, (), ending=ending, claim=None, note="It is in 1.py")]) as folder:
        judged(folder, judge)
        assert outcomes(folder) == {"1": "pass"}


def test_nobody_is_asked_about_nothing(tmp_path: Path) -> None:
    episodes = [episode(1, (), claim="unclear"), episode(2, (), claim="done"), episode(3, (), claim=None)]
    facts, predicate = judge_of(always(said())), judge_of(always(said()), rubric=Rubric("predicate"))
    with run(tmp_path / "r", episodes) as folder:
        judging = Judging(folder, [facts, predicate], key=KEY)
        judging.judge()
        said_by = {(v.episode[-1], v.config): v for v in folder.verdicts()}
    assert {key[0]: v.outcome for key, v in said_by.items() if key[1] == facts.setting.config} == {
        "1": "vacuous", "2": "pass", "3": "vacuous",
    }  # fmt: skip
    assert {v.outcome for key, v in said_by.items() if key[1] == predicate.setting.config} == {"vacuous"}
    assert asked_of(predicate) == []
    assert estimate(facts, judging.rows).silent == 2


def test_an_answer_that_is_too_long_to_be_shown_is_unscored_without_a_call(tmp_path: Path) -> None:
    judge = judge_of(always(said()), characters=2_000)
    with run(tmp_path / "r", [episode(1), episode(2, ["x" * 9_000])]) as folder:
        judged(folder, judge)
        labels = {verdict.episode[-1]: verdict.label for verdict in folder.verdicts()}
    assert labels == {"1": None, "2": "TOO_LONG"}


def test_an_episode_that_was_played_again_is_judged_again(tmp_path: Path) -> None:
    with some(tmp_path / "r", (1, 2)) as folder:
        judged(folder, judge_of(always(said())))
        folder.store([(episode(2, ["src/2.py"], note="played again"), [])])
        again = judge_of(always(NO))
        judged(folder, again)
        assert asked_of(again) == [(2, 0), (2, 1), (2, 2)]
        assert outcomes(folder) == {"1": "pass", "2": "fail"}


def test_a_judge_is_told_what_the_agent_was_told(tmp_path: Path) -> None:
    told: list[str] = []

    class Listening(Oracle):
        def reply(self, system: str, history: Any, tools: Any, **more: Any) -> Reply:
            told.append(next(data_of(history[0].text))["text"])
            return super().reply(system, history, tools, **more)

    judge = Judge(Listening(always(said())), Rubric("facts"), votes=1)
    with some(tmp_path / "r", (1,)) as folder:
        judged(folder, judge, instruction=lambda task, episode: f"In other words, {task.id}?")
    assert told == [f"In other words, {task(1).id}?"]


def test_a_key_that_is_refused_ends_the_asking_of_that_judge_alone(tmp_path: Path) -> None:
    refused = judge_of(lambda number, repeat: NoReplyError("auth", "oracle:a answered 401: wrong key"), name="oracle:a")
    other = judge_of(always(said()), name="oracle:b")
    with some(tmp_path / "r", range(1, 9)) as folder:
        report = judged(folder, refused, other, jobs=1)
        assert len(asked_of(refused)) == 1
        assert len(asked_of(other)) == 24
        assert report.problems == ["oracle:a answered 401: wrong key; 23 more of its votes were not asked"]
        assert report.left[refused.setting.config] == 23
        assert {verdict.config for verdict in folder.verdicts()} == {other.setting.config}
        mended = judge_of(always(said()), name="oracle:a")
        assert judged(folder, mended).left[mended.setting.config] == 0
        assert len(asked_of(mended)) == 24


def test_a_provider_that_fails_time_after_time_is_given_up(tmp_path: Path) -> None:
    judge = judge_of(lambda number, repeat: NoReplyError("provider_error", "oracle:m answered 500"))
    with some(tmp_path / "r", range(1, 9)) as folder:
        report = judged(folder, judge, jobs=1)
        assert len(asked_of(judge)) == 10
        # Three episodes have all their votes, none of which says anything: that can be seen.
        assert outcomes(folder) == dict.fromkeys("123", "unscored")
    (problem,) = report.problems
    assert problem.startswith("oracle:m: 10 provider errors in a row, the last: oracle:m answered 500; 14 more")


def test_a_budget_ends_the_asking_in_time_and_needs_a_price(tmp_path: Path) -> None:
    priced = Price(model="oracle:m", input=1, output=1, source="a test", date="2026-01-15")
    judge = judge_of(always(said()), billed=0.10, price=priced)
    with some(tmp_path / "r") as folder:
        report = judged(folder, judge, jobs=1, budget=Budget(0.45))
        assert len(asked_of(judge)) == 5
        assert report.problems == ["the budget of 0.45 USD is used up; 7 votes were not asked"]
        assert outcomes(folder) == {"1": "pass"}
        with pytest.raises(JudgingError, match="nobody knows what oracle:x costs"):
            judged(folder, judge_of(always(said()), name="oracle:x", price=None), budget=Budget(1.0))
        # A rule costs nothing, and goes on.
        rule = Judge(rule_model("overlap"), Rubric("facts"), votes=1, is_rule=True)
        used = Budget(0.1)
        used.pay(0.2)
        assert judged(folder, rule, budget=used).left[rule.setting.config] == 0


def test_a_limit_takes_the_same_tasks_for_every_judge_and_a_lower_one_some_of_them(tmp_path: Path) -> None:
    agents = [episode(n, [f"{n}.py"], agent=agent) for n in range(1, 9) for agent in ("a", "b")]
    agents = [one.model_copy(update={"id": f"{one.id}{one.agent}"}) for one in agents]
    with run(tmp_path / "r", agents) as folder:
        chosen = {
            limit: Judging(folder, [judge_of(always(said()))], key=KEY, wanted=Wanted(limit=limit)).chosen
            for limit in (1, 4, 6, 16, 99)
        }
        only = Judging(folder, [judge_of(always(said()))], key=KEY, wanted=Wanted(agents=("b",))).chosen
        none = Judging(folder, [judge_of(always(said()))], key=KEY, wanted=Wanted(conditions=("other",))).chosen
    assert [len(found) for found in chosen.values()] == [1, 4, 6, 16, 16]
    assert chosen[1] < chosen[4] < chosen[6] < chosen[16]
    assert {one[:-1] for one in chosen[4]} == {one[:-1] for one in chosen[4] if one.endswith("a")}, "whole tasks"
    assert only == {one.id for one in agents if one.agent == "b"}
    assert none == set()


def test_no_judge_and_the_same_judge_twice_are_refused(tmp_path: Path) -> None:
    with some(tmp_path / "r") as folder:
        with pytest.raises(JudgingError, match="no judge is named"):
            Judging(folder, [], key=KEY)
        with pytest.raises(JudgingError, match="named twice"):
            Judging(folder, [judge_of(always(said())), judge_of(always(NO))], key=KEY)
        with pytest.raises(JudgingError, match="jobs is 0"):
            judged(folder, judge_of(always(said())), jobs=0)


def test_progress_is_told_from_nothing_to_all(tmp_path: Path) -> None:
    told: list[Progress] = []
    with some(tmp_path / "r") as folder:
        judged(folder, judge_of(always(said())), jobs=1, progress=told.append)
    assert (told[0].done, told[0].of, told[0].vote) == (0, 12, None)
    assert (told[-1].done, told[-1].of) == (12, 12)
    assert [one.done for one in told] == sorted(one.done for one in told)


def test_a_fault_of_ours_is_raised_and_what_came_home_is_kept(tmp_path: Path) -> None:
    def says(number: int, repeat: int) -> str:
        if (number, repeat) == (3, 1):
            raise ZeroDivisionError
        return said()

    with some(tmp_path / "r") as folder:
        with pytest.raises(ZeroDivisionError):
            judged(folder, judge_of(says), jobs=1)
        assert len(list(VoteFile(folder.path).votes())) == 7
        again = judge_of(always(said()))
        judged(folder, again)
        assert len(asked_of(again)) == 5


def test_ctrl_c_keeps_what_came_home(tmp_path: Path) -> None:
    main = threading.main_thread().ident
    assert main is not None

    def says(number: int, repeat: int) -> str:
        if (number, repeat) == (3, 0):
            signal.pthread_kill(main, signal.SIGINT)
        if number >= 3:
            time.sleep(0.2)  # long enough for the main thread to hear of it
        return said()

    with some(tmp_path / "r", range(1, 40)) as folder:
        report = judged(folder, judge_of(says), jobs=1)
        stored = len(list(VoteFile(folder.path).votes()))
    assert report.interrupted
    assert 6 <= stored < 117
    assert report.problems == ["interrupted: the calls in flight are not kept"]


def test_a_second_pass_over_another_copy_is_answered_by_the_cache(tmp_path: Path) -> None:
    with Cache(tmp_path / "c.sqlite") as cache, Provider("openai", Say(said())) as provider:
        for name in ("first", "second"):
            with some(tmp_path / name) as folder, judge_at(provider, exchange=Exchange(cache=cache), votes=3) as judge:
                report = judged(folder, judge)
                assert report.left[judge.setting.config] == 0
                found = standing(
                    judge.setting,
                    Judging(folder, [judge], key=KEY).rows,
                    VoteFile(folder.path).votes(),
                    report.verdicts,
                )
                assert found.kept == (0 if name == "first" else 12)
        assert len(provider.requests) == 12


def test_a_judges_file_that_is_none_is_named(tmp_path: Path) -> None:
    with some(tmp_path / "r") as folder:
        (folder.path / "votes.jsonl").write_text('{"format":"readback.vote/1"}\n')
        with pytest.raises(VoteFileError, match=r"line 1 of .*votes\.jsonl.* cannot be read"):
            Judging(folder, [judge_of(always(said()))], key=KEY)
        (folder.path / "votes.jsonl").write_text('{"episode":"sha256:0001","config":"c","number":1}\n')
        with pytest.raises(VoteFileError, match="no Vote of this version"):
            list(VoteFile(folder.path).votes())


def test_a_standing_counts_what_is_there(tmp_path: Path) -> None:
    table = {1: "sss", 2: "ssn", 3: "nnn", 4: "sxx", 5: "snx"}
    texts = {"s": said(), "n": said("not_supported", "r"), "x": "well"}
    judge = judge_of(lambda number, repeat: texts[table[number][repeat]], billed=0.01)
    episodes = [episode(n, [f"src/{n}.py"]) for n in table] + [episode(6, (), claim=None)]
    with run(tmp_path / "r", episodes) as folder:
        judging = Judging(folder, [judge], key=KEY)
        report = judging.judge()
        votes, asked = judging.votes.votes(), report.asked[judge.setting.config]
        found = standing(judge.setting, judging.rows, votes, report.verdicts, asked=asked)
    assert found.outcomes.model_dump(by_alias=True) == {"pass": 2, "fail": 1, "vacuous": 1, "unscored": 2}
    assert (found.episodes, found.asked, found.left, found.kept, found.split) == (6, 15, 0, 0, 2)
    assert found.rate == pytest.approx(2 / 3)
    assert found.mean == pytest.approx((1 + 2 / 3 + 0 + 1 + 1 / 2) / 5)
    assert found.labels == {"NO_QUORUM": 1, "TIE": 1, "UNSUPPORTED": 1}
    assert found.votes_said == {"not_supported": 5, "supported": 7}
    assert (found.faults, found.flags) == ({"unparseable": 3}, {"NO_CLAIM_NAMED": 5})
    assert (found.usage.calls, found.usage.input) == (15, 150)
    assert found.billed_usd == pytest.approx(0.15)
    assert not found.is_complete
    assert json.loads(found.line())["outcomes"]["pass"] == 2


def test_an_estimate_counts_calls_and_guesses_money(tmp_path: Path) -> None:
    priced = Price(model="oracle:m", input=1_000_000, output=2_000_000, source="a test", date="2026-01-15")
    judge = judge_of(always(said()), price=priced)
    with some(tmp_path / "r") as folder:
        judging = Judging(folder, [judge], key=KEY)
        before = estimate(judge, judging.rows)
        assert (before.episodes, before.stored, before.votes, before.calls) == (4, 0, 12, 12)
        characters = len(judge.setting.prompt) + judging.rows[0].characters
        assert before.cost_usd == pytest.approx(12 * (characters // 4 + 2 * 300))
        judging.judge()
        after = estimate(judge, Judging(folder, [judge], key=KEY).rows)
        assert (after.stored, after.votes, after.calls, after.cost_usd) == (12, 0, 0, 0.0)
        unknown = judge_of(always(said()), price=None, name="oracle:x")
        assert estimate(unknown, Judging(folder, [unknown], key=KEY).rows).cost_usd is None


def test_as_many_requests_are_in_flight_as_there_are_jobs_and_never_more(tmp_path: Path) -> None:
    lock, now, seen = threading.Lock(), [0], [0]
    full = threading.Event()

    def answer(request: httpx2.Request) -> httpx2.Response:
        with lock:
            now[0] += 1
            seen[0] = max(seen[0], now[0])
        if now[0] == 8:
            full.set()
        full.wait(10)
        time.sleep(0.002)
        with lock:
            now[0] -= 1
        message = {"role": "assistant", "content": said()}
        return httpx2.Response(200, json={"choices": [{"message": message, "finish_reason": "stop"}]})

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http, some(tmp_path / "r") as folder:
        model = openai_model("m", base_url="http://127.0.0.1:1/v1", environment={}, http_client=http)
        report = judged(folder, Judge(model, Rubric("facts"), votes=10), jobs=8)
    assert seen == [8]
    assert report.asked.total() == 40


def _children() -> list[str]:
    """The command lines of the processes that this one has started."""
    found = subprocess.run(
        ["ps", "-o", "stat=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    ).stdout
    return [line for line in found.splitlines() if "harness.models.courier" in line]


def test_many_votes_at_once_are_carried_by_another_interpreter_that_ends_with_them(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    with Provider("openai", Say(said())) as provider, some(tmp_path / "r", range(100, 190)) as folder:
        model = openai_model("m", base_url=provider.base_url, environment={}, prices=Prices(()))
        report = judged(
            folder, Judge(model, Rubric("facts"), votes=5), jobs=16, progress=lambda progress: seen.append(_children())
        )
        model.close()
        assert report.asked.total() == len(provider.requests) == 450
        assert {verdict.outcome for verdict in folder.verdicts()} == {"pass"}
    assert seen[0] == []
    assert any(len(children) == 1 for children in seen)
    assert _children() == []
