"""`Regression`: samples compressed to triangular factors, merged, saved and reduced."""
