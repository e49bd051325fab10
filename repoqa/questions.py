"""Questions about a repository, made from its own symbols, and the answers that its tree gives.

Kinds: `definition` (the study's own: where is it defined, give the exact path), and on request `signature` (its
parameters), `base-class` (what a class derives from) and `called-by` (the one other file that calls it). Every question
is about a public function or class that is defined exactly once in the tree (see `symbols.py`).

Drawn by seed: symbols are ordered by a digest of seed, repository and name, and taken in turn from different files, so
that one large file does not give all of them. What a directory listing gives away is marked (see `listing.py`), and
never left out: whoever wants the rest can take it apart.

Only symbols whose name the counterfactual changes are asked about, so that each question has its pair there, and what
is called by one plain word of lower case (`requests`), which prose cannot tell from the word, only after all others.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Literal, get_args

from repoqa.catalog import Catalog, Entry
from repoqa.listing import told_by_listing

QuestionKind = Literal["definition", "signature", "base-class", "called-by"]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
PER_REPOSITORY = 10

_TEMPLATES: Mapping[QuestionKind, str] = {
    "definition": "In the {repository} repository, where is the {what} {name} defined? Provide the exact file path.",
    "signature": "In the {repository} repository, what parameters does the {what} {name} take? Provide its exact"
    " signature, as {name}(...), with defaults and without annotations.",
    "base-class": "In the {repository} repository, what does the {what} {name} derive from? Provide the names of its"
    " base classes, as written.",
    "called-by": "In the {repository} repository, outside of the file that defines the {what} {name} and of tests,"
    " which file calls it? Provide the exact file path.",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """One question: `instruction` as an agent is told it, and `answer`, one or more texts.

    `visible` says that a directory listing gives the answer away. `path`, `name`, `line` and `end_line` are the
    symbol's; `repository` is what the repository is called there.
    """

    kind: QuestionKind
    repository: str
    name: str
    what: str
    path: str
    line: int
    end_line: int
    answer: tuple[str, ...]
    visible: bool

    @property
    def instruction(self) -> str:
        """The question in words."""
        return _TEMPLATES[self.kind].format(repository=self.repository, what=self.what, name=self.name)

    def as_data(self) -> dict[str, object]:
        """The question as plain values, for a task."""
        return {
            "kind": self.kind, "repository": self.repository, "name": self.name, "what": self.what, "path": self.path,
            "line": self.line, "end_line": self.end_line, "answer": list(self.answer), "visible": self.visible,
            "instruction": self.instruction,
        }  # fmt: skip


def draw(
    repository: str,
    catalog: Catalog,
    *,
    seed: int = 1,
    kinds: Sequence[QuestionKind] = ("definition",),
    number: int = PER_REPOSITORY,
) -> list[Question]:
    """`number` questions of each kind, fewer where the repository has no more."""
    renamed = [entry for entry in catalog.entries if entry.renamed]
    plain = [entry for entry in renamed if _is_plain(entry.name)]
    telling = [entry for entry in renamed if not _is_plain(entry.name)]
    found: list[Question] = []
    for kind in kinds:
        by = f"{seed}:{repository}:{kind}"
        in_turn = chain(_in_turn(telling, by), _in_turn(plain, by))
        asked = (entry for entry in in_turn if _ANSWERS[kind](entry))
        found += [_question(kind, repository, catalog, entry) for entry in islice(asked, number)]
    return found


def asked_again(question: Question, name: str, repository: str, catalog: Catalog) -> Question | None:
    """The same question about a renamed tree, where the symbol is called `name`; None: it cannot be asked there."""
    entry = catalog.named(name)
    if entry is None or not _ANSWERS[question.kind](entry):
        return None
    return _question(question.kind, repository, catalog, entry)


def _question(kind: QuestionKind, repository: str, catalog: Catalog, entry: Entry) -> Question:
    told = told_by_listing(entry.name, catalog.listed) if kind == "definition" else None
    return Question(
        kind=kind,
        repository=repository,
        name=entry.name,
        what=entry.kind,
        path=entry.path,
        line=entry.first_line,
        end_line=entry.last_line,
        answer=_ANSWERS[kind](entry),
        visible=told == entry.path,
    )


def _in_turn(entries: Sequence[Entry], seed: str) -> Iterator[Entry]:
    """The entries in an order by seed: one of each file, then the second ones, and so on."""
    by_file: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: _place(seed, entry.name)):
        by_file[entry.path].append(entry)
    files = sorted(by_file, key=lambda path: _place(seed, path))
    for row in zip_longest(*(by_file[path] for path in files)):
        yield from (entry for entry in row if entry is not None)


def _place(seed: str, text: str) -> bytes:
    return hashlib.sha256(f"{seed}:{text}".encode()).digest()


def _definition(entry: Entry) -> tuple[str, ...]:
    return (entry.path,)


def _signature(entry: Entry) -> tuple[str, ...]:
    return (f"{entry.name}({entry.parameters})",) if entry.parameters else ()


def _base(entry: Entry) -> tuple[str, ...]:
    plain = [base for base in entry.bases if _is_dotted(base)]
    return tuple(plain) if len(plain) == len(entry.bases) and plain != ["object"] else ()


def _caller(entry: Entry) -> tuple[str, ...]:
    return (entry.caller,) if entry.caller else ()


def _is_plain(name: str) -> bool:
    return name.islower() and "_" not in name.strip("_")


def _is_dotted(text: str) -> bool:
    try:
        node: ast.expr = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


_ANSWERS: Mapping[QuestionKind, Callable[[Entry], tuple[str, ...]]] = {
    "definition": _definition,
    "signature": _signature,
    "base-class": _base,
    "called-by": _caller,
}
