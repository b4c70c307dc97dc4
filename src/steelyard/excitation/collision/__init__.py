"""Solids, their distances, and the proof that a motion keeps them."""
