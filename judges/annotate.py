"""People as one more judge: a sheet drawn from a run, and their labels taken back into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.lines import write_whole
from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict
from judges.judging import Instruction, Wanted, chosen_of
from judges.labels import Label, LabelsError, read_labels, setting_of, vote_of
from judges.rubric import RubricName
from judges.sheet import Item, Sheet, SheetError, make_sheet, view_of
from judges.subject import Subject
from judges.tally import verdict_of
from judges.vote import JudgeSetting
from judges.votefile import VoteFile
from judges.writing import form_html, sheet_csv

CSV, FORM = "sheet.csv", "form.html"


@dataclass(frozen=True, slots=True)
class Taken:
    """Labels that were taken into a run. `blank` are items without one, of which `kept` were labelled before."""

    sheet: Sheet
    setting: JudgeSetting
    labels: tuple[Label, ...]
    blank: int
    kept: int
    verdicts: tuple[Verdict, ...]


class Annotation:
    """The sheets and labels of a run that is open to be written on."""

    def __init__(
        self,
        folder: RunFolder,
        *,
        instruction: Instruction = lambda task, episode: task.instruction,
        warn: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self.folder, self.votes = folder, VoteFile(folder.path, warn)
        self._tasks: dict[str, Task] = {task.id: task for task in folder.tasks()}
        self._instruction = instruction

    def write(
        self, number: int, *, seed: int, rubric: RubricName, trace: bool, wanted: Wanted, out: Path | None = None
    ) -> tuple[Sheet, Path]:  # fmt: skip
        """Draw a sheet of so many episodes, keep in the run which they are, and write its files into `out`.

        Without `out` that is a folder of its own inside the run. Raises `SheetError` where there is nothing to draw,
        and where a sheet stands that is another one or was labelled: a person's work is never written over.
        """
        able = [episode for episode, is_sound in self.folder.sound().items() if is_sound]
        sheet, seen = make_sheet(
            self.folder.episodes_of,
            self._subject,
            chosen_of(self.folder, able, wanted),
            self.folder.verdicts(),
            self.votes.judges(),
            number=number,
            seed=seed,
            rubric=rubric,
            trace=trace,
        )
        out = self.folder.path / "sheets" / sheet.sheet if out is None else out
        out.mkdir(parents=True, exist_ok=True)
        blank = sheet_csv(sheet, seen)
        if (out / CSV).is_file() and (out / CSV).read_bytes() != blank:
            raise SheetError(
                f"{str(out / CSV)!r} is another sheet, or was labelled; read it by --labels, or name another --out"
            )
        write_whole(out / CSV, [blank])
        write_whole(out / FORM, [form_html(sheet, seen)])
        self.votes.mend()
        self.votes.store_sheet(sheet)
        return sheet, out

    def take(self, path: Path, name: str) -> Taken:
        """Take the labels of a file as the votes and verdicts of the set `name`; all of them, or none.

        Raises `LabelsError` with a sentence for each row that is wrong.
        """
        sheet, labels, blank = read_labels(path, self.votes.sheets())
        setting = setting_of(sheet, name)
        self._refuse_other_episodes(sheet, labels)
        self.votes.mend()
        index = self.votes.index()
        kept = sum(bool(index.of(item.episode, setting.config)) for item in blank)
        votes = [vote_of(label, setting) for label in labels]
        verdicts = [verdict_of(setting, [vote]) for vote in votes]
        self.votes.store_judges([setting])
        self.votes.store(votes)
        self.folder.store_verdicts(verdicts)
        order = list(self.folder.endings())
        self.votes.arrange(order)
        self.folder.arrange(order)
        return Taken(sheet, setting, tuple(labels), len(blank), kept, tuple(verdicts))

    def _refuse_other_episodes(self, sheet: Sheet, labels: list[Label]) -> None:
        """An episode that was played again since the sheet was written is another than the one that was labelled."""
        seen: dict[str, str] = {}
        for episode in self.folder.episodes_of({label.item.episode for label in labels}):
            subject = self._subject(episode)
            view = None if subject is None else view_of(subject, trace=sheet.trace)
            if subject is not None and view is not None:
                seen[episode.id] = view.seen(subject, trace=sheet.trace)
        problems = [_other(label.item) for label in labels if seen.get(label.item.episode) != label.item.seen]
        if problems:
            raise LabelsError(problems)

    def _subject(self, episode: Episode) -> Subject | None:
        task = self._tasks.get(episode.task)
        return None if task is None else Subject.of(task, episode, self._instruction(task, episode))


def _other(item: Item) -> str:
    return f"item {item.item!r}: its episode is not there any more, or was played again since; draw a new sheet"
