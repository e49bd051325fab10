"""How answers about source code are judged: every choice as data, under a name and a digest.

`PAPER` follows the study's section 17.3 (AgentLTL, arXiv 2607.02599). Where its text is open, or its table of edge
cases is lost, the choice is ours and says so:

===========================  =========================================================================================
the paper, 17.3              `PAPER`
===========================  =========================================================================================
entities: file paths ending  the same; the list of extensions (`grounding.languages.files`) is ours, as is that the
in a known source extension  common text and configuration files count
function signatures          the same; that blocked words are no `name(` is ours
CamelCase and snake_case of  the same; that a plain word is neither, and a capitalised one only where it is marked as
3 and more, minus about 60   code or called a class, is ours (4.4 also counts numerals; 17.3 does not, nor do we); the
blocked                      block list (`blocked.toml`) is ours
seen: of each `read_file`    the same; that a failed read shows nothing is ours
call the content
seen: each path requested    the same
and received
seen: named symbols defined  by tree-sitter, for Python; "named symbols" are classes, functions, names assigned outside
in the source, by `ast`      of functions, attributes and type aliases (ours: no parameters, locals or imports, nor what
                             `__all__` lists). Other languages are unscored, not guessed
paths: exact                 the same, after `./`, `\\` and `a/..` (ours)
identifiers: prefix, case    the entity is a prefix of the definition, not the other way round (ours)
does not count
signatures                   `name(`: a function or class of that whole name; `Class.method(`: in that class, where the
                             class can be seen (ours; the paper says only "of the same type")
modules                      a file that was read supports the dotted name of its module (ours)
refusals pass                they are vacuous, and counted apart (ours; the paper's own count adds them to pass)
===========================  =========================================================================================

`MENTION` also takes what stands anywhere in what was read, `EXACT` compares whole names with their case.
"""

from __future__ import annotations

from collections.abc import Sequence

from grounding.answer import Answer
from grounding.cache import Cache
from grounding.choices import Choices
from grounding.claims import Finding, Trace
from grounding.entities import Entity, entities_of
from grounding.evidence import FileEvidence, read_files
from grounding.finding import find


class CodePolicy(Choices):
    """Choices about source code, carried out. A `grounding.claims.Policy`."""

    def claims(self, answer: Answer, given: Sequence[str]) -> list[Entity]:
        """The entities of an answer. A `given` name (the repository's) is no identifier."""
        return entities_of(answer, self.extensions, given)

    def evidence(self, trace: Trace, cache: Cache, given: Sequence[str]) -> FileEvidence:
        """The files that the trace read."""
        return read_files(trace, self.reads, cache)

    def find(self, claim: Entity, evidence: FileEvidence) -> Finding:
        """Where the trace showed the entity, or why it counts as not shown."""
        return find(self, claim, evidence)


PAPER = CodePolicy(name="paper")
"""As the study says, as far as it says; see the module."""

MENTION = CodePolicy(name="mention", paths="suffix", mentions=True)
"""What `PAPER` supports, and what stands anywhere in what was read: a parameter, an import, a word of a comment."""

EXACT = CodePolicy(name="exact", whole=True, ignore_case=False)
"""Like `PAPER`, whole names with their case."""

POLICIES = {policy.name: policy for policy in (PAPER, MENTION, EXACT)}


def policy_named(name: str) -> CodePolicy:
    """The policy of this name. Raises `KeyError` for an unknown one."""
    return POLICIES[name]
