"""The run folder: the tasks, episodes and verdicts of one invocation, on disk, whatever happens to the process.

    run.json          what was run: suite, agents, conditions, variants, repeats, versions, command
    tasks.jsonl       the tasks, one a line, in order
    episodes.jsonl    the episodes, one a line; for one id the last line wins
    verdicts.jsonl    the verdicts, one a line; for one episode, lens and configuration the last line wins

Promises:
- `store` returns when its lines are on disk. Verdicts are written before their episode, so an episode that is there
  has its verdicts; what a killed process leaves behind is at most verdicts of an episode that will be played again.
- A torn last line is passed over by readers, with a warning, and cut away when the folder is opened to write.
- One process writes at a time. The lock is the operating system's own: it dies with its holder.
- A write that fails (a full disk) leaves what was stored before it as it was.
- The folder is found again wherever the process goes meanwhile: an agent's program may change the working folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from harness.lines import NO_ROOM, BrokenLineError, Key, LineFile, Place, parts_of, write_whole
from harness.task import Task
from harness.trace import UNSCORED_ENDINGS, Episode
from harness.values import Value, first_wrong
from harness.verdict import Verdict

FORMAT = "readback.run/1"

_RUN, _TASKS, _EPISODES, _VERDICTS, _LOCK = "run.json", "tasks.jsonl", "episodes.jsonl", "verdicts.jsonl", ".lock"

Warn = Callable[[str], None]
V = TypeVar("V", bound=Value)


class RunFolderError(ValueError):
    """A folder that cannot be read or written as a run; the message is one sentence that says what to do next."""


class RunFolderWarning(UserWarning):
    """Something in the folder was passed over or cut away."""


def _warn(message: str) -> None:
    warnings.warn(message, RunFolderWarning, stacklevel=2)


class RunFolder:
    """A run on disk: made by `create` (to write), `append` (to write on) or `open` (to read); a context manager.

    `about` is `run.json`. Every method raises `RunFolderError` where the folder cannot be read or written.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], lock: IO[str] | None, warn: Warn) -> None:
        self.path = path
        self.about = about
        self._lock = lock
        self._place = path.absolute()
        self._episodes = LineFile(self._place / _EPISODES, _episode_key, warn)
        self._verdicts = LineFile(self._place / _VERDICTS, _verdict_key, warn)

    @classmethod
    def create(cls, path: Path | str, about: Mapping[str, Any], tasks: Iterable[Task], *, warn: Warn = _warn) -> Self:
        """A new folder, locked for this process. `about` becomes `run.json`, with its `format` before it.

        Refuses a folder that holds anything already, but what a run that died while making it left there.
        """
        path = Path(path)
        if path.exists() and not _is_free(path):
            is_run = (path / _RUN).exists()
            hint = f"go on with it by: readback resume {_word(path)}" if is_run else "name another with --out"
            raise RunFolderError(f"{str(path)!r} is there already; {hint}")
        about = {"format": FORMAT, **about}
        with _explained(path, "made"):
            path.mkdir(parents=True, exist_ok=True)
            lock = _locked(path)
            try:
                write_whole(path / _TASKS, (task.line().encode() + b"\n" for task in tasks))
                for name in (_EPISODES, _VERDICTS):
                    (path / name).write_bytes(b"")
                # Last, because it is what makes this a run folder.
                write_whole(path / _RUN, [json.dumps(about, indent=1, ensure_ascii=False).encode() + b"\n"])
            except BaseException:
                lock.close()
                raise
        return cls(path, about, lock, warn)

    @classmethod
    def open(cls, path: Path | str, *, warn: Warn = _warn) -> Self:
        """The run at `path`, to read. Refuses what is no run folder, or one of another version."""
        return cls(Path(path), _read_about(Path(path)), None, warn)

    @classmethod
    def append(cls, path: Path | str, *, warn: Warn = _warn) -> Self:
        """The run at `path`, to write on, locked for this process; torn last lines are cut away.

        Verdicts can be made again from the rest: where their file is missing, there is an empty one.
        """
        about = _read_about(Path(path))
        with _explained(Path(path), "written"):
            folder = cls(Path(path), about, _locked(Path(path)), warn)
            try:
                for name in (_RUN, _TASKS, _EPISODES, _VERDICTS):
                    for part in parts_of(folder.path / name):
                        part.unlink(missing_ok=True)
                if not (folder.path / _VERDICTS).exists():
                    warn(f"{str(folder.path / _VERDICTS)!r} was not there: all episodes are to be judged again")
                    (folder.path / _VERDICTS).touch()
                folder._episodes.mend()
                folder._verdicts.mend()
            except BaseException:
                folder.close()
                raise
        return folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the lock go."""
        if self._lock is not None:
            self._lock.truncate(0)
            self._lock.close()
            self._lock = None

    def tasks(self) -> list[Task]:
        """The tasks, in the order in which they were planned."""
        with _explained(self.path, "read"):
            path = self._place / _TASKS
            return [_value(Task, line, path) for line in path.read_bytes().splitlines()]

    def episodes(self) -> Iterator[Episode]:
        """The episodes, one of each id, in the order of the file."""
        return self._last_of_each(self._episodes, Episode)

    def verdicts(self) -> Iterator[Verdict]:
        """The verdicts, one of each episode, lens and configuration, in the order of the file.

        Some may belong to an episode that is not there (yet): see the promises of this module.
        """
        return self._last_of_each(self._verdicts, Verdict)

    def episode(self, episode_id: str) -> Episode | None:
        """The episode of this id, or None."""
        return next(self._last_of_each(self._episodes, Episode, lambda key: key == (episode_id,)), None)

    def episodes_of(self, ids: Collection[str]) -> Iterator[Episode]:
        """The episodes of these ids, in the order of the file."""
        return self._last_of_each(self._episodes, Episode, lambda key: key[0] in ids) if ids else iter(())

    def verdicts_of(self, episode_id: str) -> list[Verdict]:
        """The verdicts about this episode, in the order of the file."""
        return list(self._last_of_each(self._verdicts, Verdict, lambda key: key[0] == episode_id))

    def endings(self) -> dict[str, str]:
        """How each episode ended, by id, in the order of the file."""
        with _explained(self.path, "read"):
            places = self._episodes.places()
            lines = self._episodes.read(places.values())
            return {key[0]: _ending(line, self._episodes.path) for key, line in zip(places, lines, strict=True)}

    def sound(self) -> dict[str, bool]:
        """Whether each episode can be judged (see `Episode.sound`), by id, in the order of the file."""
        with _explained(self.path, "read"):
            places = self._episodes.places()
            lines = self._episodes.read(places.values())
            return {key[0]: _is_sound(line, self._episodes.path) for key, line in zip(places, lines, strict=True)}

    def judged(self) -> set[str]:
        """The ids that the suite's lenses have judged; judges come apart and later, and do not count."""
        with _explained(self.path, "read"):
            return {key[0] for key in self._verdicts.places() if key[1] != "judge"}

    def store(self, played: Sequence[tuple[Episode, Sequence[Verdict]]]) -> None:
        """Write episodes with their verdicts; they are on disk when it returns.

        Where they cannot be written, none of these episodes is there, and all that were stored before are.
        """
        self.store_verdicts([verdict for _, verdicts in played for verdict in verdicts])
        with self._writing():
            self._episodes.append([episode.line().encode() for episode, _ in played])

    def store_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Write verdicts about episodes that are there; all of them, on disk, or none."""
        with self._writing():
            self._verdicts.append([verdict.line().encode() for verdict in verdicts])

    def arrange(self, order: Sequence[str]) -> None:
        """Put episodes into the order of these ids, and verdicts alike; lines that a later one replaced are dropped.

        So a run has the same bytes whatever the number of jobs. Each file is replaced whole or not at all.
        """
        ranks = {episode_id: rank for rank, episode_id in enumerate(order)}
        with self._writing():
            for file in (self._episodes, self._verdicts):
                places = file.places()
                file.arrange([places[key] for key in sorted(places, key=lambda key: ranks.get(key[0], len(ranks)))])

    def _writing(self) -> contextlib.AbstractContextManager[None]:
        if self._lock is None:
            raise RunFolderError(f"{str(self.path)!r} is open to read only; RunFolder.append opens it to write")
        return _explained(self.path, "written")

    def _last_of_each(
        self, file: LineFile, kind: type[V], wanted: Callable[[Key], bool] = lambda key: True
    ) -> Iterator[V]:
        with _explained(self.path, "read"):
            places: list[Place] = [place for key, place in file.places().items() if wanted(key)]
            for line in file.read(places):
                yield _value(kind, line, file.path)


_EPISODE_START = re.compile(rb'\{"format":"readback\.episode/1","id":"([^"\\]*)",')
_VERDICT_START = re.compile(
    rb'\{"format":"readback\.verdict/1","episode":"([^"\\]*)","lens":"([^"\\]*)","config":"([^"\\]*)",'
)


def _episode_key(line: bytes) -> Key:
    # The lines we write are recognised by how they start; any other JSON object is parsed.
    found = _EPISODE_START.match(line)
    return (found[1].decode(),) if found else (str(from_json(line)["id"]),)


def _verdict_key(line: bytes) -> Key:
    found = _VERDICT_START.match(line)
    if found:
        return (found[1].decode(), found[2].decode(), found[3].decode())
    verdict = from_json(line)
    return (str(verdict["episode"]), str(verdict["lens"]), str(verdict["config"]))


def _ending(line: bytes, path: Path) -> str:
    try:
        return str(from_json(line)["ending"])
    except (ValueError, KeyError):  # half a line that begins as one of ours: reading it says what is wrong
        return _value(Episode, line, path).ending


def _is_sound(line: bytes, path: Path) -> bool:
    try:
        fields = from_json(line)
        if fields["ending"] in UNSCORED_ENDINGS:
            return False
        check = fields.get("self_check")
        return check is None or (check["agrees"] is True and not check.get("foreign"))
    except (ValueError, KeyError, TypeError, AttributeError):  # reading it says what is wrong
        return _value(Episode, line, path).sound


def _value(kind: type[V], line: bytes, path: Path) -> V:
    try:
        return kind.read(line)
    except ValidationError as problem:
        raise RunFolderError(
            f"{str(path)!r} holds a line that is no {kind.__name__} of this version ({first_wrong(problem)}):"
            f" {line[:100].decode(errors='replace')!r}; read it with the version that wrote it, or remove that line"
        ) from None


def _is_free(path: Path) -> bool:
    """Whether a run may be made here: an empty folder, or one whose maker died before `run.json` was written."""
    if not path.is_dir():
        return False
    files = [path / name for name in (_RUN, _TASKS, _EPISODES, _VERDICTS)]
    ours = {path / _LOCK, *files[1:], *(part for file in files for part in parts_of(file))}
    return ours.issuperset(path.iterdir())


def _read_about(path: Path) -> dict[str, Any]:
    if not (path / _RUN).is_file():
        # A folder that holds runs, as an experiment's does, is easily taken for one.
        inside = sorted(str(run.parent) for run in path.glob(f"*/{_RUN}"))[:3]
        which = (
            f"name one inside it, such as {', '.join(inside)}" if inside else "name the folder that readback run made"
        )
        raise RunFolderError(f"{str(path)!r} is no run folder (it has no {_RUN}); {which}")
    with _explained(path, "read"):
        text = (path / _RUN).read_bytes()
    try:
        about = json.loads(text)
        version = about["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RunFolderError(f"{str(path / _RUN)!r} does not describe a run: it must be JSON with a format") from None
    if version != FORMAT:
        raise RunFolderError(
            f"{str(path)!r} was written in the format {version!r}, and this readback reads {FORMAT!r};"
            " read it with the version that wrote it"
        )
    return dict(about)


def _locked(path: Path) -> IO[str]:
    """The folder's lock, held until it is closed or this process ends."""
    lock = (path / _LOCK).open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise RunFolderError(
            f"{str(path)!r} is being written by another process (number {holder}); wait for it to end"
        ) from None
    except BaseException:
        lock.close()
        raise
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


