"""Searches that the server refuses, in HAPI's words, and the look-up of parameters that refuses unknown ones."""

from __future__ import annotations

from ehr.sandbox.definitions import Parameter, parameters

__all__ = ["HIDDEN", "SearchError", "known", "reference_codes", "valid_codes"]

HIDDEN = frozenset({"_content", "_query", "_text"})
"""Parameters of the specification that HAPI does not list."""


class SearchError(Exception):
    """A search that the server refuses: the HTTP status and HAPI's diagnostics."""

    def __init__(self, status: int, diagnostics: str, code: str = "processing") -> None:
        super().__init__(f"{status}: {diagnostics}")
        self.status = status
        self.diagnostics = diagnostics
        self.code = code
        """The issue type of the OperationOutcome."""


def valid_codes(type: str) -> str:
    """The parameters of a type as HAPI lists them in a refusal."""
    return "[" + ", ".join(code for code in parameters(type) if code not in HIDDEN) + "]"


def reference_codes(type: str) -> str:
    """The reference parameters of a type as HAPI lists them in a refusal."""
    return "[" + ", ".join(code for code, p in parameters(type).items() if p.kind == "reference") + "]"


def known(type: str, code: str, number: str = "HAPI-0524") -> Parameter:
    """The parameter of a type. Raises `SearchError` (400) where it has none of that name."""
    found = parameters(type).get(code)
    if found is None or code in HIDDEN:
        raise SearchError(
            400,
            f'{number}: Unknown search parameter "{code}" for resource type "{type}". '
            f"Valid search parameters for this search are: {valid_codes(type)}",
        )
    return found
