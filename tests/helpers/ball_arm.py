"""A small arm with a ball on every link, as the text of a URDF."""

from __future__ import annotations

from pathlib import Path

from oracles import numbers


def joint(
    name: str, parent: str, child: str, xyz=(0, 0, 0), axis=(0, 1, 0), kind="revolute"
) -> str:
    """A joint with usual limits."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{numbers(xyz)}"/><axis xyz="{numbers(axis)}"/>'
        '<limit lower="-2" upper="2" velocity="1" effort="1"/></joint>'
    )


def link(name: str, radius: float | None, xyz=(0, 0, 0)) -> str:
    """A link with a ball, or with nothing."""
    if radius is None:
        return f'<link name="{name}"/>'
    return (
        f'<link name="{name}"><collision><origin xyz="{numbers(xyz)}"/>'
        f'<geometry><sphere radius="{radius}"/></geometry></collision></link>'
    )


CHAIN = [
    link("base", 0.05),
    link("one", 0.05, (0, 0, 0.2)),
    link("two", 0.05, (0, 0, 0.2)),
    link("flange", None),
    link("tool", 0.05, (0, 0, 0.1)),
    joint("first", "base", "one", (0, 0, 0.2), axis=(0, 0, 1)),
    joint("second", "one", "two", (0, 0, 0.3)),
    joint("third", "two", "flange", (0, 0, 0.3)),
    joint("mount", "flange", "tool", (0, 0, 0.1), kind="fixed"),
]


def write(folder: Path, parts=CHAIN, name: str = "arm") -> Path:
    """A URDF of these links and joints."""
    path = folder / f"{name}.urdf"
    path.write_text(f'<robot name="{name}">' + "".join(parts) + "</robot>")
    return path
