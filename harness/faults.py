"""What is kept of an exception: its traceback as text, bounded, and without the secrets of the environment."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Mapping

MAX_ERROR = 20_000
"""Characters of an error that an episode keeps; of a longer one, its end."""

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$")
_SHORTEST_SECRET = 8


def traceback_of(exception: BaseException) -> str:
    """The traceback of `exception` as an episode keeps it."""
    return bounded(redacted(_writable("".join(traceback.format_exception(exception)))))


def _writable(text: str) -> str:
    """`text` without half of surrogate pairs: an exception may quote what no file can hold."""
    return text.encode("utf-8", "replace").decode()


def bounded(text: str) -> str:
    """`text`, or its last `MAX_ERROR` characters with a mark: a traceback says most at its end."""
    return text if len(text) <= MAX_ERROR else f"… {text[-MAX_ERROR:]}"


def redacted(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """`text` without the values of environment variables that are named as secrets are (`..._KEY`, `..._TOKEN`, ...).

    Whatever else looks like a key of the model providers (`sk-...`) goes too: servers echo the key they refuse.
    """
    for name, value in environment.items():
        if len(value) >= _SHORTEST_SECRET and _SECRET_NAME.search(name.upper()):
            text = text.replace(value, f"[{name}]")
    return re.sub(r"\bsk-[\w*.-]{4,}", "[key]", text)
