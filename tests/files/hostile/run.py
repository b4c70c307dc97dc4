"""Run the corpus: every case in a fork of this process, with limits, and say what came of it.

    python run.py FOLDER [NAME ...]

Prints one JSON object for each case. A case that takes more than its memory, its processor time or
a generous time by the clock is ended, and its line says by which signal.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
import warnings
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER.parents[1] / "helpers")]

from hostile.case import FIT, Bench, Case  # noqa: E402
from hostile.honest import make_honest  # noqa: E402
from steelyard.cli import main  # noqa: E402
from steelyard.errors import SteelyardError  # noqa: E402

SUBJECTS = ("log", "robot", "overlay", "json", "special", "cause")
MEMORY = 2 * 2**30
"""Bytes of address space that a case may take beyond those of the process that starts it."""
PROCESSOR_S = 10
CLOCK_S = 60
"""Only ends a case that waits for ever; how long one takes by the clock depends on the machine."""
LOADED = (
    "mujoco", "steelyard.certificates.verify", "steelyard.identification.identify",
    "steelyard.diagnosis.checked_log", "steelyard.excitation.design", "steelyard.report.page",
)  # fmt: skip


def all_cases() -> list[Case]:
    """Every case of the corpus."""
    return [case for name in SUBJECTS for case in import_module(f"hostile.{name}_cases").CASES]


def run_case(case: Case, bench: Bench) -> dict[str, object]:
    """What came of a case, as plain data."""
    out, err = bench.path.with_suffix(".stdout"), bench.path.with_suffix(".stderr")
    # in a fork as well, since memory that making a file has taken would count for what follows
    made = bench.path.with_suffix(".made")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            made.write_text(json.dumps(case.make(bench)), encoding="utf-8")
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise RuntimeError(f"the file of {case.name} cannot be made")
    action = json.loads(made.read_text("utf-8"))
    child = os.fork()
    if child == 0:
        _act(action, out, err)
    _, status, used = os.wait4(child, 0)
    return {
        "name": case.name,
        "code": os.waitstatus_to_exitcode(status),
        "processor_s": used.ru_utime + used.ru_stime,
        "memory_mb": used.ru_maxrss / 1024,
        "stdout": out.read_text("utf-8", "replace")[:4000],
        "stderr": err.read_text("utf-8", "replace")[:4000],
    }


def _fitted(path: str) -> int:
    """Read a regression file and fit it; the exit code, with a line as the command line has it."""
    from steelyard.estimators.least_squares import wls
    from steelyard.regression.factor_file import read_regression

    try:
        wls(read_regression(path))
    except SteelyardError as error:
        print(f"steelyard: error: {error}", file=sys.stderr)
        return 2
    return 0


def _act(action: list[str], out: Path, err: Path) -> None:
    """Do it in this process, which ends here."""
    code = 99
    try:
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        os.chdir(out.parent)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
        signal.alarm(CLOCK_S)
        warnings.resetwarnings()
        warnings.simplefilter("always")
        code = _fitted(action[1]) if action[0] == FIT else main(action)
    except BaseException:
        traceback.print_exc()
        code = 98
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_all(folder: Path, names: list[str]) -> None:
    """Run every case, or those whose names begin with one of these."""
    honest = folder / "honest"
    honest.mkdir()
    (folder / "loop").symlink_to(folder / "loop")
    make_honest(honest)
    for name in LOADED:
        import_module(name)
    for number, case in enumerate(all_cases()):
        if names and not case.name.startswith(tuple(names)):
            continue
        print(json.dumps(run_case(case, Bench(honest, folder / f"case{number}"))), flush=True)
        for path in folder.glob(f"case{number}*"):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()


if __name__ == "__main__":
    run_all(Path(sys.argv[1]), sys.argv[2:])
