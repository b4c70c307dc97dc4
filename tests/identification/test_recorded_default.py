"""The default method on recorded arms: errors on held-out motions.

`benchmarks/run.py real` has all rows and all methods; these are the quick ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded import (
    kinova_log,
    kinova_robot,
    kuka_robot,
    kuka_run,
    ur10_log,
    ur10_robot,
)

from steelyard.errors import PriorError
from steelyard.estimators.estimator import EstimationOptions
from steelyard.estimators.registry import estimate_by
from steelyard.estimators.term_choice import compare_terms, term_findings
from steelyard.identification.identify import Identification, identify
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.prior import prior_from_robot
from steelyard.logs.log import Log
from steelyard.model.wider import with_default_terms
from steelyard.regression.compress import compress
from steelyard.regression.fewer_terms import with_fewer_terms
from steelyard.signals.processing import Processing
from steelyard.validation.held_out import validate_logs
from steelyard.validation.scores import Validation, predict_base, validate

pytestmark = pytest.mark.dataset
UNFILTERED = Processing(cutoff_hz=10.0, torque_filter="none", dead_band="tenth")
FILTERED = replace(UNFILTERED, torque_filter="same")
SKIPPED = 500


@pytest.fixture(scope="module")
def kuka_data():
    """Run 1 with the default set of terms."""
    wide = with_default_terms(model_of(kuka_robot()))
    return wide, compress(wide, *kuka_run(1, SKIPPED))


@pytest.mark.parametrize("torque", ["link", None])
def test_kuka_run_3_is_predicted(kuka_data, torque):
    """With the torque source stated the error is at most 4.5 %; never as large as the file's."""
    wide, data = kuka_data
    model = model_of(kuka_robot(), torque=torque)
    regression = with_fewer_terms(data, wide, model)
    options = EstimationOptions(n_resamples=0, ranges=False)
    estimate, _ = estimate_by(options, model, regression, prior=prior_from_robot(model))
    motion, measured = kuka_run(3, SKIPPED)
    found = validate(
        model, predict_base(model, regression.base, estimate.beta, motion), motion, measured
    )
    assert found.prediction.relative_error <= (0.045 if torque == "link" else 0.06)
    assert found.prior.relative_error > 0.11
    # the chosen weight lies inside the range that was tried, not at an end
    assert 1.0 <= estimate.prior.gamma <= 1e4


def test_kuka_says_where_its_torque_is_measured(kuka_data):
    """Run 1 alone does not need the drive inertia, which a sensor behind the gears cannot see."""
    wide, data = kuka_data
    found = compare_terms(wide, data, prior_from_robot(wide), gamma=1000.0, term_weight=300.0)
    assert found.advised.kinds == ("viscous", "coulomb", "offset")
    (finding,) = term_findings(found)
    assert finding.code == "terms-not-needed"
    assert "do not need drive inertia" in finding.words


def quick(robot, log: Log, processing: Processing, **how) -> Identification:
    how = {"friction_width": 0.0, "n_resamples": 0, "ranges": False, **how}
    return identify(robot, log, processing=processing, **how)


def held_out(found: Identification, log: Log, processing: Processing) -> Validation:
    base, beta = found.estimate.base, found.estimate.beta
    return validate_logs(found.model, base, beta, log, processing).overall


def test_ur10_learns_from_a_third():
    """9 s are too little for least squares; the default errs by less than a third of that."""
    train, test = ur10_log("last third"), ur10_log("first two thirds")
    found = quick(ur10_robot(), train, UNFILTERED, compare_terms=False)
    own = held_out(found, test, UNFILTERED)
    assert own.beats_prior
    assert own.prediction.relative_error <= 0.045
    others = {
        method: held_out(
            quick(ur10_robot(), train, UNFILTERED, method=method, admit="none"), test, UNFILTERED
        ).prediction.relative_error
        for method in ("wls", "feasible")
    }
    assert others["wls"] > 3.0 * own.prediction.relative_error
    assert others["feasible"] > 1.2 * own.prediction.relative_error
    # undetermined parameters are named: wrist 2 moves in one direction only
    (finding,) = (f for f in found.estimate.findings if f.code == "not-excited")
    assert "wrist_2_joint moves in one direction only" in finding.words


def test_filtered_friction_does_not_seem_to_tell_friction_from_offset():
    """What the filter lets in from the ends that are cut is no information about wrist 2."""
    train, test = ur10_log("last third"), ur10_log("first two thirds")
    found = quick(ur10_robot(), train, FILTERED, method="wls")
    assert not dict(zip(found.estimate.base.names, found.estimate.determined, strict=True))[
        "wrist_2_joint.fc"
    ]
    assert held_out(found, test, FILTERED).prediction.relative_error < 0.3


def test_kinova_has_its_prior_repaired():
    """The file is not physical; repaired by default, it more than halves the file's own error."""
    train, test = kinova_log("opti_traj_testing1"), kinova_log("opti_traj_testing2")
    with pytest.raises(PriorError, match="floor-moments"):
        quick(kinova_robot(), train, FILTERED, repair_prior="none")
    found = quick(kinova_robot(), train, FILTERED, compare_terms=False)
    own = held_out(found, test, FILTERED)
    assert own.prediction.relative_error < 0.5 * own.prior.relative_error
    assert own.prior.relative_error > 0.6
    assert np.all(np.isfinite(found.estimate.beta))
