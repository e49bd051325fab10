"""`readback repos` and `readback run repoqa` as a user types them, without a network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repoqa.lockfile import Lock
from tests.readback.command import readback
from tests.repoqa.trees import archive, member, pin_of, sdist_of

FILES = {
    "pyproject.toml": '[project]\nname = "mine"\n',
    "src/mine/__init__.py": "from .pots import KettleShelf\n",
    "src/mine/pots.py": "class KettleShelf: ...\ndef fill_kettle(): ...\nclass LidDrawer: ...\n",
    "src/mine/work.py": "def pour_slowly(): ...\nclass CupCounter: ...\n",
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, a folder of archives instead of an index, and an empty working folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "archives").mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "archives"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lock_file(place: Path, sha256: str, name: str = "mine") -> Path:
    pin = pin_of(name, sha256=sha256)
    facts = pin.model_dump(
        mode="json", exclude_none=True, exclude={"unknown", "shipped", "packages", "sdist", "popularity"}
    )
    lines = [
        'format = "readback.repos/1"',
        "[[repository]]",
        *(f"{key} = {json.dumps(value)}" for key, value in facts.items()),
    ]
    for key in ("sdist", "popularity"):
        table = getattr(pin, key).model_dump(mode="json")
        lines.append(f"{key} = {{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in table.items())} }}")
    (place / "mine.lock").write_text("\n".join(lines) + "\n")
    return place / "mine.lock"


@pytest.fixture
def mine(place: Path) -> Path:
    """A lock file of one repository whose archive is there."""
    data, sha256 = sdist_of("mine", FILES)
    (place / "archives" / "mine-1.0.tar.gz").write_bytes(data)
    return lock_file(place, sha256)


def test_sync_verify_and_list_ones_own_repository(place: Path, mine: Path) -> None:
    before = readback("repos", "verify", "--lock", mine)
    assert before.code == 1 and before.out == "mine 1.0: it is not here; bring it by readback repos sync\n"
    brought = readback("repos", "sync", "--lock", mine)
    assert (brought.code, brought.out) == (0, "mine 1.0: brought\n")
    assert readback("repos", "sync", "--lock", mine).out == "mine 1.0: here already\n"
    assert readback("repos", "verify", "--lock", mine).out == "mine 1.0: as pinned\n"
    listed = readback("repos", "list", "--lock", mine, "--json").document
    assert [(one["name"], one["here"], one["files"], one["once"]) for one in listed["repositories"]] == [
        ("mine", True, 4, 5),
        ("ferrytide", True, 18, 29),
    ]
    listed = [line.split() for line in readback("repos", "list", "--lock", mine).out.splitlines()]
    assert listed[0] == ["name", "version", "bucket", "popularity", "licence", "files", "MB", "public", "symbols",
                         "defined", "once"]  # fmt: skip
    assert listed[1][0] == "mine" and listed[1][-1] == "5"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (sdist_of("mine", {**FILES, "more.py": "x"})[0], "as pinned: it is refused, and nothing of it is kept"),
        (archive([member("mine-1.0/a.py", b"x"), member("../evil.py", b"x")]), "leads elsewhere; it is refused"),
        (
            archive([member("mine-1.0/a.py", b"x"), member("mine-1.0/l", kind=b"2", target="/etc/passwd")]),
            "points outside",
        ),
        (archive(member(f"mine-1.0/{n}", bytes(2**20)) for n in range(20)), "unpacks to more than"),
    ],
    ids=["tampered", "escapes", "link", "bomb"],
)
def test_a_bad_archive_is_refused_in_one_sentence_and_leaves_nothing(place: Path, data: bytes, said: str) -> None:
    import hashlib

    _, pinned = sdist_of("mine", FILES)
    (place / "archives" / "mine-1.0.tar.gz").write_bytes(data)
    lock = lock_file(place, pinned if "pinned" in said else hashlib.sha256(data).hexdigest())
    ended = readback("repos", "sync", "--lock", lock)
    assert ended.code == 3
    (line,) = ended.out.splitlines()
    assert said in line and "Traceback" not in ended.err
    assert [path for path in (place / "cache").rglob("*") if path.is_file()] == []
    assert not (place / "evil.py").exists() and not (place / "archives" / "evil.py").exists()


def test_without_any_repository_the_shipped_one_is_asked_about(place: Path) -> None:
    ended = readback("run", "repoqa", "--limit", 4, "--out", place / "r", "--json")
    assert ended.code == 0, ended.err
    assert (
        "16 of 16 repositories are not here yet (requests, click, jinja2, rich, ...): readback repos sync brings them"
        in ended.err
    )
    assert "asked about are ferrytide, which comes with Readback" in ended.err
    rows = {row["agent"]: row for row in ended.document["rows"]}
    assert list(rows) == ["oracle", "recall", "guess", "lister", "shotgun", "refuser"]
    assert (
        rows["oracle"]["quadrants"]["CG"] == rows["recall"]["quadrants"]["CU"] == rows["guess"]["quadrants"]["IU"] == 4
    )
    assert rows["shotgun"]["quadrants"]["IG"] == rows["refuser"]["quadrants"]["refusal"] == 4
    assert rows["shotgun"]["quadrants"]["paper"]["CG"] == 4
    assert rows["oracle"]["quadrants"]["by_bucket"].keys() == {"shipped"}
    assert rows["oracle"]["variant"] == {"protocol": "tools", "counterfactual": None}
    assert "null_rate" in rows["oracle"]["lenses"]["grounding"]


def test_a_counterfactual_run_is_resumable_and_can_be_judged_with_everything_gone(place: Path, mine: Path) -> None:
    import shutil

    readback("repos", "sync", "--lock", mine)
    arguments = ("--lock", mine, "--agent", "oracle", "--agent", "recall", "--out", place / "r")
    ended = readback("run", "repoqa", *arguments, "--counterfactual", 3, "--counterfactual", 4, "--json")
    assert ended.code == 0, ended.err
    found = {(row["agent"], row["variant"]["counterfactual"]): row["success"]["rate"] for row in ended.document["rows"]}
    assert found == {
        ("oracle", None): 1.0, ("oracle", 3): 1.0, ("oracle", 4): 1.0,
        ("recall", None): 1.0, ("recall", 3): 0.0, ("recall", 4): 0.0,
    }  # fmt: skip
    assert "is finished" in readback("resume", place / "r").err
    shutil.rmtree(place / "cache")
    again = readback("score", place / "r", "--json")
    assert again.code == 0 and again.document["rows"] == ended.document["rows"]
    assert (place / "r" / "report.html").stat().st_size > 1000


def test_other_kinds_of_questions_and_search(place: Path, mine: Path) -> None:
    readback("repos", "sync", "--lock", mine)
    listed = readback("list", "tasks", "repoqa", "--lock", mine, "--kinds", "signature", "--json").document
    assert {task["template"] for task in listed["tasks"]} == {"definition"}  # nothing there takes parameters
    ended = readback(
        "run", "repoqa", "--lock", mine, "--search", "--agent", "oracle", "--limit", 1, "--out", place / "s"
    )
    assert ended.code == 0
    assert '"search"' in (place / "s" / "tasks.jsonl").read_text()


def test_validate_proves_it(place: Path, mine: Path) -> None:
    readback("repos", "sync", "--lock", mine)
    ended = readback("validate", "repoqa", "--lock", mine, "--counterfactual", 5, "--json")
    assert ended.code == 0, ended.document["problems"]
    assert ended.document["sound"] and ended.document["episodes"] == 5 * 6 * 2


def test_tasks_of_one_repository(place: Path) -> None:
    ended = readback(
        "run", "repoqa", "--task", "ferrytide", "--agent", "oracle", "--limit", 2, "--out", place / "r", "--json"
    )
    assert ended.code == 0 and ended.document["rows"][0]["success"]["pass"] == 2
    assert "not here" not in ended.err
    table = readback("score", place / "r").out
    assert "C correct, I incorrect" in table
    assert "In brackets" not in table, "of one repository there is no error, and no interval in brackets"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "repoqa", "--task", "requests"), "bring it by readback repos sync"),
        (("run", "repoqa", "--task", "ferytide"), "did you mean 'ferrytide'?"),
        (("run", "repoqa", "--kinds", "wheres"), "there is no kind of question 'wheres'"),
        (("run", "repoqa", "--lock", "none.lock"), "cannot be read"),
        (("run", "repoqa", "--fault", "slow"), "has neither faults nor ways of validating"),
        (("run", "repoqa", "--counterfactual", "1", "--counterfactual", "1"), "is given twice"),
        (("run", "ehr", "--counterfactual", "1"), "--counterfactual is for suites of repositories"),
        (("run", "repoqa", "--record", "a.record"), "--record is for suites of patients' tasks, and 'repoqa' is none"),
        (("validate", "repoqa", "--record", "a.record"), "--record is for suites of patients' tasks"),
        (("validate", "ehr", "--lock", "our.lock"), "--lock is for suites of repositories, and 'ehr' is none"),
        (("list", "tasks", "ehr", "--kinds", "signature"), "--kinds is for suites of repositories"),
        (("repos", "sync", "requets"), "there is no pinned repository 'requets'; did you mean 'requests'?"),
    ],
)
def test_mistakes_are_one_sentence(place: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = readback(*arguments)
    assert ended.code == 2
    assert said in ended.sentence


def test_what_cannot_be_brought_is_said_and_makes_it_incomplete(place: Path) -> None:
    ended = readback("repos", "sync", "tinydb", "--json")
    assert ended.code == 3
    (state,) = ended.document["repositories"]
    assert not state["ok"] and "was not found" in state["why"]
    assert isinstance(Lock.model_json_schema(), dict)


def test_an_episode_shows_what_was_asked_in_it(place: Path) -> None:
    arguments = ("--task", "ferrytide", "--limit", 1, "--agent", "oracle", "--counterfactual", 7, "--out", place / "r")
    readback("run", "repoqa", *arguments)
    ids = [one["id"] for one in readback("show", place / "r", "--json").document["episodes"]]
    shown = [readback("show", place / "r", id).out for id in ids]
    (original,) = [text for text in shown if "In the ferrytide repository" in text]
    (renamed,) = [text for text in shown if text != original]
    assert "repository, where is the" in renamed and "ferrytide repository" not in renamed
