"""A second opinion on a resource's structure: the models of fhir.resources, R4B.

R4B changed some types; for those, and for those it dropped, only `validation.py` is asked. The models do not check
required codes or the JSON kind of numbers. They take a quarter of a second to load, so that nothing here is imported
before it is needed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from ehr.sandbox.body import Tree, compact
from ehr.sandbox.definitions import fields


def objections(tree: Tree) -> list[tuple[str, str]]:
    """What the model of its type has against a resource, for a Bundle against each resource in it: path and message."""
    if tree["resourceType"] == "Bundle":
        inside = [entry["resource"] for entry in tree.get("entry", []) if "resource" in entry]
        return [objection for resource in inside for objection in objections(resource)]
    model = _model(tree["resourceType"])
    if model is None:
        return []
    from pydantic import ValidationError

    try:
        model.model_validate(orjson.loads(compact(tree)))
    except ValidationError as error:
        return [(_path(tree["resourceType"], found["loc"]), found["msg"]) for found in error.errors()]
    except RecursionError:
        return [(tree["resourceType"], "The body nests too deeply")]
    except LookupError:  # a contained resource of a type that R4B does not have
        return []
    return []


def _path(type: str, loc: tuple[int | str, ...]) -> str:
    return type + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc)


@cache
def _model(type: str) -> Any:
    """The model of a type that is the same in R4 and R4B, else `None`."""
    from fhir.resources.R4B import get_fhir_model_class

    try:
        model = get_fhir_model_class(type)
    except (KeyError, LookupError, ValueError, ImportError):
        return None
    names = {field.alias or name for name, field in model.model_fields.items()}
    keys = {name for name in names if not name.startswith("_") and name not in ("resource_type", "fhir_comments")}
    return model if keys - {"resourceType"} == fields(type).keys() else None
