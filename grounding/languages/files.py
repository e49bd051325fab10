"""Files by the end of their name: which are source code, which are text, and which language is known."""

from __future__ import annotations

import re

from grounding.languages.definitions import Language

SOURCE_EXTENSIONS = (
    "py", "pyi", "pyw", "pyx", "pxd", "ipynb", "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "m", "mm", "cu", "js",
    "jsx", "mjs", "cjs", "ts", "tsx", "vue", "java", "kt", "scala", "go", "rs", "rb", "php", "pl", "lua", "jl", "cs",
    "swift", "dart", "ex", "erl", "hs", "ml", "f90", "sql", "sh", "bash", "ps1", "bat", "html", "css", "scss", "jinja",
    "proto",
)  # fmt: skip
"""Ends of names of source files. The study gives .py, .c, .h, .js, .ts and an ellipsis; the rest is ours."""

TEXT_EXTENSIONS = ("md", "rst", "txt", "toml", "cfg", "ini", "yaml", "yml", "json", "xml", "csv")
"""Ends of names of files that stand in a repository beside its code: they define no names."""

_SCRIPT = re.compile(r"#!.{0,100}\bpython")
_PYTHON = ("py", "pyi", "pyw")


def language_of_script(text: str) -> Language | None:
    """The language that the first line of a script names (`#!/usr/bin/env python3`)."""
    return language_of("script.py") if _SCRIPT.match(text) else None


def extension_of(path: str) -> str:
    """The end of a file's name in lower case, without the dot; empty where there is none."""
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[-1].lower() if "." in name[1:] else ""


def language_of(path: str) -> Language | None:
    """The language of a file, None where it is none that is known here."""
    if extension_of(path) in _PYTHON:
        from grounding.languages.python import PYTHON

        return PYTHON
    return None
