"""The worked example of docs/statistics.md holds, and its numbers are those of the code."""

from __future__ import annotations

import re

from harness.stats import DRAWS, SEED, Cells, agreement
from readback.experiment.file import Measure
from readback.tables.frames import _AGREEMENT, _DIFFERENCES
from tests.support import ROOT

PAGE = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_worked_example_holds() -> None:
    (example,) = blocks("python")
    exec(compile(example, "docs/statistics.md", "exec"), {})


def test_its_table_follows_from_what_the_study_reports() -> None:
    """Margins of 20.9 and 6.4 %, agreement of 77.6 %: 2a = agreement - 1 + both margins."""
    first, second, agreed = 20.9, 6.4, 77.6
    both = (agreed - 100 + first + second) / 2
    cells = (both, first - both, second - both, 100 - first - second + both)
    assert [round(cell, 2) for cell in cells] == [2.45, 18.45, 3.95, 75.15]
    shown = re.findall(r"^\| predicate: (?:grounded|not) \| ([\d.]+) \| ([\d.]+) \|", PAGE, re.MULTILINE)
    assert [float(cell) for row in shown for cell in row] == [round(cell, 2) for cell in cells]
    kappa = agreement({"all": Cells(*cells)}).cohen_kappa.value
    assert kappa is not None and round(kappa, 2) == 0.09, "the study's own figure"


def test_the_picture_shows_the_same_numbers() -> None:
    picture = (ROOT / "docs/agreement.svg").read_text(encoding="utf-8")
    for number in ("2.45", "18.45", "3.95", "75.15", "20.9 %", "6.4 %", "0.09", "0.41", "77.6 %", "18 %", "62 %"):
        assert f"{number}<" in picture or f"{number} " in picture, number


def test_the_numbers_of_the_code_are_told() -> None:
    assert f"{DRAWS:,} resamples of whole clusters, seed {SEED}" in PAGE
    for number in ("agreement", "cohen_kappa", "ac1", "positive_agreement", "negative_agreement"):
        assert number in _AGREEMENT
        assert re.search(rf"^\| `?{number}`? \|", PAGE, re.MULTILINE), number
    assert "smallest_p" in _DIFFERENCES and "`smallest_p`" in PAGE
    for measure in ("grounded", "grounded_answered", "CG"):
        assert measure in Measure.__args__ and f"`{measure}`" in PAGE  # type: ignore[attr-defined]


def test_every_number_has_its_definition_and_says_when_it_misleads() -> None:
    tables = re.findall(
        r"^\| number \| definition \| source \| misleads when \|\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE
    )
    rows = [line.strip("| \n").split(" | ") for table in tables for line in table.splitlines()]
    assert len(rows) > 15
    for row in rows:
        assert row[0] and row[1], row
    cited = {
        name for row in rows for name in re.findall(r"\b([A-Z][a-z]+)(?: and [A-Z]\w+| et al\.)? \d{4}", " ".join(row))
    }
    sources = PAGE.split("## Sources")[1]
    assert len(cited) > 8
    for name in cited:
        assert name in sources, name


def test_links_lead_somewhere() -> None:
    heads = {
        re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in re.findall(r"^#+ (.*)", PAGE, re.M)
    }
    for target in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert target in heads, target
    for target in [*re.findall(r"\]\(([^)#]+)", PAGE), *re.findall(r'src="([^"]+)"', PAGE)]:
        assert (ROOT / "docs" / target).exists(), target
