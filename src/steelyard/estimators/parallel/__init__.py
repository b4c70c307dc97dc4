"""Many small problems at once, with the same answers for any number of threads."""
