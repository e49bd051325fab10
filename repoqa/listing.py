"""What the names of files alone give away: the file that a symbol seems to be in, for who lists and never reads.

The rule, which the baseline `lister` follows and by which questions are marked: the words of the symbol's name are
looked for among the words of each path of the repository's own code, the file's own name counting double, plurals as
their singulars. The one path with most of them is it; where several have as many, or none has any, there is none.
A repository with one file of code gives it away, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from repoqa.counterfactual.spelling import KEPT, pieces


def told_by_listing(name: str, paths: Sequence[str]) -> str | None:
    """The path that a listing gives away for this symbol, None where it gives none. `paths`: the repository's code."""
    files = [path for path in paths if not path.endswith(("/__init__.py", "/__main__.py"))]
    if len(files) == 1:
        return files[0]
    wanted = _words(name)
    scores = sorted(((_score(wanted, path), path) for path in paths), reverse=True)
    if not scores or scores[0][0] == 0 or (len(scores) > 1 and scores[1][0] == scores[0][0]):
        return None
    return scores[0][1]


def _score(wanted: set[str], path: str) -> int:
    *folders, file = path.removesuffix(".py").split("/")
    own, above = _words(file), _words("_".join(folders))
    if file == "__init__":
        own, above = (_words(folders[-1]) if folders else set()), _words("_".join(folders[:-1]))
    return 2 * len(wanted & own) + len(wanted & (above - own))


def _words(name: str) -> set[str]:
    # Words that say what kind of thing it is fit anywhere, and say nothing.
    return {_singular(piece.lower()) for piece in pieces(name)} - KEPT - {"init", "src", "lib"}


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
