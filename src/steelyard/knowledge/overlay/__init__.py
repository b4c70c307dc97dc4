"""The TOML overlay, which adds what a robot file cannot state, and reading a robot with it."""
