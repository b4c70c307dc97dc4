"""Which tests touch which lines of the mutated modules, found out by running each file once."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from sessions import Ended, results_folder, run_all, start
from targets import PACKAGE, ROOT, modules, test_files

BUDGET_S = 10.0
"""Processor time of the tests that one mutant is given, at most."""
SETUP = "|setup"
MOST_LOST = 0.1
"""Share of test files that may end in an error."""


@dataclass(frozen=True)
class Touched:
    """What one test file does.

    seconds : of each test, by its name. lines : of each module, which tests touch each line;
    a name with `SETUP` behind it stands for the fixtures that the test set up first.
    """

    file: str
    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]


def tests_for(path: str, lines: tuple[int, int], known: Sequence[Touched]) -> list[str]:
    """Tests for a mutant, most promising first, within `BUDGET_S`.

    Tests that touch the lines (first, last) come first, then all others of the same files, since
    fixtures and caches run only once; for lines that run on import, all tests that touch the
    module. Quick ones come before slow ones.
    """
    everywhere = {one.file: _names(one, path, (0, 10**9)) for one in known}
    there = {one.file: _names(one, path, lines) for one in known}
    if not any(there.values()):
        there = everywhere
    direct, beside = [], []
    for one in known:
        own = there[one.file]
        if own:
            direct += [(one.seconds.get(name, 0.0), name) for name in own]
            beside += [(s, name) for name, s in one.seconds.items() if name not in own]
    chosen, spent = [], 0.0
    for seconds, name in (*sorted(direct), *sorted(beside)):
        if spent + seconds <= BUDGET_S or not chosen:
            chosen.append(name)
            spent += seconds
    return chosen


def _names(one: Touched, path: str, lines: tuple[int, int]) -> set[str]:
    """Tests of a file that touch any of these lines of a module."""
    return {
        name.removesuffix(SETUP)
        for line, names in one.lines.get(path, {}).items()
        if lines[0] <= line <= lines[1]
        for name in names
        if name
    }


def touched_lines(*, workers: int, limit_s: float) -> list[Touched]:
    """Of all test files; those that ran before with the same texts are read from disk."""
    folder = results_folder() / "touched"
    folder.mkdir(exist_ok=True)
    common = sha256()
    starts = Path(__file__).with_name("sessions.py")
    for path in (*sorted((ROOT / "tests" / "helpers").glob("*.py")), *_target_files(), starts):
        common.update(path.read_bytes())
    places = {}
    for file in test_files():
        digest = common.copy()
        digest.update((ROOT / file).read_bytes())
        places[file] = folder / f"{Path(file).stem}-{digest.hexdigest()[:16]}.json"
    missing = [file for file, place in places.items() if not place.exists()]

    def done(k: int, ended: Ended) -> None:
        said = "" if ended.code in (0, 5) else ": some fail as it is, and are not used"
        print(f"  {missing[k]} {ended.seconds:.0f} s{said}", flush=True)

    if missing:
        print(f"which lines {len(missing)} test files touch:", flush=True)
    tasks = [partial(_record, file, places[file]) for file in missing]
    run_all(tasks, done, workers=workers, limit_s=limit_s)
    lost = [file for file, place in places.items() if not place.exists()]
    if len(lost) > MOST_LOST * len(places):
        raise SystemExit(
            f"{len(lost)} of {len(places)} test files could not be run, such as {lost[0]}: mutants "
            "would seem to survive; is everything of 'make .venv/.have-dev' installed?"
        )
    return [_read(file, place) for file, place in places.items() if place.exists()]


def _target_files() -> list[Path]:
    return [PACKAGE / path for path in sorted(modules())]


def _record(file: str, place: Path) -> int:
    return start([file], None, 1800.0, Recorder(file, place))


def _read(file: str, place: Path) -> Touched:
    stored = json.loads(place.read_text(encoding="utf-8"))
    lines = {
        path: {int(line): names for line, names in own.items()}
        for path, own in stored["lines"].items()
    }
    return Touched(file, stored["seconds"], lines)


class Recorder:
    """A pytest plugin that writes which test touched which line."""

    def __init__(self, file: str, place: Path) -> None:
        self.file, self.place = file, place
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.coverage: Any = None

    def pytest_sessionstart(self) -> None:
        """Begin before the tests are imported."""
        import coverage

        include = [str(path) for path in _target_files()]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        # tests that touch no target are no mistake
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self.coverage.start()

    def pytest_runtest_protocol(self, item: Any) -> None:
        """What follows belongs to this test."""
        self.began = time.process_time()

    def pytest_runtest_setup(self, item: Any) -> None:
        """Fixtures come first."""
        self.coverage.switch_context(item.nodeid + SETUP)

    def pytest_runtest_call(self, item: Any) -> None:
        """The test itself."""
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_teardown(self, item: Any) -> Generator[None, None, None] | None:
        """Its time, with its fixtures."""
        self.seconds[item.nodeid] = round(time.process_time() - self.began, 3)
        self.coverage.switch_context("")
        return None

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test that fails as it is would seem to notice every mutant."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write what passed; nothing if the tests could not be run."""
        self.coverage.stop()
        if int(exitstatus) not in (0, 1, 5):
            return
        data = self.coverage.get_data()
        lines = {
            path: {
                line: [name for name in names if name.removesuffix(SETUP) not in self.failed]
                for line, names in data.contexts_by_lineno(str(PACKAGE / path)).items()
            }
            for path in sorted(modules())
        }
        seconds = {name: s for name, s in self.seconds.items() if name not in self.failed}
        self.place.write_text(json.dumps({"seconds": seconds, "lines": lines}), encoding="utf-8")
