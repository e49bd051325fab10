"""A run in which every text that somebody else may have written is hostile: the page that shows it is still only ours.

The run is a real one, judged by two rules; then each string of its files that is no word of our own vocabulary has the
hostile text behind it, the same everywhere, so that what belongs together still does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.readback import page
from tests.readback.browser import browser
from tests.readback.command import readback

HOSTILE = (
    '"\'>--></style></script></title></textarea></pre></details><img src=x onerror="window.taken=1">'
    '<script>window.taken=1</script><svg onload="window.taken=1">{{7*7}}{%x%}]]>&lt;\u202e\x1b[31m'
)
OURS = {
    "format", "suite", "lens", "requires", "outcome", "ending", "claim", "kind", "agent_kind", "status", "cut_by",
    "verb", "said", "rubric", "started", "ended", "protocol", "validation", "form", "long", "synthetic", "fault", "by",
    "times",
}  # fmt: skip
"""Keys whose values are words of our own, of which a reader allows no others."""


def hostile(value: Any, key: str = "") -> Any:
    """The value with the hostile text behind each string that is not one of our own words."""
    if key in OURS:
        return value
    if isinstance(value, str):
        return value + HOSTILE
    if isinstance(value, list):
        return [hostile(one, key) for one in value]
    if isinstance(value, dict):
        return {name: hostile(one, name) for name, one in value.items()}
    return value


def made_hostile(run: Path, to: Path) -> Path:
    """A copy of the run folder's files, every text of them hostile."""
    to.mkdir()
    for file in run.iterdir():
        if file.suffix in (".json", ".jsonl"):
            lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
            (to / file.name).write_text("".join(json.dumps(hostile(json.loads(line))) + "\n" for line in lines))
    return to


@pytest.fixture
def runs(here: Path, small_record: Path) -> list[Path]:
    """Small real runs of both suites, judged, and made hostile."""
    of_record = ("--record", small_record, "--task", "record-weight", "--limit", 2)
    assert readback("run", "ehr", *of_record, "--out", "e").code == 0
    assert readback("run", "repoqa", "--task", "ferrytide", "--limit", 2, "--out", "q").code == 0
    for name in ("e", "q"):
        assert readback("judge", name, "--model", "scripted:overlap", "--model", "scripted:coin").code == 0
    return [made_hostile(here / name, here / f"hostile-{name}") for name in ("e", "q")]


def test_the_page_has_no_element_that_is_not_ours(here: Path, runs: list[Path]) -> None:
    ours: set[str] = set()
    for name in ("e", "q"):
        ours |= elements(page.read(Path(readback("report", name).out.strip())))
    for run in runs:
        ended = readback("report", run)
        assert ended.code == 0, ended.err
        made = Path(ended.out.strip())
        shown = page.read(made)
        assert shown.problems == []
        assert elements(shown) <= ours
        assert shown.count("script") == shown.count("style") == 1
        assert all(link.startswith("#") for link in shown.links)
        assert "window.taken=1" in shown.text and "\u202e" not in made.read_text() and "\x1b" not in made.read_text()


def elements(shown: page.Page) -> set[str]:
    """Every element with the names of its attributes."""
    return {tag for tag, _ in shown.elements} | {f"@{name}" for _, named in shown.elements for name in named}


def test_it_does_nothing_in_a_browser(here: Path, runs: list[Path]) -> None:
    made = here / "both.html"
    assert readback("report", *runs, "--out", made).code == 0
    with browser() as tab:
        tab.look(width=1280)
        tab.open(made)
        tab.run('document.querySelectorAll("details").forEach((one) => (one.open = true))')
        assert tab.run("typeof window.taken") == "undefined"
        assert tab.run("document.images.length + document.scripts.length") == 1
        assert tab.problems == []
        assert all(url.startswith("file:") for url in tab.requests)


def test_tables_and_the_comparison_in_words_show_it_and_no_more(runs: list[Path]) -> None:
    for run in runs:
        for words in (
            ("report", run, "--latex"),
            ("report", run, "--markdown"),
            ("compare", run, "--disagreements", 3),
        ):
            ended = readback(*words)
            assert ended.code == 0, ended.err
            assert "\x1b" not in ended.out and "\u202e" not in ended.out
            if "--markdown" in words:
                assert "<img" not in ended.out.replace("\\<img", "") and "<script" not in ended.out.replace("\\<", "")
