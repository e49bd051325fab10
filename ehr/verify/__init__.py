"""What a change means: expectations, matching, the `state`, `answer` and `message` lenses, units, instants."""
