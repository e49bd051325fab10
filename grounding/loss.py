"""What a trace's source could not tell, and whether it matters to grounding.

A trace's `loss` holds sentences. Those that a reader of traces takes from here say nothing against the evidence; any
other may mean that something the agent saw is missing, so that what is not supported is unscored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NO_STATUS = "the format says of no result whether it is an error; errors were told by their text"
NO_TIMES = "the format has no times of calls"
NO_STEPS = "the format does not say which calls were made in one turn"

_OF_A_CALL = re.compile(r"call \d+: ")

HARMLESS = frozenset({NO_STATUS, NO_TIMES, NO_STEPS})


def of_call(position: int, what: str) -> str:
    """A loss that concerns one call; what it means for the evidence is told by the call itself (`cut_by`)."""
    return f"call {position}: {what}"


def lost_evidence(loss: Iterable[str]) -> tuple[str, ...]:
    """The losses after which evidence may be missing. Those of one call are told by the call."""
    return tuple(sentence for sentence in loss if sentence not in HARMLESS and not _OF_A_CALL.match(sentence))
