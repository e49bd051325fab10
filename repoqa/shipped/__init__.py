"""The small repository that comes with Readback: written for it, so that all of it also works without a network.

`ferrytide` is a library like many others: packages, re-exports, overloads, a command line, tests, documents. It was
made for this place, so no model can know it from elsewhere.
"""

from __future__ import annotations

from pathlib import Path

from repoqa.lockfile import Pin, Popularity

SHIPPED = Pin(
    name="ferrytide",
    licence="Apache-2.0",
    bucket="shipped",
    popularity=Popularity(figure="used nowhere", source="it comes with Readback only", date="2026-11"),
    released="2026-11",
    first_released="2026-11",
    unknown=True,
    shipped=True,
)


def shipped_root() -> Path:
    """The folder with its files."""
    return Path(__file__).resolve().parent / "ferrytide-0.3"
