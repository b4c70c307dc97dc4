"""Motions: sums of sines, polynomials, sequences, and how they start from rest and end at rest."""
