"""A record's file: built once from resources, its index, and reading it."""
