"""Motions to record."""
