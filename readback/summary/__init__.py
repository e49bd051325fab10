"""From stored tasks, episodes and verdicts to the summary of a run."""

from readback.summary.document import Comparison, LensRate, Rate, Row, Summary
from readback.summary.ledger import Entry, Ledger, LedgerError, Said, TaskFacts, conclude, read_ledger, standing
from readback.summary.summarise import summarise, summary_of
from readback.summary.thresholds import MEASURES, Shortfall, Threshold, read_threshold, shortfalls

__all__ = [
    "MEASURES",
    "Comparison",
    "Entry",
    "Ledger",
    "LedgerError",
    "LensRate",
    "Rate",
    "Row",
    "Said",
    "Shortfall",
    "Summary",
    "TaskFacts",
    "Threshold",
    "conclude",
    "read_ledger",
    "read_threshold",
    "shortfalls",
    "standing",
    "summarise",
    "summary_of",
]
