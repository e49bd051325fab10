"""The judges, votes and sheets of a run on disk, beside its verdicts.

    judges.jsonl      the judges, one a line (`readback.judge/1`); for one configuration the last line wins
    votes.jsonl       the votes, one a line (`readback.vote/1`); for one episode, judge and number the last line wins
    sheets.jsonl      the annotation sheets, one a line (`readback.sheet/1`)

The promises are those of the run folder: what `store` was given is on disk when it returns, a torn last line is passed
over by readers, and whoever writes holds the folder's lock (`RunFolder.append`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from harness.lines import NO_ROOM, BrokenLineError, Key, KeyOf, LineFile, Place, parts_of
from harness.values import Value, first_wrong
from judges.sheet import Sheet
from judges.vote import JudgeSetting, Vote

VOTES, JUDGES, SHEETS = "votes.jsonl", "judges.jsonl", "sheets.jsonl"

V = TypeVar("V", bound=Value)


class VoteFileError(ValueError):
    """Votes or judges of a run that cannot be read or written; the message is one sentence with what to do next."""


class VoteFile:
    """The judges, votes and sheets in a run's folder. Every method raises `VoteFileError` where they cannot be used."""

    def __init__(self, folder: Path, warn: Callable[[str], None] = lambda sentence: None) -> None:
        self._votes = LineFile(folder / VOTES, _vote_key, warn)
        self._judges = LineFile(folder / JUDGES, _key_of("config"), warn)
        self._sheets = LineFile(folder / SHEETS, _key_of("sheet"), warn)

    def mend(self) -> None:
        """Cut torn last lines away. Only for who holds the folder's lock."""
        for file in (self._votes, self._judges, self._sheets):
            if file.path.exists():
                with _explained(file.path, "written"):
                    for part in parts_of(file.path):
                        part.unlink(missing_ok=True)
                    file.mend()

    def judges(self) -> dict[str, JudgeSetting]:
        """The judges by configuration, in the order in which they came."""
        return {one.config: one for one in self._all(self._judges, JudgeSetting)}

    def sheets(self) -> dict[str, Sheet]:
        """The annotation sheets by name, in the order in which they came."""
        return {one.sheet: one for one in self._all(self._sheets, Sheet)}

    def votes(self) -> Iterator[Vote]:
        """All votes, one of each episode, judge and number, in the order of the file."""
        return self._all(self._votes, Vote)

    def index(self) -> VoteIndex:
        """Where the votes stand now, to read those of an episode without keeping the others."""
        return VoteIndex(self._votes, self._places(self._votes))

    def store(self, votes: Sequence[Vote]) -> None:
        """Write votes; all of them, on disk, or none."""
        with _explained(self._votes.path, "written"):
            self._votes.append([vote.line().encode() for vote in votes])

    def store_judges(self, settings: Sequence[JudgeSetting]) -> None:
        """Write judges that are not there yet."""
        known = self.judges()
        with _explained(self._judges.path, "written"):
            self._judges.append([one.line().encode() for one in settings if known.get(one.config) != one])

    def store_sheet(self, sheet: Sheet) -> None:
        """Write a sheet, if it is not there yet."""
        if self.sheets().get(sheet.sheet) != sheet:
            with _explained(self._sheets.path, "written"):
                self._sheets.append([sheet.line().encode()])

    def arrange(self, order: Sequence[str]) -> None:
        """Put the votes into the order of judges, of these episodes, and of numbers; replaced lines are dropped."""
        ranks = {episode: rank for rank, episode in enumerate(order)}
        configs = {config: rank for rank, config in enumerate(self.judges())}
        places = self._places(self._votes)

        def place(key: Key) -> tuple[int, int, int]:
            return configs.get(key[1], len(configs)), ranks.get(key[0], len(ranks)), int(key[2])

        if places:
            with _explained(self._votes.path, "written"):
                self._votes.arrange([places[key] for key in sorted(places, key=place)])

    def _all(self, file: LineFile, kind: type[V]) -> Iterator[V]:
        places = self._places(file)
        if places:
            with _explained(file.path, "read"):
                for line in file.read(places.values()):
                    yield _value(kind, line, file.path)

    def _places(self, file: LineFile) -> dict[Key, Place]:
        if not file.path.exists():
            return {}
        with _explained(file.path, "read"):
            return file.places()


class VoteIndex:
    """Where votes stand, at one moment."""

    def __init__(self, file: LineFile, places: Mapping[Key, Place]) -> None:
        self._file = file
        self._of: dict[tuple[str, str], list[Place]] = {}
        for (episode, config, _), place in places.items():
            self._of.setdefault((episode, config), []).append(place)

    def of(self, episode: str, config: str) -> list[Vote]:
        """The votes of this judge about this episode, by number."""
        places = self._of.get((episode, config), [])
        if not places:
            return []
        with _explained(self._file.path, "read"):
            votes = [_value(Vote, line, self._file.path) for line in self._file.read(places)]
        return sorted(votes, key=lambda vote: vote.number)


_VOTE_START = re.compile(
    rb'\{"format":"readback\.vote/1","episode":"([^"\\]*)","config":"([^"\\]*)","number":([0-9]+),'
)


def _vote_key(line: bytes) -> Key:
    # The lines we write are recognised by how they start; any other JSON object is parsed.
    found = _VOTE_START.match(line)
    if found:
        return (found[1].decode(), found[2].decode(), found[3].decode())
    vote = from_json(line)
    return (str(vote["episode"]), str(vote["config"]), str(int(vote["number"])))


def _key_of(name: str) -> KeyOf:
    return lambda line: (str(from_json(line)[name]),)


def _value(kind: type[V], line: bytes, path: Path) -> V:
    try:
        return kind.read(line)
    except ValidationError as problem:
        raise VoteFileError(
            f"{str(path)!r} holds a line that is no {kind.__name__} of this version ({first_wrong(problem)}):"
            f" {line[:100].decode(errors='replace')!r}; read it with the version that wrote it, or remove that line"
        ) from None


@contextlib.contextmanager
def _explained(path: Path, deed: str) -> Iterator[None]:
    """Turns what the operating system refuses, and a broken line, into one sentence."""
    try:
        yield
    except OSError as problem:
        remedy = "make room" if problem.errno in NO_ROOM else "mend that"
        hint = "" if deed == "read" else f"; what was stored before is kept: {remedy}, then judge again"
        raise VoteFileError(f"{str(path)!r} cannot be {deed}: {problem.strerror}{hint}") from problem
    except BrokenLineError as problem:
        raise VoteFileError(f"{problem}; it is no line of votes or judges: remove it and go on") from None
