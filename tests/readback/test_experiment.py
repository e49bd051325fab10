"""Experiments: a strict file, one primary comparison named beforehand, one command that goes on where it stopped."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from readback.comparison.reading import Source, read_runs
from readback.experiment import ExperimentError, read_experiment
from readback.experiment.document import ExperimentResult
from readback.experiment.file import PrimaryForm, SideForm
from readback.experiment.primary import PrimaryResult, primary_of, side_words
from readback.schemas import schema
from tests.readback import hand
from tests.readback.command import Ended, readback
from tests.readback.raters import Rated, question
from tests.readback.test_report import Stored
from tests.support import ROOT

SMALL = """
format = "readback.experiment/1"
name = "small"
about = "Does it work?"

[primary]
measure = "CG"
a = { condition = "default" }
b = { condition = "grounded" }

[[runs]]
suite = "repoqa"
tasks = ["ferrytide"]
agents = ["oracle", "guess"]
conditions = ["default", "grounded"]
limit = 3

[[judges]]
model = "scripted:overlap"
votes = 3
"""


def written(folder: Path, text: str = SMALL, *replaced: str) -> Path:
    """The file, with `old -> new` replaced."""
    for change in replaced:
        old, new = change.split(" -> ")
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / "e.toml"
    path.write_text(text)
    return path


def refused(folder: Path, *replaced: str) -> str:
    with pytest.raises(ExperimentError) as problem:
        read_experiment(written(folder, SMALL, *replaced))
    return str(problem.value).removeprefix(f"'{folder / 'e.toml'}': ")


def test_a_file_says_everything(tmp_path: Path) -> None:
    experiment = read_experiment(written(tmp_path))
    assert experiment.name == "small"
    (run,) = experiment.runs
    assert (run.label, run.repeats, run.cache, run.conditions) == ("repoqa", 1, "use", ("default", "grounded"))
    assert (experiment.judges[0].votes, experiment.judges[0].trace) == (3, True)
    assert experiment.primary.measure == "CG"
    assert experiment.digest == read_experiment(written(tmp_path, SMALL, "votes = 3 -> votes = 5")).digest
    assert experiment.digest != read_experiment(written(tmp_path, SMALL, "limit = 3 -> limit = 4")).digest


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("limit = 3 -> limits = 3", "there is no key in runs[1] 'limits'; did you mean 'limit'?"),
        ("votes = 3 -> vote = 3", "there is no key in judges[1] 'vote'; did you mean 'votes'?"),
        ("[[judges]] -> [[judge]]", "there is no key 'judge'; did you mean 'judges'?"),
        ("measure = -> mesure =", "there is no key in primary 'mesure'; did you mean 'measure'?"),
        ("a = { condition -> a = { conditions", "there is no key in primary.a 'conditions'; did you mean 'condition'?"),
        ("limit = 3 -> limit = '3'", "runs[1].limit is '3'; it should be a valid integer"),
        ("limit = 3 -> limit = 0", "runs[1].limit is 0; it should be greater than or equal to 1"),
        ("limit = 3 -> limit = 3.5", "runs[1].limit is 3.5; it should be a valid integer"),
        ("limit = 3 -> search = 1", "runs[1].search is 1; it should be a valid boolean"),
        ('name = "small" -> about2 = 1', "there is no key 'about2'; did you mean 'about'?"),
        ('name = "small" -> ', "name is missing; add it"),
        ('name = "small" -> name = "../up"', "name is '../up'; string should match pattern"),
        ("experiment/1 -> experiment/2", "format is 'readback.experiment/2'; it should be 'readback.experiment/1'"),
        ('measure = "CG" -> measure = "kappa"', "primary.measure is 'kappa'; it should be 'success', 'grounded',"),
        ("b = { condition -> b = { agent", "must name the same things, and a names condition, b agent"),
        ('"grounded" }\n -> "default" }\n', "the sides of the primary comparison are the same; say what differs"),
        ('measure = "CG" -> measure = "pass"', "the measure 'pass' is for sides that name a lens, and only for those"),
        ("votes = 3 -> runs = ['repoq']", "judges[1]: there is no run 'repoq'; did you mean 'repoqa'?"),
        ('measure = "CG" -> run = "repo"', "primary: there is no run 'repo'; did you mean 'repoqa'?"),
        ("[[judges]] -> [[runs]]\nsuite='repoqa'\n[[judges]]", "two runs are called 'repoqa'; give each its own name"),
        ("[[judges]] -> [[runs]]\nsuite='ehr'\n[[judges]]", "primary.run is missing; name the run that it is about:"),
        ("{ condition = \"default\" } -> { condition = 'x', judge = 'y' }", "primary.a.judge is for the lens 'judge'"),
    ],
)
def test_what_is_wrong_is_named_with_what_was_expected(tmp_path: Path, change: str, sentence: str) -> None:
    assert sentence in refused(tmp_path, change)


def test_a_side_that_is_a_lens_must_be_one_that_judges_and_one_judge_of_the_file(tmp_path: Path) -> None:
    """A primary comparison cannot be changed once something is played, so no name in it may wait until then."""

    def said(side: str, judges: str = "votes = 3") -> str:
        return refused(
            tmp_path,
            'measure = "CG" -> measure = "pass"',
            'a = { condition = "default" } -> a = { lens = "grounding" }',
            f'b = {{ condition = "grounded" }} -> b = {{ {side} }}',
            f"votes = 3 -> {judges}",
        )

    assert said("lens = 'judge', judge = 'scripted:overlop'") == (
        "primary.b: there is no judge 'scripted:overlop'; did you mean 'scripted:overlap'?"
    )
    assert said("lens = 'state'") == (
        "primary.b is the lens 'state', which judges what was written, and in 'repoqa' nothing is; take answer,"
        " grounding or judge"
    )
    coin = "votes = 3\n[[judges]]\nmodel = 'scripted:coin'"
    assert said("lens = 'judge'", coin) == (
        "primary.b must mean one judge, and means 2: scripted:overlap, scripted:coin; name one by judge = MODEL, or"
        " leave the others to another experiment"
    )
    twice = "votes = 3\n[[judges]]\nmodel = 'scripted:overlap'\nrubric = 'predicate'"
    assert "means 2: scripted:overlap, scripted:overlap" in said("lens = 'judge', judge = 'scripted:overlap'", twice)
    elsewhere = "runs = ['other']\n[[runs]]\nname = 'other'\nsuite = 'repoqa'"
    assert "primary.run is missing" in said("lens = 'judge'", elsewhere)
    with pytest.raises(ExperimentError, match="is the lens 'judge', and nobody judges the run 'repoqa'; add a table"):
        read_experiment(
            written(
                tmp_path,
                SMALL.partition("[[judges]]")[0],
                'measure = "CG" -> measure = "pass"',
                'a = { condition = "default" } -> a = { lens = "grounding" }',
                'b = { condition = "grounded" } -> b = { lens = "judge" }',
            )
        )
    both = 'a = { condition = "default" } -> a = { lens = "grounding" }'
    one = 'b = { condition = "grounded" } -> b = { lens = "judge" }'
    assert read_experiment(written(tmp_path, SMALL, 'measure = "CG" -> measure = "pass"', both, one)).judges


def test_a_file_that_is_no_toml_or_not_there(here: Path) -> None:
    for text in ("a = [1,", "a = " + "[" * 5000, "a = " + "9" * 5000):
        (here / "e.toml").write_text(text)
        assert "'e.toml' is no TOML: " in readback("experiment", "e.toml").sentence
    (here / "e.toml").write_bytes(b"\xff")
    assert readback("experiment", "e.toml").sentence == "'e.toml' is no UTF-8 text; save it as such"
    assert readback("experiment", "nowhere.toml").code == 2
    assert "'nowhere.toml'" in readback("experiment", "nowhere.toml").sentence


def test_paths_are_those_beside_the_file(tmp_path: Path) -> None:
    text = SMALL.replace('"default", "grounded"]', '"default", "mine=prompts/mine.txt"]')
    text = text.replace("limit = 3", 'lock = "my.lock"\nprices = "/abs/prices.toml"\nrecord = "http://x/fhir"')
    run = read_experiment(written(tmp_path, text)).runs[0]
    assert run.lock == "my.lock", "the digest must not depend on where the file is"
    located = run.located(tmp_path)
    assert located.conditions == ("default", f"mine={tmp_path}/prompts/mine.txt")
    assert (located.lock, located.prices) == (f"{tmp_path}/my.lock", "/abs/prices.toml")
    assert located.record == "http://x/fhir"


def of_run(run: Rated | hand.Run, **form: object) -> PrimaryResult:
    about = run.about if isinstance(run, Rated) else hand.ABOUT
    reading = read_runs([Source(Stored(run, about), "r")])  # type: ignore[arg-type]
    return primary_of(PrimaryForm.model_validate(form), reading.runs[0])


def answers() -> Rated:
    """Four repositories; `m` is right and grounded in one of four by default, in three when asked to be."""
    run = Rated([question(f"r{i}/01") for i in range(4)])
    for i in range(4):
        for condition, grounded in (("default", i == 0), ("grounded", i != 3)):
            for agent, kind in (("m", "model"), ("oracle", "baseline")):
                run.say(
                    f"repoqa/r{i}/01", condition=condition, agent=agent, kind=kind, answer="pass",
                    grounding="pass" if grounded or kind == "baseline" else "fail",
                )  # fmt: skip
    return run


def test_the_primary_comparison_pairs_what_the_sides_do_not_name() -> None:
    result = of_run(answers(), measure="CG", a={"condition": "default"}, b={"condition": "grounded"})
    assert (result.pairs, result.rate_a, result.rate_b, result.difference) == (4, 0.25, 0.75, 0.5)
    assert (result.only_a, result.only_b, result.unscored) == (0, 2, 0)
    assert result.agents == ("m",) and not result.baselines_only, "baselines are left out beside a model"
    assert (result.p_sign_flip, result.smallest_p, result.p_mcnemar) == (0.5, 0.5, 0.5)
    assert (result.cluster, result.clusters) == ("repository", 4)


def test_a_named_baseline_takes_part() -> None:
    result = of_run(answers(), measure="CG", a={"agent": "oracle"}, b={"agent": "m"})
    assert (result.pairs, result.rate_a, result.rate_b) == (8, 1.0, 0.5), "both conditions, each with its own"


def test_lenses_are_compared_on_the_same_episodes() -> None:
    run = hand.Run([hand.task("dose/0001a"), hand.task("lab/0001a"), hand.task("age/0001", kind="read")])
    for name, message, state in (
        ("dose/0001a", "pass", "fail"),
        ("lab/0001a", "pass", "pass"),
        ("age/0001", "pass", "fail"),
    ):
        run.play(name, says={"message": message, "state": state})
    run.play("dose/0001a", repeat=1, says={"message": "pass", "state": "unscored"})
    result = of_run(run, measure="pass", kinds=("write",), a={"lens": "message"}, b={"lens": "state"})
    assert (result.pairs, result.unscored, result.vacuous, result.rate_a, result.rate_b) == (2, 1, 0, 1.0, 0.5)
    assert side_words(result.a) == "the lens message"


def test_a_pair_of_which_one_side_claims_nothing_is_not_unscored() -> None:
    run = Rated([question(f"r{i}/01") for i in range(4)])
    for i, (before, after) in enumerate((("fail", "pass"), ("pass", "vacuous"), ("vacuous", "unscored"))):
        for condition, said in (("default", before), ("grounded", after)):
            run.say(f"repoqa/r{i}/01", condition=condition, answer="pass", grounding=said, judge_one=said)
    result = of_run(run, measure="grounded_answered", a={"condition": "default"}, b={"condition": "grounded"})
    assert (result.pairs, result.unscored, result.vacuous) == (1, 1, 1)
    result = of_run(run, measure="pass", a={"lens": "grounding"}, b={"lens": "judge"})
    assert (result.pairs, result.unscored, result.vacuous) == (3, 1, 2)


@pytest.mark.parametrize(("notes", "rule"), [((), False), (("SCRIPTED_JUDGE",), True)])
def test_a_judge_among_the_sides_is_a_rule_only_where_it_says_so(notes: tuple[str, ...], rule: bool) -> None:
    run = Rated([question(f"r{i}/01") for i in range(2)])
    for i in range(2):
        run.say(f"repoqa/r{i}/01", answer="pass", grounding="pass", judge_one="pass", notes={"judge_one": notes})
    assert of_run(run, measure="pass", a={"lens": "grounding"}, b={"lens": "judge"}).rule is rule
    assert of_run(run, measure="pass", a={"lens": "judge"}, b={"lens": "grounding"}).rule is rule
    assert not of_run(run, measure="pass", a={"lens": "grounding"}, b={"lens": "answer"}).rule


def test_faults_and_seeds_are_sides_and_none_is_what_is_not_there() -> None:
    run = hand.Run([hand.task("dose/0001a"), hand.task("lab/0001a")])
    for fault, state in ((None, "pass"), ("lost_write", "fail X")):
        for name in ("dose/0001a", "lab/0001a"):
            run.play(name, says={"state": state}, variant={**hand.VARIANT, "fault": fault})
    result = of_run(run, a={"variant": {"fault": "none"}}, b={"variant": {"fault": "lost_write"}})
    assert (result.pairs, result.rate_a, result.rate_b) == (2, 1.0, 0.0)


def test_a_lens_that_judged_nothing_or_that_several_judges_are_is_said() -> None:
    run = Rated([question("r0/01")])
    run.say("repoqa/r0/01", grounding="pass", judge_one="pass", judge_two="fail")
    with pytest.raises(ExperimentError, match="the lens 'state' of the primary comparison judged no episode"):
        of_run(run, measure="pass", a={"lens": "grounding"}, b={"lens": "state"})
    with pytest.raises(ExperimentError, match=r"is said by several: .*; name one by judge = NAME"):
        of_run(run, measure="pass", a={"lens": "grounding"}, b={"lens": "judge"})


def carried_out(folder: Path, *more: object) -> Ended:
    return readback("experiment", folder / "e.toml", *more)


def test_one_command_plays_judges_compares_and_reports(here: Path) -> None:
    written(here)
    ended = carried_out(here, "--json")
    assert ended.code == 0, ended.err
    result = ExperimentResult.read(ended.out)
    assert result.complete and result.primary is not None
    assert (result.primary.pairs, result.primary.difference, result.primary.baselines_only) == (6, 0.0, True)
    assert result.summaries[0].episodes.scored == 12
    assert result.comparison is not None
    (judge,) = [rater for rater in result.comparison.raters if rater.lens == "judge"]
    assert (judge.kind, judge.episodes) == ("scripted", 12)
    folder = here / "runs/small"
    assert {path.name for path in folder.iterdir()} == {"experiment.json", "repoqa", "result.json", "report.html"}
    assert (folder / "result.json").read_text().strip() == ended.out.strip()
    page = (folder / "report.html").read_text()
    assert "Readback: experiment small" in page and "Primary comparison, named before anything was played" in page
    shown = carried_out(here)
    assert shown.code == 0
    assert "going on with runs/small" in shown.err
    for words in ("Does it work?", "Primary comparison, in %", "Only baselines were played", "Quadrants", "Agreement"):
        assert words in shown.out, words


def test_it_goes_on_where_it_stopped_and_comes_to_the_same(here: Path) -> None:
    written(here)
    whole = json.loads(carried_out(here, "--json").out)
    run = here / "runs/small/repoqa"
    for name, kept in (("episodes.jsonl", 7), ("votes.jsonl", 20), ("verdicts.jsonl", 15)):
        lines = (run / name).read_text().splitlines(keepends=True)
        assert len(lines) > kept
        (run / name).write_text("".join(lines[:kept]))
    (here / "runs/small/result.json").unlink()
    again = json.loads(carried_out(here, "--json").out)
    for document in (whole, again):
        for summary in document["summaries"]:
            for row in summary["rows"]:
                del row["seconds"]
    assert again == whole


def test_an_experiment_that_was_changed_since_is_another_one(here: Path) -> None:
    written(here)
    assert carried_out(here).code == 0
    written(here, SMALL, "limit = 3 -> limit = 2")
    assert carried_out(here).sentence == (
        f"'{here / 'e.toml'}' is not what 'runs/small' was begun with: runs[1].limit is 2, and was 3; put it back, or"
        " begin another with --out"
    )
    written(here, SMALL, 'measure = "CG" -> measure = "success"')
    assert 'primary.measure is "success", and was "CG"' in carried_out(here).sentence
    more = '\n[[judges]]\nmodel = "scripted:coin"\nvotes = 1\n'
    written(here, SMALL + more)
    ended = carried_out(here, "--json")
    assert ended.code == 0, "judges may be added"
    assert len([r for r in ended.document["comparison"]["raters"] if r["lens"] == "judge"]) == 2
    (here / "other").mkdir()
    (here / "other/file").write_text("mine")
    assert "'other' holds something else already" in carried_out(here, "--out", "other").sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ('suite = "repoqa" -> suite = "repo"', "there is no suite 'repo'; did you mean 'repoqa'?"),
        ('"oracle", "guess" -> "orakle"', "there is no agent 'orakle'; did you mean 'oracle'?"),
        ('scripted:overlap -> scripted:overlop', "there is no scripted judge 'overlop'; did you mean 'overlap'?"),
        ('"default", "grounded"] -> "default", "groundet"]', "no condition 'groundet'; did you mean 'grounded'?"),
        ('b = { condition = "grounded" -> b = { condition = "strict"', "condition of the primary comparison 'strict'"),
        ('{ condition = "default" }\nb = { condition = "grounded" } -> { variant = { counterfactual = "none" } }\n'
         "b = { variant = { counterfactual = 8 } }", "the counterfactual of the primary comparison is 8, and nothing"),
        ("limit = 3 -> faults = ['lost_write']", "the suite 'repoqa' has neither faults nor ways of validating"),
        ('"oracle", "guess" -> "openai:gpt-x"', "OPENAI_API_KEY"),
    ],
)  # fmt: skip
def test_every_name_is_checked_before_anything_is_played(here: Path, change: str, sentence: str) -> None:
    written(here, SMALL, change)
    ended = carried_out(here)
    assert ended.code == 2
    assert sentence in ended.sentence
    assert not (here / "runs").exists()


def test_a_budget_of_judges_needs_their_prices_before_anything_is_played(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    written(here, SMALL, "scripted:overlap -> openai:nobody-knows")
    ended = carried_out(here, "--judge-budget", "1")
    assert (ended.code, ended.sentence) == (
        2,
        "a judges' budget of 1.0 USD cannot be kept: the price of openai:nobody-knows is unknown; leave --judge-budget"
        " out, or name a file with its price by prices = FILE in its table [[judges]]",
    )
    assert not (here / "runs").exists()
    written(here)
    assert carried_out(here, "--judge-budget", "1").code == 0, "a rule costs nothing"


def test_a_measure_of_repositories_is_for_repositories(here: Path, small_record: Path) -> None:
    suite = f'suite = "ehr"\nrecord = "{small_record}"'
    text = SMALL.replace('suite = "repoqa"\ntasks = ["ferrytide"]', suite).replace(', "grounded"]', "]")
    text = text.replace('condition = "default"', 'agent = "idle"').replace('condition = "grounded"', 'agent = "oracle"')
    written(here, text.replace('"guess"', '"idle"'))
    assert "the measure 'CG' is for suites of repositories" in carried_out(here).sentence


def test_a_dry_run_says_what_would_be_played_and_plays_nothing(here: Path) -> None:
    written(here, SMALL, '"oracle", "guess" -> "oracle", "openai:gpt-x"')
    ended = carried_out(here, "--dry-run", "--json")
    assert ended.code == 0, ended.err
    plan = ended.document
    assert (plan["episodes"], plan["runs"][0]["model_calls"]) == (12, 48)
    assert plan["judges"] == [{"judge": "scripted:overlap, facts", "runs": ["repoqa"], "votes_at_most": 36}]
    assert plan["cost_usd"] is None and "openai:gpt-x" in plan["why"]
    shown = carried_out(here, "--dry-run").out
    assert (
        "primary     what is both correct and grounded in repoqa: condition grounded against condition default" in shown
    )
    assert not (here / "runs").exists()


def test_what_is_missing_is_said_with_exit_code_3(here: Path) -> None:
    (here / "failing.py").write_text("def agent(instruction, tools, *, system, clock):\n    raise RuntimeError('no')\n")
    written(here, SMALL, '"oracle", "guess" -> "python:failing:agent"')
    ended = carried_out(here, "--json")
    assert ended.code == 3
    assert not ended.document["complete"]
    assert ended.document["primary"]["pairs"] == 0
    assert ended.document["primary"]["why"] == "no pair is scored on both sides"
    assert f"go on with what is missing:   readback experiment {here / 'e.toml'}" in ended.err


@pytest.mark.parametrize("name", ["grounding", "ehr"])
def test_the_experiments_that_come_along_are_sound(name: str) -> None:
    path = ROOT / f"experiments/{name}.toml"
    experiment = read_experiment(path)
    assert experiment.name == name and experiment.about
    assert experiment.judges, "with a judge that needs no key"
    assert all(judge.model.startswith("scripted:") for judge in experiment.judges)
    given = tomllib.loads(path.read_text())
    assert set(given) <= set(schema("experiment")["properties"])


def test_the_study_that_comes_along_runs_offline(here: Path) -> None:
    text = (ROOT / "experiments/grounding.toml").read_text()
    (here / "e.toml").write_text(text.replace("repeats = 2", 'repeats = 2\nlimit = 2\ntasks = ["ferrytide"]'))
    ended = carried_out(here, "--json")
    assert ended.code == 0, ended.err
    assert ended.document["primary"]["pairs"] == 24
    assert ended.document["primary"]["difference"] == 0
    judges = [rater["name"] for rater in ended.document["comparison"]["raters"] if rater["lens"] == "judge"]
    assert judges == [
        "scripted:overlap (a rule, no model), facts", "scripted:overlap (a rule, no model), facts, no trace",
        "scripted:overlap (a rule, no model), predicate",
    ]  # fmt: skip


def test_the_experiment_on_the_record_runs_offline(here: Path, small_record: Path) -> None:
    text = (ROOT / "experiments/ehr.toml").read_text()
    text = text.replace('suite = "ehr"', f'suite = "ehr"\nrecord = "{small_record}"\ntasks = ["record-weight"]')
    (here / "e.toml").write_text(text.replace("per_template = 2", "").replace("tasks =", "per_template = 2\ntasks ="))
    ended = carried_out(here, "--json")
    assert ended.code == 0, ended.err
    primary = ended.document["primary"]
    assert primary["agents"] == ["blind", "careless", "idle", "oracle", "phantom", "stutter"]
    assert primary["only_a"] > 0 and primary["only_b"] == 0, "the record never passes what the message does not"
    assert ended.document["comparison"]["faults_left_out"] > 0


def test_a_side_is_said_in_words() -> None:
    side = SideForm(agent="m", condition="default", variant={"fault": "none"})
    assert side_words(side) == "agent m, condition default, fault none"
