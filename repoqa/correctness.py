"""The `answer` lens of repoqa: is the answer the right one?

What is looked at is what the agent answers: the values of `finish`, or its note where there is none; a remark beside
the values asserts nothing.

Primary, by the kind of question:
- `definition`, `called-by`: exactly one path is asserted, and it is the right one. A path is a run of letters, digits
  and `_ - . + @ /` that ends in the extension of a source file; `./` before it, a leading `/`, backslashes for slashes,
  quotes, Markdown and a line number behind it do not matter; everything else does, upper and lower case too. The same
  path twice is one path. A bare file name is a path: it is the right one only where the right one has no folder.
- `signature`: the one signature that is asserted, annotations and blanks apart, is the right one.
- `base-class`: the names that are asserted, each once and in any order, are the right ones, as written or by their
  last part.

Beside it, as the clause `contains`, the study's own rule: every entity of the truth (the path, the symbol's name, ...)
occurs somewhere in the answer and its note, upper and lower case alike. It never decides: an answer that lists every
path of the repository satisfies it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.plain import json_text
from harness.task import Task
from harness.trace import Episode
from harness.values import digest
from harness.verdict import Clause, Verdict

CONFIG = digest({"lens": "answer", "suite": "repoqa", "version": 1})
PRIMARY, CONTAINS = "one answer", "contains"
CONTAINS_TRUTH = "CONTAINS_TRUTH"
"""The note of an answer that is right by the study's own rule."""

_SOURCE = "py|pyi|pyx|pxd|pyw|c|h|cc|cpp|hpp|js|ts|rs|go|java|toml|cfg|ini|txt|md|rst|json|yaml|yml"
_PATH = re.compile(
    rf"(?<![\w/.@+-])(?:[A-Za-z]:)?[\\/]?[\w.@+~-]*(?:[\\/]+[\w.@+~-]+)*\.(?:{_SOURCE})(?![\w/\\])", re.IGNORECASE
)
_CALL = re.compile(r"([^\W\d]\w*)\s*\(")
_SHOWN = 200


def asserted_paths(text: str) -> list[str]:
    """The paths that a text asserts, each once, in its order, as paths of a repository."""
    found = (match.group().replace("\\", "/") for match in _PATH.finditer(_without_links(text)))
    return list(dict.fromkeys(_relative(path) for path in found))


def judge_answer(task: Task, episode: Episode, truth: Mapping[str, Any]) -> Verdict:
    """The verdict of the lens. `truth` is the question as data, of the variant that was played."""
    said, everything = _said(episode), _everything(episode)
    given = _given(truth["kind"], said)
    right = _is_right(truth, given)
    contains = all(entity.lower() in everything.lower() for entity in entities(truth))
    label = None if right else "WRONG_ANSWER" if given else "NO_ANSWER"
    shown = ", ".join(given) or said
    clauses = (
        Clause(
            name=PRIMARY,
            outcome="pass" if right else "fail",
            label=label,
            expected=", ".join(truth["answer"]),
            actual=shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…",
        ),
        Clause(name=CONTAINS, outcome="pass" if contains else "fail", expected=", ".join(entities(truth))),
    )
    notes = (CONTAINS_TRUTH,) if contains else ()
    if not episode.scored:
        reason = f"the episode ended with {episode.ending}, so it has no answer to judge"
        return Verdict(episode=episode.id, lens="answer", config=CONFIG, outcome="unscored", reason=reason)
    return Verdict(
        episode=episode.id,
        lens="answer",
        config=CONFIG,
        outcome="pass" if right else "fail",
        label=label,
        labels=(label,) if label else (),
        notes=notes,
        clauses=clauses,
    )


def entities(truth: Mapping[str, Any]) -> tuple[str, ...]:
    """The entities of the truth by the study's rule: the answer, and the symbol's name."""
    return (*truth["answer"], truth["name"])


def parameters_of(signature: str) -> str | None:
    """The parameters between a signature's brackets, without annotations, as Python would write them; None: no such."""
    try:
        function = ast.parse(f"def f({signature}): pass").body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(function, ast.FunctionDef) or len(function.body) != 1:
        return None
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(function.args)


def _given(kind: str, said: str) -> list[str]:
    if kind in ("definition", "called-by"):
        return asserted_paths(said)
    if kind == "signature":
        return list(dict.fromkeys(_signatures(said)))
    return list(dict.fromkeys(re.findall(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*", said)))


def _is_right(truth: Mapping[str, Any], given: Sequence[str]) -> bool:
    answer = list(truth["answer"])
    if truth["kind"] == "base-class":
        last = [one.rpartition(".")[2] for one in answer]
        return sorted(given) == sorted(answer) or sorted(given) == sorted(last)
    return len(given) == 1 and given[0] == answer[0]


def _signatures(text: str) -> Iterable[str]:
    """`name(a, b=1)` as they stand in a text, normalised."""
    place = 0
    while (match := _CALL.search(text, place)) is not None:
        end = _closing(text, match.end() - 1)
        if end is None:
            return
        place = end + 1
        parameters = parameters_of(text[match.end() : end])
        if parameters is not None:
            yield f"{match.group(1)}({parameters})"


def _closing(text: str, start: int) -> int | None:
    depth, quote = 0, ""
    for place in range(start, min(len(text), start + 20_000)):
        character = text[place]
        if quote:
            quote = "" if character == quote and text[place - 1] != "\\" else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if not depth:
                return place
    return None


def _said(episode: Episode) -> str:
    values = "\n".join(json_text(value) for value in episode.answer)
    return values if values.strip() else episode.note


def _everything(episode: Episode) -> str:
    return "\n".join([*(json_text(value) for value in episode.answer), episode.note])


def _without_links(text: str) -> str:
    """Markdown links as the text that they show: `[a.py](a.py#L3)` names one path; a URL is none of the repository."""
    text = re.sub(r"\[([^\]\n]{1,500})\]\([^)\s]{1,2000}\)", r"\1", text)
    return re.sub(r"\b[a-z][a-z0-9+.-]*://\S+", " ", text)


def _relative(path: str) -> str:
    path = re.sub(r"/+", "/", path)
    path = re.sub(r"^[A-Za-z]:", "", path).lstrip("/") if not path.startswith("./") else path
    while path.startswith("./"):
        path = path[2:]
    return path
