"""Torques of a motion, bounded at every time."""
