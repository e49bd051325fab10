"""The suite's own system prompts: one preamble, and what each condition says beyond it.

`default` gives soft advice. `grounded` allows only what a read_file result of the session showed, and asks for one
exact sentence otherwise. The texts are our own; what they ask for is what the study's two prompts ask for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

_TOOLS = "Tools: list_directory shows what is in a folder, read_file shows a file or some of its lines{more}."
_SEARCH = ", and search finds the lines of all files that hold a text"


def prompts(*, search: bool = False) -> Mapping[str, str]:
    """The conditions by name, each with its system prompt."""
    from grounding import REFUSAL

    preamble = _text("preamble").replace("{tools}", _TOOLS.replace("{more}", _SEARCH if search else ""))
    grounded = _text("grounded").replace("{refusal}", REFUSAL)
    return {"default": preamble + _text("default"), "grounded": preamble + grounded}


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
