"""Errors on data that was not used, beside the robot file and the zero model."""
