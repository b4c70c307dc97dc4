"""A sum of sines as if it had been designed: for tests of what is made of a designed motion."""

from __future__ import annotations

import numpy as np

from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.designed import DesignedMotion, measures_of
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.motion_factors import model_motion, motion_factors
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.predicted import factor_precision
from steelyard.excitation.torque.torque_bounds import TorqueBounds
from steelyard.excitation.torque_noise import assumed_noise
from steelyard.findings import Finding
from steelyard.model.kernels import torque
from steelyard.model.model import Model


def stand_in(model: Model, *, seed: int = 0, period_s: float = 5.0) -> DesignedMotion:
    """A random sum of sines, which starts and ends at rest, within the limits of the robot."""
    robot = model.robot
    motion = multisine(robot, period_s=period_s, seed=seed, share=0.9)
    limits = motion_limits(robot, acceleration=10.0)
    settings = DesignSettings(period_s=period_s, rate_hz=200.0, seed=seed, budget_s=1.0)
    sampled = model_motion(model, motion, rate_hz=settings.rate_hz)
    factors = motion_factors(model, sampled)
    theta = model.prior_theta()
    noise = assumed_noise(model, theta, limits)
    tau = np.abs(torque(model, theta, sampled.q, sampled.v, sampled.a)).max(axis=0)
    return DesignedMotion(
        trajectory=motion,
        core=motion,
        periods=1,
        limits=limits,
        extremes=motion.extremes(),
        criterion="d-optimal",
        value=1.25,
        start_value=3.5,
        measures=measures_of(factors),
        predicted=factor_precision(model, factors, noise, rate_hz=settings.rate_hz),
        # not a bound, but it looks like one
        torque=TorqueBounds(model.channels, 1.05 * tau, tau, 0.005, 0.005, 1000),
        clearance=None,
        settings=settings,
        seconds=0.1,
        evaluations=7,
        model=model,
        theta=theta,
        findings=(Finding("warning", "stand-in", "this motion was not optimised"),),
    )
