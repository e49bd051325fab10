"""Questions and what answers them."""

# ruff: noqa: E501 - files of other people's shape, a line each

from __future__ import annotations

from typing import Any

import pytest

from harness.task import Task
from harness.trace import Episode
from repoqa.catalog import Catalog, Entry, catalog_of
from repoqa.correctness import asserted_paths, judge_answer, parameters_of
from repoqa.listing import told_by_listing
from repoqa.questions import draw
from tests.repoqa.trees import index_of

TREE = {
    "tea/__init__.py": "from .brew import brew_tea\n",
    "tea/brew.py": "def brew_tea(cup: int, *, lid: bool = True) -> None: ...\nclass BrewJournal: ...\n",
    "tea/cups.py": "from .brew import brew_tea\nclass SilverCup(dict, abc.Sized):\n    def f(self): brew_tea(1)\nclass Plate: ...\n",
    "tea/odd.py": "def pour_water(): ...\n",
    "tests/test_tea.py": "def test_it(): pour_water()\n",
}


def drawn(seed: int = 1, **options: Any) -> list[Any]:
    return draw("tea", catalog_of("tea", index_of(TREE)), seed=seed, **options)


def test_the_studys_template_and_the_path_of_the_tree() -> None:
    by_name = {question.name: question for question in drawn()}
    assert by_name.keys() == {"brew_tea", "BrewJournal", "SilverCup", "Plate", "pour_water"}
    assert by_name["SilverCup"].instruction == (
        "In the tea repository, where is the class SilverCup defined? Provide the exact file path."
    )
    assert by_name["SilverCup"].answer == ("tea/cups.py",)


def test_the_seed_gives_the_order_and_files_take_turns() -> None:
    assert drawn(1) == drawn(1)
    assert len({tuple(question.name for question in drawn(seed)) for seed in range(8)}) > 3
    for seed in range(8):
        assert len({question.path for question in drawn(seed)[:3]}) == 3


def test_other_kinds_only_where_asked_for() -> None:
    assert {question.kind for question in drawn()} == {"definition"}
    found = {(q.kind, q.name): q.answer for q in drawn(kinds=("definition", "signature", "base-class", "called-by"))}
    assert found["signature", "brew_tea"] == ("brew_tea(cup, *, lid=True)",)
    assert found["base-class", "SilverCup"] == ("dict", "abc.Sized")
    assert found["called-by", "brew_tea"] == ("tea/cups.py",)
    assert ("called-by", "pour_water") not in found, "tests are no callers"


def catalog(*entries: Entry) -> Catalog:
    return Catalog(entries=entries, own=(), listed=(), public=len(entries), unparsed=())


def entry(name: str, path: str = "tea/a.py", **more: Any) -> Entry:
    given: dict[str, Any] = {"kind": "class", "bases": (), "parameters": None, "caller": None, "renamed": True, **more}
    return Entry(name=name, path=path, first_line=1, last_line=2, **given)


def test_only_what_has_another_name_in_the_counterfactual_is_asked_about() -> None:
    both = catalog(entry("Kettle"), entry("Path", renamed=False))
    assert [question.name for question in draw("tea", both)] == ["Kettle"]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_called_by_one_plain_word_is_asked_about_after_all_others(seed: int) -> None:
    others = ["brew_tea", "_brew", "Kettle", "HTTP", "teaPot"]
    names = ["requests", *others, "_pour_", "boil"]
    found = [question.name for question in draw("tea", catalog(*map(entry, names)), seed=seed)]
    assert set(found[:4]) == {"brew_tea", "Kettle", "HTTP", "teaPot"}
    assert set(found[4:]) == {"requests", "_brew", "_pour_", "boil"}
    assert draw("tea", catalog(*map(entry, names)), seed=seed, number=3) == draw(
        "tea", catalog(*map(entry, others)), seed=seed, number=3
    )


