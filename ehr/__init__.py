"""EHR write tasks, scored against the live state of a FHIR server."""
