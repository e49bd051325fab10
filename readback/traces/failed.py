"""Results that are error messages, in formats that give a result no status."""

from __future__ import annotations

import re

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
    r"no such file or directory"
    r"|(?:file|path|directory)\b.{0,200}(?:does not exist|doesn't exist|not found|was not found)"
    r"|is a directory\b|is not a (?:file|regular file)\b"
    r"|outside (?:of )?the (?:repository|workspace|working directory)",
    re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(r"^\s*(?:def|class|import|from|@|return|if|for)\b|[=(]\s*$", re.MULTILINE)


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
