"""`Observation/$lastn`: the latest observations of each code, as the specification says.

HAPI 8.8 ignores the filters of this operation in its default settings and answers with other patients' observations.
Here the filters hold, and a patient must be named.
"""

from __future__ import annotations

from ehr.sandbox.http import Response
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.rest.call import CONTROL, Call
from ehr.sandbox.rest.paging import Listing, Pages
from ehr.sandbox.rest.search import new_id, paged
from ehr.sandbox.searching.latest import lastn as latest
from ehr.sandbox.searching.search import SearchError
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
        hits = latest(state.overlay, asked, int(most))
    except SearchError as error:
        raise RefusedError(error.status, error.diagnostics, code=error.code) from None
    return paged(state, pages, call, Listing(new_id(state, call), key.type, call.query, hits, len(hits)))
