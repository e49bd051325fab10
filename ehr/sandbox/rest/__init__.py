"""HTTP in and out: which address means what, answers, pages, history, operations."""
