"""Suspects: wrong input that the physics of the robot file shows."""
