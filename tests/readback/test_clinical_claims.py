"""Clinical claims in a run: verdicts from the folder alone, the null, the table, and prompts compared in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ehr.verify.claims import CLINICAL
from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import Episode
from readback.comparison.raters import raters_of
from readback.comparison.reading import Rated, RaterKey, Said
from readback.summary import read_ledger, summarise
from readback.summary.null import null_rates
from readback.tables import screen_of
from tests.ehr.verify.claim_traces import observation, search
from tests.readback.command import readback
from tests.readback.hand import ABOUT, VARIANT, Run, task

TEMPLATES = ["--task", "mean-lab", "--task", "latest-vital", "--task", "record-weight", "--per-template", "2"]


def grounding(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (path / "verdicts.jsonl").read_text().splitlines()]
    return [verdict for verdict in found if verdict["lens"] == "grounding"]


@pytest.fixture
def run(here: Path, small_record: Path) -> Path:
    agents = ["--agent", "oracle", "--agent", "blind", "--agent", "idle"]
    assert readback("run", "ehr", "--record", small_record, *TEMPLATES, *agents, "--out", "r").code == 0
    return here / "r"


def test_every_episode_is_judged_and_judged_alike_from_the_folder_alone(run: Path) -> None:
    first = grounding(run)
    assert len(first) == 3 * 6
    assert {verdict["config"] for verdict in first} == {CLINICAL.digest}
    (run / "verdicts.jsonl").write_text("")
    ended = readback("score", run, "--json")
    assert ended.code == 0

    def sort(verdicts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(verdicts, key=lambda verdict: verdict["episode"])

    assert sort(grounding(run)) == sort(first)
    rows = {row["agent"]: row for row in ended.document["rows"]}
    oracle = rows["oracle"]["lenses"]["grounding"]
    assert (oracle["pass"], oracle["fail"], oracle["vacuous"], oracle["rate"]) == (4, 0, 2, 1.0)
    assert (oracle["null_rate"], oracle["null_why"]) == (0.0, None)
    assert "no answer could be judged" in rows["idle"]["lenses"]["grounding"]["null_why"]
    assert rows["idle"]["lenses"]["grounding"] | {"why": None} == rows["idle"]["lenses"]["grounding"] | {
        "pass": 0, "fail": 0, "vacuous": 6, "rate": None, "null_rate": None, "why": None,
    }  # fmt: skip


def test_it_enters_no_success(run: Path) -> None:
    for one in RunFolder.open(run).tasks():
        assert "grounding" not in one.requires


def test_show_names_what_supports_a_value(run: Path) -> None:
    (shown, *_) = [
        verdict for verdict in grounding(run) for clause in verdict["clauses"] if clause["name"].startswith("mean ")
    ]
    (clause,) = shown["clauses"]
    folder = RunFolder.open(run)
    episode = folder.episode(shown["episode"])
    assert episode is not None
    rows = {row["id"] for call in episode.calls[1:] for row in _observations(call.result)}
    operands = clause["actual"].removeprefix("mean from ").split(" (")[0].split(", ")
    assert {operand.removeprefix("Observation/") for operand in operands} <= rows
    assert len(operands) > 4
    out = readback("show", run, shown["episode"]).out
    assert "grounding pass" in out and "mean from Observation/" in " ".join(out.split())


def _observations(result: Any) -> list[dict[str, Any]]:
    return [entry["resource"] for entry in result["body"].get("entry", ())]


def test_the_table_has_the_null_beside_it(run: Path) -> None:
    shown = readback("report", run, "--markdown")
    assert shown.code == 0
    table = shown.out.partition("What answers state against what tools showed")[2]
    line = next(line for line in table.splitlines() if "oracle" in line)
    assert [cell.strip() for cell in line.split("|")[3:9]] == ["100.0", "51.0–100.0", "–", "0.0", "4", "2"]


def asked(name: str, twin: str | None = None) -> Task:
    """A task whose instruction names the potassium."""
    return task(name, kind="read", requires=("answer",), twin=twin).model_copy(
        update={"instruction": f"What is the potassium, {name}?"}
    )


def answered(one: Task, value: float, *shown: float, agent: str = "m") -> Episode:
    """An episode that answers with a value, after a search that showed some."""
    return Episode(
        id=f"{one.id} {agent}",
        task=one.id,
        task_digest=one.digest,
        agent=agent,
        condition="default",
        variant=VARIANT,
        ending="finished",
        answer=(f"{value} mmol/L",),
        calls=(search(*(observation("potassium", each) for each in shown)),),
    )


def test_the_null_is_the_same_answers_against_charts_of_other_questions() -> None:
    tasks = [asked(f"lab/000{number}") for number in range(4)]
    values = (4.1, 4.2, 4.3, 4.4)
    # The last one was shown everybody's values.
    episodes = [
        answered(one, value, *([value] if value < 4.4 else values)) for one, value in zip(tasks, values, strict=True)
    ]
    ((key, null),) = null_rates(tasks, episodes).items()
    assert key[:2] == ("m", "default")
    assert null.rate == pytest.approx((1 / 3 + 1 / 3 + 1 / 3 + 0) / 4)


def test_twins_ask_one_question_and_templates_do_not_mix() -> None:
    a, b = asked("lab/0001a", twin="lab/0001b"), asked("lab/0001b", twin="lab/0001a")
    other = asked("vital/0001")
    episodes = [answered(a, 4.1, 4.1, 4.2), answered(b, 4.2, 4.1, 4.2), answered(other, 4.1, 4.1)]
    (null,) = null_rates([a, b, other], episodes).values()
    assert (null.rate, null.why) == (None, "no answer could be judged against a trace of another question")
    third = asked("lab/0002")
    (null,) = null_rates([a, b, third], [*episodes[:2], answered(third, 9.9, 4.1)]).values()
    assert null.rate == pytest.approx((1 + 0 + 0) / 3)


def test_prompts_are_compared_in_what_is_grounded() -> None:
    names = [f"{template}/000{number}" for template in ("a", "b", "c") for number in range(2)]
    made = Run([task(name) for name in names])
    for place, name in enumerate(names):
        made.play(name, says={"state": "pass", "grounding": "pass" if place < 2 else "fail UNGROUNDED"})
        made.play(name, condition="grounded", says={"state": "pass", "grounding": "vacuous" if place == 5 else "pass"})
    for agent in ("idle", "blind"):
        for name in names:
            made.play(name, agent, kind="baseline", says={"state": "fail MISSING_WRITE", "grounding": "vacuous"})
    summary = summarise(ABOUT, made.tasks, made.episodes, made.verdicts, run="r")
    compared = {one.measure: one for one in summary.comparisons}
    assert set(compared) == {"success", "grounded_answered"}
    one = compared["grounded_answered"]
    assert (one.pairs, one.rate_a, one.rate_b, one.unscored, one.vacuous) == (5, 0.4, 1.0, 0, 1)
    (grid,) = [grid for grid in screen_of(summary).grids if grid.title.startswith("What answers state")]
    assert [row[0:3] + row[6:] for row in grid.rows] == [
        ("m", "default", "33.3", "6", "0", "0"), ("m", "grounded", "100.0", "5", "1", "0"),
        ("idle", "default", "–", "0", "6", "0"), ("blind", "default", "–", "0", "6", "0"),
    ]  # fmt: skip
    success = next(grid for grid in screen_of(summary).grids if grid.title.startswith("Success"))
    assert "Grounding" not in [column.header for column in success.columns], "it has a grid of its own"


def test_without_verdicts_of_the_lens_there_is_no_grid() -> None:
    made = Run([task("a/0001")])
    for agent in ("m", "idle", "blind"):
        made.play("a/0001", agent, kind="model" if agent == "m" else "baseline", says={"state": "pass"})
    grids = screen_of(summarise(ABOUT, made.tasks, made.episodes, made.verdicts, run="r")).grids
    assert not [grid for grid in grids if grid.title.startswith("What answers state")]


def test_among_raters_it_has_its_name() -> None:
    made = Run([task("a/0001")])
    made.play("a/0001", says={"state": "pass"})
    ledger = read_ledger(made.tasks, made.episodes, made.verdicts)
    (entry,) = ledger.entries.values()
    key = RaterKey("grounding", CLINICAL.digest)
    (rater,) = raters_of([Rated("ehr", ("r",), entry, {key: Said("pass")}, None)], [])
    assert (rater.name, rater.kind) == ("kappa_ground (clinical)", "predicate")
