"""Real files that are installed beside the tests."""

from __future__ import annotations

import ast
import random
import sysconfig
import warnings
from pathlib import Path

INSTALLED = Path(sysconfig.get_path("purelib"))


def sources(number: int, seed: int) -> list[str]:
    """So many files that `ast` can parse, of a size that takes no long time."""
    files = sorted(path for path in INSTALLED.rglob("*.py") if 1_000 < path.stat().st_size < 60_000)
    texts = []
    for path in random.Random(seed).sample(files, number * 2):
        try:
            text = path.read_bytes().decode()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        texts.append(text)
    return texts[:number]
