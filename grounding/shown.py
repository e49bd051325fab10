"""What a call that reads files showed: paths and texts, in whichever form a tool gives its result.

Known forms: text; an object with the text under one of `TEXT_KEYS`, or with the content parts of MCP; an object of
texts by path; any of these as JSON text, also cut off in the middle; the form of `harness.toolbox` for a result it cut.
A result that says it failed shows nothing, whatever its status. Rules:

- The path is the one the agent asked for; where the result names another, both were read.
- A result in no known form is `unknown`: nobody can say what it showed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from harness.trace import Call

TEXT_KEYS = ("content", "contents", "text", "source", "code", "body", "output", "result", "data", "file_text", "lines")
"""Where objects hold a file's text, the first that is there."""

PATH_KEYS = (
    "path", "file_path", "filepath", "file", "filename", "file_name", "target_file", "absolute_path", "relative_path",
    "relative_workspace_path", "uri",
)  # fmt: skip
"""Where arguments and results name a file, the first that is there."""

PATHS_KEYS = ("paths", "file_paths", "files", "filenames")
"""Where arguments name several files."""

_FIRST_LINE_KEYS = ("start_line", "startLine", "line_start", "from_line", "first_line", "start", "offset")
_WHOLE = frozenset({*PATH_KEYS, *PATHS_KEYS, "encoding"})
_RANGES = ("view_range", "line_range", "lines", "range")
_JSON_FILES = (".json", ".ipynb", ".jsonl", ".geojson")
_FAILED = frozenset({"error", "errored", "failed", "failure", "not_found", "denied", "timeout"})


@dataclass(frozen=True, slots=True)
class Shown:
    """One file that a call showed: its paths as written (the agent's first), the text, and its first line if known."""

    paths: tuple[str, ...]
    text: str
    first_line: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """What a call showed. `unknown` says that the result has no known form."""

    files: tuple[Shown, ...]
    unknown: bool = False


_NOTHING = Result(())


def shown_by(call: Call) -> Result:
    """The files that a call showed, which ended well as far as its status tells."""
    value = call.result
    asked = _paths_asked(call.arguments or {})
    if _is_cut_by_harness(call):
        value = value["text"]
    if isinstance(value, str):
        envelope = _parsed(value)
        value = value if envelope is None or _is_the_file_itself(asked, envelope) else envelope
    if says_failed(value):
        return _NOTHING
    if isinstance(value, dict) and not _text_in(value) and (by_path := _by_path(value)):
        return Result(tuple(Shown((path,), text, None) for path, text in by_path.items()))
    text = _text_of(value)
    if text is None:
        return Result((), unknown=True)
    named = [value[key] for key in PATH_KEYS if isinstance(value, dict) and isinstance(value.get(key), str)]
    paths = tuple(dict.fromkeys([*asked, *named[:1]]))
    return Result((Shown(paths, text, _first_line(call.arguments or {}, value)),))


def _is_cut_by_harness(call: Call) -> bool:
    result = call.result
    return call.cut_by is not None and isinstance(result, dict) and set(result) == {"cut", "text"}


def _parsed(text: str) -> Any:
    """The object or list that a text is the JSON of, or the beginning of; None where it is neither."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None
    if isinstance(value, dict) and (_text_in(value) or says_failed(value) or _by_path(value)):
        return value
    return value if isinstance(value, list) and _text_of_parts(value) is not None else None


def _is_the_file_itself(asked: Sequence[str], value: Any) -> bool:
    """Whether a tool that gives plain text was asked for a file that is JSON, and this is its content."""
    return any(path.lower().endswith(_JSON_FILES) for path in asked) and not (
        isinstance(value, dict) and ("content" in value or (len(value) == 1 and isinstance(value.get("error"), str)))
    )


def _paths_asked(arguments: Mapping[str, Any]) -> list[str]:
    for key in PATH_KEYS:
        if isinstance(arguments.get(key), str):
            return [arguments[key]]
    for key in PATHS_KEYS:
        several = arguments.get(key)
        if isinstance(several, list) and len(several) == 1 and isinstance(several[0], str):
            return [several[0]]
    return []


def says_failed(value: Any) -> bool:
    """Whether a result says of itself that it failed."""
    if not isinstance(value, dict):
        return False
    status = value.get("status")
    return (
        bool(value.get("error"))
        or value.get("isError") is True
        or value.get("is_error") is True
        or value.get("ok") is False
        or value.get("success") is False
        or (isinstance(status, str) and status.lower() in _FAILED)
        or (isinstance(status, int) and not isinstance(status, bool) and status >= 400)
    )


def _text_in(value: Mapping[str, Any]) -> list[Any]:
    return [value[key] for key in TEXT_KEYS if key in value and value[key] is not None][:1]


def _text_of(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _text_of_parts(value)
    if isinstance(value, dict):
        inner = _text_in(value)
        return _text_of(inner[0]) if inner else None
    return None


def _text_of_parts(parts: Sequence[Any]) -> str | None:
    """The text of content parts (`{"type": "text", "text": ...}`), or of lines; None for any other list."""
    if not parts:
        return None
    texts = list(_texts(parts))
    return "\n".join(texts) if len(texts) == len(parts) else None


def _texts(parts: Sequence[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def _by_path(value: Mapping[str, Any]) -> dict[str, str]:
    """The texts of an object whose every key is a path; empty where it is no such object."""
    texts = {key: _text_of(inner) for key, inner in value.items() if "/" in key or "." in key.strip(".")}
    return {key: text for key, text in texts.items() if text is not None} if len(texts) == len(value) else {}


def _first_line(arguments: Mapping[str, Any], value: Any) -> int | None:
    """The file's line that the text begins with: said by the result or the arguments, 1 where no part is asked for."""
    said = value if isinstance(value, dict) else {}
    for source in (said, arguments):
        for key in _FIRST_LINE_KEYS:
            number = source.get(key)
            if isinstance(number, int) and not isinstance(number, bool):
                return max(number, 1)
        for key in _RANGES:
            limits = source.get(key)
            if isinstance(limits, list) and limits and isinstance(limits[0], int):
                return max(limits[0], 1)
    given = {key for key, argument in arguments.items() if argument is not None}
    return 1 if given <= _WHOLE | {*_FIRST_LINE_KEYS, "end_line", "endLine", "end", "limit"} else None
