"""The summary of runs written by hand comes back exactly."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from harness.runfolder import RunFolder
from harness.stats import clustered, mcnemar, paired, sign_flip, wilson
from harness.trace import SelfCheck, Usage
from harness.verdict import Verdict
from readback.summary import LedgerError, Said, Summary, conclude, summarise, summary_of
from readback.tables import screen_of
from tests.readback.hand import ABOUT, READ, VARIANT, WROTE, Run, task

TWINS = [
    task("dose/0001a", twin="dose/0001b"),
    task("dose/0001b", kind="withhold", requires=("state", "answer"), twin="dose/0001a"),
    task("dose/0002a", twin="dose/0002b"),
    task("dose/0002b", kind="withhold", requires=("state", "answer"), twin="dose/0002a"),
]
READS = [task(f"age/000{i}", kind="read", requires=("answer", "state")) for i in range(3)]


def summary(run: Run, **about: Any) -> Summary:
    return summarise({**ABOUT, **about}, run.tasks, run.episodes, run.verdicts, run="runs/a1")


def known_run() -> Run:
    run = Run([*TWINS, *READS])
    good = {"state": "pass", "answer": "pass", "message": "pass"}
    run.play("dose/0001a", says={"state": "pass", "message": "pass"}, requests=[WROTE, READ], seconds=1)
    run.play("dose/0001b", says=good, claim="not_done", seconds=2)
    run.play(
        "dose/0002a",
        says={"state": "fail WRONG_UNIT MISSING_WRITE", "message": "pass"},
        notes=("NO_READBACK",),
        requests=[WROTE],
        seconds=4,
        usage=Usage(input=100, output=10, calls=2, cost_usd=0.5),
    )
    run.play("dose/0002b", says=good | {"answer": "fail NO_ANSWER"}, claim="unclear", ending="max_turns", seconds=8)
    run.play("age/0000", says=good, usage=Usage(input=50, output=5, cached=20, calls=1, cost_usd=0.25))
    run.play("age/0001", says={"answer": "fail WRONG_ANSWER", "state": "unscored", "message": "unscored"})
    run.play("age/0002", ending="provider_error", claim=None)
    return run


def test_the_counts_of_a_row() -> None:
    (row,) = summary(known_run()).rows
    assert (row.agent, row.kind, row.condition, row.variant) == ("m", "model", "default", VARIANT)
    success = row.success
    assert (success.passed, success.fail, success.vacuous, success.unscored) == (3, 3, 0, 1)
    assert success.rate == 0.5
    assert success.ci95 == wilson(3, 6).ci95
    assert success.bounds == (3 / 7, 4 / 7)
    assert success.flagged, "one of seven is over 5 %"
    together = clustered({"dose": (2, 4), "age": (1, 2)})
    assert (success.cluster, success.clusters) == ("template", 2)
    assert (success.se_cluster, success.ci95_cluster, success.why_cluster) == (None, None, together.why)


def test_each_lens_counts_what_it_judged_and_what_it_owes() -> None:
    (row,) = summary(known_run()).rows
    counts = {
        name: (lens.passed, lens.fail, lens.vacuous, lens.unscored, lens.labels) for name, lens in row.lenses.items()
    }
    assert counts == {
        "state": (4, 1, 0, 2, {"MISSING_WRITE": 1, "WRONG_UNIT": 1}),
        "answer": (2, 2, 0, 1, {"NO_ANSWER": 1, "WRONG_ANSWER": 1}),
        "message": (5, 0, 0, 1, {}),  # nobody requires it, so the episode without a verdict owes it nothing
    }
    assert list(counts) == ["state", "answer", "message"]


def test_the_split_by_what_the_task_wants() -> None:
    (row,) = summary(known_run()).rows
    split = {
        kind: (rate.passed, rate.fail, rate.unscored) if rate else None
        for kind, rate in (("read", row.split.reads), ("write", row.split.write), ("withhold", row.split.withhold))
    }
    assert split == {"read": (1, 1, 1), "write": (1, 1, 0), "withhold": (1, 1, 0)}


def test_twins_count_when_both_are_scored_and_pass_when_both_succeed() -> None:
    (row,) = summary(known_run()).rows
    assert row.twin.model_dump() == {
        "pass": 1, "pairs": 2, "unscored": 0, "rate": 0.5, "ci95": wilson(1, 2).ci95, "why": None,
    }  # fmt: skip


def test_what_agents_did_is_counted() -> None:
    (row,) = summary(known_run()).rows
    assert row.labels == {"MISSING_WRITE": 1, "NO_ANSWER": 1, "WRONG_ANSWER": 1, "WRONG_UNIT": 1}
    assert row.notes == {"NO_READBACK": 1}
    assert row.endings == {"finished": 5, "max_turns": 1, "provider_error": 1}
    assert row.claims == {"done": 4, "not_done": 1, "unclear": 1}
    assert row.message_state is not None
    assert row.message_state.model_dump() == {
        "pass_pass": 4, "pass_fail": 1, "fail_pass": 0, "fail_fail": 0, "excluded": 1,
    }  # fmt: skip
    assert row.own_readback.model_dump() == {"wrote": 2, "read_back": 1}
    assert row.false_done.model_dump() == {
        "claimed": 4, "false": 2, "rate": 0.5, "ci95": wilson(2, 4).ci95, "why": None,
    }  # fmt: skip
    assert row.usage.model_dump() == {
        "input": 150, "output": 15, "cached": 20, "calls": 3,
        "cost_usd": 0.75, "cost_known_usd": 0.75, "cost_unknown": 0, "why": None,
    }  # fmt: skip
    assert row.seconds.model_dump() == {"median": 3.0, "why": None}
    assert (row.pass_k, row.pass_k_tasks, row.pass_k_why) == ({"1": 0.5}, {"1": 6}, None)
    assert row.quadrants is None


def test_the_frame_of_the_summary() -> None:
    whole = summary(known_run(), planned=10)
    assert whole.episodes.model_dump() == {"planned": 10, "scored": 6, "unscored": 1, "missing": 3}
    assert whole.incomplete
    assert (whole.run, whole.suite, whole.suite_digest, whole.seed) == ("runs/a1", "ehr", "sha256:5u1te", 1)
    assert whole.record is not None and whole.record.model_dump() == ABOUT["record"]
    assert whole.comparisons == ()
    assert whole.configs == {"answer": ("sha256:answer",), "message": ("sha256:message",), "state": ("sha256:state",)}


def test_the_json_has_the_keys_that_are_promised() -> None:
    document = json.loads(summary(known_run()).line())
    assert document["format"] == "readback.summary/1"
    assert {"run", "suite", "suite_digest", "record", "seed", "episodes", "rows", "comparisons"} <= document.keys()
    row = document["rows"][0]
    assert set(row) >= {
        "agent", "kind", "condition", "variant", "success", "lenses", "split", "twin", "pass_k", "labels", "endings",
        "message_state", "own_readback", "quadrants", "usage", "seconds",
    }  # fmt: skip
    assert set(row["success"]) >= {
        "pass", "fail", "vacuous", "unscored", "rate", "ci95", "bounds", "cluster", "clusters", "se_cluster", "why",
    }  # fmt: skip
    assert set(row["split"]) == {"read", "write", "withhold"}
    assert Summary.read(json.dumps(document)) == summary(known_run())


def test_a_variant_is_written_in_the_order_of_the_documents() -> None:
    run = Run([task("dose/0001a")])
    varied = {"counterfactual": None, "protocol": "tools", "fault": "slow", "validation": "full"}
    run.play("dose/0001a", variant=varied, says={"state": "pass"})
    (row,) = summary(run).rows
    assert row.variant == varied
    assert list(row.variant) == ["validation", "fault", "protocol", "counterfactual"]


def test_the_schema_can_be_printed() -> None:
    schema = Summary.model_json_schema(mode="serialization")
    assert schema["properties"]["format"]["const"] == "readback.summary/1"
    assert "pass" in schema["$defs"]["Rate"]["properties"]


def test_a_stored_run_gives_the_same_summary(tmp_path: Any) -> None:
    run = known_run()
    with RunFolder.create(tmp_path / "a1", ABOUT, run.tasks) as folder:
        folder.store([(one, [v for v in run.verdicts if v.episode == one.id]) for one in run.episodes])
    stored = summary_of(RunFolder.open(tmp_path / "a1"))
    assert stored == summary(run).model_copy(update={"run": str(tmp_path / "a1")})


def test_the_order_in_which_episodes_ended_does_not_matter() -> None:
    run = known_run()
    for condition in ("grounded", "default"):
        for agent, kind in (("idle", "baseline"), ("b", "model"), ("oracle", "baseline"), ("a", "program")):
            run.play("dose/0001a", agent, kind=kind, condition=condition, says={"state": "pass"})
    run.play("dose/0001a", "b", variant={**VARIANT, "fault": "lost_write"}, says={"state": "fail PHANTOM_SUCCESS"})
    one = summary(run)
    assert [(row.agent, row.condition, row.variant["fault"]) for row in one.rows] == [
        ("a", "default", None), ("a", "grounded", None), ("b", "default", None), ("b", "grounded", None),
        ("m", "default", None), ("oracle", "default", None), ("oracle", "grounded", None),
        ("idle", "default", None), ("idle", "grounded", None), ("b", "default", "lost_write"),
    ]  # fmt: skip
    random.Random(4).shuffle(run.episodes)
    random.Random(5).shuffle(run.verdicts)
    assert summary(run) == one


@pytest.mark.parametrize(
    ("state", "answer", "success"),
    [
        ("pass", "pass", "pass"),
        ("pass", "fail", "fail"),
        ("fail", "unscored", "fail"),
        ("pass", "unscored", "unscored"),
        ("pass", None, "unscored"),
        ("fail", None, "fail"),
        ("pass", "vacuous", "vacuous"),
        ("unscored", "vacuous", "unscored"),
    ],
)
def test_success_is_every_required_lens(state: Any, answer: Any, success: str) -> None:
    said = [Said("state", state, (), ()), Said("message", "fail", (), ())]
    if answer:
        said.append(Said("answer", answer, (), ()))
    assert conclude(("state", "answer"), said, scored=True) == success
    assert conclude(("state", "answer"), said, scored=False) == "unscored"


@pytest.mark.parametrize("label", ["SELF_CHECK_FAILED", "FOREIGN_CHANGE"])
def test_a_label_that_stands_alone_makes_the_episode_unscored(label: str) -> None:
    said = [Said("state", "unscored", (label,), ()), Said("answer", "fail", ("WRONG_ANSWER",), ())]
    assert conclude(("state", "answer"), said, scored=True) == "unscored"


@pytest.mark.parametrize("label", ["SELF_CHECK_FAILED", "FOREIGN_CHANGE"])
def test_where_a_label_stands_alone_no_lens_counts_and_no_other_label(label: str) -> None:
    """Lenses that judge apart from the others, a judge or a claim's grounding, may not know of it."""
    run = Run([task("dose/0001a"), task("dose/0002a")])
    said = {"state": f"unscored {label}", "answer": "fail WRONG_ANSWER", "grounding": "pass", "judge": "fail"}
    run.play("dose/0001a", says=said)
    run.play("dose/0002a", says={"state": "pass", "answer": "pass", "grounding": "pass", "judge": "pass"})
    (row,) = summary(run).rows
    for lens in said:
        rate = row.lenses[lens]
        assert (rate.passed, rate.fail, rate.unscored, rate.rate) == (1, 0, 1, 1.0), lens
    assert row.labels == {label: 1}
    assert row.lenses["answer"].labels == {}


