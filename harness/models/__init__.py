"""Models behind the loop, one module a provider, each through its official SDK."""
