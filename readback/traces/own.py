"""Our own episodes as traces."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from grounding.answer import answer_of
from harness.trace import Episode
from harness.values import first_wrong
from readback.traces.trace import RecordedTrace, TraceError

FORMAT = "readback.episode/1"


def is_own(value: Any) -> bool:
    """Whether this is one of our own documents."""
    return isinstance(value, dict) and str(value.get("format", "")).startswith("readback.")


def read_own(value: dict[str, Any]) -> RecordedTrace:
    """An episode as a trace. Raises `TraceError` for any other document of ours, and for a broken episode."""
    if value["format"] != FORMAT:
        raise TraceError(f"is a {value['format']!r}, and traces of our own are {FORMAT!r}")
    try:
        episode = Episode.model_validate(value, extra="ignore", strict=False)
    except ValidationError as error:
        where, _, said = first_wrong(error).partition(": ")
        raise TraceError(f"is a broken {FORMAT}: {where}: {said[:1].lower()}{said[1:]}") from None
    group = episode.task.rpartition("/")[0]
    return RecordedTrace(
        id=episode.id,
        calls=episode.calls,
        answer=answer_of(episode) if episode.scored else None,
        loss=episode.loss,
        question=episode.task,
        group=group or None,
        given=(group.rpartition("/")[2],) if group else (),
        why=None if episode.scored else f"the episode ended as {episode.ending}",
    )
