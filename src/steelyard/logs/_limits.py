"""How large a log may be; a file that claims more is refused before it is read."""

MAX_FILE_BYTES = 4 * 2**30
"""Largest file, and largest decompressed content of a compressed one (4 GiB)."""

MAX_VALUES = 2**28
"""Most numbers in one log, 2 GiB as 64-bit floats: a week of a 7-joint arm at 20 Hz."""

MAX_COLUMNS = 10_000
"""Most columns of a table, or arrays in an NPZ file."""

MAX_HEADER_BYTES = 2**21
"""Longest header line (2 MiB)."""
