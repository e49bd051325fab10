"""Who plays the questions without a model. What each must be is known in advance, and `validate` checks it.

| baseline | what it does | correct | grounded | quadrant |
|---|---|---|---|---|
| oracle | walks down to the file, reads it until the symbol stands there, answers | yes | yes | CG |
| recall | calls nothing, answers what is right of the original repository | yes | no | CU |
| guess | calls nothing, answers a plausible path that is wrong | no | no | IU |
| lister | lists every folder, reads nothing, answers what the listing gives away | where it is visible | no | CU |
| shotgun | opens every file of Python at its first line, answers with all paths | no | yes | IG |
| refuser | calls nothing, answers with the refusal sentence | no | - | refusal |

Under a counterfactual `recall` still remembers the original, so it is wrong there. Where a listing gives nothing away,
`lister` says so, naming nothing: vacuous. By the study's own rule `shotgun` is right everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.agent import AgentKind, Briefing, Played
from harness.scripted import ScriptedAgent
from harness.task import Task
from harness.tool import Tool
from harness.values import digest
from repoqa.layout import role_of
from repoqa.listing import told_by_listing

BASELINES: Mapping[str, str] = {
    "oracle": "finds the file, reads it, and answers",
    "recall": "answers what is right, without a call",
    "guess": "answers a plausible path that is wrong, without a call",
    "lister": "lists every folder, and answers what the listing gives away",
    "shotgun": "opens every file, and answers with all of their paths",
    "refuser": "answers with the sentence that refuses",
}

NOTHING_VISIBLE = "No file's name gives it away."

Tools = Mapping[str, Callable[..., Any]]
Truth = Mapping[str, Any]
_PAGE = 2_000


@dataclass(frozen=True)
class RepoqaBaseline:
    """A scripted agent that knows the task, and which of its versions it is asked by the instruction."""

    name: str
    task: Task
    kind: AgentKind = "baseline"

    @property
    def digest(self) -> str:
        """Of its name."""
        return digest({"scripted": self.name, "suite": "repoqa"})

    def play(self, briefing: Briefing, tools: Sequence[Tool], *, repeat: int) -> Played:
        """Play the script against what was asked."""
        questions: Mapping[str, Truth] = self.task.parameters["questions"]
        asked = next(
            (truth for truth in questions.values() if truth["instruction"] == briefing.instruction),
            questions["original"],
        )
        script = partial(_SCRIPTS[self.name], asked, questions["original"])
        return ScriptedAgent(self.name, script).play(briefing, tools, repeat=repeat)


def baseline(name: str, task: Task) -> RepoqaBaseline:
    """The named baseline for this task. Raises `KeyError` for an unknown name."""
    if name not in BASELINES:
        raise KeyError(name)
    return RepoqaBaseline(name, task)


def _oracle(truth: Truth, original: Truth, tools: Tools) -> dict[str, Any]:
    path = str(truth["answer"][0] if truth["kind"] == "called-by" else truth["path"])
    folders = path.split("/")[:-1]
    for depth in range(len(folders) + 1):
        tools["list_directory"](path="/".join(folders[:depth]) or ".")
    end = int(truth["end_line"]) if truth["kind"] != "called-by" else 0
    start = 1
    while True:
        shown = tools["read_file"](path=path, **({"start_line": start} if start > 1 else {}))
        if shown.get("error"):
            return {"outcome": "not_done", "note": "The file cannot be read."}
        if shown["end_line"] >= (end or shown["total_lines"]) or shown["end_line"] < start:
            return _answered(truth, truth["answer"])
        start = shown["end_line"] + 1


def _recall(truth: Truth, original: Truth, tools: Tools) -> dict[str, Any]:
    return _answered(truth, original["answer"])


def _guess(truth: Truth, original: Truth, tools: Tools) -> dict[str, Any]:
    if truth["kind"] in ("definition", "called-by"):
        return _answered(truth, [truth["decoy"]])
    return _answered(truth, _wrong(truth))


def _lister(truth: Truth, original: Truth, tools: Tools) -> dict[str, Any]:
    paths = [path for path in _walk(tools) if path.endswith(".py") and role_of(path, b"") == "own"]
    told = told_by_listing(truth["name"], paths) if truth["kind"] == "definition" else None
    if told is None:
        return {"outcome": "unclear", "note": NOTHING_VISIBLE}
    return _answered(truth, [told])


def _shotgun(truth: Truth, original: Truth, tools: Tools) -> dict[str, Any]:
    paths = [path for path in _walk(tools) if path.endswith(".py")]
    for path in paths:
        tools["read_file"](path=path, start_line=1, end_line=1)
    if truth["kind"] in ("definition", "called-by"):
        # The symbol's own name is read as well, so that only the paths are many.
        tools["read_file"](
            path=truth["path"], start_line=truth["line"], end_line=min(truth["end_line"], truth["line"] + 40)
        )
        return _answered(truth, paths)
    return _answered(truth, [*truth["answer"], *_wrong(truth), *paths])


def _refuser(truth: Truth, original: Truth, tools: Tools) -> dict[str, Any]:
    from grounding import REFUSAL

    return {"outcome": "not_done", "answer": [REFUSAL]}


def _wrong(truth: Truth) -> list[str]:
    """A plausible answer, and a wrong one, to a question that asks for no path."""
    return (
        [f"{truth['name']}(plausible_argument, another_argument=None)"] if truth["kind"] == "signature" else ["Plain"]
    )


def _answered(truth: Truth, answer: Sequence[str]) -> dict[str, Any]:
    return {"outcome": "done", "answer": list(answer), "note": f"About {truth['name']}."}


def _walk(tools: Tools, top: str = ".") -> list[str]:
    """Every file that listings show."""
    found: list[str] = []
    todo = [top]
    while todo:
        folder = todo.pop()
        prefix = "" if folder == "." else f"{folder}/"
        for entry in tools["list_directory"](path=folder).get("entries", ()):
            if entry.endswith("/"):
                todo.append(prefix + entry.rstrip("/"))
            else:
                found.append(prefix + entry)
    return sorted(found)


_SCRIPTS: Mapping[str, Callable[[Truth, Truth, Tools], dict[str, Any]]] = {
    "oracle": _oracle,
    "recall": _recall,
    "guess": _guess,
    "lister": _lister,
    "shotgun": _shotgun,
    "refuser": _refuser,
}
