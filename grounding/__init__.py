"""Is every entity of an answer supported by what the agent saw? `kappa_ground`, deterministic.

kappa_ground(trace, answer, PAPER)      # pass, fail (UNGROUNDED), vacuous (REFUSAL) or unscored, and why
judge_grounding(episode, PAPER)         # the same as the verdict of a lens
null_rate(answered, PAPER)              # how often the same answers pass against traces that answer other questions
"""

from grounding.answer import Answer, answer_of
from grounding.cache import Cache
from grounding.choices import REFUSAL
from grounding.claims import Claim, Evidence, Finding, Policy, Support, Trace
from grounding.lens import judge_grounding
from grounding.null import Answered, Null, null_rate
from grounding.policy import EXACT, MENTION, PAPER, POLICIES, CodePolicy, policy_named
from grounding.predicate import Grounding, Judged, kappa_ground

__all__ = [
    "EXACT",
    "MENTION",
    "PAPER",
    "POLICIES",
    "REFUSAL",
    "Answer",
    "Answered",
    "Cache",
    "Claim",
    "CodePolicy",
    "Evidence",
    "Finding",
    "Grounding",
    "Judged",
    "Null",
    "Policy",
    "Support",
    "Trace",
    "answer_of",
    "judge_grounding",
    "kappa_ground",
    "null_rate",
    "policy_named",
]
