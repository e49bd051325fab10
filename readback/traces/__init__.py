"""Traces that were recorded anywhere, read one at a time into what grounding judges.

Known are our own episodes and OpenAI chat messages, as files of one trace or of one trace a line.
"""

from readback.traces.files import Found, Problem, find_traces, trace_files
from readback.traces.trace import RecordedTrace, TraceError

__all__ = ["Found", "Problem", "RecordedTrace", "TraceError", "find_traces", "trace_files"]
