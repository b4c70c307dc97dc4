"""The registry of estimators, and the contract that each of them keeps to."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from project import ROOT
from small_arm import URDF, arm_log

from steelyard.cli.parser import build_parser
from steelyard.conic import simultaneous
from steelyard.errors import EstimationError
from steelyard.estimators.estimator import (
    DEFAULT_METHOD,
    EstimationOptions,
    EstimationTask,
    Estimator,
)
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.registry import (
    all_estimators,
    estimate_by,
    estimator_named,
    method_names,
)
from steelyard.estimators.result_file import read_schema, result_document
from steelyard.estimators.solver_names import SOLVER_WORDS
from steelyard.knowledge.prior import Prior, prior_from_robot
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.testing.estimator_contract import broken_promises


@pytest.fixture(scope="module")
def case() -> tuple[Model, Regression, Prior]:
    robot = Robot.from_urdf_text(URDF)
    model = Model(robot)
    run = prepare(arm_log(robot, 1), robot)
    regression = compress(model, run.motion, run.measurements, base=base_map(model))
    return model, regression, prior_from_robot(model)


@pytest.mark.parametrize("estimator", all_estimators(), ids=lambda estimator: estimator.name)
def test_every_estimator_keeps_to_the_contract(estimator, case):
    """Shapes, names, its own promises, the same result for any number of threads."""
    assert broken_promises(estimator, *case) == ()


def test_every_result_states_its_solver(case):
    """What the table of the page on constraints says of each method."""
    table = (ROOT / "docs" / "constraints.md").read_text().split("## Which solver")[1]
    stated: dict[str, set[str]] = {}
    for line in table.splitlines():
        if line.startswith("| `"):
            solver, methods = (re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:3])
            for method in methods:
                stated.setdefault(method, set()).add(solver[0])
    assert set(stated) == set(method_names())
    assert set().union(*stated.values()) == set(SOLVER_WORDS)
    model, regression, prior = case
    for estimator in all_estimators():
        options = EstimationOptions(estimator.name, n_resamples=0, ranges=False)
        given = prior if estimator.takes_prior else None
        estimate, _ = estimator.run(EstimationTask(model, regression, options, given))
        assert estimate.solver in stated[estimator.name]
        document = result_document(model, estimate)
        assert document["estimate"]["solver"] == estimate.solver
    allowed = read_schema()["properties"]["estimate"]["properties"]["solver"]["enum"]
    assert set(allowed) == set(SOLVER_WORDS)


def test_a_fit_that_the_interior_point_method_gives_up_says_clarabel(case, monkeypatch):
    """The solver that is stated is the one that solved it."""
    model, regression, _ = case
    assert fit_feasible(model, regression).solver == "interior-point"
    monkeypatch.setattr(simultaneous, "_by_interior_point", lambda problem: None)
    assert fit_feasible(model, regression).solver == "clarabel"


def test_a_wrong_entry_is_caught(case):
    """An entry that promises what its function does not keep is named."""
    wls = estimator_named("wls")
    wrong = replace(wls, name="exact", physical=True, gives_standard=True)
    broken = broken_promises(wrong, *case)
    assert "is registered as 'exact', but says 'wls'" in broken
    assert any("standard parameters" in words for words in broken)
    assert any("no fit" in words for words in broken)


def test_an_estimate_that_depends_on_threads_is_caught(case):
    """The contract compares one thread with two."""
    wls = estimator_named("wls")

    def run(task: EstimationTask):
        estimate, fit = wls.run(task)
        return replace(estimate, beta=estimate.beta * task.threads), fit

    assert broken_promises(replace(wls, run=run), *case) == (
        "gives other parameters with two threads than with one",
    )


def test_names_are_unique_and_the_default_is_first():
    """The default is among the estimators, and every one has a description of one line."""
    names = method_names()
    assert names[0] == DEFAULT_METHOD == EstimationOptions().method
    assert len(set(names)) == len(names)
    assert all(one.description and "\n" not in one.description for one in all_estimators())
    assert all(one.gives_standard for one in all_estimators() if one.physical)


def test_a_prior_is_needed_or_refused(case):
    """A method that takes a prior needs one, and one that takes none refuses it."""
    model, regression, prior = case
    for estimator in all_estimators():
        options = EstimationOptions(estimator.name, n_resamples=0, ranges=False)
        wrong = None if estimator.takes_prior else prior
        with pytest.raises(EstimationError, match=r"needs a prior|takes none"):
            estimate_by(options, model, regression, prior=wrong)


def test_an_unknown_name_is_refused_with_those_that_there_are():
    """The refusal lists every estimator."""
    with pytest.raises(EstimationError, match="there is no method 'svd'; there are entropic, "):
        estimator_named("svd")


def test_the_command_line_offers_every_estimator(capsys):
    """Choices and help of --method come from the registry."""
    parser = build_parser()
    for name in method_names():
        assert parser.parse_args(["identify", "r.urdf", "l.csv", "--method", name]).method == name
    with pytest.raises(SystemExit):
        parser.parse_args(["identify", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    for estimator in all_estimators():
        assert f"{estimator.name}: {estimator.description}" in words.replace("- ", "-")


def test_an_estimator_is_a_value():
    """An entry needs a name, a description and a function; all else has a safe default."""
    toy = Estimator("toy", "nothing", lambda task: (None, None))
    promises = (toy.takes_prior, toy.physical, toy.gives_standard, bool(toy.options))
    assert promises == (False, False, False, False)
