"""The version of Steelyard, and nothing else: the one place that states it."""

__version__ = "0.1.0"
