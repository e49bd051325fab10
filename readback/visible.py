"""Untrusted text made visible; see `harness.visible`."""

from harness.visible import in_line, visible

__all__ = ["in_line", "visible"]
