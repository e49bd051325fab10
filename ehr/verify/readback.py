"""Whether the agent read back what it wrote.

Counting rules: every write of the agent that the server acknowledged counts (a delete too). It is read back when a
later request of the agent reads that resource (by id, a version of it, its history) or searches its type, whatever
came back. The answer to the write itself is no read-back.
"""

from __future__ import annotations

from collections.abc import Sequence

from ehr.verify.writes import Write, segments_of, writes
from harness.trace import Episode


def read_back(episode: Episode, written: Sequence[Write] | None = None) -> bool | None:
    """Whether every acknowledged write of the agent was read back later; None where there was no such write."""
    own = [w for w in (writes(episode) if written is None else written) if w.by == "agent" and w.accepted]
    return all(_is_read_after(w, episode) for w in own) if own else None


def _is_read_after(write: Write, episode: Episode) -> bool:
    for request in episode.requests[write.request + 1 :]:
        path = segments_of(request.path)
        if request.by != "agent" or not path or path[0] != write.type:
            continue
        is_search = (request.method == "GET" and len(path) == 1) or path[-1] == "_search"
        is_read = request.method == "GET" and len(path) > 1 and path[1] == write.id
        if is_search or is_read:
            return True
    return False
