"""Random robots and bodies, for testing estimators against oracles."""