@contextlib.contextmanager
def _explained(path: Path, deed: str) -> Iterator[None]:
    """Turns what the operating system refuses, and a broken line, into one sentence."""
    try:
        yield
    except FileNotFoundError as problem:
        raise RunFolderError(
            f"{str(path)!r} lacks a file of a run: {problem.filename!r}; {_how_to_have(problem.filename, path)}"
        ) from None
    except OSError as problem:
        raise RunFolderError(
            f"{str(path)!r} cannot be {deed}: {problem.strerror}{_next_step(path, deed, problem.errno)}"
        ) from problem
    except BrokenLineError as problem:
        raise RunFolderError(f"{problem}; it is no JSON line of a run: remove it and go on") from None


def _next_step(path: Path, deed: str, number: int | None) -> str:
    remedy = "make room" if number in NO_ROOM else "mend that"
    if deed == "written":
        return f"; all that was stored before is kept: {remedy}, then go on with: readback resume {_word(path)}"
    return f"; {remedy}, or name another folder with --out" if deed == "made" else ""


def _word(path: Path) -> str:
    """The path as a shell takes it."""
    return shlex.quote(str(path))


def _how_to_have(missing: str | None, path: Path) -> str:
    if missing is not None and Path(missing).name == _VERDICTS:
        return f"make it again by: readback score {_word(path)}"
    return "put it back, or run again into another folder"
