"""Runs: what is planned is played once, judged, stored and gone on with, whatever stops it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentKind, Briefing, Played
from harness.crew import PROVIDER_PATIENCE
from harness.limits import Budget
from harness.plan import Plan, PlanError, make_plan, resume_plan
from harness.runfolder import RunFolder, RunFolderError
from harness.runner import Progress, Report, execute, score
from harness.scripted import ScriptedAgent
from harness.suite import WorldEvidence
from harness.task import Task
from harness.tool import Tool
from harness.trace import Ending, Episode, SelfCheck, Usage
from harness.verdict import Verdict
from tests.harness.tally import AGENTS, TallySuite, TallyWorld, judge
from tests.support import ROOT


class Fixed:
    """An agent that ends as it is told to, and counts how often it is asked."""

    kind: AgentKind = "model"
    digest = "sha256:fixed"

    def __init__(self, name: str, *endings: Ending, budget: Budget | None = None) -> None:
        self.name = name
        self.endings = list(endings)
        self.played = 0
        self._budget = budget

    def play(self, briefing: Briefing, tools: Sequence[Tool], *, repeat: int) -> Played:
        ending = self.endings[min(self.played, len(self.endings) - 1)]
        self.played += 1
        if self._budget is not None:
            self._budget.pay(1.0)
        return Played(ending, usage=Usage(calls=1, cost_usd=1.0), error=None if ending == "finished" else "no luck")


def run(path: Path, plan: Plan, **options: Any) -> Report:
    with RunFolder.create(path, plan.about(), plan.tasks) as folder:
        return execute(plan, folder, **options)


def resume(path: Path, suite: TallySuite, agents: Sequence[Any], **options: Any) -> Report:
    with RunFolder.append(path) as folder:
        return execute(resume_plan(suite, agents, folder), folder, **options)


def without_times(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        for timed in (line, *line.get("calls", [])):
            timed.pop("started", None)
            timed.pop("ended", None)
    return lines


def test_a_run_plays_and_judges_what_was_planned(tmp_path: Path) -> None:
    suite = TallySuite(4)
    plan = make_plan(suite, AGENTS, conditions=suite.conditions, repeats=2)
    seen: list[Progress] = []
    report = run(tmp_path / "run", plan, progress=seen.append)
    assert (report.planned, report.played, report.left, report.unscored) == (48, 48, 0, 0)
    assert report.is_complete
    folder = RunFolder.open(tmp_path / "run")
    episodes = list(folder.episodes())
    assert [e.id for e in episodes] == [p.id for p in plan.episodes]
    assert len({e.id for e in episodes}) == 48
    assert {(e.agent, e.condition, e.repeat) for e in episodes} == {
        (a, c, r) for a in AGENTS for c in ("default", "grounded") for r in (0, 1)
    }
    assert {e.agent_kind for e in episodes} == {"baseline"}
    outcomes = {
        (episodes[i].agent, v.lens): v.outcome
        for i, p in enumerate(plan.episodes)
        for v in folder.verdicts_of(p.id)
        if episodes[i].task.endswith("0004")
    }
    assert outcomes == {
        ("oracle", "state"): "pass", ("oracle", "message"): "pass", ("idle", "state"): "fail",
        ("idle", "message"): "fail", ("half", "state"): "fail", ("half", "message"): "pass",
    }  # fmt: skip
    assert (seen[0].done, seen[0].episode) == (0, None)
    assert [(p.done, p.episode.id) for p in seen if p.episode] == list(enumerate((e.id for e in episodes), 1))
    assert all(world.closed for world in suite.worlds)


def test_progress_is_told_while_an_episode_takes_its_time(tmp_path: Path) -> None:
    suite = TallySuite(1, pause=0.5)
    seen: list[Progress] = []
    run(tmp_path / "run", make_plan(suite, ["oracle"]), progress=seen.append)
    assert seen[-1].done == 1
    assert sum(p.done == 0 and p.episode is None for p in seen) > 1


def test_run_json_says_what_was_run(tmp_path: Path) -> None:
    suite = TallySuite(2)
    run(tmp_path / "run", make_plan(suite, ["oracle", Fixed("m", "finished")]))
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["format"] == "readback.run/1"
    assert (about["suite"], about["suite_digest"], about["seed"], about["planned"]) == ("tally", suite.digest, 1, 4)
    assert [(agent["name"], agent["kind"]) for agent in about["agents"]] == [("oracle", "baseline"), ("m", "model")]
    assert about["conditions"]["default"]["prompt"] == "Count well."
    assert about["packages"]["pydantic"]


def test_the_number_of_jobs_changes_nothing_but_times(tmp_path: Path) -> None:
    for jobs in (1, 4):
        suite = TallySuite(30, pause=0.001)
        run(tmp_path / f"run{jobs}", make_plan(suite, AGENTS, repeats=2), jobs=jobs)
    for name in ("tasks.jsonl", "episodes.jsonl", "verdicts.jsonl"):
        assert without_times(tmp_path / "run1" / name) == without_times(tmp_path / "run4" / name)
    one, four = (json.loads((tmp_path / f"run{jobs}" / "run.json").read_text()) for jobs in (1, 4))
    assert {**one, "times": None} == {**four, "times": None}


def test_a_finished_run_is_left_alone(tmp_path: Path) -> None:
    run(tmp_path / "run", make_plan(TallySuite(5), AGENTS))
    before = (tmp_path / "run" / "episodes.jsonl").read_bytes()
    suite = TallySuite(5)
    report = resume(tmp_path / "run", suite, AGENTS)
    assert (report.stored_before, report.played, report.judged_again, report.problems) == (15, 0, 0, [])
    assert suite.worlds == []
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == before


def test_resuming_plays_again_what_ended_unscored_and_nothing_else(tmp_path: Path) -> None:
    endings: tuple[Ending, ...] = (
        "finished", "provider_error", "refused", "wall_time", "harness_error", "max_turns", "budget", "no_finish",
    )  # fmt: skip
    agent = Fixed("m", *endings)
    report = run(tmp_path / "run", make_plan(TallySuite(8), [agent]))
    assert (report.played, report.unscored, report.left, report.is_complete) == (8, 4, 0, False)
    again = Fixed("m", "finished")
    report = resume(tmp_path / "run", TallySuite(8), [again])
    assert (report.stored_before, report.played, report.unscored) == (4, 4, 0)
    assert again.played == 4
    stored = [e.ending for e in RunFolder.open(tmp_path / "run").episodes()]
    assert stored == [
        "finished", "finished", "refused", "finished", "finished", "max_turns", "finished", "no_finish",
    ]  # fmt: skip
    outcomes = [(v.episode, v.outcome) for v in RunFolder.open(tmp_path / "run").verdicts()]
    assert len(outcomes) == 16
    assert not any(outcome == "unscored" for _, outcome in outcomes)


@pytest.mark.parametrize("check", [SelfCheck(agrees=False, differences=("…",)), SelfCheck(agrees=True, foreign=("…",))])
def test_resuming_plays_again_what_the_self_check_did_not_let_be_judged(tmp_path: Path, check: SelfCheck) -> None:
    suite = Checked(check, SelfCheck(agrees=True))
    report = run(tmp_path / "run", make_plan(suite, ["idle"]))
    assert (report.played, report.unscored, report.left, report.is_complete) == (2, 1, 0, False)
    with RunFolder.append(tmp_path / "run") as folder:
        assert list(folder.sound().values()) == [False, True]
        assert score(folder, suite.judge).unscored == 1
    report = resume(tmp_path / "run", Checked(SelfCheck(agrees=True)), ["idle"])
    assert (report.stored_before, report.played, report.unscored, report.is_complete) == (1, 1, 0, True)
    assert list(RunFolder.open(tmp_path / "run").sound().values()) == [True, True]


class Checked(TallySuite):
    """Two tasks whose worlds have these self-checks, one after the other."""

    def __init__(self, *checks: SelfCheck) -> None:
        super().__init__(2)
        self._checks = list(checks)

    def world(self, task: Task, variant: Mapping[str, Any]) -> TallyWorld:
        return CheckedWorld(self, self._checks.pop(0))


class CheckedWorld(TallyWorld):
    def __init__(self, suite: TallySuite, check: SelfCheck) -> None:
        super().__init__(suite)
        self._check = check

    def evidence(self) -> WorldEvidence:
        return replace(super().evidence(), self_check=self._check)


def test_resuming_goes_on_with_the_tasks_prompts_and_tools_of_the_run(tmp_path: Path) -> None:
    run(tmp_path / "run", make_plan(TallySuite(3), [Fixed("m", "finished", "wall_time")]))

    class Changed(TallySuite):
        conditions: Mapping[str, str] = {"default": "Another prompt."}

        def tools(self, task: Any, variant: Mapping[str, Any]) -> Sequence[Tool]:
            return super().tools(task, variant)[1:]

    agent = Fixed("m", "finished")
    agent.digest = "sha256:other"
    report = resume(tmp_path / "run", Changed(5), [agent])
    assert (report.planned, report.stored_before, report.played) == (3, 1, 2)
    assert len(list(RunFolder.open(tmp_path / "run").episodes())) == 3
    assert report.problems == [
        "the suite's tasks are not what they were; those of the run are played",
        "agent 'm' has other settings than before",
        "the tools are described otherwise than before; what is left is played with those of now",
    ]


def test_resuming_needs_the_same_agents(tmp_path: Path) -> None:
    run(tmp_path / "run", make_plan(TallySuite(1), AGENTS))
    with pytest.raises(PlanError, match="this run is of the agents oracle, idle, half, not oracle"):
        resume(tmp_path / "run", TallySuite(1), ["oracle"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tasks": []}, "there is no task to play; name at least one"),
        ({"agents": []}, "there is no agent to play; name at least one"),
        ({"conditions": {}}, "there is no condition to play; name at least one"),
        ({"variants": []}, "there is no variant to play; name at least one"),
        ({"repeats": 0}, "repeats is 0; it must be 1 or more"),
        ({"agents": ["idle", "oracle", "idle"]}, "two agents are called 'idle'; name each once"),
    ],
)
def test_a_plan_of_nothing_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        make_plan(TallySuite(1), **{"agents": ["idle"], **options})


def test_the_order_is_repeats_tasks_variants_conditions_agents() -> None:
    """So what a budget leaves is every task once before any of them twice."""
    plan = make_plan(
        TallySuite(2), ["idle", "oracle"], conditions={"a": "A.", "b": "B."}, variants=[{"v": 1}, {"v": 2}], repeats=2
    )
    played = [(one.repeat, one.task.id, one.variant["v"], one.condition, one.agent_name) for one in plan.episodes]
    assert played == sorted(played) and len(set(played)) == 32


def test_an_episode_is_named_by_its_content() -> None:
    def ids(suite: TallySuite | None = None, agents: Sequence[Any] = ("idle",), **options: Any) -> set[str]:
        return {planned.id for planned in make_plan(suite or TallySuite(3), agents, **options).episodes}

    class OtherTools(TallySuite):
        def tools(self, task: Any, variant: Mapping[str, Any]) -> Sequence[Tool]:
            return super().tools(task, variant)[1:]

    base = ids()
    assert ids() == base
    assert ids(TallySuite(5)) > base
    assert ids(repeats=2) > base
    assert ids(agents=("idle", "oracle")) > base
    for other in (
        ids(agents=("oracle",)), ids(conditions={"default": "Other."}), ids(conditions={"other": "Count well."}),
        ids(variants=[{"fault": "lost_write"}]), ids(OtherTools(3)),
    ):  # fmt: skip
        assert not other & base


def test_a_suite_that_cannot_name_its_tools_is_asked_for_one_world_for_each_set_of_them() -> None:
    class Plain:
        """The same suite without `tools`."""

        def __init__(self, suite: TallySuite) -> None:
            self.name, self.digest, self.about = suite.name, suite.digest, suite.about
            self.tasks, self.conditions = suite.tasks, suite.conditions
            self.world, self.baseline, self.judge = suite.world, suite.baseline, suite.judge

    suite = TallySuite(5)
    plan = make_plan(Plain(suite), ["idle"], variants=[{}, {"validation": "full"}])
    assert len(suite.worlds) == 2
    assert all(world.closed for world in suite.worlds)
    assert [p.id for p in plan.episodes] == [
        p.id for p in make_plan(suite, ["idle"], variants=[{}, {"validation": "full"}]).episodes
    ]


def test_a_fault_of_ours_is_an_episode_and_the_run_goes_on(tmp_path: Path) -> None:
    suite = TallySuite(3)
    plan = make_plan(suite, ["oracle", "broken"], variants=[{}, {"fault": "no_world"}])
    report = run(tmp_path / "run", plan, jobs=2)
    assert (report.played, report.unscored) == (12, 9)
    for episode in RunFolder.open(tmp_path / "run").episodes():
        if episode.agent == "oracle" and not episode.variant:
            assert (episode.ending, episode.error) == ("finished", None)
            continue
        assert episode.ending == "harness_error"
        assert episode.error is not None
        assert episode.error.startswith("Traceback (most recent call last)")
        sentence = "the world cannot be made" if episode.variant else "a fault in the script"
        assert sentence in episode.error


def test_a_world_that_fails_at_the_end_keeps_the_trace(tmp_path: Path) -> None:
    class Failing(TallySuite):
        def world(self, task: Any, variant: Mapping[str, Any]) -> Any:
            world = super().world(task, variant)

            def fail() -> None:
                raise RuntimeError(f"cannot {variant['fails']}")

            setattr(world, variant["fails"], fail)
            return world

    plan = make_plan(Failing(1), ["oracle"], variants=[{"fails": "evidence"}, {"fails": "close"}])
    run(tmp_path / "run", plan)
    for episode in RunFolder.open(tmp_path / "run").episodes():
        assert episode.ending == "harness_error"
        assert [call.name for call in episode.calls] == ["add", "look"]
        assert f"RuntimeError: cannot {episode.variant['fails']}" in (episode.error or "")


def test_a_judge_that_fails_costs_no_episode_and_is_asked_again(tmp_path: Path) -> None:
    class Unjust(TallySuite):
        def judge(self, task: Any, episode: Episode) -> list[Verdict]:
            if task.id.endswith("2"):
                raise ZeroDivisionError("no reason")
            return super().judge(task, episode)

    report = run(tmp_path / "run", make_plan(Unjust(3), ["oracle"]))
    assert (report.played, report.left) == (3, 0)
    assert len(report.problems) == 1
    assert report.problems[0].startswith(
        "task 'tally/raise/0002', agent 'oracle': the judge failed with ZeroDivisionError('no reason') (test_runner.py"
    )
    assert len(RunFolder.open(tmp_path / "run").judged()) == 2
    with RunFolder.append(tmp_path / "run") as folder:  # a judge comes apart, and is no verdict of the suite's
        folder.store_verdicts(
            [Verdict(episode=e.id, lens="judge", config="sha256:j", outcome="pass") for e in folder.episodes()]
        )
        assert len(folder.judged()) == 2
    report = resume(tmp_path / "run", TallySuite(3), ["oracle"])
    assert (report.played, report.judged_again) == (0, 1)
    assert len(RunFolder.open(tmp_path / "run").judged()) == 3
    # Who is to be played again is not judged before.
    run(tmp_path / "other", make_plan(Unjust(3), [Fixed("m", "provider_error")]))
    report = resume(tmp_path / "other", TallySuite(3), [Fixed("m", "finished")])
    assert (report.played, report.judged_again) == (3, 0)


def test_what_no_file_can_hold_is_an_episode_without_it(tmp_path: Path) -> None:
    class Odd(Fixed):
        def play(self, briefing: Briefing, tools: Sequence[Tool], *, repeat: int) -> Played:
            return Played("finished", "done", answer=("half \ud800 pair",))

    report = run(tmp_path / "run", make_plan(TallySuite(2), [Odd("odd"), "oracle"]))
    assert (report.played, report.unscored) == (4, 2)
    odd = [e for e in RunFolder.open(tmp_path / "run").episodes() if e.agent == "odd"]
    assert [(e.ending, e.answer) for e in odd] == [("harness_error", ())] * 2


def test_what_cannot_be_an_episode_ends_the_run_and_keeps_the_others(tmp_path: Path) -> None:
    class Leaving(TallySuite):
        def world(self, task: Any, variant: Mapping[str, Any]) -> Any:
            if task.id.endswith("3"):
                raise SystemExit("leaving")
            return super().world(task, variant)

    with pytest.raises(SystemExit, match="leaving"):
        run(tmp_path / "run", make_plan(Leaving(3), ["oracle"]))
    assert len(RunFolder.open(tmp_path / "run").endings()) == 2


def test_judged_is_what_is_stored(tmp_path: Path) -> None:
    class Written(float):
        digits = "1.50"

    class Weighing(TallySuite):
        def baseline(self, name: str, task: Any) -> Any:
            agent = super().baseline(name, task)
            assert isinstance(agent, ScriptedAgent)
            return replace(agent, script=lambda tools: tools["look"]() and {"outcome": "done"})

        def world(self, task: Any, variant: Mapping[str, Any]) -> Any:
            world = super().world(task, variant)
            world._number = Written(1.5)  # type: ignore[assignment]
            return world

        def judge(self, task: Any, episode: Episode) -> list[Verdict]:
            seen = episode.calls[0].result["body"]["tally"]
            return [Verdict(episode=episode.id, lens="state", config="c", outcome="pass", notes=(type(seen).__name__,))]

    suite = Weighing(1)
    run(tmp_path / "run", make_plan(suite, ["oracle"]))
    assert '"tally":1.50}' in (tmp_path / "run" / "episodes.jsonl").read_text()
    before = (tmp_path / "run" / "verdicts.jsonl").read_bytes()
    with RunFolder.append(tmp_path / "run") as folder:
        score(folder, suite.judge)
    assert (tmp_path / "run" / "verdicts.jsonl").read_bytes() == before
    assert [v.notes for v in RunFolder.open(tmp_path / "run").verdicts()] == [("float",)]


def test_a_refused_key_ends_the_agent_and_not_the_run(tmp_path: Path) -> None:
    refused = Fixed("m", "finished", "auth")
    report = run(tmp_path / "run", make_plan(TallySuite(5), [refused, "idle"]))
    assert refused.played == 2
    assert (report.played, report.left, report.unscored) == (7, 3, 1), "what was not played is not unscored"
    assert report.problems == ["m: no luck; 3 more of its episodes were not played"]
    report = resume(tmp_path / "run", TallySuite(5), [Fixed("m", "finished"), "idle"])
    assert (report.played, report.left, report.unscored) == (4, 0, 0)


def test_a_provider_that_keeps_failing_is_given_up(tmp_path: Path) -> None:
    agent = Fixed("m", "provider_error", "finished", "provider_error")
    report = run(tmp_path / "run", make_plan(TallySuite(20), [agent]))
    assert agent.played == PROVIDER_PATIENCE + 2
    assert report.left == 20 - agent.played
    assert "10 provider errors in a row, the last: no luck" in report.problems[0]


def test_beyond_the_budget_nothing_that_costs_is_started(tmp_path: Path) -> None:
    budget = Budget(3.0)
    agent = Fixed("m", "finished", budget=budget)
    report = run(tmp_path / "run", make_plan(TallySuite(5), [agent, "idle"]), budget=budget)
    assert agent.played == 3
    assert (report.played, report.left, report.unscored, report.is_complete) == (8, 2, 0, False)
    assert report.problems == ["the budget of 3.0 USD is used up; 2 episodes were not played"]
    report = resume(tmp_path / "run", TallySuite(5), [Fixed("m", "finished"), "idle"])
    assert (report.played, report.left) == (2, 0)


def test_a_program_of_the_users_own_spends_nothing_of_the_budget_and_is_not_held_to_it(tmp_path: Path) -> None:
    class Program(Fixed):
        kind: AgentKind = "program"

    budget = Budget(1.0)
    program, model = Program("p", "finished"), Fixed("m", "finished", budget=budget)
    report = run(tmp_path / "run", make_plan(TallySuite(4), [program, model]), budget=budget)
    assert (program.played, model.played, report.left) == (4, 1, 3)


def test_scoring_needs_only_the_folder(tmp_path: Path) -> None:
    run(tmp_path / "run", make_plan(TallySuite(4), AGENTS))
    before = (tmp_path / "run" / "verdicts.jsonl").read_bytes()
    with RunFolder.append(tmp_path / "run") as folder:
        report = score(folder, judge)
    assert (report.planned, report.judged_again, report.unscored) == (12, 12, 0)
    assert (tmp_path / "run" / "verdicts.jsonl").read_bytes() == before


def test_scoring_counts_whom_a_judge_failed_on_apart(tmp_path: Path) -> None:
    run(tmp_path / "run", make_plan(TallySuite(4), ["oracle"]))

    def fails_on_one(task: Any, episode: Episode) -> list[Verdict]:
        if task.id.endswith("2"):
            raise ZeroDivisionError("no reason")
        return judge(task, episode)

    told: list[int] = []
    with RunFolder.append(tmp_path / "run") as folder:
        report = score(folder, fails_on_one, progress=told.append)
    assert (report.planned, report.judged_again, report.unjudged, len(report.problems)) == (4, 3, 1, 1)
    assert told == [4]


def test_scoring_with_another_configuration_stands_beside(tmp_path: Path) -> None:
    run(tmp_path / "run", make_plan(TallySuite(4), ["oracle"]))

    def stricter(task: Any, episode: Episode) -> list[Verdict]:
        return [Verdict(episode=episode.id, lens="state", config="sha256:2", outcome="fail")]

    with RunFolder.append(tmp_path / "run") as folder:
        score(folder, stricter)
    verdicts = list(RunFolder.open(tmp_path / "run").verdicts())
    assert Counter((v.lens, v.config, v.outcome) for v in verdicts) == {
        ("state", "sha256:1", "pass"): 4, ("message", "sha256:1", "pass"): 4, ("state", "sha256:2", "fail"): 4,
    }  # fmt: skip


def test_a_full_disk_ends_the_run_and_keeps_what_was_stored(tmp_path: Path) -> None:
    script = f"""
