"""The regression of a narrower model from the factors of a wider one."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import chain_experiment
from seeds import every

from steelyard.errors import RegressionError
from steelyard.estimators.least_squares import wls
from steelyard.model.model import Model
from steelyard.model.terms import joint_term, joint_terms
from steelyard.regression.compress import compress
from steelyard.regression.fewer_terms import with_fewer_terms


@every("seed", range(20))
def test_the_same_as_compressing_the_samples_anew(seed):
    """Factors of the wide model give the narrow model's estimate and residuals."""
    rng = np.random.default_rng(seed)
    case = chain_experiment(seed, n_joints=int(rng.integers(1, 5)), n_samples=600)
    tau = case.tau + 0.1 * rng.normal(size=case.tau.shape)
    wide = case.model
    kept = [term for term in wide.terms if rng.random() < 0.5]
    narrow = Model(wide.robot, tuple(kept))
    measured = case.measured(tau - case.tau)
    quick = with_fewer_terms(compress(wide, case.motion, measured, block_s=1.0), wide, narrow)
    slow = compress(narrow, case.motion, measured, block_s=1.0)
    assert quick.model_hash == slow.model_hash == narrow.hash
    assert quick.keys == slow.keys
    one, other = wls(quick), wls(slow)
    np.testing.assert_allclose(one.beta, other.beta, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(one.relative_error, other.relative_error, rtol=1e-10)
    np.testing.assert_allclose(one.spread.sigma, other.spread.sigma, rtol=1e-6)


def test_what_is_not_narrower_is_refused():
    """A term that the wide model lacks cannot come from its factors."""
    case = chain_experiment(1, n_samples=300)
    wide = Model(case.model.robot, joint_terms(case.model.robot.joint_names, ["viscous"]))
    regression = compress(wide, case.motion, case.measured(np.zeros_like(case.tau)))
    more = Model(case.model.robot, (joint_term("coulomb", case.model.robot.joint_names[0]),))
    with pytest.raises(RegressionError, match="is not a column of the wider one"):
        with_fewer_terms(regression, wide, more)
    with pytest.raises(RegressionError, match="does not belong to the wider model"):
        with_fewer_terms(regression, case.model, wide)
