"""Motions to record: periodic sums of sines."""

from steelyard.excitation.fourier import FourierTrajectory, multisine

__all__ = ["FourierTrajectory", "multisine"]
