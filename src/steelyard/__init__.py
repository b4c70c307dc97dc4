"""Steelyard: weigh the links of a robot from the torques its joints carry."""

from steelyard.robot.tree import Robot

__version__ = "0.1.0"
__all__ = ["Robot", "__version__"]
