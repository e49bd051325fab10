"""The application: command line, suites and agents by name, experiments, comparison, reports."""
