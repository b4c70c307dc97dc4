"""The virtual robot, its sensors, and the built-in arm."""
