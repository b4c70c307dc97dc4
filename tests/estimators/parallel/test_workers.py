"""Helping processes: the same answers, whoever gives them, and none of them left behind."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from experiments import chain_experiment
from project import HELPERS

import steelyard
from steelyard.estimators._ranges import range_solver
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.parallel import workers as module
from steelyard.estimators.parallel._messages import receive, send
from steelyard.estimators.parallel._packing import packed_blocks, unpacked_blocks
from steelyard.estimators.parallel.worker import serve
from steelyard.estimators.parallel.workers import Workers, job_name, job_named
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression

SOURCES = str(Path(steelyard.__file__).parents[1])


@pytest.fixture(scope="module")
def fitted() -> tuple[Regression, ConstrainedFit]:
    world = chain_experiment(0)
    noise = 0.3 * np.random.default_rng(1).normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, world.measured(noise))
    return regression, fit_feasible(world.model, regression, prior=world.model.prior_theta())


@pytest.fixture
def eager(monkeypatch):
    """Helpers for any amount of work."""
    monkeypatch.setattr(module, "WORTH_S", 1e-6)


def intervals(fitted, threads, **changes):
    """Everything that was computed by solving many problems."""
    regression, fit = fitted
    found = with_intervals(regression, fit, n_resamples=30, threads=threads, **changes)
    standard = found.standard
    return found, (found.spread.covariance, standard.ranges, standard.com_ranges)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [2, 4])
def test_answers_do_not_depend_on_who_gives_them(fitted, threads, monkeypatch):
    """With helpers every number is the same to the last bit, and the helpers did take part."""
    threads_that_answered = set()
    original = module._Board.put

    def put(board, indices, answers):
        threads_that_answered.add(threading.current_thread().name)
        original(board, indices, answers)

    alone = intervals(fitted, 1)[1]
    started = []
    start = Workers._start
    monkeypatch.setattr(Workers, "_start", lambda self: started.append(start(self)) or started[-1])
    monkeypatch.setattr(module._Board, "put", put)
    found, helped = intervals(fitted, threads)
    assert len(started) == threads - 1
    assert len(threads_that_answered) > 1
    assert all(helper.poll() is not None for helper in started)  # ended, and waited for
    assert found.standard is not None
    assert "fewer-processes" not in {finding.code for finding in found.findings}
    for one, other in zip(alone, helped, strict=True):
        np.testing.assert_array_equal(one, other)


def test_little_work_starts_no_process(fitted, monkeypatch):
    """Where starting a helper would take longer than the work, there is none."""
    monkeypatch.setattr(module, "WORTH_S", 1e6)
    monkeypatch.setattr(Workers, "_start", lambda self: pytest.fail("started a process"))
    intervals(fitted, 8)


@pytest.mark.usefixtures("eager")
def test_progress_counts_up_to_all(fitted):
    """Progress never falls, and ends with as many problems as were announced."""
    seen: list[tuple[int, int]] = []
    intervals(fitted, 2, progress=lambda done, total: seen.append((done, total)))
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert counts[-1] == seen[-1][1]
    assert len({total for _, total in seen}) == 1


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    "program",
    ["raise SystemExit(3)", "import os, sys; sys.stdin.buffer.read(9000); os.kill(os.getpid(), 9)"],
)
def test_work_of_a_helper_that_dies_is_done_without_it(fitted, program, monkeypatch):
    """A helper that ends, at once or in the middle, costs a note and no answer."""

    def start(self):
        return subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    alone = intervals(fitted, 1)[1]
    monkeypatch.setattr(Workers, "_start", start)
    found, helped = intervals(fitted, 2)
    for one, other in zip(alone, helped, strict=True):
        np.testing.assert_array_equal(one, other)
    assert "ended early" in next(f.words for f in found.findings if f.code == "fewer-processes")


@pytest.mark.usefixtures("eager")
def test_a_python_that_cannot_start_another_works_alone(fitted, monkeypatch):
    """In a frozen program everything is done in one process, and said."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    found, _ = intervals(fitted, 2)
    assert "one process" in next(f.words for f in found.findings if f.code == "fewer-processes")


@pytest.mark.usefixtures("eager")
def test_an_interrupt_ends_the_helpers(fitted, monkeypatch):
    """An exception in the middle goes to the caller, and no process is left."""
    started = []
    start = Workers._start
    monkeypatch.setattr(Workers, "_start", lambda self: started.append(start(self)) or started[-1])

    def stop(done: int, total: int) -> None:
        if done >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        intervals(fitted, 3, progress=stop)
    assert len(started) == 2
    assert all(helper.poll() is not None for helper in started)


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
from experiments import chain_experiment
from steelyard.estimators.parallel import workers
from steelyard.estimators.feasible import estimate_feasible
from steelyard import compress
workers.WORTH_S = 1e-6
print("once", flush=True)
world = chain_experiment(0)
noise = 0.3 * np.random.default_rng(1).normal(size=world.tau.shape)
regression = compress(world.model, world.motion, world.measured(noise))
started = []
start = workers.Workers._start
def counted(self):
    started.append(start(self))
    print("helper", started[-1].pid, flush=True)
    return started[-1]
