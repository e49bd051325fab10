"""What the tests of the command line share: a small record, and a folder of its own for what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readback.command import readback


@pytest.fixture(scope="session")
def small_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic record of six patients."""
    path = tmp_path_factory.mktemp("records") / "six.record"
    assert readback("record", "build", "--patients", "6", "--out", path).code == 0
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder of its own, with a cache folder of its own and no keys."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "READBACK_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
