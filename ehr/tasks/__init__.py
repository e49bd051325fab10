"""The tasks of the `ehr` suite, and the baselines that play them."""
