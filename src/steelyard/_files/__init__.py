"""Hardened files: XML, NPZ and JSON from strangers, size limits, writing whole or not at all."""
