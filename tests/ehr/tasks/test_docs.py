"""The example of docs/tasks.md runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

from ehr.tasks.baselines import NEAR_ORACLES
from ehr.tasks.templates import all_templates
from tests.support import ROOT

PAGE = (ROOT / "docs" / "tasks.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_runs_and_prints_what_the_page_says() -> None:
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks("python"):
            exec(compile(block, "docs/tasks.md", "exec"), names)
    names["record"].close()
    assert printed.getvalue() == blocks("text")[0]


def test_every_template_and_every_trap_is_on_the_page() -> None:
    assert [name for name in all_templates() if f"`{name}`" not in PAGE] == []
    assert [name for name, trap in NEAR_ORACLES.items() if f"| `{trap}` | `{name}` |" not in PAGE] == []
