"""Every recorded case in which this server does not answer as HAPI FHIR 8.8 did, with the reason.

"intended": HAPI breaks the R4 specification in a way that misleads an agent or shows it other patients' data, loses a
write, or takes a client's mistake for its own error; here the specification holds. "out of reach": this server does
not have the thing at all. The tests replay every case: one that differs and is not listed fails, and so does a listed
one that does not differ.
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
_REFUSED = Difference("intended", "a client's mistake is refused or passed over, HAPI answers with a server error")
_WORDS = Difference("intended", "the same refusal in other words: HAPI's name its Java classes and readers")
_MISSING = Difference("intended", "`:missing` finds those without, HAPI all or none")
_EMPTY = Difference("intended", "the search is carried out as R4 says, HAPI finds nothing")
_COMPONENT = Difference("intended", "a composite looks at one component at a time, HAPI pairs a code with any value")
_TAG_ORDER = Difference("intended", "tags keep their order, so that adding one is no change of the others")
_LOST_PUT = Difference("intended", "an update and a patch of one resource both stand, HAPI loses the update")
_ANY_DELETE = Difference(
    "intended", "a delete that names no resource is refused, HAPI deletes where the type has only one"
)
_REPEATED = Difference("intended", "a repeated deletion has an outcome too")
_NO_NAME = Difference("intended", "the words name the condition, HAPI's have a gap where it belongs")
_REMEMBERED = Difference("intended", "a condition is asked of what stands, HAPI remembers for a while who met it")
_ASKED = Difference(
    "intended",
    "all that can be asked of a body is asked; HAPI stops at the first it cannot, in the order of a hash table",
)
_WHOLE = Difference("intended", "a patch may not take the whole resource away")
_TAKEN = Difference("intended", "a patch that adds nothing is refused, HAPI takes away what stands there")
_PARTS = Difference("intended", "each part of a value counts, HAPI keeps the last of a name")
_ONCE = Difference("intended", "a tag that is sent twice is shown once from the start")
_MATCHED = Difference("intended", "the words name the resource that stands, HAPI's only the number of its version")
_FULL_PAGE = Difference("intended", "a history has a next page only where something follows")
_PREFIXES = Difference("intended", "each alternative has its own prefix, HAPI gives all of them the first one's")
_BOTH = Difference("intended", "a reference may be asked for with and without its type at once")
_CODINGS = Difference("out of reach", "`$validate` does not say which code systems it does not have")
_OTHERS = Difference("intended", "`$lastn` and `$everything` want to be told of whom, HAPI shows all patients' data")
_MESSAGES = Difference(
    "out of reach", "issues of `$validate` have words and a place, HAPI numbers its messages besides"
)
_NO_PAGES = Difference("intended", "a negative `_count` has no next page, HAPI's leads nowhere")
_NULL = Difference("intended", "no body has a null in it")
_PLUS = Difference("out of reach", "a number with a plus is no JSON")
_XML = Difference("out of reach", "XML is not spoken")
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
    **dict.fromkeys(["fmt-xml", "fmt-turtle", "fmt-html", "fmt-xml-error", "el-read-text"], _FORMAT),
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
    **dict.fromkeys(
        [
            "patch-fhirpath-add-unknown",
            "patch-fhirpath-bad-code",
            "patch-fhirpath-other",
            "ifmatch-star",
            "ifmatch-junk",
            "cond-patch-type",
            "s-filter-unfinished",
            "s-near-half",
            "s-near-negative",
            "s-in-open",
            "in-birthdate-2020-05-01",
            "in-valuequantity-value-1e400",
            "in-narrative-p-x-p",
            "in-ext-string",
            "fp-add-string-to-date",
            "fp-add-wrong-single",
            "fp-move-unknown",
        ],
        _REFUSED,
    ),
    **dict.fromkeys(
        [
            "patch-json-object",
            "patch-json-unknown-op",
            "patch-json-no-slash",
            "patch-json-no-value",
            "patch-json-no-op",
            "in-valuequantity-value-nan",
            "in-valuequantity-value-infinity",
            "in-narrative-div-xmlns-http-www-w3-org-1999",
            "in-narrative-div-a-b-unclosed-div",
            "in-narrative-div",
            "fp-add-wrong-type",
            "fp-insert-wrong-type",
            "fp-replace-choice-wrong",
        ],
        _WORDS,
    ),
    **dict.fromkeys(
        [
            "s-composite-missing",
            "s-tag-missing",
            "s-profile-missing",
            "s-security-missing",
            "s-lastupdated-missing",
        ],
        _MISSING,
    ),
    **dict.fromkeys(
        [
            "s-chain-id",
            "s-filter-lastupdated",
            "s-profile-above",
            "s-string-backslash",
        ],
        _EMPTY,
    ),
    **dict.fromkeys(
        [
            "cond-update-oo-new",
            "tx-put-cond-new",
        ],
        _NO_NAME,
    ),
    "s-composite-pairs": _COMPONENT,
    "meta-add-seen": _TAG_ORDER,
    "tx-put-patch": _LOST_PUT,
    "tx-delete-type-only": _ANY_DELETE,
    "tx-delete-twice": _REPEATED,
    "count-negative": _NO_PAGES,
    "tags-twice": _ONCE,
    "tx-create-existing": _MATCHED,
    "hist-exact-page": _FULL_PAGE,
    **dict.fromkeys(["s-qty-or", "s-qty-or-ne"], _PREFIXES),
    "s-ref-both": _BOTH,
    "validate-codings": _CODINGS,
    "cond-again-after-patch": _REMEMBERED,
    "cond-own-mixed": _ASKED,
    "fp-delete-resource": _WHOLE,
    "fp-add-no-value": _TAKEN,
    "fp-replace-parts-twice": _PARTS,
    "in-ext-no-url": _NULL,
    "in-valuequantity-value-5-5": _PLUS,
    **dict.fromkeys(["patch-xml", "create-xml", "update-xml"], _XML),
    **dict.fromkeys(
        ["lastn-other-patients", "lastn-nobody", "everything-everybody", "encounter-everything-everybody"], _OTHERS
    ),
    "validate-details": _MESSAGES,
}
"""Case id -> why it differs."""
