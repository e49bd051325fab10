"""What is needed to go on with a run: its own tasks and its own record, whatever has come or changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readback.registry import Renaming
from readback.running import Options, SettingError

if TYPE_CHECKING:
    from harness.runfolder import RunFolder
    from harness.suite import Suite
    from readback.registry import SuiteSource


def options_again(options: Options, source: SuiteSource, folder: RunFolder) -> Options:
    """The options of a run, so that the suite opens for the tasks that the run has.

    A suite of repositories asks about those that are on this machine, and others may have come since: it is opened for
    the run's own questions, and says which of their repositories is gone.
    """
    if not isinstance(source, Renaming):
        return options
    tasks = tuple(task.id for task in folder.tasks())
    return options.model_copy(update={"tasks": tasks, "limit": None, "record": None})


def refuse_other_record(folder: RunFolder, suite: Suite) -> None:
    """Raises `SettingError` where the suite is opened on another record than the run was begun on."""
    before, now = folder.about.get("record"), suite.about.get("record")
    if before and now and before["hash"] != now["hash"]:
        raise SettingError(
            f"{str(folder.path)!r} was played on the record {before['hash']}, and this one is {now['hash']};"
            " name the right one (--record, or record in the file of an experiment)"
        )
