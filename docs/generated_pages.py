"""Pages that are made, not written: one per example script, one per public module."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

EXAMPLES_INTRODUCTION = """\
# Examples

Each page is a script of the `examples/` folder, and runs as it stands:
`python examples/{first}`. The tests run every one of them.
"""
NO_EXAMPLES = "# Examples\n\nThere are none yet.\n"
API_INTRODUCTION = """\
# Python interface

One page per public module. Arrays state their shape and unit; the order of joints is always
that of `Robot.joint_names`, the order of parameters that of `Model.columns`.
"""


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


def write_api(package: Path, pages: Path) -> None:
    """Make one autodoc page for every public module of ``package``.

    Public is what has no leading underscore; the command line has a page of its own.
    """
    modules = []
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        if not any(part.startswith("_") or part == "cli" for part in parts):
            modules.append(".".join(parts))
    texts = {f"{name}.md": module_page(name) for name in modules}
    texts["index.md"] = API_INTRODUCTION + toctree(modules)
    write_folder(pages, texts)


def module_page(name: str) -> str:
    """MyST text of one module's page."""
    return f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n```\n"


def write_registries(pages: Path) -> None:
    """Make the tables of terms and methods that pages include, from the registries."""
    write_folder(pages, {"terms.md": terms_table(), "methods.md": methods_table()})


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
