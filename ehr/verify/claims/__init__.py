"""Is every value that an answer states one that the chart showed? The policy of `kappa_ground` for the EHR.

Rules for counting (each module has its own in full):

- A **claim** is a number with its unit or what is measured, and its time if one is stated: values, pressures, ages,
  counts, and derived numbers that are called so. A number of the instruction is given: neither claim nor support
  (`claim`).
- It is **supported** by one reading of that measure with an equal number, and of that time; by no bare number somewhere
  in the JSON (`support`, `equal`).
- A **derived** number is supported only over one homogeneous series, by a rule that words name (`series`).
- A **call** counts if it succeeded and is no write; errors, links, echoes, and what the agent wrote itself show
  nothing. A retry counts for itself; a row that is shown twice is one row (`showing`, `evidence`).
- Outcomes are those of `grounding.predicate`: an answer without a claim is vacuous, a claim without support fails, and
  where evidence may be missing it is unscored.

Where a rule lives, in the order in which an answer is judged:

| question | modules |
|---|---|
| what do the words say? | `words`, `sentences` (numbers, units, what is set aside), `moments` (times) |
| what was the agent told? | `asked` |
| which numbers are claims? | `claim`; `kinds` (which kind), `spared` (limits, denials, acts), `beside` |
| a value of what? | `concepts` (the table), `binding` (which name a number goes with) |
| what did the calls show? | `evidence` (which calls, whose), `showing`, `reading`, `drugs`, `names`, `fhir` |
| is it supported? | `support`; `equal` (the same number), `series` (derived ones) |
| under which name and digest? | `policy` |
"""

from ehr.verify.claims.claim import ClinicalClaim, claims_of
from ehr.verify.claims.evidence import ClinicalEvidence, evidence_of
from ehr.verify.claims.policy import CLINICAL, ClinicalPolicy, judge_claims, shown_by, told
from ehr.verify.claims.reading import Reading

__all__ = [
    "CLINICAL",
    "ClinicalClaim",
    "ClinicalEvidence",
    "ClinicalPolicy",
    "Reading",
    "claims_of",
    "evidence_of",
    "judge_claims",
    "shown_by",
    "told",
]
