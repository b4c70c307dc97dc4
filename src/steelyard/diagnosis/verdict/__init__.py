"""Whether a result can be used, from numbers that do not flatter it."""
