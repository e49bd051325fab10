"""The world of one repoqa episode: the tools over one tree. Nothing in it changes, so there is nothing to read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.finish import FINISH
from harness.suite import WorldEvidence
from harness.tool import Tool
from repoqa.tools import RepositoryTools


class RepositoryWorld:
    """The tools over the tree at `root`, and `finish`."""

    def __init__(self, root: Path, *, search: bool = False) -> None:
        self._tools = (*RepositoryTools(root, search=search).tools(), FINISH)

    @property
    def tools(self) -> Sequence[Tool]:
        """`list_directory`, `read_file`, `search` where it is switched on, and `finish`."""
        return self._tools

    def evidence(self) -> WorldEvidence:
        """Nothing was sent, and nothing changed."""
        return WorldEvidence()

    def close(self) -> None:
        """Nothing is held."""