def test_the_seed_also_draws_which_file_comes_first() -> None:
    files = catalog(*(entry(f"Kettle{letter}", f"tea/{letter}.py") for letter in "abcdef"))
    firsts = {draw("tea", files, seed=seed)[0].path for seed in range(20)}
    assert len(firsts) > 3
    assert len({draw(name, files)[0].path for name in ("tea", "cup", "pot", "can", "mug", "jug")}) > 1


@pytest.mark.parametrize(
    ("bases", "asked"),
    [
        ((), False), (("object",), False), (("object", "Cup"), True), (("tea.Cup",), True),
        (("Cup", "made(1)"), False), (("Generic[T]",), False), (("a b",), False),
    ],
)  # fmt: skip
def test_base_classes_are_asked_about_where_all_of_them_are_names(bases: tuple[str, ...], asked: bool) -> None:
    found = draw("tea", catalog(entry("Kettle", bases=bases)), kinds=("base-class",))
    assert [question.answer for question in found] == ([bases] if asked else [])


def test_a_caller_is_the_one_other_file_of_the_repositorys_own_code() -> None:
    files = {
        "tea/__init__.py": "",
        "tea/brew.py": "def brew_tea(cup): return brew_tea(cup)\ndef pour_tea(): ...\ndef boil_tea(): boil_tea()\n",
        "tea/cups.py": "from .brew import *\nbrew_tea(1), pour_tea()\n",
        "tea/pots.py": "from .brew import *\npour_tea()\n",
        "examples/cup.py": "from tea.brew import *\nbrew_tea(1), boil_tea()\n",
    }
    found = catalog_of("tea", index_of(files))
    assert {one.name: one.caller for one in found.entries} == {
        "brew_tea": "tea/cups.py", "pour_tea": None, "boil_tea": None,
    }  # fmt: skip


def test_a_function_with_several_signatures_has_none_to_ask_about() -> None:
    text = "@overload\ndef pour_tea(a: int) -> int: ...\ndef pour_tea(a): return a\ndef boil_tea(a: int, b=1): ...\n"
    found = catalog_of("tea", index_of({"tea/__init__.py": "", "tea/brew.py": text + "class TeaPot: ...\n"}))
    assert {one.name: one.parameters for one in found.entries} == {
        "pour_tea": None, "boil_tea": "a, b=1", "TeaPot": None,
    }  # fmt: skip


def test_of_a_renamed_tree_everything_may_be_asked_about() -> None:
    files = {"tea/__init__.py": "", "tea/brew.py": "def index(): ...\n[1].index(1)\ndef brew_tea(): ...\n"}
    for is_renamed in (False, True):
        found = catalog_of("tea", index_of(files), is_renamed=is_renamed)
        assert {one.name: one.renamed for one in found.entries} == {"index": is_renamed, "brew_tea": True}


def test_a_signature_without_parameters_is_none_to_ask_about() -> None:
    entries = catalog(entry("boil_it", parameters=""), entry("pour_it", parameters="cup"), entry("Kettle"))
    assert [question.answer for question in draw("tea", entries, kinds=("signature",))] == [("pour_it(cup)",)]


def test_what_a_listing_gives_away_is_marked() -> None:
    marked = {question.name: question.visible for question in drawn()}
    assert marked == {"brew_tea": True, "BrewJournal": True, "SilverCup": True, "Plate": False, "pour_water": False}


def test_a_listing_that_points_to_another_file_gives_nothing_away() -> None:
    listed = {"listed": ("tea/brew.py", "tea/notes.py")}
    misleading = catalog(entry("BrewJournal", "tea/notes.py"), entry("BrewPot", "tea/brew.py"))
    found = draw("tea", misleading.model_copy(update=listed))
    assert {question.name: question.visible for question in found} == {"BrewJournal": False, "BrewPot": True}


