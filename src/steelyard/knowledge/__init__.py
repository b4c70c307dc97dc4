"""What is known besides the data: `Prior`, `Constraints`, payloads, and the TOML overlay."""
