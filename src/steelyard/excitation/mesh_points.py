"""The points of mesh files. Faces are not needed: only convex hulls are made of them.

STL and OBJ files are read here, which opens no other file and is quick for large meshes. Others
are read by coal.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import read_capped
from steelyard.errors import MissingDependencyError, RobotError, one_line, shown, shown_path

Array = NDArray[np.float64]

MESH_FORMATS = (".stl", ".obj", ".dae", ".ply")
MOST_BYTES = 256 * 2**20
"""Largest mesh file that is opened."""
STL_HEADER = 84
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
VERTEX_LINE = re.compile(rb"^[ \t]*(?:vertex|v)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)", re.MULTILINE)


def mesh_points(path: Path, owner: str) -> Array:
    """The points (n, 3) of a mesh file, as written there; ``owner`` is the link, for messages."""
    link = f"link {shown(owner)}"
    try:
        data = read_capped(path, MOST_BYTES, RobotError)
        ending = path.suffix.lower()
        if ending == ".stl":
            points = _stl_points(data)
        elif ending == ".obj":
            points = _points_of_lines(data)
        else:
            points = np.array(load_coal().MeshLoader().load(str(path), np.ones(3)).vertices())
    except RobotError as error:
        raise RobotError(f"{link}: mesh {error}") from None
    except (RuntimeError, ValueError, MemoryError) as error:
        reason = one_line(error)
        raise RobotError(f"{link}: mesh {shown_path(path)} cannot be read: {reason}") from None
    if points.ndim != 2 or len(points) == 0:
        raise RobotError(f"{link}: mesh {shown_path(path)} has no points")
    if not np.isfinite(points).all():
        raise RobotError(f"{link}: mesh {shown_path(path)} has points that are not finite")
    return points.astype(float)


def _stl_points(data: bytes) -> Array:
    """Points (n, 3) of an STL file: binary if its size is that of its number of triangles."""
    count = int.from_bytes(data[80:STL_HEADER], "little")
    if len(data) >= STL_HEADER and len(data) == STL_HEADER + count * STL_TRIANGLE.itemsize:
        triangles = np.frombuffer(data, STL_TRIANGLE, offset=STL_HEADER)
        return triangles["corners"].reshape(-1, 3).astype(float)
    if not data.lstrip()[:5].lower() == b"solid":
        raise ValueError(
            f"it has {len(data)} bytes, and {count} triangles need "
            f"{STL_HEADER + count * STL_TRIANGLE.itemsize}"
        )
    return _points_of_lines(data)


def _points_of_lines(data: bytes) -> Array:
    """Points (n, 3) of lines such as "v 0.1 0.2 0.3" (OBJ) or "vertex 0.1 0.2 0.3" (STL)."""
    found = VERTEX_LINE.findall(data)
    return np.array([[float(number) for number in point] for point in found]).reshape(-1, 3)


def load_coal() -> Any:
    """The library that finds closest points, loaded when it is needed."""
    try:
        import coal
    except ImportError:
        raise MissingDependencyError("coal", "collision", "checking collisions") from None
    return coal
