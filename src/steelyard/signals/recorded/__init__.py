"""The signals of a log as they were recorded: what is wrong with single ones, and mending it."""
