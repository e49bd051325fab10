"""Writes: create, update, patch, delete, transactions, references, versions."""