def test_an_episode_whose_self_check_failed_is_unscored_whatever_its_verdicts_say() -> None:
    """Verdicts are written first: a process that is killed leaves those of the next play beside the old episode."""
    for check in (SelfCheck(agrees=False), SelfCheck(agrees=True, foreign=("Patient/p1",)), SelfCheck(agrees=True)):
        run = Run([task("dose/0001a")])
        run.play("dose/0001a", says={"state": "pass"}, self_check=check)
        (row,) = summary(run).rows
        sound = check.agrees and not check.foreign
        assert (row.success.passed, row.success.unscored) == ((1, 0) if sound else (0, 1))
        assert row.lenses["state"].passed == row.success.passed


def test_a_task_that_requires_nothing_is_refused() -> None:
    run = Run([task("dose/0001a", requires=())])
    with pytest.raises(LedgerError, match="'ehr/dose/0001a' requires no lens"):
        summary(run)
    with pytest.raises(LedgerError, match="requires no lens"):
        conclude((), [], scored=True)


def test_an_episode_of_an_unknown_task_is_refused() -> None:
    run = Run([task("dose/0001a")])
    run.play("dose/0009a", says={"state": "pass"})
    with pytest.raises(LedgerError, match="'ehr/dose/0009a', which is not among"):
        summary(run)


