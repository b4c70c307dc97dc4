"""Conic problems and exact proofs about them; nothing here knows of robots."""
