"""`Observation/$lastn`: the latest observations of each code, as the specification says.

HAPI 8.8 ignores the filters of this operation in its default settings and answers with other patients' observations.
Here the filters hold, and a patient must be named.
"""

from __future__ import annotations

from ehr.sandbox.body import Tree, parse_object
from ehr.sandbox.call import CONTROL, Call
from ehr.sandbox.http import Response
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.paging import Listing, Pages
from ehr.sandbox.rest_search import new_id, paged
from ehr.sandbox.search import SearchError, search
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key


def lastn(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """The `max` latest of each code (default 1) among what the other parameters find, latest first."""
    if key is None or key.type != "Observation":
        raise call.unsupported()
    asked = [(n, v) for n, v in call.query if n not in CONTROL and n not in ("max", "_sort", "_count", "_elements")]
    if not any(name.partition(":")[0].partition(".")[0] in ("patient", "subject") and value for name, value in asked):
        raise RefusedError(400, "$lastn needs a patient or subject: say whose observations, like patient=Patient/1")
    most = call.first("max") or "1"
    if not (most.isascii() and most.isdigit()) or not 0 < int(most[:9]) < 10**8:
        raise RefusedError(400, f"Invalid max value: {most}: expected a positive number")
    try:
        found = search(state.overlay, "Observation", [*asked, ("_sort", "-date")])
    except SearchError as error:
        raise RefusedError(error.status, error.diagnostics, code=error.code) from None
    groups: dict[frozenset[str], list[tuple[str, str]]] = {}
    for type, id in found.matches:
        body = state.overlay.get(type, id)
        if body is not None:
            group = groups.setdefault(_codes(parse_object(body)), [])
            if len(group) < int(most):
                group.append((type, id))
    hits = [hit for group in groups.values() for hit in group]
    return paged(state, pages, call, Listing(new_id(state, call), call.query, hits, len(hits)))


def _codes(tree: Tree) -> frozenset[str]:
    """What makes two observations the same kind: their codings, or the text where there are none."""
    code = tree.get("code")
    if not isinstance(code, dict):
        return frozenset()
    codings = [c for c in code.get("coding", []) if isinstance(c, dict)]
    return frozenset(f"{c.get('system', '')}|{c.get('code', '')}" for c in codings) or frozenset(
        [str(code.get("text"))]
    )
