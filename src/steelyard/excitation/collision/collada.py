"""The points of a COLLADA file (.dae), placed as its scene says.

Nodes place geometries with matrices, translations, rotations and scales, and other nodes. A file
of some thousand bytes can place one billions of times, or itself. Unit and up axis are left alone,
as coal and Pinocchio do: the ``scale`` of the URDF states what its coordinates are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard._files.limits import MAX_MESH_NODES, MAX_MESH_POINTS
from steelyard._files.xml import TEXT, XmlElement, number, numbers, parse_xml
from steelyard.errors import RobotError, shown
from steelyard.robot.rotations import rotation_about

Array = NDArray[np.float64]

TRANSFORMS = {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3}
"""Elements of a node that place what is in it, and how many numbers each has."""
FACES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
UNREAD = ("lookat", "skew", "instance_controller")


def collada_points(data: bytes, where: str) -> Array:
    """The points (n, 3) of a COLLADA document; ``where`` names it in messages."""
    root = parse_xml(data, where, text_of=(*TRANSFORMS, "float_array", "p"))
    if root.tag != "COLLADA":
        raise RobotError(f"{where} has root element <{root.tag[:60]}>, not <COLLADA>")
    return _Scene(root, where).points()


def text_numbers(text: bytes | str, where: str) -> Array:
    """The numbers (n,) of a text, separated by white space."""
    if not text or text.isspace():
        return np.zeros(0)
    with warnings.catch_warnings():
        # how NumPy says that something in between is no number, until it is an error there
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, sep=" ")
        except (DeprecationWarning, ValueError):
            raise RobotError(f"{where}: a coordinate or index is not a number") from None


class _Scene:
    """The elements of a document by id, and what was placed so far."""

    def __init__(self, root: XmlElement, where: str) -> None:
        self.root, self.where = root, where
        self.ids: dict[str, XmlElement] = {}
        for element in _all_below(root):
            self.ids.setdefault(element.attributes.get("id", ""), element)
        self.n_nodes = self.n_points = 0
        self.read: dict[int, Array] = {}

    def points(self) -> Array:
        """All points (n, 3) that the scene places."""
        scene = self.root.first("scene")
        instance = None if scene is None else scene.first("instance_visual_scene")
        if instance is None:
            raise RobotError(f"{self.where} has no scene")
        placed = list(self.below(self.target(instance, "visual_scene"), np.eye(4), ()))
        return np.concatenate(placed) if placed else np.zeros((0, 3))

    def below(self, node: XmlElement, T: Array, path: tuple[int, ...]) -> Iterator[Array]:
        """The points of what is in a node, which T (4, 4) places."""
        self.n_nodes += 1
        if id(node) in path:
            raise RobotError(f"{self.where}, line {node.line}: a node contains itself")
        if self.n_nodes > MAX_MESH_NODES:
            raise RobotError(f"{self.where}: its scene has more than {MAX_MESH_NODES} nodes")
        path = (*path, id(node))
        if len(path) > MAX_DEPTH:
            raise RobotError(f"{self.where}: nodes are nested deeper than {MAX_DEPTH}, the limit")
        for child in node.children:
            if child.tag in UNREAD:
                raise RobotError(f"{self.where}, line {child.line}: <{child.tag}> is not read")
            if child.tag in TRANSFORMS:
                T = T @ self.transform(child)
            elif child.tag == "node":
                yield from self.below(child, T, path)
            elif child.tag == "instance_node":
                yield from self.below(self.target(child, "node"), T, path)
            elif child.tag == "instance_geometry":
                found = self.geometry(self.target(child, "geometry"))
                self.n_points += len(found)
                if self.n_points > MAX_MESH_POINTS:
                    raise RobotError(f"{self.where} has more than {MAX_MESH_POINTS} points")
                yield found @ T[:3, :3].T + T[:3, 3]

    def target(self, instance: XmlElement, tag: str) -> XmlElement:
        """The element that a url or source names."""
        url = instance.attributes.get("url", instance.attributes.get("source", ""))
        found = self.ids.get(url[1:]) if url.startswith("#") else None
        if found is None or found.tag != tag:
            raise RobotError(
                f"{self.where}, line {instance.line}: <{instance.tag}> names {shown(url)}, which "
                f"is no <{tag}> of the file"
            )
        return found

    def transform(self, element: XmlElement) -> Array:
        """The transform (4, 4) of an element of a node."""
        what = f"{self.where}, line {element.line}: <{element.tag}>"
        values = np.array(numbers(element.attributes[TEXT], TRANSFORMS[element.tag], what))
        if element.tag == "matrix":
            return values.reshape(4, 4)
        T = np.eye(4)
        if element.tag == "translate":
            T[:3, 3] = values
        elif element.tag == "scale":
            T[:3, :3] = np.diag(values)
        else:
            size = float(np.linalg.norm(values[:3]))
            if size > 0.0:
                T[:3, :3] = rotation_about(values[:3] / size, np.deg2rad(values[3]))
        return T

    def geometry(self, geometry: XmlElement) -> Array:
        """The points (n, 3) of a geometry, whichever of its faces use them."""
        if id(geometry) not in self.read:
            self.read[id(geometry)] = self.positions(geometry)
        return self.read[id(geometry)]

    def positions(self, geometry: XmlElement) -> Array:
        """The points (n, 3) of the faces of a geometry."""
        mesh = geometry.first("mesh")
        vertices = None if mesh is None else mesh.first("vertices")
        if mesh is None or vertices is None:
            return np.zeros((0, 3))
        stated = [one for one in vertices.all("input") if _is(one, "POSITION")]
        points = self.source(self.target(stated[0], "source")) if stated else np.zeros((0, 3))
        used = np.zeros(len(points), dtype=bool)
        for faces in mesh.children:
            if faces.tag in FACES:
                index = self.corners(faces)
                if len(index) and not (index.min() >= 0 and index.max() < len(points)):
                    raise RobotError(
                        f"{self.where}, line {faces.line}: <{faces.tag}> has corners beyond the "
                        f"{len(points)} points"
                    )
                used[index.astype(int)] = True
        return points[used]

    def corners(self, faces: XmlElement) -> Array:
        """Which points are the corners of some faces, as whole numbers."""
        where = f"{self.where}, line {faces.line}"
        inputs = faces.all("input")
        offsets = [number(one.attributes.get("offset", "0"), where) for one in inputs]
        own = [at for one, at in zip(inputs, offsets, strict=True) if _is(one, "VERTEX")]
        if not own or not all(0 <= at < MAX_STRIDE for at in offsets):
            raise RobotError(f"{where}: <{faces.tag}> has no corners")
        stride = int(max(offsets)) + 1
        lists = [*faces.all("p"), *(p for holes in faces.all("ph") for p in holes.all("p"))]
        parts = [text_numbers(p.attributes[TEXT], where)[int(own[0]) :: stride] for p in lists]
        return np.concatenate(parts) if parts else np.zeros(0)

    def source(self, source: XmlElement) -> Array:
        """The points (n, 3) of a source: the first three numbers of every ``stride``."""
        where = f"{self.where}, line {source.line}"
        common = source.first("technique_common")
        accessor = None if common is None else common.first("accessor")
        if accessor is None:
            raise RobotError(f"{where}: <source> has no accessor")
        array = self.target(accessor, "float_array")
        values = text_numbers(array.attributes[TEXT], where)
        count, stride, offset = (
            number(accessor.attributes.get(key, default), f"{where}: {key}")
            for key, default in (("count", ""), ("stride", "1"), ("offset", "0"))
        )
        if not (3 <= stride <= MAX_STRIDE and offset >= 0 and count >= 0):
            raise RobotError(f"{where}: points need a stride of 3 to {MAX_STRIDE}")
        if not offset + count * stride <= len(values):
            raise RobotError(
                f"{where}: {count:g} points of {stride:g} numbers are stated, and there are "
                f"{len(values)} numbers"
            )
        begin, width = int(offset), int(stride)
        return values[begin : begin + int(count) * width].reshape(-1, width)[:, :3]


MAX_DEPTH = 200
MAX_STRIDE = 100


def _is(element: XmlElement, semantic: str) -> bool:
    return element.attributes.get("semantic") == semantic


def _all_below(root: XmlElement) -> Iterator[XmlElement]:
    yield root
    for child in root.children:
        yield from _all_below(child)
