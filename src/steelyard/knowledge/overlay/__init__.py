"""The TOML overlay: what a robot file cannot say, and reading a robot with it."""
