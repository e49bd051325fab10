"""The folder of an experiment: what it was begun with, its runs, and its result.

    experiment.json    what is played and compared, as it was read at the beginning, and where the file was
    NAME/              a run folder for each run
    result.json        what came of it
    report.html        one page about all runs

An experiment whose runs or primary comparison were changed since is another one, and is refused: a comparison that is
named after the data are seen is no primary comparison. Judges may be added.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.lines import write_whole
from readback.experiment.document import ExperimentResult
from readback.experiment.file import Experiment, ExperimentError, RunForm

BEGUN, RESULT, REPORT = "experiment.json", "result.json", "report.html"


@dataclass(frozen=True, slots=True)
class ExperimentFolder:
    """The folder of one experiment."""

    path: Path

    def is_begun(self, experiment: Experiment, file: Path) -> bool:
        """Whether this experiment was begun here. Raises `ExperimentError` where another or something else was."""
        if not (self.path / BEGUN).exists():
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                raise ExperimentError(f"{str(self.path)!r} holds something else already; name another with --out")
            return False
        self._refuse_another(experiment, file)
        return True

    def begin(self, experiment: Experiment, file: Path) -> None:
        """Make the folder, or go on in it. Raises `ExperimentError` and `OSError`."""
        self.is_begun(experiment, file)
        self.path.mkdir(parents=True, exist_ok=True)
        described = {"format": "readback.experiment-folder/1", "file": str(file), "digest": experiment.digest}
        text = json.dumps({**described, "experiment": experiment.model_dump(mode="json")}, indent=1, ensure_ascii=False)
        write_whole(self.path / BEGUN, [text.encode() + b"\n"])

    def run_path(self, run: RunForm) -> Path:
        """Where a run is."""
        return self.path / run.label

    @property
    def report(self) -> Path:
        """Where the page is."""
        return self.path / REPORT

    def conclude(self, result: ExperimentResult) -> None:
        """Keep the result."""
        write_whole(self.path / RESULT, [result.line().encode() + b"\n"])

    def _refuse_another(self, experiment: Experiment, file: Path) -> None:
        try:
            before = json.loads((self.path / BEGUN).read_bytes())["experiment"]
            before = dict(before)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ExperimentError(
                f"{str(self.path / BEGUN)!r} describes no experiment; name another with --out"
            ) from None
        now = experiment.model_dump(mode="json")
        for key in ("runs", "primary"):
            difference = next(_differences(key, before.get(key), now[key]), None)
            if difference is not None:
                raise ExperimentError(
                    f"{str(file)!r} is not what {str(self.path)!r} was begun with: {difference}; put it back, or begin"
                    " another with --out"
                )


def _differences(place: str, before: Any, now: Any) -> Iterator[str]:
    """What differs, in words, the first first."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*now, *(key for key in before if key not in now)]:
            yield from _differences(f"{place}.{key}", before.get(key), now.get(key))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True), 1):
            yield from _differences(f"{place}[{number}]", one, other)
    elif before != now:
        yield f"{place} is {json.dumps(now, ensure_ascii=False)}, and was {json.dumps(before, ensure_ascii=False)}"
