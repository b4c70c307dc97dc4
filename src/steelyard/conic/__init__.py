"""Conic problems and exact proofs about them, independent of robots."""
