"""One module a template: what it draws, asks, expects, which traps it sets, and its oracle."""
