"""Statistics of outcomes: rates, paired differences, agreement, detectors. Imports nothing else of ours.

Importing it is cheap: numpy and scipy are loaded by the functions that need them. What is undefined is an `Estimate`
whose value is None and whose `why` says the reason; it is never 0.
"""

from harness.stats.agreement import Agreement, Cells, agreement, krippendorff_alpha
from harness.stats.detector import Detector, detector
from harness.stats.estimate import DRAWS, SEED, Estimate, undefined
from harness.stats.paired import Paired, SignFlip, holm, mcnemar, paired, sign_flip
from harness.stats.rates import Clustered, bounds, clustered, pass_k, wilson

__all__ = [
    "DRAWS",
    "SEED",
    "Agreement",
    "Cells",
    "Clustered",
    "Detector",
    "Estimate",
    "Paired",
    "SignFlip",
    "agreement",
    "bounds",
    "clustered",
    "detector",
    "holm",
    "krippendorff_alpha",
    "mcnemar",
    "paired",
    "pass_k",
    "sign_flip",
    "undefined",
    "wilson",
]
