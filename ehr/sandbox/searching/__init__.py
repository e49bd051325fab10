"""Answering searches over a record and an episode's writes: criteria, order, includes, `$everything`."""
