"""`Estimate` and the methods that make one: least squares, physical, with a prior; intervals."""
