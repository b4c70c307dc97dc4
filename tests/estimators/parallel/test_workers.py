"""Many problems in threads: the same answers for any number of them, progress, and errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from experiments import chain_experiment

from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.parallel.workers import solve_all
from steelyard.regression.compress import compress


@pytest.fixture(scope="module")
def fitted():
    world = chain_experiment(0)
    noise = 0.3 * np.random.default_rng(1).normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, world.measured(noise))
    return regression, fit_feasible(world.model, regression, prior=world.model.prior_theta())


def intervals(fitted, threads, **changes):
    """Everything that is computed by solving many problems."""
    regression, fit = fitted
    found = with_intervals(regression, fit, n_resamples=30, threads=threads, **changes)
    standard = found.standard
    return found.spread.covariance, standard.ranges, standard.com_ranges


@pytest.mark.parametrize("threads", [2, 4])
def test_answers_do_not_depend_on_the_number_of_threads(fitted, threads):
    """Every number is the same to the last bit."""
    for one, other in zip(intervals(fitted, 1), intervals(fitted, threads), strict=True):
        np.testing.assert_array_equal(one, other)


def test_several_threads_take_part():
    """Two problems that wait for each other are solved at the same time."""
    both = threading.Barrier(2, timeout=10.0)

    def solve(task):
        both.wait()
        return task

    np.testing.assert_array_equal(solve_all(solve, np.eye(2), 2), np.eye(2))


def test_progress_counts_up_to_all(fitted):
    """Progress never falls, and ends with as many problems as were announced."""
    seen: list[tuple[int, int]] = []
    intervals(fitted, 2, progress=lambda done, total: seen.append((done, total)))
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert counts[-1] == seen[-1][1]
    assert len({total for _, total in seen}) == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_goes_to_the_caller_and_ends_the_work(threads):
    """No more problems are begun after the first error, also one of the progress function."""
    begun = []

    def solve(task):
        begun.append(float(task[0]))
        if task[0] == 5.0:
            raise ValueError("the fifth")
        return task

    with pytest.raises(ValueError, match="the fifth"):
        solve_all(solve, np.arange(1000.0)[:, None], threads)
    assert len(begun) < 50

    def stop(done):
        if done >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_all(lambda task: task, np.arange(1000.0)[:, None], threads, stop)


def test_no_problems_have_no_answers():
    """An empty list of tasks is fine."""
    assert solve_all(lambda task: task, np.zeros((0, 3)), 2).size == 0
