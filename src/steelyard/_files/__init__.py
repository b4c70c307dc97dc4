"""Reading untrusted XML, NPZ and JSON files with size limits; writing files atomically."""
