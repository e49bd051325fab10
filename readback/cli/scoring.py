"""`readback score`: the verdicts of a run, made again from its folder alone."""

from __future__ import annotations

from harness.counted import counted
from readback.cli.ending import DONE, INCOMPLETE, worst
from readback.cli.options import FailUnder, Json, RunPath
from readback.cli.output import note
from readback.cli.playing import conclude, described, say_problems, thresholds_of, warn
from readback.cli.progress import Meter


def score(run: RunPath, fail_under: FailUnder = None, as_json: Json = False) -> int:
    """Judge a run again from its folder alone.

    No model, no server and no record is needed.
    """
    from harness.runfolder import RunFolder
    from harness.runner import score as judge_again
    from readback.cli.faults import faults_kept_in
    from readback.registry import suite_source

    thresholds = thresholds_of(fail_under)
    with RunFolder.append(run, warn=warn) as folder, faults_kept_in(folder.path):
        source = suite_source(described(folder).suite)
        of = len(folder.endings())
        with Meter("judging", of, unit="episodes") as meter:
            report = judge_again(folder, source.judge, progress=lambda done: meter.at(done))
        say_problems(report.problems)
        note(f"{counted(report.judged_again, 'episode was', 'episodes were')} judged again.")
        if report.unjudged:
            note(f"{report.unjudged} could not be judged; what was said of them before, if anything, stands.")
        code = conclude(folder, thresholds, as_json=as_json)
        return worst(code, INCOMPLETE if report.unjudged else DONE)
