"""Whether the agent read back what it wrote.

Counting rules: every write of the agent that the server acknowledged counts (a delete too). It is read back when a
later request of the agent reads that resource (by id, a version of it, its history) or searches its type, whatever
came back; a search of a compartment (`Patient/p1/Observation`) searches the type that it names. A read inside of a
Bundle counts like one outside. The answer to the write itself is no read-back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ehr.verify.writes import Write, entries_of, normal_reference, segments_of, writes
from harness.trace import Episode, HttpRequest


def read_back(episode: Episode, written: Sequence[Write] | None = None) -> bool | None:
    """Whether every acknowledged write of the agent was read back later; None where there was no such write."""
    own = [w for w in (writes(episode) if written is None else written) if w.by == "agent" and w.accepted]
    return all(_is_read_after(w, episode) for w in own) if own else None


def _is_read_after(write: Write, episode: Episode) -> bool:
    return any(
        _shows(method, path, write)
        for request in episode.requests[write.request + 1 :]
        if request.by == "agent"
        for method, path in _asked(request, episode.base)
    )


def _asked(request: HttpRequest, base: str | None) -> Iterator[tuple[str, list[str]]]:
    """Method and path of a request, or of each entry of a Bundle."""
    path = segments_of(request.path)
    if path or request.method != "POST":
        yield request.method, path
        return
    for entry in entries_of(request.body):
        asked = entry.get("request")
        if isinstance(asked, dict):
            yield str(asked.get("method")), segments_of(normal_reference(asked.get("url"), base) or "")


def _shows(method: str, path: Sequence[str], write: Write) -> bool:
    """Whether what is asked there is the resource that was written, or a search of its type."""
    if path[-1:] == ["_search"] and method in ("GET", "POST"):
        path = path[:-1]
    elif method != "GET":
        return False
    if len(path) == 3 and path[2][:1].isupper():  # of a compartment
        return path[2] == write.type
    return path[:1] == [write.type] and (len(path) == 1 or path[1] == write.id)
