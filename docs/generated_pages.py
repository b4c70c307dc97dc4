"""Pages that are generated: one per example script, one per room and per public module.

Public is what has no leading underscore. The pages of the Python interface start with the names
that ``steelyard`` itself exports, by room, in the order of the table in ``architecture.md``.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from docstrings import as_rest

EXAMPLES_INTRODUCTION = """\
# Examples

Each page is a script of the `examples/` folder, and runs as it stands:
`python examples/{first}`. The tests run every one of them.
"""
NO_EXAMPLES = "# Examples\n\nThere are none yet.\n"
API_INTRODUCTION = """\
# Python interface

What `steelyard` exports, by room: `from steelyard import Robot, identify, read_log`. A name leads
to its page; the pages of a room also have what its modules offer beyond these names. Arrays state
their shape and unit; the order of joints is always that of `Robot.joint_names`, the order of
parameters that of `Model.columns`.
"""
ROOM_ROW = re.compile(r"^\| `(\w+)/` \|", re.MULTILINE)
"""A row of the table of rooms in ``architecture.md``."""
PAPERS = Path(__file__).resolve().parents[1] / "benchmarks" / "papers.json"
"""The rows that `python benchmarks/papers.py` keeps."""
WITHOUT_PAGE = ("cli",)
"""The command line has a page that is written."""


def write_examples(scripts: Path, pages: Path) -> None:
    """Turn ``scripts/NN_name.py`` into ``pages/NN_name.md``, and make their index.

    The module docstring becomes the prose (its first line the title), the rest one code
    block.
    """
    found = sorted(scripts.glob("[0-9][0-9]_*.py"))
    texts = {f"{script.stem}.md": example_page(script) for script in found}
    if found:
        introduction = EXAMPLES_INTRODUCTION.format(first=found[0].name)
        texts["index.md"] = introduction + toctree([script.stem for script in found])
    else:
        texts["index.md"] = NO_EXAMPLES
    write_folder(pages, texts)


def example_page(script: Path) -> str:
    """MyST text of one example."""
    source = script.read_text(encoding="utf-8")
    module = ast.parse(source, filename=str(script))
    docstring = ast.get_docstring(module)
    if docstring is None:
        raise ValueError(f"{script.name} has no docstring to make a page of")
    title, _, prose = docstring.partition("\n")
    code = "\n".join(source.splitlines()[module.body[0].end_lineno :]).strip("\n")
    return f"# {title.rstrip('.')}\n\n{prose.strip()}\n\n```python\n{code}\n```\n"


def write_api(package: Path, pages: Path, *, home: Mapping[str, str], table: Path) -> None:
    """Make the index, one page per room, and one autodoc page for every public module.

    home : for each name that the package exports, the module that defines it (without the
        package's name). table : the page whose table lists the rooms in order.
    """
    modules = public_modules(package)
    texts = {f"{name}.md": module_page(name) for name in modules}
    rooms = [room for room in rooms_in_order(table) if f"{package.name}.{room}" in modules]
    beside = [name for name in modules if name.count(".") == 1 and name.split(".")[1] not in rooms]
    index = [API_INTRODUCTION]
    for room in rooms:
        inside = [name for name in modules if name.startswith(f"{package.name}.{room}.")]
        exported = exported_list(package, home, room)
        title = ast.get_docstring(parsed(package / room / "__init__.py")) or ""
        texts[f"{package.name}.{room}.md"] = (
            f"# {package.name}.{room}\n\n{title}\n\n{exported}{toctree(inside)}"
        )
        if exported:
            index.append(f"\n## {room}\n\n{title}\n\n{exported}")
    names = "".join(exported_list(package, home, name.split(".")[1]) for name in beside)
    index.append(f"\n## Errors and findings\n\n{names}")
    index.append("\n## Pages\n" + toctree([f"{package.name}.{room}" for room in rooms] + beside))
    texts["index.md"] = "".join(index)
    write_folder(pages, texts)


def public_modules(package: Path) -> list[str]:
    """Dotted names of the modules and rooms that have a page; the package itself has none."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        private = any(part.startswith("_") or part in WITHOUT_PAGE for part in parts)
        if len(parts) > 1 and not private:
            modules.append(".".join(parts))
    return modules


def rooms_in_order(table: Path) -> list[str]:
    """Names of the rooms, as the table of ``architecture.md`` lists them."""
    return ROOM_ROW.findall(table.read_text(encoding="utf-8"))


def exported_list(package: Path, home: Mapping[str, str], room: str) -> str:
    """MyST text: the exported names of a room with the first sentence of their docstrings."""
    lines = []
    for name, module in sorted(home.items(), key=lambda item: item[0].lower()):
        if module.split(".")[0] != room:
            continue
        target = f"{package.name}.{module}.{name}"
        summary = summary_of(package / (module.replace(".", "/") + ".py"), name)
        lines.append(f"- :py:obj:`{name} <{target}>`" + (f": {summary}" if summary else ""))
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n" if lines else ""


def summary_of(path: Path, name: str) -> str:
    """First sentence of the docstring of a class or function, as reStructuredText."""
    for node in parsed(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            first = (ast.get_docstring(node) or "").split("\n\n")[0]
            sentence = re.split(r"(?<=[.?])\s", first)[0]
            return " ".join(as_rest(sentence.splitlines())).strip()
    return ""


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a source file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_page(name: str) -> str:
    """MyST text of one module's page."""
    return f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n```\n"


def write_registries(pages: Path) -> None:
    """Make the tables that pages include: terms and methods, and the rows of the papers."""
    texts = {"terms.md": terms_table(), "methods.md": methods_table(), "papers.md": papers_tables()}
    write_folder(pages, texts)


def papers_tables() -> str:
    """MyST tables of what `python benchmarks/papers.py` found, one for each paper."""
    rows = json.loads(PAPERS.read_text(encoding="utf-8"))
    lines = []
    for paper in dict.fromkeys(row["paper"] for row in rows):
        mine = [row for row in rows if row["paper"] == paper]
        agree = sum(row["status"] == "agrees" for row in mine)
        lines += [f"**{paper}**: {len(mine)} rows, {agree} agree", ""]
        lines += ["| where | what | paper | here | | command |", "|---|---|---|---|---|---|"]
        for row in mine:
            verdict = row["status"] if row["status"] == "agrees" else row["reason"]
            if row["status"] == "text lacks it":
                verdict = f"not computed: {verdict}"
            cells = [row["where"], row["what"], row["printed"], row["ours"], verdict]
            cells = [cell.replace("|", "\\|") for cell in cells]
            lines.append("| " + " | ".join([*cells, f"`{row['command']}`"]) + " |")
        lines.append("")
    return "\n".join(lines)


def terms_table() -> str:
    """MyST table of the kinds of terms."""
    from steelyard.model.term_kinds import TERM_KINDS

    lines = [
        "| term | parameter | torque | unit, turning | unit, sliding | negative | default at |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{kind.name}` | `JOINT.{kind.symbol}` | ${kind.formula}$ | {kind.units[0]} | "
        f"{kind.units[1]} | {'yes' if kind.may_be_negative else 'no'} | "
        f"{', '.join(kind.default_sides) or 'nowhere: state it'} |"
        for kind in TERM_KINDS
    ]
    return "\n".join(lines) + "\n"


def methods_table() -> str:
    """MyST table of the estimators."""
    from steelyard.estimators.estimator import DEFAULT_METHOD
    from steelyard.estimators.registry import all_estimators

    lines = ["| method | what it does | prior | physical |", "|---|---|---|---|"]
    lines += [
        f"| `{one.name}`{' (default)' if one.name == DEFAULT_METHOD else ''} | {one.description} | "
        f"{'yes' if one.takes_prior else 'none'} | {'yes' if one.physical else 'not looked at'} |"
        for one in all_estimators()
    ]
    return "\n".join(lines) + "\n"


def toctree(names: list[str]) -> str:
    """A table of contents with one line per page."""
    lines = "\n".join(names)
    return f"\n```{{toctree}}\n:maxdepth: 1\n\n{lines}\n```\n"


def write_folder(folder: Path, texts: dict[str, str]) -> None:
    """Make ``folder`` hold exactly these files, touching only those that changed.

    Sphinx rebuilds by modification time: untouched pages stay built.
    """
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
        elif old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