@pytest.mark.parametrize(
    ("name", "paths", "told"),
    [
        ("Console", ["p/console.py", "p/text.py"], "p/console.py"),
        ("Console", ["p/console.py", "q/console.py"], None),
        ("ConsoleText", ["p/console.py", "p/text.py"], None),
        ("parse_headers", ["p/header.py", "p/parser.py"], "p/header.py"),
        ("get_error", ["p/errors.py", "p/text.py"], None),
        ("Thing", ["only.py"], "only.py"),
        ("Thing", ["p/__init__.py", "p/only.py"], "p/only.py"),
        ("Thing", [], None),
        ("Thing", ["p/__init__.py"], None),
        ("brew_cup", ["tea/brew.py", "cup/pot.py"], "tea/brew.py"),
        ("brew_cup", ["brew/lid.py", "cup/pot.py"], None),
        ("brew_cup", ["brew/lid.py", "tea/pot.py"], "brew/lid.py"),
        ("Brew", ["brew/brew.py", "tea/brew.py"], None),
        ("Brew", ["brew/__init__.py", "brew/pot.py", "tea/lid.py"], "brew/__init__.py"),
        ("Moss", ["p/moss.py", "p/mos.py"], "p/moss.py"),
        ("Bus", ["p/bus.py", "p/bu.py"], "p/bus.py"),
        ("make_base", ["p/base.py", "p/make.py"], None),
    ],
)
def test_what_names_of_files_tell(name: str, paths: list[str], told: str | None) -> None:
    assert told_by_listing(name, paths) == told


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("src/a.py", ["src/a.py"]),
        ("`./src/a.py`, line 3", ["src/a.py"]),
        ('It is in "src/a.py".', ["src/a.py"]),
        ("/src/a.py:12", ["src/a.py"]),
        ("src\\a.py", ["src/a.py"]),
        ("[src/a.py](https://host/x/src/a.py#L3)", ["src/a.py"]),
        ("[`src/a.py`](src/a.py)", ["src/a.py"]),
        ("see https://host/b.py and src/a.py", ["src/a.py"]),
        ("src/a.py and src/a.py", ["src/a.py"]),
        ("src/a.py or src/b.py", ["src/a.py", "src/b.py"]),
        ("a.pyc src/a.python", []),
        ("nothing here", []),
        ("src/my-pkg/a.b.py", ["src/my-pkg/a.b.py"]),
        ("**src/a.py**", ["src/a.py"]),
        ("src/a.py's class", ["src/a.py"]),
        ("src//a.py", ["src/a.py"]),
        (r"C:\\src\\a.py, or c:/src/a.py", ["src/a.py"]),
        ("././src/a.py", ["src/a.py"]),
        ("./src/a.py and /src/a.py", ["src/a.py"]),
        ("SRC/A.PY", ["SRC/A.PY"]),
    ],
)
def test_which_paths_a_text_asserts(text: str, paths: list[str]) -> None:
    assert asserted_paths(text) == paths


def task_and_truth(kind: str = "definition", answer: tuple[str, ...] = ("src/a.py",)) -> tuple[Task, dict[str, Any]]:
    truth = {"kind": kind, "answer": list(answer), "name": "Kettle", "repository": "tea"}
    task = Task.make(
        id="repoqa/tea/definition-01", suite="repoqa", template=kind, kind="read", requires=("answer",), needs_write=False,
        needs_chart=True, instruction="?", tools=(), clock="2026-01-15T10:15:00+00:00",
    )  # fmt: skip
    return task, truth


def judged(said: list[Any], note: str = "", ending: Any = "finished", **truth: Any) -> Any:
    task, expected = task_and_truth(**truth)
    episode = Episode(
        id="e", task=task.id, task_digest=task.digest, agent="a", condition="default", variant={}, ending=ending,
        answer=tuple(said),
        note=note,
    )  # fmt: skip
    return judge_answer(task, episode, expected)