def test_verdicts_of_unknown_episodes_are_passed_over_and_the_last_of_a_lens_counts() -> None:
    run = Run([task("dose/0001a")])
    episode = run.play("dose/0001a", says={"state": "fail WRONG_VALUE"})
    fields = {"lens": "state", "outcome": "pass"}
    run.verdicts.append(Verdict(episode=episode.id, config="sha256:new", **fields))  # type: ignore[arg-type]
    run.verdicts.append(Verdict(episode="sha256:gone", config="sha256:new", **fields))  # type: ignore[arg-type]
    whole = summary(run)
    assert (whole.rows[0].success.passed, whole.rows[0].labels) == (1, {})
    assert whole.configs == {"state": ("sha256:new",)}


def test_an_unscored_ending_counts_nowhere_whatever_its_verdicts_say() -> None:
    run = Run([task("dose/0001a")])
    run.play("dose/0001a", says={"state": "fail MISSING_WRITE", "message": "fail"}, ending="wall_time", seconds=9)
    (row,) = summary(run).rows
    assert (row.success.unscored, row.success.rate, row.success.why) == (1, None, "nothing was scored")
    assert row.success.bounds == (0.0, 1.0)
    assert (row.lenses["state"].unscored, row.lenses["message"].unscored) == (1, 1)
    assert (row.seconds.median, row.seconds.why) == (None, "nothing was scored")
    assert row.claims == {}
    assert (row.false_done.rate, row.false_done.why) == (None, "no scored episode claims done")
    assert row.twin.why == "no pair of twins was played"
    assert (row.pass_k, row.pass_k_why) == ({"1": None}, "nothing was scored")


