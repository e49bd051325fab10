"""LLM judges and people: prompts, votes, annotation sheets."""
