"""FHIRPath Patch: Parameters that name elements by FHIRPath and say what becomes of them."""

from __future__ import annotations

from ehr.sandbox.body import Tree
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.writing import Patch


def fhirpath_patch(parameters: Tree) -> Patch:
    """What a patch does to a resource. Raises `RefusedError` for one that cannot be read."""
    raise RefusedError(400, "FHIRPath Patch is not there yet")
