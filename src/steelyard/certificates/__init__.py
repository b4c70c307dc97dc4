"""`Certificate`: exact proofs about parameters, writing them down, and verifying them."""