@pytest.mark.parametrize(
    ("answer", "note", "outcome", "label", "contains"),
    [
        (["src/a.py"], "", "pass", None, False),
        (["src/a.py"], "Kettle, not in src/b.py", "pass", None, True),
        ([], "Kettle is defined in src/a.py.", "pass", None, True),
        (["src/a.py", "src/b.py"], "Kettle", "fail", "WRONG_ANSWER", True),
        (["src/b.py"], "Kettle", "fail", "WRONG_ANSWER", False),
        (["SRC/A.PY"], "kettle", "fail", "WRONG_ANSWER", True),
        (["a.py"], "", "fail", "WRONG_ANSWER", False),
        (["lib/src/a.py"], "Kettle", "fail", "WRONG_ANSWER", True),
        (["I do not know"], "src/a.py", "fail", "NO_ANSWER", False),
        ([], "", "fail", "NO_ANSWER", False),
    ],
)
def test_right_is_one_path_and_containment_stands_beside_it(
    answer: list[Any], note: str, outcome: str, label: str | None, contains: bool
) -> None:
    verdict = judged(answer, note)
    assert (verdict.outcome, verdict.label) == (outcome, label)
    assert ("CONTAINS_TRUTH" in verdict.notes) is contains
    assert {clause.name: clause.outcome for clause in verdict.clauses}["contains"] == ("pass" if contains else "fail")


def test_an_episode_that_cannot_be_scored_is_unscored() -> None:
    assert judged(["src/a.py"], ending="provider_error").outcome == "unscored"


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ("Kettle(cup, *, lid=True)", "pass"),
        ("`Kettle(cup: int, *, lid: bool = True)`", "pass"),
        ("def Kettle(cup, *, lid=True) -> None", "pass"),
        ("Kettle(cup, lid=True)", "fail"),
        ("Kettle(cup, *, lid=True) or Kettle(cup)", "fail"),
        ("Kettle(cup, *, lid=True", "fail"),
        ("Kettle(cup, *, lid=True) Kettle(cup, *, lid=True)", "pass"),
        ("Kettle(print(cup), *, lid=True)", "fail"),
    ],
)
def test_signatures_are_compared_without_annotations(given: str, outcome: str) -> None:
    assert judged([given], kind="signature", answer=("Kettle(cup, *, lid=True)",)).outcome == outcome


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        ("mark=')'", "mark=')'"),
        ('mark="(", cup=1', "mark='(', cup=1"),
        (r"mark='it\'s (', cup=1", 'mark="it\'s (", cup=1'),
        ("cups=[1,2], lids={'a': (1,2)}", "cups=[1, 2], lids={'a': (1, 2)}"),
        ("cups=[(1, ')')], *more", "cups=[(1, ')')], *more"),
        ("cup=Cup(lid)", "cup=Cup(lid)"),
    ],
)
def test_brackets_and_quotes_in_defaults_do_not_end_a_signature(given: str, parameters: str) -> None:
    truth = {"kind": "signature", "answer": (f"Kettle({parameters})",)}
    assert judged([f"It is Kettle({given})."], **truth).outcome == "pass"
    assert judged([f"It is Kettle({given}, **other)."], **truth).label == "WRONG_ANSWER"


@pytest.mark.parametrize("blank", [[""], [" ", "\n"]])
def test_a_note_is_the_answer_only_where_no_value_says_anything(blank: list[str]) -> None:
    assert judged(blank, "src/a.py").outcome == "pass"
    assert judged([*blank, "?"], "src/a.py").label == "NO_ANSWER"


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (["dict", "abc.Sized"], "pass"),
        (["Sized, dict"], "pass"),
        (["dict"], "fail"),
        (["dict", "Sized", "object"], "fail"),
    ],
)
def test_base_classes_are_compared_as_a_set(given: list[str], outcome: str) -> None:
    assert judged(given, kind="base-class", answer=("dict", "abc.Sized")).outcome == outcome


def test_parameters_are_normalised_or_none() -> None:
    assert parameters_of("a:int ,  b = 'x', *c, d, **e") == "a, b='x', *c, d, **e"
    assert parameters_of("a) : evil(") is None
    assert parameters_of("a):\n x\n if (b") is None