def test_bounds_and_flag_only_where_they_are_due() -> None:
    run = Run([task(f"dose/{i:04}") for i in range(40)])
    for i in range(40):
        run.play(f"dose/{i:04}", says={"state": "unscored" if i < 2 else "pass"})
    (row,) = summary(run).rows
    assert (row.success.bounds, row.success.flagged) == ((38 / 40, 1.0), False), "2 of 40 is 5 %, not over it"
    (clean,) = summary(Run(run.tasks[2:], run.episodes[2:], run.verdicts)).rows
    assert (clean.success.bounds, clean.success.flagged) == (None, False)


def test_a_cost_that_nobody_knows_is_null_and_what_is_known_stands_beside_it() -> None:
    run = Run([task("dose/0001a")])
    run.play("dose/0001a", usage=Usage(input=10, output=1, calls=1, cost_usd=0.5))
    run.play("dose/0001a", repeat=1, usage=Usage(input=10, output=1, calls=1))
    run.play("dose/0001a", repeat=2, ending="auth", usage=Usage())
    run.play("dose/0001a", "oracle", kind="baseline")
    model, oracle = summary(run).rows
    assert (model.usage.cost_usd, model.usage.cost_known_usd, model.usage.cost_unknown) == (None, 0.5, 1)
    assert model.usage.why == "the price of 1 of the episodes is unknown"
    assert (oracle.usage.cost_usd, oracle.usage.cost_known_usd, oracle.usage.cost_unknown) == (None, None, 0)
    assert oracle.usage.why == "no model call is on record"


@pytest.mark.parametrize("used", [{"calls": 1}, {"input": 1}, {"output": 1}])
def test_whatever_was_used_has_a_price_to_be_unknown(used: dict[str, int]) -> None:
    run = Run([task("dose/0001a")])
    run.play("dose/0001a", usage=Usage(**used))  # type: ignore[arg-type]
    assert summary(run).rows[0].usage.cost_unknown == 1


def test_an_episode_that_is_not_scored_is_in_no_count_of_what_agents_did() -> None:
    run = Run([task("dose/0001a", requires=("state", "answer"))])
    says = {"state": "pass", "answer": "unscored"}
    run.play("dose/0001a", says=says, notes=("REPAIRED_WRITE",), requests=[WROTE, READ], seconds=5)
    (row,) = summary(run).rows
    assert row.own_readback.model_dump() == {"wrote": 0, "read_back": 0}
    assert row.repaired_writes.model_dump() == {"refused": 0, "repaired": 0}
    assert (row.false_done.claimed, row.seconds.median) == (0, None)


