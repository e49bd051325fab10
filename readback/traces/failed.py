"""Results that are error messages, in formats that give a result no status.

Known wordings are errors. A line or two that was read from a file of code, and is neither code nor a known wording, may
be either: nobody can tell what the agent saw (`is_unclear`).
"""

from __future__ import annotations

import re

from grounding.languages import language_of
from grounding.marks import pieces_of
from grounding.shown import Shown

_LONGEST = 1_500
_MOST_LINES = 15

_BEGINS = re.compile(
    r"\s*[\[<(*`'\"❌⚠️]*\s*(?:"
    r"(?:tool |runtime |execution |system |internal |fatal |i/o |io |read |file )?errors?\b(?!\s*[=(\[.,])"
    r"|(?:[A-Za-z_.]*\.)?[A-Z]\w*(?:Error|Exception)\s*[:(]"
    r"|traceback \(most recent call last\)"
    r"|\[errno -?\d+\]|errno[ :]|ENOENT\b|EACCES\b|EISDIR\b"
    r"|(?:file|path|directory|folder)?\s*(?:not found|does not exist)\b"
    r"|no such (?:file|path|directory)"
    r"|(?:permission|access) denied"
    r"|(?:failed|unable|cannot|can't|could not|couldn't) (?:to )?(?:read|open|find|access|load|locate|resolve)\b"
    r"|exit code:? [1-9]"
    r")",
    re.IGNORECASE,
)
_HOLDS = re.compile(
    r"no such (?:file|path|directory|tool|function)\b"
    r"|(?:file|path|directory|tool|function)\b.{0,200}(?:does not exist|doesn't exist|not found|was not found)"
    r"|\bnot found\.?\W*\Z"
    r"|is a directory\b|is not a (?:file|regular file|valid path)\b|\bnot a file:"
    r"|outside (?:of )?the (?:repository|workspace|working directory)"
    r"|\A\W*(?:invalid|illegal|unknown|missing|no|there is no)\s+(?:such )?(?:path|file|tool|function|directory)s?\b"
    r"|\A\W*(?:tool|command|process|function|operation)\b.{0,80}\b(?:failed|errored|timed out|exited with)\b"
    r"|\A\W*\w+ failed\b|\A\W*exit(?:ed)? (?:status|code|with)\b|\A\W*exception:"
    r"|\ban? (?:\w+ )?error occurred\b|\bsomething went wrong\b|\bmcp error\b|\A\W*(?:tool|validation) .{0,30}\berror\b"
    r"|\A\W*(?:http\W*)?(?:error )?[45]\d\d\b[\s:]|\btoo many requests\b|\brate limit\b|\btimed out\b"
    r"|\b(?:was|were|been|is|are) (?:rejected|denied|refused|blocked)\b|\bnot (?:permitted|allowed|authori[sz]ed)\b"
    r"|\A\W*refused:|\bsorry\b.{0,200}\b(?:not|n't|unable)\b|\b(?:could not|couldn't|cannot|can't|unable to) (?:be )?"
    r"(?:read|open|find|found|opened|access|display|show|load)\b"
    r"|\btoo large\b|\bexceeds (?:the )?max|\bout of (?:range|bounds)\b|\b(?:past|beyond) the end\b"
    r"|\bbinary file\b|\bis a required property\b|\binput validation error\b",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY = re.compile(r"\bempty\b", re.IGNORECASE)
_NO_RESULT = re.compile(r"\W*(?:null|none|nil|undefined|timeout|denied|failed|failure|nothing)\W*", re.IGNORECASE)
_CODE = re.compile(r"^\s*(?:def|class|import|from|@|return|if|for)\b|^\s*[\w.]+\s*=|[=(]\s*$", re.MULTILINE)


def looks_failed(text: str) -> bool:
    """Whether a result is the message of an error rather than the content of a file.

    A short text that begins like an error message, or one of one or two lines that says a file is not there.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or text.count("\n") >= _MOST_LINES:
        return False
    if _BEGINS.match(text):
        return True
    return text.count("\n") < 2 and _HOLDS.search(text) is not None and _CODE.search(text) is None


def is_unclear(shown: Shown) -> bool:
    """Whether nobody can tell what a result is: the content of the file that was asked for, or some message.

    Two lines at most, of a file whose language is known, that are no code in it; what says that a file is empty is
    clear.
    """
    text = shown.text.strip()
    language = language_of(shown.paths[0]) if shown.paths else None
    if language is None or not text or text.count("\n") > 1 or len(text) > _LONGEST or _EMPTY.search(text):
        return False
    if _NO_RESULT.fullmatch(text):
        return True
    return all(language.part(piece.text, cut=True) is None for piece in pieces_of(shown.text, shown.first_line).pieces)
