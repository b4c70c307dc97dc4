"""How much the readers take from a stranger's file; `docs/limitations.md` states the same numbers.

Every limit is checked before the work that it bounds: sizes before reading, counts and depths
before parsing, unpacking while it goes on. They are far above what robots need and far below what
makes a computer stop: a refusal takes less than two seconds and 500 MB.
"""

from __future__ import annotations

MIB = 2**20

# Packed files: gzip, and the members of NPZ archives

UNPACKED_FREELY = 16 * MIB
"""Bytes to which any packed file may unpack."""
MAX_UNPACKING = 100
"""How many times its own size a packed file may have beyond that; logs have 2 to 20."""

# Logs

MAX_LOG_BYTES = 4 * 2**30
"""Largest log, and largest unpacked content of a packed one."""
MAX_LOG_VALUES = 2**28
"""Most numbers in one log, 2 GiB as 64-bit floats: a week of a 7-joint arm at 20 Hz."""
MAX_COLUMNS = 10_000
"""Most columns of a table, or arrays in an NPZ file."""
MAX_LINE_BYTES = 2 * MIB
"""Longest line of a CSV file."""
MAX_BLANK_LINES = 100_000
"""Most blank lines of a CSV file."""

# XML: URDF, MJCF, SRDF

MAX_XML_BYTES = 64 * MIB
MAX_XML_DEPTH = 200
MAX_XML_ELEMENTS = 1_000_000
MAX_XML_ATTRIBUTES = 2_000_000

# Robots

MAX_LINKS = 6_000
"""Most links, or joints, of a robot."""
MAX_MJCF_ELEMENTS = 10_000
"""Most bodies, joints, geoms, defaults, actuators and equalities that MuJoCo is given."""

# Meshes

MAX_MESH_BYTES = 64 * MIB
MAX_MESHES_BYTES = 256 * MIB
"""All meshes of a robot together."""
MAX_MESH_POINTS = 2_000_000
"""Points of a mesh that is not a binary STL file, which the bytes limit."""
MAX_MESH_NODES = 10_000
"""Nodes of a COLLADA scene; those that are placed twice count twice."""
MAX_OUTER_POINTS = 100_000
"""Points from which a convex hull is made, without those that are clearly inside."""
MAX_HULL_CORNERS = 20_000
MAX_HULLS_CORNERS = 500_000
"""All hulls of a robot together."""
LARGEST_MESH_M = 1e4
"""Distance of a point from the origin of its mesh."""

# JSON and tables of values

MAX_JSON_BYTES = 64 * MIB
MAX_JSON_DEPTH = 50
"""Lists and objects inside each other; ours have at most 8."""
MAX_JSON_VALUES = 3_000_000
"""Values of one file; a list counts as two and an object as four, for the memory they take."""
MAX_BESIDE_BYTES = 256 * MIB
"""Largest file in the folder of a result whose hash is compared."""
MAX_TABLE_ROWS = 200_000
"""Lines of a table of names and values."""
MAX_TABLE_LINE = 10_000
"""Characters of one of its lines."""

# TOML

MAX_TOML_BYTES = MIB
MAX_KEY_PARTS = 30
"""Parts of a dotted key: Python's parser takes time and memory with their square."""
MAX_OVERLAY_ENTRIES = 3_000
"""Entries of one table or array of an overlay: joints, motors, masses."""
MAX_COUPLINGS_PER_JOINT = 10
"""Couplings of an overlay for each moving joint of the robot; a hand with tendons has two."""

# Numbers: squares and products of what lies between stay far from overflow and underflow

LARGEST_NUMBER = 1e12
"""Largest number of a robot, overlay or prior in SI units: no robot has a mass of 1e12 kg."""
SMALLEST_NUMBER = 1e-100
"""Smallest mass that is not zero, likewise."""
LARGEST_SIGNAL = 1e60
"""Largest number of a log in SI units: above 3e38, which some drivers write for "no value"."""
LARGEST_GRAVITY = 1e6
"""m/s²; that of the earth in mm/s² is 1e4."""
