"""What a text in a programming language defines. Python is the one language known; others are known by their files."""

from grounding.languages.definitions import Definition, Definitions, Language
from grounding.languages.files import SOURCE_EXTENSIONS, TEXT_EXTENSIONS, extension_of, language_of, language_of_script

__all__ = [
    "SOURCE_EXTENSIONS",
    "TEXT_EXTENSIONS",
    "Definition",
    "Definitions",
    "Language",
    "extension_of",
    "language_of",
    "language_of_script",
]