import resource, sys
from harness.plan import make_plan
from harness.runfolder import RunFolder, RunFolderError
from harness.runner import execute
from tests.harness.tally import TallySuite
plan = make_plan(TallySuite(50, pause=0.001), ["oracle"])
with RunFolder.create({str(tmp_path / "run")!r}, plan.about(), plan.tasks) as folder:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        execute(plan, folder, jobs=2)
    except RunFolderError as problem:
        sys.exit(str(problem))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "cannot be written: File too large; all that was stored before is kept" in done.stderr
    stored = len(list(RunFolder.open(tmp_path / "run").episodes()))
    assert 0 < stored < 50
    report = resume(tmp_path / "run", TallySuite(50), ["oracle"])
    assert (report.stored_before, report.played, report.left) == (stored, 50 - stored, 0)


def test_ctrl_c_ends_cleanly_and_the_run_goes_on_later(tmp_path: Path) -> None:
    class Interrupted(TallySuite):
        """Presses Ctrl-C in the 20th world; from then on, worlds are slow enough for the run to notice."""

        def world(self, task: Any, variant: Mapping[str, Any]) -> Any:
            world = super().world(task, variant)
            if len(self.worlds) == 20:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            if len(self.worlds) >= 20:
                time.sleep(0.5)
            return world

    suite = Interrupted(40, pause=0.001)
    report = run(tmp_path / "run", make_plan(suite, ["oracle"]), jobs=2)
    assert report.interrupted
    assert report.problems == ["interrupted: the episodes in flight are not kept"]
    assert 18 <= report.played < 40
    assert report.left == 40 - report.played
    assert all(world.closed for world in suite.worlds)
    stored = list(RunFolder.open(tmp_path / "run").episodes())
    assert len(stored) == report.played
    assert {episode.ending for episode in stored} == {"finished"}
    report = resume(tmp_path / "run", TallySuite(40), ["oracle"])
    assert report.is_complete


