"""The simulated ("virtual") robot, its sensors, and the built-in arm."""
