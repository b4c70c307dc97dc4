"""Which terms the data ask for."""

from __future__ import annotations

import re

import numpy as np
import pytest
from experiments import chain_experiment
from seeds import every

from steelyard.estimators.term_choice import (
    TermComparison,
    TermTrial,
    compare_terms,
    term_findings,
)
from steelyard.knowledge.overlay.terms import terms_to_identify
from steelyard.knowledge.overlay.toml_file import read_overlay
from steelyard.knowledge.prior import prior_from_robot
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.simulation.builtin_arm import builtin_arm


def case_with(seed: int, kinds: tuple[str, ...]) -> tuple[Model, Regression]:
    """Noisy data of a robot that truly has only these kinds of terms, for the full model."""
    case = chain_experiment(seed, n_samples=3000)
    theta = case.theta.copy()
    for k, column in enumerate(case.model.columns):
        if column.kind != "rigid_body":
            theta[k] = {"drive_inertia": 0.3, "viscous": 0.4, "coulomb": 0.5, "offset": 0.4}[
                column.kind
            ] * (column.kind in kinds)
    tau = torque(case.model, theta, case.motion.q, case.motion.v, case.motion.a)
    noise = (
        0.05 * np.sqrt(np.mean(tau**2, axis=0)) * np.random.default_rng(seed).normal(size=tau.shape)
    )
    measured = case.measured(tau + noise - case.tau)
    return case.model, compress(case.model, case.motion, measured)


@every("seed", range(3))
@pytest.mark.parametrize(
    "kinds",
    [("coulomb", "offset"), ("viscous", "coulomb", "offset"), ("viscous", "coulomb"), ("offset",)],
)
def test_the_true_terms_are_as_good_and_enough(seed, kinds):
    """No fewer terms than the robot truly has are advised, and never all without need."""
    model, regression = case_with(seed, kinds)
    found = compare_terms(model, regression, prior_from_robot(model), gamma=10.0)
    assert set(kinds) <= set(found.advised.kinds)
    assert "drive_inertia" not in found.advised.kinds
    assert found.stated.kinds == ("drive_inertia", "viscous", "coulomb", "offset")
    bic = min(found.trials, key=lambda trial: trial.bic)
    assert set(bic.kinds) == set(kinds)


def test_stated_terms_that_the_data_contradict_are_called_so():
    """A robot with motor friction, stated as link side: the finding names what is missing."""
    model, regression = case_with(0, ("drive_inertia", "viscous", "coulomb", "offset"))
    stated = [c.name for c in model.columns if c.kind in ("coulomb", "offset")]
    found = compare_terms(model, regression, prior_from_robot(model), gamma=10.0, stated=stated)
    assert found.stated.kinds == ("coulomb", "offset")
    (finding,) = term_findings(found)
    assert (finding.level, finding.code) == ("warning", "terms-contradicted")
    assert "viscous friction" in finding.words
    assert "--torque motor or --torque link" in finding.words


def test_the_comparison_does_not_depend_on_who_solves():
    """One process or two, twice the same."""
    model, regression = case_with(1, ("coulomb", "offset"))
    prior = prior_from_robot(model)
    one = compare_terms(model, regression, prior, gamma=10.0)
    two = compare_terms(model, regression, prior, gamma=10.0, threads=2)
    assert one == two


def test_words_by_case():
    """Nothing is said where the stated terms are the advised ones, or as good with none less."""

    def trial(kinds: tuple[str, ...], score: float, *, stated: bool, good: bool) -> TermTrial:
        return TermTrial(kinds, stated, 7 * len(kinds), score, 0.1, good, 0.0)

    full = trial(("drive_inertia", "viscous", "coulomb", "offset"), 1.0, stated=True, good=True)
    assert term_findings(TermComparison((full,), full)) == ()
    link = trial(("coulomb", "offset"), 1.0, stated=False, good=True)
    (finding,) = term_findings(TermComparison((full, link), link))
    assert finding.code == "terms-not-needed"
    assert "--torque link" in finding.words
    assert "left out is the same." in finding.words
    some = trial(("viscous", "coulomb", "offset"), 0.9, stated=False, good=True)
    (finding,) = term_findings(TermComparison((full, some), some))
    assert "--torque link" not in finding.words
    assert "left out is 5 % smaller." in finding.words
    assert "The result and the files made of it contain drive inertia" in finding.words


@pytest.mark.parametrize("kept", [("viscous", "coulomb", "offset"), ("coulomb",), ()])
def test_the_advice_to_leave_terms_out_can_be_followed(kept, tmp_path):
    """The line that the note gives, in an overlay, makes a model with these terms alone."""
    full = TermTrial(("drive_inertia", "viscous", "coulomb", "offset"), True, 28, 1, 0.1, True, 0.0)
    less = TermTrial(kept, False, 7 * len(kept), 1.0, 0.1, True, 0.0)
    (finding,) = term_findings(TermComparison((full, less), less))
    line = re.search(r"terms = \[.*?\]", finding.words)
    assert "--overlay FILE" in finding.words
    (tmp_path / "terms.toml").write_text(line.group())
    terms = terms_to_identify(builtin_arm(), read_overlay(tmp_path / "terms.toml"))
    assert {term.kind for term in terms} == set(kept)
    assert len(terms) == 7 * len(kept)
