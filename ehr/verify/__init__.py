"""What a change means: expectations, matching, the lenses, units, instants."""

from ehr.verify.expected import (
    NOTHING,
    Answer,
    AnswerValue,
    Create,
    Expected,
    Update,
    clause,
    coded,
    hours,
    instant,
    quantity,
    refers_to,
)
from ehr.verify.form import problems
from ehr.verify.lenses import judge

__all__ = [
    "NOTHING",
    "Answer",
    "AnswerValue",
    "Create",
    "Expected",
    "Update",
    "clause",
    "coded",
    "hours",
    "instant",
    "judge",
    "problems",
    "quantity",
    "refers_to",
]
