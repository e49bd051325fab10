"""Every recorded case in which this server does not answer as HAPI FHIR 8.8 did, with the reason.

`INTENDED`: HAPI breaks the R4 specification in a way that misleads an agent or shows it other patients' data; here the
specification holds. `OUT_OF_REACH`: this server does not have the thing at all. The tests replay every case: one that
differs and is not listed fails, and so does a listed one that does not differ.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Kind = Literal["intended", "out of reach"]


class Difference(NamedTuple):
    """Why a case differs."""

    kind: Kind
    reason: str


_TOTAL = Difference("intended", "`total` is always sent and exact; HAPI leaves it out while more matches remain")
_CACHE = Difference("intended", "a repeated search is never answered from a cache: it shows what stands now")
_CUT = Difference("intended", "a history is never cut to a total that was counted before")
_PERIOD = Difference(
    "intended", "`ge` and `le` with a year or month compare with the near end of the period, as R4 says"
)
_TIES = Difference("intended", "equal sort keys come in an order that tells nothing, HAPI's is that of creation")
_FORMAT = Difference("out of reach", "JSON is the only format")
_SNAPSHOT = Difference("intended", "the whole list of hits is fixed by the first page, HAPI fixes only its first 13")
_INVARIANTS = Difference("out of reach", "`$validate` evaluates no invariants")

DIFFERENCES: Final[dict[str, Difference]] = {
    **dict.fromkeys(
        [
            "page-default",
            "page-count",
            "page-next",
            "page-stable-create",
            "page-offset",
            "total-count5",
            "total-estimate",
            "total-sorted",
            "total-sorted20",
            "total-18-count5",
            "post-search-json",
            "everything-30",
        ],
        _TOTAL,
    ),
    "page-stable-delete": _SNAPSHOT,
    "validate-params": _INVARIANTS,
    **dict.fromkeys(
        [
            "cache-stale-delete",
            "cache-stale-create",
            "cache-post-search",
            "cache-maxage0",
            "cache-order-alone",
        ],
        _CACHE,
    ),
    "hist-cached-total-plain": _CUT,
    **dict.fromkeys(["fmt-xml", "fmt-turtle", "fmt-html"], _FORMAT),
    **dict.fromkeys(
        [
            "s-birth-ge",
            "s-year-ge1981-01",
            "s-year-le1981-05",
            "s-year-ge1981-le1981",
            "s-dt-ge2020-03",
            "s-dt-le2020-03",
        ],
        _PERIOD,
    ),
    **dict.fromkeys(["s-sort-qty", "s-sort-family", "s-sort-name"], _TIES),
}
"""Case id -> why it differs."""
