"""`readback show`: the episodes of a run as a list, or one of them in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from harness.counted import counted
from harness.visible import in_line
from readback.cli.ending import Mistake
from readback.cli.options import Json, RunPath
from readback.cli.output import document, note, result

if TYPE_CHECKING:
    from harness.runfolder import RunFolder
    from readback.summary import Entry

_ID_LENGTH = 12
"""Hexadecimal digits of an id in a list."""
_REASONS, _REASON = 5, 300
"""Reasons that stand below a list, and the characters of one."""
_FIRST = 100
"""Rows of a list that are shown where nothing is said."""


def show(
    run: RunPath,
    episode: Annotated[
        str | None,
        typer.Argument(metavar="EPISODE", help="An episode: the start of its id, or its task's name."),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only episodes that failed.")] = False,
    unscored: Annotated[bool, typer.Option("--unscored", help="Only episodes that are unscored.")] = False,
    agent: Annotated[str | None, typer.Option(help="Only this agent.")] = None,
    condition: Annotated[str | None, typer.Option(help="Only this condition.")] = None,
    task: Annotated[str | None, typer.Option(help="Only tasks whose name holds this.")] = None,
    label: Annotated[str | None, typer.Option(help="Only episodes that a lens gave this label.")] = None,
    every: Annotated[bool, typer.Option("--all", help=f"Every row of the list, not the first {_FIRST}.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Nothing of the episode cut short.")] = False,
    as_json: Json = False,
) -> None:
    """Show a run's episodes, or one in full.

    An episode is shown with its instruction, calls, changes, and each clause of each verdict.
    """
    from harness.runfolder import RunFolder
    from readback.summary import read_ledger

    folder = RunFolder.open(run, warn=lambda sentence: note(f"warning: {sentence}"))
    ledger = read_ledger(folder.tasks(), folder.episodes(), folder.verdicts())
    wanted = _Wanted(episode, failed, unscored, agent, condition, task, label)
    entries = [entry for entry in ledger.entries.values() if wanted.holds(entry)]
    if not entries:
        raise Mistake(_nothing_found(run, list(ledger.entries.values()), wanted))
    if episode is not None and len(entries) == 1:
        _one(folder, entries[0], full=full, as_json=as_json)
    elif as_json:
        _as_document(run, entries)
    else:
        shown = entries if every else entries[:_FIRST]
        _as_list(shown, len(entries))
        _say_errors(folder, shown)
        if episode is not None:
            note(f"{len(entries)} episodes are meant by {episode!r}; give more of one's id, or narrow it with --agent")


@dataclass(frozen=True, slots=True)
class _Wanted:
    episode: str | None
    failed: bool
    unscored: bool
    agent: str | None
    condition: str | None
    task: str | None
    label: str | None

    def holds(self, entry: Entry) -> bool:
        success = {name for name, wanted in (("fail", self.failed), ("unscored", self.unscored)) if wanted}
        return (
            (self.episode is None or self._names(entry))
            and (not success or entry.success in success)
            and self.agent in (None, entry.agent)
            and self.condition in (None, entry.condition)
            and (self.task is None or self.task in entry.task.id)
            and (self.label is None or any(self.label in said.labels for said in entry.said))
        )

    def _names(self, entry: Entry) -> bool:
        text = self.episode or ""
        return entry.task.id == text or entry.id.removeprefix("sha256:").startswith(text.removeprefix("sha256:"))


def _nothing_found(run: Path, entries: Sequence[Entry], wanted: _Wanted) -> str:
    from readback.registry import UnknownNameError

    if not entries:
        return f"{str(run)!r} holds no episode yet; go on with it by: readback resume {quote(str(run))}"
    if wanted.agent is not None and wanted.agent not in {entry.agent for entry in entries}:
        return str(UnknownNameError("agent", wanted.agent, {entry.agent for entry in entries}))
    if wanted.condition is not None and wanted.condition not in {entry.condition for entry in entries}:
        return str(UnknownNameError("condition", wanted.condition, {entry.condition for entry in entries}))
    if wanted.episode is not None:
        known = {entry.task.id for entry in entries}
        return str(UnknownNameError("episode", wanted.episode, known, f"see readback show {quote(str(run))}"))
    return f"{str(run)!r} holds {counted(len(entries), 'episode')}, and none is like that; leave an option out"


def _one(folder: RunFolder, entry: Entry, *, full: bool, as_json: bool) -> None:
    from readback.documents import ShownEpisode

    episode = folder.episode(entry.id)
    task = next(task for task in folder.tasks() if task.id == entry.task.id)
    assert episode is not None, "the ledger was read from the same folder"
    verdicts = folder.verdicts_of(entry.id)
    if as_json:
        document(ShownEpisode(task=task, episode=episode, verdicts=tuple(verdicts)))
        return
    from readback.cli.episode import lines_of
    from readback.cli.pages import show_lines
    from readback.summary import standing

    show_lines(lines_of(task, episode, standing(verdicts), entry.success, full=full))


def _as_list(entries: Sequence[Entry], of: int) -> None:
    from readback.cli.pages import columns

    conditions = len({entry.condition for entry in entries}) > 1
    head = ["episode", "task", "agent", *(["condition"] if conditions else []), "ending", "success", "labels"]
    for line in columns([head, *(_cells(entry, conditions) for entry in entries)]):
        result(line)
    if of > len(entries):
        note(f"{of - len(entries)} more; --all shows them, --failed, --agent, --task and --label choose")


def _say_errors(folder: RunFolder, entries: Sequence[Entry]) -> None:
    """Why episodes of the list ended as they did, where an error is kept: each reason once."""
    reasons: dict[str, list[str]] = {}
    for episode in folder.episodes_of({entry.id for entry in entries}):
        if episode.error:
            said = f"{episode.ending}: {_reason_in(episode.error)}"
            reasons.setdefault(said, []).append(episode.id.removeprefix("sha256:")[:_ID_LENGTH])
    for said, ids in list(reasons.items())[:_REASONS]:
        which = ids[0] if len(ids) == 1 else f"{len(ids)} episodes, such as {ids[0]}"
        note(in_line(f"{said} ({which})"))
    if len(reasons) > _REASONS:
        note(f"{len(reasons) - _REASONS} other reasons are not named here; an episode in full says its own")


def _reason_in(error: str) -> str:
    """An error in one line: of a traceback what stands behind its last frame."""
    lines = error.splitlines()
    frames = [at for at, line in enumerate(lines) if line.startswith("  ")] if "Traceback (most" in error else []
    said = " ".join(" ".join(lines[frames[-1] + 1 if frames else 0 :]).split()) or error
    return said if len(said) <= _REASON else f"{said[:_REASON]}…"


def _cells(entry: Entry, conditions: bool) -> Iterator[str]:
    yield entry.id.removeprefix("sha256:")[:_ID_LENGTH]
    yield entry.task.id
    yield entry.agent
    if conditions:
        yield entry.condition
    yield entry.ending
    yield entry.success
    yield " ".join(_labels(entry))


def _labels(entry: Entry) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for said in entry.required for label in said.labels))


def _as_document(run: Path, entries: Sequence[Entry]) -> None:
    from readback.documents import EpisodeLine, EpisodeList
    from readback.summary.ledger import variant_of

    lines = (
        EpisodeLine(
            id=entry.id,
            task=entry.task.id,
            agent=entry.agent,
            condition=entry.condition,
            variant=variant_of(entry),
            repeat=entry.repeat,
            ending=entry.ending,
            claim=entry.claim,
            success=entry.success,
            labels=_labels(entry),
        )
        for entry in entries
    )
    document(EpisodeList(run=str(run), episodes=tuple(lines)))