workers.Workers._start = counted
estimate_feasible(world.model, regression, n_resamples={resamples}, threads=2, ranges=False)
print("done", flush=True)
"""


def script(tmp_path: Path, resamples: int) -> subprocess.Popen[str]:
    """A script without a guard, as users write them, in a process of its own."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(tests=str(HELPERS), resamples=resamples))
    return subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCES},
        start_new_session=os.name != "nt",
    )


def test_a_script_without_a_guard_runs_once(tmp_path):
    """Nothing of the caller's script is run again by a helper."""
    process = script(tmp_path, 30)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    words = [line.split()[0] for line in out.splitlines()]
    assert words == ["once", "helper", "done"]
    assert err == ""


@pytest.mark.skipif(os.name == "nt", reason="sends a signal to a process group")
def test_ctrl_c_leaves_no_process(tmp_path):
    """Ctrl-C, which goes to the whole group, ends script and helper."""
    process = script(tmp_path, 100_000)
    assert process.stdout is not None
    assert process.stdout.readline() == "once\n"
    helper = int(process.stdout.readline().split()[1])
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode not in (0, None)
    assert "KeyboardInterrupt" in err.splitlines()[-1]
    with pytest.raises(ProcessLookupError):
        os.kill(helper, 0)


@pytest.mark.skipif(os.name == "nt", reason="a killed process has no such code there")
def test_a_helper_ends_with_its_owner(tmp_path):
    """A helper whose owner is killed ends by itself."""
    process = script(tmp_path, 100_000)
    assert process.stdout is not None
    process.stdout.readline()
    helper = int(process.stdout.readline().split()[1])
    process.kill()
    process.communicate(timeout=60)
    for _ in range(600):
        try:
            os.kill(helper, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
        if Path(f"/proc/{helper}/stat").exists():
            state = Path(f"/proc/{helper}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if state == "Z":  # ended; whoever adopted it has not looked yet
                break
    else:
        pytest.fail("the helper is still there")


def test_messages_come_through_as_they_are():
    """Arrays of any kind and order arrive, and half a message is an end of the stream."""
    message = {
        "a": np.arange(6.0).reshape(2, 3).T,
        "words": np.array(["psd", "zero"]),
        "none": np.zeros((0, 4)),
    }
    stream = io.BytesIO()
    send(stream, message)
    send(stream, message)
    stream.seek(0)
    for _ in range(2):
        for name, array in receive(stream).items():
            np.testing.assert_array_equal(array, message[name])
    with pytest.raises(EOFError):
        receive(stream)
    with pytest.raises(EOFError):
        receive(io.BytesIO(stream.getvalue()[:-1][len(stream.getvalue()) // 2 :]))


def test_objects_are_refused():
    """A message that would have to be unpickled is not read."""
    stream = io.BytesIO()
    send(stream, {"a": np.array([{}], dtype=object)})
    stream.seek(0)
    with pytest.raises(ValueError, match="pickle"):
        receive(stream)


def test_conditions_are_the_same_when_unpacked(fitted):
    """Kinds, columns and coefficients of every condition survive."""
    blocks = fitted[1].blocks
    again = unpacked_blocks(packed_blocks(blocks))
    assert len(again) == len(blocks)
    for one, other in zip(blocks, again, strict=True):
        assert (one.kind, one.columns) == (other.kind, other.columns)
        np.testing.assert_array_equal(one.A, other.A)
        np.testing.assert_array_equal(one.b, other.b)


def test_a_helper_answers_until_its_input_ends(fitted):
    """Jobs and tasks in, answers out, in their order."""
    regression, fit = fitted
    shared = {"scale": fit.problem.scale, **packed_blocks(fit.blocks)}
    source, sink = io.BytesIO(), io.BytesIO()
    send(source, {"job": np.array(job_name(range_solver)), **shared})
    mass = next(i for i, c in enumerate(regression.base.columns) if c.symbol == "m")
    send(source, {"tasks": np.array([[mass, -1.0, 1.0], [mass, -1.0, -1.0]])})
    source.seek(0)
    serve(source, sink)
    sink.seek(0)
    lower, upper = receive(sink)["answers"].ravel()
    assert lower == pytest.approx(0.0, abs=1e-6)
    assert upper > 0.1


def test_only_functions_of_the_package_are_jobs():
    """A job is found again by its name, and nothing outside the package is one."""
    assert job_named(job_name(range_solver)) is range_solver
    for name in ("os:system", "steelyardish:run", "subprocess:run"):
        with pytest.raises(ValueError, match="is not a job"):
            job_named(name)