@pytest.mark.parametrize("ended", ["yesterday", "2026-01-15T10:15:00", None])
def test_times_that_cannot_be_told_are_no_seconds(ended: str | None) -> None:
    run = Run([task("dose/0001a")])
    run.play("dose/0001a", says={"state": "pass"}, seconds=1)
    run.episodes[0] = run.episodes[0].model_copy(update={"ended": ended})
    seconds = summary(run).rows[0].seconds
    assert (seconds.median, seconds.why) == (None, "no scored episode says when it began and ended")


def test_repeats_give_pass_k_and_twins_in_each_repeat() -> None:
    run = Run(TWINS[:2])
    for repeat, (a, b) in enumerate([("pass", "pass"), ("pass", "fail X"), ("fail X", "pass"), ("unscored", "pass")]):
        run.play("dose/0001a", says={"state": a}, repeat=repeat)
        run.play("dose/0001b", says={"state": b, "answer": "pass"}, repeat=repeat)
    (row,) = summary(run).rows
    assert row.pass_k == {"1": pytest.approx((2 / 3 + 3 / 4) / 2), "2": pytest.approx((1 / 3 + 3 / 6) / 2), "3": 0.125,
                          "4": 0.0}  # fmt: skip
    assert row.pass_k_tasks == {"1": 2, "2": 2, "3": 2, "4": 1}
    assert (row.twin.passed, row.twin.pairs, row.twin.unscored) == (1, 3, 1)


def test_repaired_writes() -> None:
    run = Run([task("dose/0001a")])
    run.play("dose/0001a", says={"state": "pass"}, notes=("REPAIRED_WRITE",))
    run.play("dose/0001a", repeat=1, says={"state": "fail REJECTED_WRITE"})
    run.play("dose/0001a", repeat=2, says={"state": "fail PARTIAL REJECTED_WRITE"}, notes=("REPAIRED_WRITE",))
    run.play("dose/0001a", repeat=3, says={"state": "pass"})
    (row,) = summary(run).rows
    assert row.repaired_writes.model_dump() == {"refused": 3, "repaired": 1}


def compared() -> Run:
    """Two agents under two conditions with known pairs, and a baseline."""
    names = [f"{template}/{i:04}" for template in ("dose", "weight", "lab") for i in range(4)]
    run = Run([task(name) for name in names])
    passes = {
        ("a", "default"): 3, ("a", "grounded"): 7, ("b", "default"): 5, ("b", "grounded"): 9, ("oracle", "default"): 12,
    }  # fmt: skip
    for (agent, condition), count in passes.items():
        kind = "baseline" if agent == "oracle" else "model"
        for i, name in enumerate(names):
            says = {"state": "pass" if i < count else "fail WRONG_VALUE"}
            run.play(name, agent, kind=kind, condition=condition, says=says)
    return run


def test_comparisons_are_conditions_of_an_agent_and_agents_under_a_condition_and_no_baselines() -> None:
    found = [
        (one.a.agent, one.a.condition, one.b.agent, one.b.condition, one.difference)
        for one in summary(compared()).comparisons
    ]
    assert found == [
        ("a", "default", "a", "grounded", pytest.approx(4 / 12)),
        ("a", "default", "b", "default", pytest.approx(2 / 12)),
        ("a", "grounded", "b", "grounded", pytest.approx(2 / 12)),
        ("b", "default", "b", "grounded", pytest.approx(4 / 12)),
    ]


def test_a_comparison_is_paired_clustered_and_adjusted() -> None:
    comparisons = summary(compared()).comparisons
    first = comparisons[0]
    # a default passes dose 0-2; a grounded all of dose, and weight 0-2: sums by template 1, 3, 0.
    pairs = [(t, t == "dose" and i < 3, t == "dose" or (t == "weight" and i < 3)) for t in ("dose", "weight", "lab")
             for i in range(4)]  # fmt: skip
    assert (first.pairs, first.only_a, first.only_b, first.clusters, first.cluster) == (12, 0, 4, 3, "template")
    assert first.ci95 is not None and first.difference is not None
    assert first.ci95[0] <= first.difference <= first.ci95[1]
    assert first.ci95 == pytest.approx(paired(pairs).difference.ci95)
    assert first.p_sign_flip == sign_flip([1, 3, 0]).p == 0.5
    assert first.p_mcnemar == mcnemar(0, 4).value == 0.125
    assert first.smallest_p == 0.5
    assert first.p_holm == 1.0
    assert [one.p_holm for one in comparisons] == [1.0] * 4


