"""docs/fhir.md is true: its Python runs, and its tables are those of the code."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path

from ehr.faults import FAULTS
from tests.ehr.sandbox.differences import DIFFERENCES
from tests.support import ROOT

PAGE = ROOT / "docs/fhir.md"


def differences_table() -> str:
    cases: dict[tuple[str, str], list[str]] = defaultdict(list)
    for id, difference in DIFFERENCES.items():
        cases[difference.kind, difference.reason].append(id)
    rows = [
        f"| {kind} | {reason} | {', '.join(f'`{id}`' for id in sorted(ids))} |"
        for (kind, reason), ids in sorted(cases.items())
    ]
    return "\n".join(["| | here, and at HAPI | cases |", "|---|---|---|", *rows])


def faults_table() -> str:
    rows = [
        f"| `{fault.name}` | {fault.about} | {'yes' if fault.recoverable else 'no'} |" for fault in FAULTS.values()
    ]  # fmt: skip
    return "\n".join(["| fault | what happens | recoverable |", "|---|---|---|", *rows])


TABLES = {"differences": differences_table, "faults": faults_table}


def test_the_tables_are_those_of_the_code() -> None:
    """`READBACK_WRITE_DOCS=1` writes them."""
    page = PAGE.read_text()
    for name, table in TABLES.items():
        place = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.S)
        if os.environ.get("READBACK_WRITE_DOCS"):
            page = place.sub(lambda _, table=table: f"\n{table()}\n\n", page)
            Path(PAGE).write_text(page)
        found = place.search(page)
        assert found is not None and found[0].strip() == table(), (
            f"write the table {name!r} anew: READBACK_WRITE_DOCS=1"
        )


def test_the_python_of_the_page_runs() -> None:
    for text in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M):
        exec(compile(text, "docs/fhir.md", "exec"), {})


def test_every_link_of_the_page_leads_somewhere() -> None:
    page = PAGE.read_text()
    headings = {_anchor(line) for line in page.splitlines() if line.startswith("#")}
    for target in re.findall(r"\]\(([^)]+)\)", page):
        file, _, anchor = target.partition("#")
        text = (PAGE.parent / file).read_text() if file else page
        known = {_anchor(line) for line in text.splitlines() if line.startswith("#")} if file else headings
        assert not anchor or anchor in known, target


def _anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", heading.lstrip("# ").lower()).replace(" ", "-")
