"""The points of mesh files. Faces are not needed: only convex hulls are made of them.

All formats are read here, within limits of our own: no library sees a file of a stranger, and no
other file is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import read_capped
from steelyard._files.limits import MAX_MESH_BYTES, MAX_MESH_POINTS
from steelyard.errors import MissingDependencyError, RobotError, shown, shown_path
from steelyard.excitation.collision.collada import collada_points, text_numbers

Array = NDArray[np.float64]

MESH_FORMATS = (".stl", ".obj", ".dae", ".ply")
STL_HEADER = 84
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
VERTEX_LINE = re.compile(rb"^[ \t]*(?:vertex|v)[ \t]+(\S+[ \t]+\S+[ \t]+\S+)", re.MULTILINE)
BLOCK_BYTES = 2**22
"""Of a text, whose points are read at once."""
PLY_TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
PLY_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
PLY_HEADER = 20_000
"""Bytes of the header of a PLY file."""
PLY_PROPERTIES = 100


def mesh_points(path: Path, owner: str) -> Array:
    """The points (n, 3) of a mesh file, as written there; ``owner`` is the link, for messages."""
    link = f"link {shown(owner)}"
    where = shown_path(path)
    try:
        data = read_capped(path, MAX_MESH_BYTES, RobotError)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            points = READERS[path.suffix.lower()](data, where)
    except RobotError as error:
        raise RobotError(f"{link}: mesh {error}") from None
    if len(points) == 0:
        raise RobotError(f"{link}: mesh {where} has no points")
    if not np.isfinite(points).all():
        raise RobotError(f"{link}: mesh {where} has points that are not finite")
    return points


def _stl_points(data: bytes, where: str) -> Array:
    """Points (n, 3) of an STL file: binary if its size is that of its number of triangles."""
    count = int.from_bytes(data[80:STL_HEADER], "little")
    if len(data) >= STL_HEADER and len(data) == STL_HEADER + count * STL_TRIANGLE.itemsize:
        triangles = np.frombuffer(data, STL_TRIANGLE, offset=STL_HEADER)
        return triangles["corners"].reshape(-1, 3).astype(float)
    if not data.lstrip()[:5].lower() == b"solid":
        raise RobotError(
            f"{where} cannot be read: it has {len(data)} bytes, and {count} triangles need "
            f"{STL_HEADER + count * STL_TRIANGLE.itemsize}"
        )
    return _points_of_lines(data, where)


def _points_of_lines(data: bytes, where: str) -> Array:
    """Points (n, 3) of lines such as "v 0.1 0.2 0.3" (OBJ) or "vertex 0.1 0.2 0.3" (STL)."""
    # counted before any is read; lines that begin otherwise are counted below
    parts, n_points = [np.zeros((0, 3))], 0
    for begin in (b"\nv ", b"\nvertex "):
        if data.count(begin) > MAX_MESH_POINTS:
            raise RobotError(f"{where} has more than {MAX_MESH_POINTS} points, the limit")
    for block in _blocks(data):
        lines = VERTEX_LINE.findall(block)
        n_points += len(lines)
        if n_points > MAX_MESH_POINTS:
            raise RobotError(f"{where} has more than {MAX_MESH_POINTS} points, the limit")
        if lines:
            values = text_numbers(b" ".join(lines), f"{where} cannot be read")
            parts.append(values.reshape(-1, 3))
    return np.concatenate(parts)


def _blocks(data: bytes) -> Iterator[bytes]:
    """The text in blocks of whole lines."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin + BLOCK_BYTES)
        end = len(data) if end < 0 else end + 1
        yield data[begin:end]
        begin = end


def _ply_points(data: bytes, where: str) -> Array:
    """Points (n, 3) of a PLY file whose vertices come first, as every program writes them."""
    end = re.compile(rb"end_header[ \t]*\r?\n").search(data, 0, PLY_HEADER)
    if not data.startswith(b"ply") or end is None:
        raise RobotError(f"{where} cannot be read: it has no header of a PLY file")
    lines = data[: end.start()].decode("latin-1").splitlines()
    order, count, fields = _ply_header([line.split() for line in lines[1:]], where)
    names = [name for name, _ in fields]
    at = [names.index(axis) for axis in "xyz"]
    if order == "ascii":
        rows = data[end.end() :].split(b"\n", count)[:count]
        values = text_numbers(b" ".join(rows), f"{where} cannot be read")
        if len(values) != count * len(fields):
            raise RobotError(
                f"{where} cannot be read: {count} points of {len(fields)} numbers are stated, and "
                f"{len(rows)} lines have {len(values)}"
            )
        return values.reshape(count, len(fields))[:, at]
    row = np.dtype([(f"f{k}", PLY_ORDERS[order] + kind) for k, (_, kind) in enumerate(fields)])
    if count * row.itemsize > len(data) - end.end():
        raise RobotError(
            f"{where} cannot be read: {count} points of {row.itemsize} bytes are stated, and "
            f"{len(data) - end.end()} bytes follow"
        )
    table = np.frombuffer(data, row, count, end.end())
    return np.column_stack([table[f"f{k}"].astype(float) for k in at])


def _ply_header(lines: list[list[str]], where: str) -> tuple[str, int, list[tuple[str, str]]]:
    """The format, the number of points, and the name and NumPy type of each of their numbers."""
    order, count, fields = None, None, []
    for words in lines:
        if words[:1] == ["format"] and len(words) == 3:
            order = words[1]
        elif words[:1] == ["element"] and len(words) == 3:
            if count is not None:
                break
            if words[1] != "vertex" or not re.fullmatch("[0-9]{1,9}", words[2]):
                raise RobotError(f"{where} cannot be read: its first element is no vertex")
            count = int(words[2])
        elif words[:1] == ["property"] and count is not None:
            if len(words) != 3 or words[1] not in PLY_TYPES:
                raise RobotError(f"{where} cannot be read: a property of its points is no number")
            fields.append((words[2], PLY_TYPES[words[1]]))
    if (
        order not in PLY_ORDERS
        or count is None
        or not {"x", "y", "z"} <= {one for one, _ in fields}
    ):
        raise RobotError(f"{where} cannot be read: it states no format, or no points x, y, z")
    if count > MAX_MESH_POINTS or len(fields) > PLY_PROPERTIES:
        raise RobotError(f"{where} has more than {MAX_MESH_POINTS} points, the limit")
    return str(order), count, fields


READERS = {
    ".stl": _stl_points,
    ".obj": _points_of_lines,
    ".dae": collada_points,
    ".ply": _ply_points,
}


def load_coal() -> Any:
    """The library that finds closest points, loaded when it is needed."""
    try:
        import coal
    except ImportError:
        raise MissingDependencyError("coal", "collision", "checking collisions") from None
    return coal
