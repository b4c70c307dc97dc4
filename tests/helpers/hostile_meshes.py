"""Mesh files of an attacker, made when they are needed: none is in the repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

COLLADA = """<?xml version="1.0"?>{doctype}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">{floats}</float_array><technique_common>
<accessor source="#a" count="{count}" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>{faces}</p></triangles></mesh></geometry></library_geometries>
<library_nodes>{nodes}</library_nodes>
<library_visual_scenes><visual_scene id="w">{scene}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>"""
GEOMETRY = '<instance_geometry url="#g"/>'


def collada(
    *,
    floats: str = "0 0 0 1 0 0 0 1 0 0 0 1",
    faces: str = "0 1 2 0 1 3 0 2 3 1 2 3",
    count: str = "4",
    nodes: str = "",
    scene: str = f"<node>{GEOMETRY}</node>",
    doctype: str = "",
) -> bytes:
    """A document of a tetrahedron, with something else in one place."""
    text = COLLADA.format(
        floats=floats, faces=faces, count=count, nodes=nodes, scene=scene, doctype=doctype
    )
    return text.encode()


def calls(name: str, *others: str) -> str:
    """A node that places other nodes."""
    inside = "".join(f'<instance_node url="#{other}"/>' for other in others)
    return f'<node id="{name}">{inside}</node>'


def billions() -> bytes:
    """3 kB that place a tetrahedron 2**30 times."""
    nodes = [calls(f"n{k}", f"n{k + 1}", f"n{k + 1}") for k in range(30)]
    nodes.append(f'<node id="n30">{GEOMETRY}</node>')
    return collada(nodes="".join(nodes), scene=calls("top", "n0"))


def ply(count: int | str, fields: str, body: bytes, order: str = "binary_little_endian") -> bytes:
    """A PLY file."""
    head = f"ply\nformat {order} 1.0\nelement vertex {count}\n{fields}end_header\n"
    return head.encode() + body


XYZ = "property float x\nproperty float y\nproperty float z\n"


def stl(points: np.ndarray, count: int | None = None) -> bytes:
    """A binary STL file of triangles whose corners are these points (n, 3)."""
    rows = np.zeros(len(points) // 3, [("n", "<f4", 3), ("c", "<f4", (3, 3)), ("a", "<u2")])
    rows["c"] = points[: 3 * len(rows)].reshape(-1, 3, 3)
    stated = len(rows) if count is None else count
    return b"\0" * 80 + stated.to_bytes(4, "little") + rows.tobytes()


def ball(n: int) -> np.ndarray:
    """Points (n, 3) on a sphere, all of them corners of its hull."""
    points = np.random.default_rng(0).normal(size=(n, 3))
    return np.asarray(points / np.linalg.norm(points, axis=1)[:, None])


def cone(n: int) -> bytes:
    """The point of a cone is a corner with n edges."""
    angle = 2.0 * np.pi * np.arange(n) / n
    rim = "".join(f"v {np.cos(a):.9f} {np.sin(a):.9f} 0\n" for a in angle)
    return (rim + "v 0 0 1\n").encode()


def lines(*points: str) -> bytes:
    """An OBJ file."""
    return "".join(f"v {point}\n" for point in points).encode()


MESHES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a node in itself": ("a.dae", lambda: collada(scene=calls("x", "x")), "contains itself"),
    "two nodes in each other": (
        "a.dae",
        lambda: collada(nodes=calls("x", "y") + calls("y", "x"), scene=calls("top", "x")),
        "contains itself",
    ),
    "nested 20,000 deep": (
        "a.dae",
        lambda: collada(scene="<node>" * 20_000 + GEOMETRY + "</node>" * 20_000),
        "nested deeper than 200",
    ),
    "a chain of 5,000 nodes": (
        "a.dae",
        lambda: collada(
            nodes="".join(calls(f"n{k}", f"n{k + 1}") for k in range(5000)),
            scene=calls("top", "n0"),
        ),
        "nested deeper than 200",
    ),
    "placed a billion times": ("a.dae", billions, "more than 10000 nodes"),
    "an entity bomb": (
        "a.dae",
        lambda: collada(doctype='<!DOCTYPE x [<!ENTITY a "aaaa">]>'),
        "document type declarations",
    ),
    "1e308 in COLLADA": (
        "a.dae",
        lambda: collada(floats="1e308 0 0 1 0 0 0 1 0 0 0 1"),
        r"reaches 1e\+308 m",
    ),
    "1e308 in a transform": (
        "a.dae",
        lambda: collada(
            scene=f"<node><scale>1e308 1 1</scale><scale>9 1 1</scale>{GEOMETRY}</node>"
        ),
        "points that are not finite",
    ),
    "a billion points stated": (
        "a.dae",
        lambda: collada(count="1000000000"),
        "1e.09 points of 3 numbers are stated, and there are 12",
    ),
    "words for numbers": ("a.dae", lambda: collada(floats="0 0 0 1 O 0"), "is not a number"),
    "corners that are not there": (
        "a.dae",
        lambda: collada(faces="0 1 2 0 1 1000000000"),
        "has corners beyond the 4 points",
    ),
    "a skin": (
        "a.dae",
        lambda: collada(scene='<node><instance_controller url="#c"/></node>'),
        "<instance_controller> is not read",
    ),
    "208 bytes, a billion points": (
        "a.ply",
        lambda: ply(999_999_999, XYZ, b"\0" * 90),
        "more than 2000000 points",
    ),
    "a million points of no bytes": (
        "a.ply",
        lambda: ply(1_000_000, XYZ, b""),
        "12 bytes are stated, and 0 bytes follow",
    ),
    "a list in each point": (
        "a.ply",
        lambda: ply(1, "property list uchar int x\n" + XYZ, b"\xff" * 50),
        "a property of its points is no number",
    ),
    "a header without end": (
        "a.ply",
        lambda: b"ply\n" + b"comment x\n" * 500_000,
        "it has no header",
    ),
    "triangles that are not there": (
        "a.stl",
        lambda: stl(ball(3), count=2**32 - 1),
        "4294967295 triangles need",
    ),
    "300,000 corners": ("a.stl", lambda: stl(ball(300_000)), "points on or near its convex hull"),
    "30,000 corners": ("a.stl", lambda: stl(ball(30_000)), "hull of its mesh has 30000 corners"),
    "more than two million points": (
        "a.obj",
        lambda: b"v 1 1 1\n" * 2_100_000,
        "more than 2000000 points",
    ),
    "1e308 in OBJ": ("a.obj", lambda: lines("1e308 0 0", "0 1 0", "0 0 1"), r"reaches 1e\+308"),
    "a corner with 1,000 edges": ("a.obj", lambda: cone(1000), "a corner with 1000 edges"),
    "no number": ("a.stl", lambda: b"solid x\nvertex 1 2 " + b"9" * 10**6 + b"x", "not a number"),
    "only spaces": ("a.obj", lambda: b"v" + b" " * 10**7, "has no points"),
}
"""By what is wrong: the file's name, its content, and what the refusal says."""


def write_robot(folder: Path, mesh: str, data: bytes | None, scale: str = "1 1 1") -> Path:
    """A URDF with a mesh; a file without content is larger than the limit, and empty on disk."""
    if data is None:
        with open(folder / mesh, "wb") as stream:
            stream.truncate(65 * 2**20)
    else:
        (folder / mesh).write_bytes(data)
    geometry = (
        f'<collision><geometry><mesh filename="{mesh}" scale="{scale}"/></geometry></collision>'
    )
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" '
        'iyz="0"/></inertial>'
    )
    text = (
        f'<robot name="r"><link name="base"/><link name="arm">{inertial}{geometry}</link>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="50"/></joint></robot>'
    )
    (folder / "r.urdf").write_text(text)
    return folder / "r.urdf"
