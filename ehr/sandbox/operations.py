"""Operations: `$meta`, `$everything` and their like, by level and name."""

from __future__ import annotations

from collections.abc import Callable

from ehr.sandbox.call import Call
from ehr.sandbox.http import Response
from ehr.sandbox.paging import Pages
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key

Operation = Callable[[State, Pages, Call, Key | None], Response]

OPERATIONS: dict[tuple[str, str], Operation] = {}
"""(`system`, `type` or `instance`, name) -> what it does."""