def test_a_pair_counts_only_when_both_sides_are_scored() -> None:
    run = Run([task(f"dose/{i:04}") for i in range(3)] + [task("lab/0001")])
    for condition, outcomes in (("default", ["pass", "fail", "pass"]), ("grounded", ["pass", "pass", "unscored"])):
        for i, outcome in enumerate(outcomes):
            run.play(f"dose/{i:04}", condition=condition, says={"state": outcome})
    run.play("lab/0001", says={"state": "pass"})  # played under one condition only
    (one,) = summary(run).comparisons
    assert (one.pairs, one.unscored, one.difference, one.clusters) == (2, 1, 0.5, 1)
    assert (one.ci95, one.p_sign_flip, one.p_holm, one.why) == (None, None, None, "one cluster cannot be resampled")


def test_variants_are_never_compared_with_each_other() -> None:
    run = Run([task("dose/0001a")])
    for fault in (None, "lost_write"):
        run.play("dose/0001a", variant={**VARIANT, "fault": fault}, says={"state": "pass"})
    assert summary(run).comparisons == ()


def test_validation_in_full_is_set_against_the_usual_one_agent_by_agent_and_fault_by_fault() -> None:
    names = [f"dose/{i:04}" for i in range(6)]
    run = Run([task(name) for name in names])
    usual, full = VARIANT, {**VARIANT, "validation": "full"}
    ends = {  # of each task under the usual validation, and in full
        "a": ["pass pass", "pass fail", "pass fail", "fail pass", "fail fail", "pass unscored"],
        "b": ["fail pass", "fail pass", "pass pass", "pass pass", "pass pass", "pass pass"],
    }
    for agent, each in ends.items():
        for name, outcomes in zip(names, each, strict=True):
            for variant, outcome in zip((usual, full), outcomes.split(), strict=True):
                run.play(name, agent, variant=variant, says={"state": outcome})
    run.play(names[0], "b", variant={**usual, "fault": "slow"}, says={"state": "fail"})
    run.play(names[0], "b", variant={**full, "fault": "slow"}, says={"state": "pass"})
    run.play(names[0], "c", variant=usual, says={"state": "pass"})
    run.play(names[0], "d", variant=full, says={"state": "pass"})
    for baseline in ("idle", "blind"):  # without which no table is shown
        run.play(names[0], baseline, kind="baseline", says={"state": "fail"})
    whole = summary(run)
    found = [(one.agent, one.fault, one.pairs, one.only_hapi, one.only_full) for one in whole.validation]
    assert found == [("a", None, 5, 2, 1), ("b", None, 6, 0, 2), ("b", "slow", 1, 0, 1)]
    assert {one.a.variant["validation"] == one.b.variant["validation"] for one in whole.comparisons} == {True}
    said = "a (default) 3 of 5 (2 succeed only under hapi, 1 only under full); b (default) 2 of 6"
    assert any(said in note for note in screen_of(whole).notes)


def test_the_cluster_is_the_repository_where_the_suite_says_so() -> None:
    tasks = [one.model_copy(update={"cluster": f"repo{i % 2}"}) for i, one in enumerate(TWINS)]
    run = Run(tasks)
    for one in tasks:
        run.play(one.id.removeprefix("ehr/"), says={"state": "pass", "answer": "pass"})
    rate = summary(run, suite="repoqa").rows[0].success
    assert (rate.cluster, rate.clusters) == ("repository", 2)


def test_a_record_that_does_not_say_it_is_synthetic_is_not() -> None:
    for said, synthetic in (({"synthetic": True}, True), ({"synthetic": False}, False), ({}, False)):
        about = {**ABOUT, "record": {"hash": "sha256:4ec04d", **said}}
        record = summarise(about, [], [], [], run="r").record
        assert record is not None and record.synthetic is synthetic


def test_the_summary_says_how_its_intervals_were_made() -> None:
    assert summary(known_run()).statistics.model_dump() == {"confidence": 0.95, "draws": 2000, "seed": 1}


def test_an_empty_run_has_an_empty_summary() -> None:
    whole = summary(Run([task("dose/0001a")]), planned=3)
    assert (whole.rows, whole.comparisons) == ((), ())
    assert whole.episodes.model_dump() == {"planned": 3, "scored": 0, "unscored": 0, "missing": 3}
