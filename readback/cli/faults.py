"""What goes wrong, said to the user: their mistakes in one sentence, ours in one sentence with the traceback kept."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from readback.cli.ending import INCOMPLETE, USAGE
from readback.cli.output import note

SENTENCES = (
    "ehr.remote.RemoteError",
    "ehr.sandbox.store.storage.RecordError",
    "ehr.verify.cases.CaseError",
    "harness.cache.CacheError",
    "harness.models.model.ModelSetupError",
    "harness.plan.PlanError",
    "harness.prices.PricesError",
    "harness.program.ProgramError",
    "harness.runfolder.RunFolderError",
    "judges.judging.JudgingError",
    "judges.votefile.VoteFileError",
    "readback.cli.ending.Mistake",
    "readback.comparison.compare.ComparisonError",
    "readback.experiment.file.ExperimentError",
    "readback.records.DefaultRecordError",
    "readback.registry.UnknownNameError",
    "readback.running.SettingError",
    "readback.summary.ledger.LedgerError",
    "readback.tables.files.MissingExtraError",
    "repoqa.counterfactual.build.CounterfactualError",
    "repoqa.fetch.FetchError",
    "repoqa.git.GitError",
    "repoqa.index.PackageIndexError",
    "repoqa.lockfile.LockError",
    "repoqa.suite.RepoqaError",
    "repoqa.unpack.UnpackError",
)
"""The exceptions of all rooms whose message is a sentence for the user. By name, so that saying one imports nothing."""

_NEXT_STEPS = {
    errno.ENOENT: "check the name",
    errno.EACCES: "check who may read and write there, or name another place",
    errno.EPERM: "check who may read and write there, or name another place",
    errno.EROFS: "name another place",
    errno.ENOSPC: "make room and try again; what was stored before is kept",
    errno.EFBIG: "make room and try again; what was stored before is kept",
    errno.EDQUOT: "make room and try again; what was stored before is kept",
    errno.EISDIR: "name a file",
    errno.EEXIST: "name another place",
    errno.ENOTDIR: "name a folder",
    errno.ENAMETOOLONG: "use a shorter name",
}

_FIRST_WORDS = {"The", "There", "Two", "Resource"}
"""With which sentences of the sandbox, which stands alone, begin; here every sentence follows a colon."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class FaultError(Exception):
    """A fault of ours that was kept already. The message is for the user."""


def sentence_of(exception: BaseException) -> str | None:
    """The one sentence for the user where `exception` is their mistake or their machine's; None where it is ours."""
    if any(f"{kind.__module__}.{kind.__qualname__}" in SENTENCES for kind in type(exception).__mro__):
        return str(exception)
    if isinstance(exception, OSError) and exception.errno in _NEXT_STEPS:
        what = repr(str(exception.filename)) if exception.filename is not None else "the disk"
        return f"{what}: {exception.strerror}; {_NEXT_STEPS[exception.errno]}"
    return None


def explain(exception: BaseException) -> int:
    """Say it, keep what must be kept, and give the exit code."""
    sentence = sentence_of(exception)
    if sentence is not None:
        first, blank, rest = sentence.partition(" ")
        note(f"readback: {first.lower() if first in _FIRST_WORDS else first}{blank}{rest}")
        return INCOMPLETE if isinstance(exception, OSError) and exception.errno in _NO_ROOM else USAGE
    note(f"readback: {exception if isinstance(exception, FaultError) else _kept(exception, None)}")
    return INCOMPLETE


@contextmanager
def faults_kept_in(folder: Path) -> Iterator[None]:
    """Keeps the traceback of a fault of ours as `fault.txt` in this folder."""
    try:
        yield
    except Exception as exception:
        if sentence_of(exception) is not None:
            raise
        raise FaultError(_kept(exception, folder)) from exception


def _kept(exception: BaseException, folder: Path | None) -> str:
    from harness.faults import traceback_of

    text = traceback_of(exception)
    for keep in (_in_folder, _in_new_file):
        try:
            path = keep(text, folder)
        except OSError:
            continue
        if path is not None:
            return (
                f"this is a fault of readback's own ({type(exception).__name__}); its traceback is in {str(path)!r}:"
                " please report it with that file and the command"
            )
    return f"this is a fault of readback's own, and its traceback could not be kept: {exception!r}; please report it"


def _in_folder(text: str, folder: Path | None) -> Path | None:
    if folder is None:
        return None
    path = folder / "fault.txt"
    path.write_text(text, encoding="utf-8", errors="replace")
    return path


def _in_new_file(text: str, folder: Path | None) -> Path:
    handle, name = tempfile.mkstemp(prefix="readback-fault-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return Path(name)
