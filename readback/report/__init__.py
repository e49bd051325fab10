"""The report: one self-contained HTML file that fetches nothing, about one run or several."""

from readback.comparison.reading import Stored
from readback.report.page import Lead, write_joint_report, write_report

__all__ = ["Lead", "Stored", "write_joint_report", "write_report"]
