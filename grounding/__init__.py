"""Is every entity of an answer supported by what the agent saw? `kappa_ground`, deterministic."""
