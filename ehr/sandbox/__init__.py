"""A FHIR R4 server in one process: immutable records, private forks, HAPI's behaviour. Usable alone."""
