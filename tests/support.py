"""What tests of every room share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared(*parts: str) -> Path:
    """A file of the shared real data: `$READBACK_SHARED`, else the folder `shared` beside the checkout; else skip."""
    path = Path(os.environ.get("READBACK_SHARED", ROOT.parent / "shared")).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"real data {'/'.join(parts)} is not on this machine (set READBACK_SHARED to where it is)")
    return path