def test_a_second_ctrl_c_leaves_at_once(tmp_path: Path) -> None:
    class Stuck(TallySuite):
        def world(self, task: Any, variant: Mapping[str, Any]) -> Any:
            for _ in range(2):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
                time.sleep(0.5)
            threading.Event().wait(30)

    plan = make_plan(Stuck(2), ["oracle"])
    with RunFolder.create(tmp_path / "run", plan.about(), plan.tasks) as folder:
        with pytest.raises(KeyboardInterrupt):
            execute(plan, folder)
        assert folder.endings() == {}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def start(folder: Path, jobs: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.harness.tally", str(folder), str(jobs)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_kill_9_at_twenty_random_moments_loses_nothing_finished_and_repeats_nothing(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "run.log"
    chance = random.Random(20)
    finished: set[str] = set()
    kills = 0
    while kills < 20:
        begun = log.read_text().count("\n") if log.exists() else 0
        with start(folder, jobs=1 + kills % 2) as process:
            _until_more_than(begun, log, process)
            time.sleep(chance.uniform(0, 0.12))
            process.kill()
            process.communicate()
        if process.returncode == 0:
            break
        kills += 1
        begun_now = Counter(log.read_text().splitlines()[begun:])
        stored = {f"{e.task} {e.agent}": e for e in RunFolder.open(folder, warn=lambda message: None).episodes()}
        assert finished <= stored.keys(), "a finished episode is lost"
        assert not finished & begun_now.keys(), "a finished episode was played again"
        assert not [name for name, times in begun_now.items() if times > 1]
        finished = set(stored)
        judged = RunFolder.open(folder, warn=lambda message: None).judged()
        assert {e.id for e in stored.values()} <= judged, "an episode is stored without its verdicts"
    assert kills == 20, f"the run ended after {kills} kills; give it more to do"
    with start(folder, jobs=2) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert output.split() == [str(len(finished)).encode(), str(600 - len(finished)).encode(), b"0"]
    lines = without_times(folder / "episodes.jsonl")
    assert len(lines) == len({line["id"] for line in lines}) == 600
    run(tmp_path / "unharmed", make_plan(TallySuite(200), AGENTS))
    assert lines == without_times(tmp_path / "unharmed" / "episodes.jsonl")
    assert without_times(folder / "verdicts.jsonl") == without_times(tmp_path / "unharmed" / "verdicts.jsonl")


def _until_more_than(lines: int, log: Path, process: subprocess.Popen[bytes]) -> None:
    for _ in range(6000):
        if process.poll() is not None or (log.exists() and log.read_text().count("\n") > lines):
            return
        time.sleep(0.01)
    raise AssertionError("the process did nothing for a minute")


def test_two_runs_into_one_folder_are_refused(tmp_path: Path) -> None:
    plan = make_plan(TallySuite(1), ["oracle"])
    with (
        RunFolder.create(tmp_path / "run", plan.about(), plan.tasks),
        pytest.raises(RunFolderError, match="is being written by another process"),
    ):
        RunFolder.append(tmp_path / "run")
