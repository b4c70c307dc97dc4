"""The rooms of the house: what imports what, and in which direction only.

`ORDER` lists the rooms from the ground up; a module imports only from its own room and from rooms
above it in the list. Imports at module level, inside functions and under TYPE_CHECKING count
alike. The package's own ``__init__``, which gives users their names, stands outside the order, and
nothing in the package imports it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from project import DOCS

import steelyard

PACKAGE = Path(steelyard.__file__).resolve().parent
ORDER = (
    "errors",
    "findings",
    "_version",
    "_files",
    "conic",
    "robot",
    "model",
    "logs",
    "signals",
    "regression",
    "knowledge",
    "estimators",
    "validation",
    "diagnosis",
    "payload",
    "excitation",
    "simulation",
    "export",
    "certificates",
    "report",
    "identification",
    "testing",
    "cli",
    "__main__",
)
BESIDE_ROOMS = {"__init__.py", "__main__.py", "_version.py", "errors.py", "findings.py", "py.typed"}
ROOMS = [room for room in ORDER if (PACKAGE / room).is_dir()]
PAGE = DOCS / "architecture.md"
LOCATION = re.compile(r"`([\w./-]+)`(?:: ((?:`\w+`(?:, )?)+))?")
ROOM_ROW = re.compile(r"^\| `(\w+)/` \|.*\|([^|]*)\|$", re.MULTILINE)


def modules(package: Path) -> dict[str, Path]:
    """Every module below a package folder by its dotted name, the top ``__init__`` left out."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name != package.name:
            found[name] = path
    return found


def imported(source: str, known: dict[str, Path], package: str) -> set[str]:
    """The package's modules that a source text imports, wherever the statement stands."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the room"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else str(node.module))
    return {name for name in found if name == package or name.startswith(f"{package}.")}


def edges(package: Path) -> dict[str, set[str]]:
    """For every module, the modules of the package that it imports."""
    known = modules(package)
    return {
        name: imported(path.read_text(encoding="utf-8"), known, package.name)
        for name, path in known.items()
    }


def room_of(module: str) -> str:
    """The room of a module; the package itself for its ``__init__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def against_order(package: Path) -> list[str]:
    """Imports that go to a later room, to no room, or to the package's ``__init__``."""
    bad = []
    for module, targets in edges(package).items():
        for target in sorted(targets):
            rooms = room_of(module), room_of(target)
            if any(room not in ORDER for room in rooms):
                bad.append(f"{module} -> {target}: no room of the order")
            elif ORDER.index(rooms[1]) > ORDER.index(rooms[0]):
                bad.append(f"{module} -> {target}")
    return bad


def cycle(package: Path) -> list[str]:
    """Modules that import each other in a circle; empty where there is none."""
    graph = edges(package)
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for target in sorted(graph.get(module, ())):
            found = visit(target, [*path, module])
            if found:
                return found
        done.add(module)
        return []

    for start in graph:
        found = visit(start, [])
        if found:
            return found
    return []


def test_imports_go_one_way():
    """No module imports from a later room, in whatever way."""
    assert against_order(PACKAGE) == []


def test_no_import_cycles():
    """No modules import each other in a circle, not even inside a room."""
    assert cycle(PACKAGE) == []


def test_the_listing_shows_the_rooms():
    """Beside the rooms there are only the six files that every package of this kind has."""
    shown = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    rooms = {room for room in ORDER if (PACKAGE / room).is_dir()}
    assert shown == rooms | BESIDE_ROOMS
    assert rooms == {room for room in ORDER if f"{room}.py" not in BESIDE_ROOMS}


def test_files_fit_in_a_head():
    """The median module has 100 to 170 lines, and none has more than 450."""
    sizes = sorted(
        len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    )
    assert 100 <= sizes[len(sizes) // 2] <= 170
    assert sizes[-1] <= 450


def written(folder: Path, name: str, text: str) -> Path:
    """A small package with one module of this text, and the modules it may import."""
    package = folder / "steelyard"
    for module in ("conic/blocks", "robot/robot", "model/model"):
        path = package / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").write_text("", encoding="utf-8")
        path.write_text("", encoding="utf-8")
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / name).write_text(text, encoding="utf-8")
    return package


def test_an_edge_against_the_order_is_found(tmp_path):
    """An import against the order is seen at module level, in a function and for types only."""
    for number, text in enumerate(
        (
            "from steelyard.model.model import Model",
            "import steelyard.model.model",
            "from steelyard.model import model",
            "def f():\n    from steelyard.model.model import Model",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
            "    from steelyard.model.model import Model",
            "from steelyard import __version__",
        )
    ):
        package = written(tmp_path / str(number), "robot/robot.py", text)
        assert len(against_order(package)) == 1, text
    fine = written(tmp_path / "fine", "robot/robot.py", "from steelyard.conic.blocks import Block")
    assert against_order(fine) == []


def test_a_cycle_inside_a_room_is_found(tmp_path):
    """Two modules of one room that import each other are a cycle."""
    package = written(tmp_path, "model/model.py", "from steelyard.model import terms")
    assert cycle(package) == []
    (package / "model/terms.py").write_text(
        "def f():\n    from steelyard.model.model import Model", encoding="utf-8"
    )
    assert cycle(package) == [
        "steelyard.model.model",
        "steelyard.model.terms",
        "steelyard.model.model",
    ]


def test_page_points_to_what_is_there():
    """Every file and folder that the page on the architecture names exists, and holds the
    functions and classes that are named with it.
    """
    wrong, found = [], 0
    for path, names in LOCATION.findall(PAGE.read_text(encoding="utf-8")):
        inside = path.split("/")[0] in ROOMS or path in BESIDE_ROOMS
        if not inside or ("/" not in path and not path.endswith(".py")):
            continue
        found += 1
        place = PACKAGE / path
        if not place.exists():
            wrong.append(path)
            continue
        sources = [place] if place.is_file() else sorted(place.glob("*.py"))
        defined = {name for source in sources for name in defined_in(source)}
        wrong += [f"{path}: {name}" for name in re.findall(r"\w+", names) if name not in defined]
    assert wrong == []
    assert found > 100


def defined_in(source: Path) -> set[str]:
    """Classes and functions at the top of a file of Python; nothing for other files."""
    if source.suffix != ".py":
        return set()
    body = ast.parse(source.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def test_page_lists_the_rooms_in_order():
    """The table of rooms has every room, from the ground up, and names imports that may be."""
    rows = ROOM_ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert [room for room, _ in rows] == ROOMS
    for number, (room, imports) in enumerate(rows):
        for name in re.findall(r"`(\w+)`", imports):
            assert name in ROOMS[:number], f"{room} may not import {name}"
