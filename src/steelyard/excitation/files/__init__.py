"""Motions as files, and what a controller makes of the points that it is sent."""
