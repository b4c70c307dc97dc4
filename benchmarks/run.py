"""Run a benchmark: figures measured side by side on this machine, and the goals for them.

    python benchmarks/run.py --list
    python benchmarks/run.py NAME
    python benchmarks/run.py NAME --json
    python benchmarks/run.py --quick          every goal without times that takes seconds

With ``--json``, standard output is one object ``{"name", "figures", "goals", "machine"}``, and
``"rows"`` for benchmarks that have a table.
A figure that could not be measured, because a peer is absent, is null, and so is ``holds``
of its goals. The exit code is 0 if every goal holds, 1 if not, 2 for bad arguments.

A benchmark is a module beside this one with ``NAME``, ``DESCRIPTION``, ``GOALS`` and
``measure()``; what is compared runs in processes of its own. One with goals that do not depend on
the speed of the machine may have ``QUICK_GOALS`` and ``quick()``: `.ci/run` holds figures of the
documentation to them. Where recordings or a peer are absent, ``--quick`` says which goals were not
measured, and does not fail for them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    """Parse, measure, print; returns the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__.split("\n")[0])
    parser.add_argument("name", nargs="?", help="the benchmark to run (see --list)")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and stop")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="goals that need seconds, no times")
    options = parser.parse_args(arguments)

    found = benchmarks()
    if options.list:
        print_list(found, as_json=options.json)
        return 0
    if options.quick and options.name is None:
        return quick_goals(found)
    if options.name not in found:
        what = f"no benchmark '{options.name}'" if options.name else "name a benchmark"
        parser.error(f"{what}; there are: {', '.join(found)}")
    return report(found[options.name], as_json=options.json)


def benchmarks() -> dict[str, ModuleType]:
    """The modules beside this one that are benchmarks, by name."""
    modules = (
        importlib.import_module(path.stem)
        for path in sorted(HERE.glob("*.py"))
        if path.stem != "run"
    )
    return {module.NAME: module for module in modules if hasattr(module, "NAME")}


def report(benchmark: ModuleType, *, as_json: bool) -> int:
    """Measure and print; returns exit code 0 if every goal holds, else 1."""
    import machine

    figures = benchmark.measure()
    result = {
        "name": benchmark.NAME,
        "figures": figures,
        "goals": [goal.as_json(figures) for goal in benchmark.GOALS],
        "machine": machine.describe(),
    }
    if hasattr(benchmark, "rows"):
        result["rows"] = benchmark.rows()
    if as_json:
        print(json.dumps(result, indent=2, allow_nan=False))
    else:
        print_table(result)
    return 0 if all(goal["holds"] for goal in result["goals"]) else 1


def quick_goals(found: dict[str, ModuleType]) -> int:
    """Measure and print the quick goals of all benchmarks; returns 0 if none is missed."""
    missed, absent = [], []
    for name, benchmark in found.items():
        if not hasattr(benchmark, "quick"):
            continue
        figures = benchmark.quick()
        for goal in benchmark.QUICK_GOALS:
            measured, holds = figures[goal.figure], goal.holds(figures)
            claim = f"{name}: {goal.figure} {goal.op} {goal.value:g}"
            if holds is None:
                absent.append(claim)
                continue
            print(f"  {claim:<64} {measured:<10.4g} {'holds' if holds else 'MISSED'}", flush=True)
            if not holds:
                missed.append(claim)
    for claim in absent:
        print(f"  not measured, recordings or a peer are absent: {claim}")
    print(f"quick goals: {len(missed)} missed, {len(absent)} not measured")
    return 1 if missed else 0


def print_list(found: dict[str, ModuleType], *, as_json: bool) -> None:
    """Names and descriptions."""
    if as_json:
        print(json.dumps({name: module.DESCRIPTION for name, module in found.items()}, indent=2))
        return
    for name, module in found.items():
        print(f"{name}: {module.DESCRIPTION}")


def print_table(result: dict[str, object]) -> None:
    """Print figures, goals and machine for people."""
    figures, goals = result["figures"], result["goals"]
    width = max(map(len, figures))
    print(f"{result['name']}\n")
    for name, value in figures.items():
        print(f"  {name:<{width}}  {'absent' if value is None else format(value, '.4g')}")
    print()
    verdicts = {True: "holds", False: "DOES NOT HOLD", None: "not measured"}
    for goal in goals:
        claim = f"{goal['figure']} {goal['op']} {goal['value']:g}"
        print(f"  {claim:<{width + 10}}  {verdicts[goal['holds']]}")
    versions = ", ".join(f"{k} {v}" for k, v in result["machine"]["versions"].items())
    machine = result["machine"]
    print(
        f"\n  {machine['processor']}, {machine['cores']} cores, {machine['system']}\n  {versions}"
    )


def use_project_environment() -> None:
    """Restart in the project's .venv if this interpreter lacks the required packages."""
    needed = ("numpy", "numba", "scipy")
    if all(importlib.util.find_spec(name) for name in needed):
        return
    python = HERE.parent / ".venv" / "bin" / "python"
    if not python.exists() or Path(sys.prefix) == python.parent.parent:
        print(
            "benchmarks need Steelyard: run 'make bench' or pip install '.[test]'", file=sys.stderr
        )
        sys.exit(2)
    os.execv(python, [str(python), str(HERE / "run.py"), *sys.argv[1:]])


if __name__ == "__main__":
    use_project_environment()
    sys.exit(main())
