"""A request taken apart: address, query, preferences, and how the answer is to be written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl, quote, unquote

from ehr.sandbox.http import Request
from ehr.sandbox.outcome import RefusedError, not_supported

Parameters = tuple[tuple[str, str], ...]

CONTROL = frozenset({"_format", "_pretty"})
"""Parameters that say how to write the answer, on any request."""

SUMMARIES = ("count", "text", "true", "data")
"""What `_summary` can ask for, but for `false`, which is the usual."""


@dataclass(frozen=True)
class Call:
    """One request to the server at `base`, from `by`; `number` counts the fork's requests from 0."""

    request: Request
    base: str
    by: str
    number: int

    @property
    def method(self) -> str:
        """`GET`, `POST`, ...; `HEAD` is answered as `GET` without its body."""
        return "GET" if self.request.method == "HEAD" else self.request.method

    @cached_property
    def _halves(self) -> tuple[str, str]:
        path, _, query = self.request.path.partition("?")
        return path, query

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """The path's parts, decoded, empty ones left out."""
        return tuple(unquote(part) for part in self._halves[0].split("/") if part)

    @property
    def path(self) -> str:
        """The path as HAPI shows it."""
        return "/".join(self.segments)

    @property
    def raw_query(self) -> str:
        """What stands behind the question mark, as it was sent."""
        return self._halves[1]

    @cached_property
    def query(self) -> Parameters:
        """The parameters, decoded, in their order: those of a posted form, then those of the address.

        Of too many, some are left out; see `refuse_too_many`.
        """
        sent = _parsed(self._halves[1])
        if self.request.method != "POST" or self.content_type() != "application/x-www-form-urlencoded":
            return sent
        return _parsed(self.request.body.decode("utf-8", "replace")) + sent

    def refuse_too_many(self) -> None:
        """Raise `RefusedError` where there are more than `MOST_PARAMETERS`."""
        if len(self.query) > MOST_PARAMETERS:
            raise RefusedError(400, f"A request may have {MOST_PARAMETERS} parameters, this one has more")

    def every(self, name: str) -> list[str]:
        """Every value of a parameter."""
        return [value for key, value in self.query if key == name]

    def first(self, name: str) -> str | None:
        """The first value of a parameter."""
        return next((value for key, value in self.query if key == name), None)

    @property
    def condition(self) -> str:
        """The query of a conditional write as it was sent, with the type."""
        return f"{self.segments[0]}?{self.raw_query}"

    @property
    def pretty(self) -> bool:
        """HAPI prints for people unless it is told not to."""
        return self.first("_pretty") != "false"

    @cached_property
    def summary(self) -> str:
        """`count`, `text`, `true` or `data`, as `_summary` asks; empty where whole resources are to be shown.

        Unknown values are passed over, and of several the first of that order counts. Raises `RefusedError` (HAPI-0304,
        HAPI-0380) where it cannot be combined with what else is asked.
        """
        asked = {part.lower() for value in self.every("_summary") for part in value.split(",")}
        known = [summary for summary in SUMMARIES if summary in asked]
        if "text" in known and len(asked & {*SUMMARIES, "false"}) > 1:
            raise RefusedError(400, "HAPI-0380: Can not combine _summary=text with other values for _summary")
        if known and any(self.every("_elements")):
            raise RefusedError(400, "HAPI-0304: Cannot combine the _summary and _elements parameters")
        return known[0] if known else ""

    @property
    def prefer(self) -> str:
        """`minimal`, `OperationOutcome` or `representation`; empty where nothing known is preferred."""
        for part in (self.request.header("Prefer") or "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == "return" and value in ("minimal", "OperationOutcome", "representation"):
                return value
        return ""

    def content_type(self) -> str:
        """The media type of the body without its parameters, in lower case; empty where none is sent."""
        return (self.request.header("Content-Type") or "").partition(";")[0].strip().lower()

    def unsupported(self) -> RefusedError:
        """The refusal of an address that means nothing here."""
        names = list(dict.fromkeys(name for name, _ in self.query))
        return not_supported(self.request.method, self.path, names)

    def address(self, *parts: str) -> str:
        """An absolute address on this server."""
        return "/".join([self.base, *parts])


MOST_PARAMETERS = 2000

FHIR_JSON = frozenset({"application/fhir+json", "application/json", "application/json+fhir", "text/json"})


def body_check(call: Call, operation: str) -> None:
    """Refuse a body that is not said to be FHIR JSON (HAPI-0446, 0448, 0449)."""
    kind = call.content_type()
    if not kind:
        raise RefusedError(
            400,
            "HAPI-0448: No Content-Type header was provided in the request. "
            f'This is required for "{operation}" operation',
        )
    if kind not in FHIR_JSON:
        number = "0446" if kind == "application/x-www-form-urlencoded" else "0449"
        raise RefusedError(
            400,
            f'HAPI-{number}: Incorrect Content-Type header value of "{call.request.header("Content-Type")}" was '
            f'provided in the request. A FHIR Content-Type is required for "{operation}" operation',
        )


def encoded(text: str) -> str:
    """A parameter's name or value as HAPI writes it into an address."""
    return quote(text, safe="*").replace("~", "%7E")


def _parsed(query: str) -> Parameters:
    parts = query.split("&", MOST_PARAMETERS + 1)[: MOST_PARAMETERS + 1]
    return tuple(parse_qsl("&".join(parts), keep_blank_values=True))


def self_address(address: str, parameters: Parameters) -> str:
    """`address` with the parameters sorted by name, encoded."""
    if not parameters:
        return address
    ordered = sorted(parameters, key=lambda parameter: parameter[0])
    return address + "?" + "&".join(f"{encoded(name)}={encoded(value)}" for name, value in ordered)
