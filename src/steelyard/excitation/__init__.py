"""Exciting motions: sums of sines, and motions from files."""
