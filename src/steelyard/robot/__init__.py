"""The robot as its file describes it, and the readers of such files."""

from steelyard.robot.tree import Joint, Limits, Link, Mimic, Robot

__all__ = ["Joint", "Limits", "Link", "Mimic", "Robot"]
