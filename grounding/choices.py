"""What can be chosen where answers about source code are judged. `grounding.policy` gives the choices their names."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field

from grounding.blocked import blocked
from grounding.evidence import is_tool
from grounding.languages import SOURCE_EXTENSIONS, TEXT_EXTENSIONS
from grounding.languages.definitions import Kind
from harness.values import Value, digest

REFUSAL = "I don’t know - not found in the source I read."
"""The sentence, word for word, with which the study's strict prompt has an agent refuse (section 17.1)."""

_RULES = 3
"""Raised whenever the same policy, answer and trace may come to another verdict than before."""


class Choices(Value):
    """Choices about source code, as data.

    `reads` are the tools whose results count. `paths` says when a path was read: it is `exact`ly one that was, or a
    `suffix` of one. `definitions` are the kinds of definition that support a name, which must be `whole` or may be its
    beginning; `ignore_case` holds for names. With `mentions`, a name or path that stands anywhere in a text that was
    read is supported too; with `modules`, the name of a module whose file was read. `extensions` make a path.
    """

    name: str
    reads: tuple[str, ...] = ("read_file",)
    paths: Literal["exact", "suffix"] = "exact"
    definitions: tuple[Kind, ...] = ("class", "function", "variable", "field", "attribute", "alias")
    whole: bool = False
    ignore_case: bool = True
    mentions: bool = False
    modules: bool = True
    extensions: tuple[str, ...] = SOURCE_EXTENSIONS + TEXT_EXTENSIONS
    refusals: tuple[str, ...] = (REFUSAL,)
    blocked: str = Field(default_factory=lambda: blocked().digest)
    rules: int = _RULES

    @cached_property
    def digest(self) -> str:
        """The digest of every choice."""
        return digest(self.model_dump(mode="json"))

    def varied(self, **choices: Any) -> Self:
        """The same policy with other choices, and so with another digest."""
        return type(self)(**{**self.model_dump(), **choices})

    def reads_files(self, tool: str) -> bool:
        """Whether results of a tool of this name count; a namespace before it does not matter."""
        return is_tool(tool, self.reads)
