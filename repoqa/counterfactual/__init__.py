"""Counterfactual repositories: the same code under other names, so that memory is wrong and reading is right."""

from repoqa.counterfactual.build import Counterfactual, CounterfactualError, counterfactual, renamed
from repoqa.counterfactual.names import Names, names_of

__all__ = ["Counterfactual", "CounterfactualError", "Names", "counterfactual", "names_of", "renamed"]
