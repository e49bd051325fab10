"""Episodes as data, the loop that makes them, the runner that keeps them, and statistics."""
