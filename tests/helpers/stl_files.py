"""Small meshes as STL files."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np


def write_stl(path: Path, triangles: np.ndarray) -> Path:
    """A binary STL file of triangles (n, 3, 3)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"\0" * 80 + struct.pack("<I", len(triangles))
    for triangle in triangles:
        data += struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0)
    path.write_bytes(data)
    return path


def cube(edge: float) -> np.ndarray:
    """Triangles whose corners are those of a cube about the origin."""
    corners = edge * (np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T - 0.5)
    return corners[[[0, 1, 2], [1, 2, 3], [4, 5, 6], [5, 6, 7]]]
