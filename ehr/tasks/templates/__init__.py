"""The templates of the suite, each in a module of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ehr.tasks.template import Template

_MODULES = (
    "patient_lookup",
    "patient_age",
    "latest_lab",
    "mean_lab",
    "highest_lab",
    "latest_vital",
    "active_medications",
    "active_problems",
    "allergy_check",
    "blood_pressure",
    "weight",
    "referral",
    "lab_if_stale",
    "magnesium",
    "potassium",
    "hyperkalaemia",
    "metformin",
    "warfarin",
    "enoxaparin",
    "stop_medication",
    "prescribe_unless_allergic",
    "record_allergy",
    "resolve_problem",
    "correct_observation",
    "change_telephone",
    "cancel_duplicate",
    "ambiguous_dose",
)


@cache
def all_templates() -> Mapping[str, Template]:
    """Every template by name, reads first."""
    found = [import_module(f"{__name__}.{module}").TEMPLATE for module in _MODULES]
    return {template.name: template for template in found}
