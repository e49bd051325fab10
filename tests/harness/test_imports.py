"""Nothing heavy is imported before it is used."""

from __future__ import annotations

import subprocess
import sys

from tests.support import ROOT


def test_no_provider_library_and_no_numpy_before_a_model_is_made() -> None:
    script = """
import sys
import harness.estimate, harness.models.anthropic, harness.models.openai, harness.program, harness.runner
heavy = {"openai", "anthropic", "httpx2", "numpy", "scipy"} & set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
