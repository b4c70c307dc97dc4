"""Which parts of an MJCF file go to MuJoCo's compiler, and which are refused.

The compiler can open other files, load plugins and expand a few lines into millions of
elements, so it is not given the user's file. The file is parsed by the hardened reader and
rewritten from the parts that make up a robot: compiler and gravity options, defaults,
bodies, joints, inertials, joint equalities and actuators on joints. Elements keep their
line numbers, so that MuJoCo's messages refer to lines of the user's file.

Geoms matter only where mass is computed from shapes. They are left out where a body states
its ``<inertial>`` (unless the file says ``inertiafromgeom="true"``), and a mesh is opened only
if such a geom needs it, and only inside the folder of the MJCF file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from xml.sax.saxutils import quoteattr

from steelyard._files.limits import MAX_MJCF_ELEMENTS, MAX_XML_BYTES
from steelyard._files.xml import XmlElement, parse_xml, read_file
from steelyard.errors import RobotError, listed, shown, shown_path
from steelyard.robot.sizes import check_count

MESH_FORMATS = (".stl", ".obj", ".msh")
LEFT_OUT = {
    "contact", "custom", "keyframe", "sensor", "size", "statistic", "tendon", "visual",
    "camera", "light", "site", "material", "texture", "hfield", "skin", "pair", "lengthrange",
}  # fmt: skip
ACTUATORS = {"general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder"}
KEPT: dict[str, set[str]] = {
    "mujoco": {"compiler", "option", "default", "asset", "worldbody", "equality", "actuator"},
    "compiler": set(),
    "option": {"flag"},
    "default": {"default", "joint", "geom", "mesh", "equality"} | ACTUATORS,
    "asset": {"mesh"},
    "worldbody": {"body", "frame", "geom"},
    "body": {"body", "frame", "geom", "inertial", "joint", "freejoint"},
    "frame": {"body", "frame", "geom", "inertial", "joint", "freejoint"},
    "equality": {"joint", "connect", "weld", "tendon", "flex", "flexvert", "flexstrain",
                 "distance"},
    "actuator": ACTUATORS,
}  # fmt: skip
# Sections whose unlisted children do not affect the robot's tree and are dropped silently.
TOLERANT = {"default", "asset", "actuator"}
REFUSED_ASSETS = {"model"}
FILE_ATTRIBUTES = {"meshdir", "texturedir", "assetdir", "strippath", "fusestatic"}
TEXT_ATTRIBUTES = {
    "actuator", "body", "body1", "body2", "childclass", "class", "file", "joint", "joint1",
    "joint2", "jointinparent", "mesh", "model", "name",
}  # fmt: skip
NOT_FINITE = {"nan", "inf", "infinity"}


@dataclass(frozen=True, eq=False)
class MjcfSource:
    """An MJCF text that names no file on disk, and the meshes that it needs.

    sha256 : of the bytes of the file.
    """

    text: str
    meshes: dict[str, bytes]
    sha256: str


def read_mjcf_source(path: str | Path, content: bytes | None = None) -> MjcfSource:
    """The part of an MJCF file that defines the robot, checked; see the module's docstring.

    content : bytes to read in place of the file's.
    """
    where = shown_path(path)
    data = read_file(path) if content is None else content
    root = parse_xml(data, where, "utf-8")
    if root.tag != "mujoco":
        hint = "; read it as URDF" if root.tag == "robot" else ""
        raise RobotError(f"{where} has root element <{root.tag[:60]}>, not <mujoco>{hint}")
    try:
        _refuse_files_and_plugins(root)
        compiler: dict[str, str] = {}
        for element in root.all("compiler"):
            compiler.update(element.attributes)
        kept = _kept(root, compiler.get("inertiafromgeom", "auto"), stated=False)
        _refuse_many(kept)
        _refuse_not_finite(kept)
        meshes = _load_meshes(kept, compiler, Path(path).resolve().parent)
    except RobotError as error:
        raise RobotError(f"{where}: {error}") from None
    return MjcfSource(write_xml(kept), meshes, hashlib.sha256(data).hexdigest())


def _elements(root: XmlElement) -> Iterator[XmlElement]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def _refuse_files_and_plugins(root: XmlElement) -> None:
    """Refuse elements that open other files or run code, anywhere in the file."""
    for element in _elements(root):
        if element.tag == "include":
            raise RobotError(
                f"<include> in line {element.line} names another file, which is not followed; "
                "make one file with mujoco.MjSpec.from_file(...).to_file('flat.xml')"
            )
        if element.tag in ("plugin", "extension"):
            raise RobotError(f"<{element.tag}> in line {element.line}: plugins are not loaded")


def _refuse_many(root: XmlElement) -> None:
    """Refuse more elements than MuJoCo compiles in a second or two."""
    counts = Counter(element.tag for element in _elements(root))
    check_count("bodies", counts["body"], "the file")
    if counts.total() > MAX_MJCF_ELEMENTS:
        tag, count = counts.most_common(1)[0]
        raise RobotError(
            f"the file has {counts.total()} elements that define the robot, {count} of them "
            f"<{tag}>; at most {MAX_MJCF_ELEMENTS} are given to MuJoCo"
        )


def _refuse_not_finite(root: XmlElement) -> None:
    """Refuse "nan" and "inf", which MuJoCo accepts."""
    for element in _elements(root):
        for name, value in element.attributes.items():
            words = () if name in TEXT_ATTRIBUTES else value.split()
            if any(word.lower().lstrip("+-") in NOT_FINITE for word in words):
                raise RobotError(
                    f"<{element.tag}> in line {element.line} has {name}={shown(value)}; "
                    "numbers must be finite"
                )


def _kept(element: XmlElement, from_geom: str, stated: bool) -> XmlElement:
    """A copy of the element with only the parts that define a robot.

    from_geom : the compiler's ``inertiafromgeom``; stated : whether the enclosing body states
    an inertial.
    """
    valid = KEPT.get(element.tag, set())
    if element.tag in ("body", "worldbody"):
        # The world's own geoms have no mass, as if its inertial were stated.
        stated = element.tag == "worldbody" or bool(element.all("inertial"))
    children = []
    for child in element.children:
        if child.tag in valid:
            if _matters(child, element, from_geom, stated):
                children.append(_kept(child, from_geom, stated))
        elif child.tag in REFUSED_ASSETS or (
            child.tag not in LEFT_OUT and element.tag in KEPT and element.tag not in TOLERANT
        ):
            raise RobotError(
                f"<{child.tag[:60]}> in line {child.line} cannot be read inside <{element.tag}>; "
                f"supported there: {listed(sorted(valid))}"
            )
    attributes = dict(element.attributes)
    attributes.pop("material", None)
    if element.tag == "compiler":
        attributes = {k: v for k, v in attributes.items() if k not in FILE_ATTRIBUTES}
    elif element.tag in ("option", "flag"):
        attributes = {k: v for k, v in attributes.items() if k == "gravity"}
    return replace(element, attributes=attributes, children=children)


def _matters(child: XmlElement, parent: XmlElement, from_geom: str, stated: bool) -> bool:
    """Whether a child of a kept kind affects the robot; refuses equalities that close loops."""
    if child.tag == "geom" and parent.tag != "default":
        if from_geom == "false" or parent.tag == "worldbody":
            return False
        if "hfield" in child.attributes or child.attributes.get("type") == "hfield":
            return False
        return from_geom == "true" or not stated
    if parent.tag == "equality":
        if child.attributes.get("active") == "false":
            return False
        if child.tag != "joint":
            name = child.attributes.get("name")
            called = f" {shown(name)}" if name else ""
            raise RobotError(
                f"equality <{child.tag}>{called} in line {child.line} closes a loop or couples "
                'more than joints, which is not supported; remove it or set active="false". Its '
                "forces act in the torques of the joints between the two bodies alone: leave "
                "these out of the log, and the other rows are valid (--torques recorded)"
            )
    if parent.tag == "actuator":
        on_joint = child.attributes.keys() & {"joint", "jointinparent"}
        return bool(on_joint) and child.attributes.get("dyntype") != "muscle"
    return True


def _load_meshes(root: XmlElement, compiler: dict[str, str], folder: Path) -> dict[str, bytes]:
    """Drop the meshes that no kept geom names; read the others and rename their files."""
    wanted = {e.attributes["mesh"] for e in _elements(root) if "mesh" in e.attributes}
    meshes: dict[str, bytes] = {}
    total = 0
    for asset in root.all("asset"):
        needed = []
        for mesh in asset.all("mesh"):
            file = mesh.attributes.get("file")
            name = mesh.attributes.get("name") or PurePath(file or "").stem
            if name not in wanted:
                continue
            if "builtin" in mesh.attributes:
                raise RobotError(
                    f"mesh {shown(name)} in line {mesh.line} is built in, which is not supported; "
                    "state an <inertial> for the body that uses it"
                )
            mesh.attributes["name"] = name
            mesh.attributes.pop("content_type", None)
            if file is not None:
                data = _read_mesh(file, name, compiler, folder)
                total += len(data)
                if total > MAX_XML_BYTES:
                    raise RobotError(
                        f"the meshes up to {shown(name)} are larger than "
                        f"{MAX_XML_BYTES // 2**20} MiB together; state the inertials instead"
                    )
                alias = f"mesh_{len(meshes)}{PurePath(file).suffix.lower()}"
                mesh.attributes["file"] = alias
                meshes[alias] = data
            needed.append(mesh)
        asset.children = needed
    return meshes


def _read_mesh(file: str, name: str, compiler: dict[str, str], folder: Path) -> bytes:
    """The bytes of a mesh file inside ``folder``; refuses other formats and other folders."""
    if PurePath(file).suffix.lower() not in MESH_FORMATS:
        raise RobotError(
            f"mesh {shown(name)} is in file {shown(file)}; supported formats are "
            f"{listed(MESH_FORMATS)}"
        )
    if compiler.get("strippath") == "true":
        file = PurePath(file).name
    directory = compiler.get("meshdir", compiler.get("assetdir", ""))
    try:
        path = (folder / directory / file).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise RobotError(f"mesh {shown(name)}: its file cannot be found: {error}") from None
    if not path.is_relative_to(folder):
        raise RobotError(
            f"mesh {shown(name)} is in {shown_path(path)}, outside the folder of the MJCF file, "
            "and is not opened; move it there, or state an <inertial> for the body that uses it"
        )
    try:
        return read_file(path)
    except RobotError as error:
        raise RobotError(f"mesh {shown(name)}: {error}") from None


def write_xml(root: XmlElement) -> str:
    """XML text with every element on the line where it was read."""
    parts: list[str] = []
    line = 1
    stack: list[XmlElement | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        parts.append("\n" * max(0, item.line - line))
        line = max(line, item.line)
        written = "".join(f" {key}={quoteattr(value)}" for key, value in item.attributes.items())
        parts.append(f"<{item.tag}{written}>")
        stack.append(f"</{item.tag}>")
        stack.extend(reversed(item.children))
    return "".join(parts)
