"""`$everything`: a patient or an encounter, what refers to it, and what all that refers to, page by page."""

from __future__ import annotations

from ehr.sandbox.definitions import resource_types
from ehr.sandbox.http import Response
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.rest.call import Call
from ehr.sandbox.rest.paging import Listing, Pages
from ehr.sandbox.rest.search import new_id, paged
from ehr.sandbox.searching.everything import everything
from ehr.sandbox.searching.ranges import check_ranges
from ehr.sandbox.searching.refusals import SearchError
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key

STARTS = ("Patient", "Encounter")
MOST_PATIENTS = 50
"""Patients that one request may name with `_id`: each brings a whole chart."""


def everything_of(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """`_type` narrows what refers to the patient; `_since`, `start` and `end` change nothing, as at HAPI.

    On the type the patients are named with `_id`: without it the answer would be the whole record.
    """
    if key is None or key.type not in STARTS:
        raise call.unsupported()
    try:
        check_ranges(key.type, call.query, {"_lastUpdated"})
    except SearchError as error:
        raise RefusedError(error.status, error.diagnostics) from None
    ids = [key.id] if key.id else [id for value in call.every("_id") for id in value.split(",") if id]
    if not 0 < len(ids) <= MOST_PATIENTS:
        raise RefusedError(
            400, f"{key.type}/$everything without an id is the whole record: name 1 to {MOST_PATIENTS} with _id"
        )
    names = [(key.type, id.removeprefix(f"{key.type}/")) for id in ids]
    for type, id in names:
        if state.overlay.exists(type, id):
            continue
        if state.versions.all(Key(type, id)):
            raise RefusedError(410, f"HAPI-2572: Resource {type}/{id} has been deleted")
        shown = f"TokenParam[system=,value={id}]" if type == "Patient" else f"StringParam[value={id}]"
        raise RefusedError(404, f"HAPI-2841: Resource [[{shown}]] is not known.")
    types = {type for value in call.every("_type") for type in value.split(",") if type} or None
    unknown = sorted((types or set()).difference(resource_types()))
    if unknown:
        raise RefusedError(404, f"HAPI-2197: Unknown resource type '{unknown[0]}' in _type parameter.")
    hits = everything(state.overlay, names, types)
    return paged(state, pages, call, Listing(new_id(state, call), key.type, call.query, hits, len(hits)))
