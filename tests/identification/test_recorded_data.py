"""Recorded logs, from file to estimate: published results come back."""

from __future__ import annotations

import numpy as np
import pytest
from paper_robots import panda
from recorded import emps_log, emps_robot, panda_log

from steelyard.identification.identify import identify
from steelyard.model.kernels import torque_regressor
from steelyard.model.terms import joint_terms
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

pytestmark = pytest.mark.dataset
FRICTION = ("viscous", "coulomb", "offset")


def test_emps_gives_the_published_drive():
    """Mass 95.11 kg, Fv 203.5, Fc 20.39, offset -3.165; errors below 4.1 % and 6.0 %."""
    robot = emps_robot()
    processing = Processing(cutoff_hz=30.0, torque_filter="same", dead_band=0.002)
    found = identify(
        robot,
        [emps_log("DATA_EMPS.mat")],
        terms=joint_terms(robot.joint_names, FRICTION),
        method="ols",
        processing=processing,
    )
    estimate = found.estimate
    value = dict(zip(estimate.base.names, estimate.beta, strict=True))
    assert value["carriage.m"] == pytest.approx(95.1089, rel=0.01)
    assert value["axis.fv"] == pytest.approx(203.5034, rel=0.02)
    assert value["axis.fc"] == pytest.approx(20.3935, rel=0.02)
    assert value["axis.fo"] == pytest.approx(-3.1648, rel=0.05)
    assert estimate.relative_error <= 0.041
    pulses = prepare(emps_log("DATA_EMPS_PULSES.mat"), robot, processing)
    motion, tau = pulses.motion, pulses.measurements.tau[:, 0]
    W = torque_regressor(found.model, motion.q, motion.v, motion.a)[:, 0]
    residual = tau - W[:, list(estimate.base.independent)] @ estimate.beta
    used = np.isfinite(tau)
    assert np.linalg.norm(residual[used]) / np.linalg.norm(tau[used]) <= 0.060


def test_panda_gives_the_published_rank_condition_and_error():
    """Gaz et al. 2019: 43 + 21 parameters, condition number 121.88, error 1.41 %."""
    robot = panda()
    found = identify(
        robot,
        [panda_log()],
        terms=joint_terms(robot.joint_names, FRICTION),
        method="ols",
        processing=Processing(torque_filter="same", dead_band="tenth"),
        friction_width=0.0,
        admit="none",
    )
    assert found.estimate.base.rank == 64
    assert found.estimate.determined.all()
    assert found.estimate.condition == pytest.approx(121.88, rel=0.15)
    assert found.estimate.relative_error <= 0.0141
    value = dict(zip(found.estimate.base.names, found.estimate.beta, strict=True))
    # the first moments that carry most of gravity, by the authors' own least squares (kg m)
    assert value["link_2.my"] == pytest.approx(-3.1363, rel=0.02)
    assert value["link_4.my"] == pytest.approx(1.7517, rel=0.02)
    assert value["link_4.mx"] == pytest.approx(-0.4726, rel=0.02)
