"""How each suite is opened by name: one module a suite, ending in its `SOURCE` (see `readback.registry`)."""
