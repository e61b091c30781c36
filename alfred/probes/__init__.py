"""Read-only tools that look at a running system: all that a diagnosis ever sees of it."""
