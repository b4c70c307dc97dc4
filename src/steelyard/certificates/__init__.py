"""`Certificate`: finding, writing and verifying exact proofs about parameters."""
