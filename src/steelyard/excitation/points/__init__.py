"""Optimum points of the energy model and motions through them (Gautier and Khalil 1992)."""
