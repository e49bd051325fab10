"""The report: one self-contained HTML file that needs no script and fetches nothing."""

from readback.report.page import Stored, write_report

__all__ = ["Stored", "write_report"]
