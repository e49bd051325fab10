"""The comparison of runs: how far the predicate, the lenses, the judges and people agree, and where they do not."""

from readback.comparison.compare import ComparisonError, compare_runs
from readback.comparison.document import Comparison

__all__ = ["Comparison", "ComparisonError", "compare_runs"]
