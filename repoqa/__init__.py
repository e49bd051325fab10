"""Questions about pinned repositories, with and without a grounding prompt."""
