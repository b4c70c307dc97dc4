"""Signals: from a log as recorded to motion and measurements that a regression can use."""

from steelyard.signals.cutoff import CutoffChoice, automatic_cutoff
from steelyard.signals.matching import match_joints
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import DeadBand, Processing

__all__ = [
    "CutoffChoice",
    "DeadBand",
    "Prepared",
    "Processing",
    "automatic_cutoff",
    "match_joints",
    "prepare",
]
