"""What a judge is asked: the rubrics as prompt files, put together without any text of a trace, and their digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from harness.models.model import Form
from harness.values import digest

RubricName = Literal["facts", "predicate"]
Said = Literal["supported", "not_supported", "no_claim"]

RUBRICS: Mapping[RubricName, str] = {
    "facts": "is every factual claim of the answer supported by the trace?",
    "predicate": "was every entity that the answer names seen in the trace?",
}
"""Each rubric and what it asks."""

OPENING = "The data of this case stands between the two lines that hold the marker "
CLOSING = "The data has ended. Give your verdict on it now, in the form that you were told."
LAST_LOOK = "This was your last look."


@dataclass(frozen=True, slots=True)
class Rubric:
    """One rubric, with the trace or without, and for traces that are shown at once or looked up (`looks`)."""

    name: RubricName
    trace: bool = True
    looks: bool = False

    @property
    def system(self) -> str:
        """The system message. It holds nothing of any trace."""
        return _told(self)

    @property
    def form(self) -> Form:
        """The form of the reply."""
        return _form(trace=self.trace)

    @property
    def digest(self) -> str:
        """The digest of every word that a judge is told, apart from the data."""
        return _digest(self)


@cache
def _told(rubric: Rubric) -> str:
    blind = "" if rubric.trace else "-no-trace"
    parts = [f"{rubric.name}{blind}", f"data{blind}", *(["look"] if rubric.looks else []), f"vote{blind}"]
    return "\n\n".join(prompt(part) for part in parts)


@cache
def _form(*, trace: bool) -> Form:
    return Form("vote", schema_of_vote(trace=trace))


@cache
def _digest(rubric: Rubric) -> str:
    return digest([rubric.system, OPENING, CLOSING, LAST_LOOK, rubric.form.schema])


def schema_of_vote(*, trace: bool) -> dict[str, Any]:
    """The JSON schema of a judge's reply, in the part of the language that all providers hold models to."""
    texts = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Any] = {"reason": {"type": "string"}, "failed": texts}
    if trace:
        properties["calls"] = {"type": "array", "items": {"type": "integer"}}
    properties["verdict"] = {"type": "string", "enum": list(get_args(Said))}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@cache
def prompt(name: str) -> str:
    """The words of one prompt file, by its name."""
    return resources.files("judges").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").strip()
