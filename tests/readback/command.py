"""The command `readback` in this process and in one of its own: exit code, stdout, stderr."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readback.cli import main
from tests.support import ROOT


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        value: dict[str, Any] = json.loads(self.out)
        return value

    @property
    def sentence(self) -> str:
        """The last line on stderr, of a command that failed: it must be a sentence of ours and no traceback."""
        assert "Traceback" not in self.err, self.err
        last = self.err.strip().splitlines()[-1]
        assert last.startswith("readback: "), self.err
        return last.removeprefix("readback: ")


def readback(*arguments: object) -> Ended:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Ended(code, out.getvalue(), err.getvalue())


def started(*arguments: object, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; from readback.cli import main; sys.exit(main())", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*arguments: object, cwd: Path, **environment: str) -> Ended:
    """Run a command in a process of its own to its end."""
    with started(*arguments, cwd=cwd, **environment) as process:
        out, err = process.communicate()
    return Ended(process.returncode, out, err)
