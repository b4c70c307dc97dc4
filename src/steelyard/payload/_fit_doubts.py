"""Whether a body explains the wrench as well as the sensor's noise allows, and can be real.

A wrong unit, wrong axes or a clock that is late leave a residual that changes as slowly as the
motion does, where the noise of a sensor changes from one sample to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import WeighingError
from steelyard.estimators.least_squares import triangular_fit
from steelyard.findings import Finding
from steelyard.payload.body_rows import wrench_regressor
from steelyard.payload.intervals import INERTIA_COM_NAMES
from steelyard.payload.payload_estimate import PayloadValue
from steelyard.payload.payload_verdict import IMPLAUSIBLE_DENSITY
from steelyard.payload.sensor_factors import SensorFactors, usable_samples
from steelyard.payload.sensor_fit import SensorFit
from steelyard.regression.regression import triangle
from steelyard.robot.principal_body import PrincipalBody, equivalent_box
from steelyard.signals.frame_motion import FrameMotion, Wrench, part_of

Array = NDArray[np.float64]

POOR = 0.1
"""Share of the wrench without bias that a good fit does not leave."""
DOUBTFUL = 0.05
"""The same, where the residual is far above the noise."""
ABOVE_NOISE = 2.0
FAR_ABOVE_NOISE = 4.0
"""Residual over sample-to-sample noise."""
NOISE_S = 0.02
"""Time (s) between the samples whose difference shows the noise."""
SAME_PLACE = 1.0
"""Change of the proper acceleration (m/s²) between samples that can be compared."""
FEWEST_PAIRS = 20
MOST_SAMPLES = 4000
HEAVIEST = 25_000.0
LIGHTEST = 1.0
"""Density (kg/m³): above that of osmium, and below that of air."""
FARTHEST = 10.0
"""Distance (m) of the centre of mass from the sensor that no payload has."""
CLEAR = 10.0
"""Standard deviations from which on the two levers of force and torque are compared."""


def poor_fit(
    recordings: Sequence[tuple[FrameMotion, Wrench]], fit: SensorFit
) -> tuple[Finding, ...]:
    """Warn of a residual that noise does not explain, with what to check."""
    parts = [_residuals(motion, wrench, fit) for motion, wrench in recordings]
    away = np.concatenate([part[0] for part in parts])
    loaded = np.concatenate([part[1] for part in parts])
    steps = np.concatenate([part[2] for part in parts])
    named = []
    for name, unit, g in (("force", "N", slice(0, 3)), ("torque", "N m", slice(3, 6))):
        residual, size = _rms(away[:, g]), _rms(loaded[:, g])
        share = residual / max(size, 1e-300)
        noise = _rms(steps[:, g]) / np.sqrt(2.0) if len(steps) >= FEWEST_PAIRS else None
        if noise is None:
            # single rows do not show the noise; a light body is no reason for a doubt by torque
            poor = share > POOR and fit.relative_error > POOR
            compared = ""
        else:
            ratio = residual / max(noise, 1e-300)
            poor = share > POOR and ratio > ABOVE_NOISE
            poor |= share > DOUBTFUL and ratio > FAR_ABOVE_NOISE
            compared = f", where noise explains {noise:.2g} {unit}"
        if poor:
            named.append(f"{residual:.2g} {unit} ({100 * share:.2g} %) of the {name}{compared}")
    if not named:
        return ()
    size = float(
        np.median(np.concatenate([_sizes(motion, wrench) for motion, wrench in recordings]))
    )
    gravity = (
        f" (the proper acceleration is {size:.3g} m/s² in the middle, not about 9.8)"
        if not 5.0 < size < 15.0
        else ""
    )
    several = ", whether all recordings are of the same payload" if len(recordings) > 1 else ""
    words = (
        f"the body leaves {' and '.join(named)} unexplained (rms): do not rely on the result. "
        "Check units (torque in N m and not N mm, angular velocity in rad/s and not deg/s, "
        f"acceleration in m/s² and not g{gravity}), axes of wrench and motion, gravity, the offset "
        f"between the clocks of wrench and motion{several}, whether anything touches the payload, "
        "and whether poses that are said to be at rest are"
    )
    return (Finding("warning", "poor-fit", words),)


def force_mass(factors: SensorFactors, R_frame_sensor: Array) -> tuple[float, float]:
    """Mass and its standard deviation (kg) by the force alone, without physical conditions."""
    rows = factors.rows(np.ones(2), R_frame_sensor)[:, : factors.force.shape[1]]
    fit = triangular_fit(triangle(rows.reshape(-1, rows.shape[2])))
    freedom = max(factors.n_rows // 2 - fit.rank, 1)
    p = factors.n_nuisance
    sigma = np.sqrt(fit.residual_square / freedom) * np.linalg.norm(fit.inverse[p])
    return float(fit.beta[p]), float(sigma)


def check_levers(factors: SensorFactors, frame: str, R_frame_sensor: Array) -> None:
    """Refuse a torque whose lever is that of the force in another unit or with another sign.

    A motion that turns quickly shows the first moment in the force alone, too.
    """
    rows = factors.rows(np.ones(2), R_frame_sensor)
    k, p = factors.force.shape[1], factors.n_nuisance
    moments, variances = [], []
    for part in (rows[:, :k], rows[:, k:]):
        fit = triangular_fit(triangle(part.reshape(-1, part.shape[2])))
        freedom = max(factors.n_rows // 2 - fit.rank, 1)
        inverse = fit.inverse[p + 1 : p + 4]
        moments.append(fit.beta[p + 1 : p + 4])
        variances.append(fit.residual_square / freedom * float(np.sum(inverse**2)))
    of_force, of_torque = moments
    size = float(np.linalg.norm(of_force))
    sigma = np.sqrt(variances)
    if not (size > CLEAR * sigma[0] and np.linalg.norm(of_torque) > CLEAR * sigma[1]):
        return
    ratio = float(of_force @ of_torque) / size**2
    rest = float(np.linalg.norm(of_torque - ratio * of_force)) / size
    if rest > 0.5 * abs(ratio):
        return
    words = (
        f"frame '{frame}': the centre of mass by the torque is {ratio:.4g} times that by the force"
    )
    if -1.5 < ratio < -0.5:
        raise WeighingError(
            "torque-sign",
            f"{words}: the sign of the torque appears to be the opposite of that of the force; "
            "torque and force must both act on the body",
        )
    if 500.0 < abs(ratio) < 2000.0:
        sign = " and of opposite sign" if ratio < 0.0 else ""
        raise WeighingError(
            "torque-unit",
            f"{words}: the torque appears to be in N mm{sign}; convert it to N m",
        )


def implausible_body(
    body: PrincipalBody, values: Sequence[PayloadValue], advice: str
) -> tuple[Finding, ...]:
    """Warn of a density or a centre of mass that no body has: with every inertia of the intervals,
    or with the one that fits best alone.
    """
    by_name = {value.name: value for value in values}
    found = []
    far = float(np.linalg.norm(body.com))
    centre = [by_name[name] for name in ("cx", "cy", "cz")]
    if far > FARTHEST and all(value.kind == "confidence" for value in centre):
        found.append(
            Finding(
                "warning",
                "implausible-centre",
                f"the centre of mass is {far:.3g} m away: check the unit of the torque (N m, not "
                "N mm) and of the force",
            )
        )
    inertia = [by_name[name] for name in INERTIA_COM_NAMES]
    if any(value.kind != "confidence" for value in inertia):
        return tuple(found)
    # no box whose moments are within their limits has more volume than the cube of their sum
    moments = [by_name[name] for name in ("Ixx_com", "Iyy_com", "Izz_com")]
    largest = 0.5 * sum(max(value.upper or 0.0, value.value) for value in moments)
    heavy = body.mass / (8.0 * max(largest / body.mass, 1e-300) ** 1.5)
    density = equivalent_box(body).density
    light = density is not None and density < LIGHTEST
    light &= not any(value.at_boundary for value in inertia)
    if heavy > HEAVIEST or light:
        shown = f"above {heavy:.2g}" if heavy > HEAVIEST else f"{density:.2g}"
        found.append(
            Finding(
                "warning",
                IMPLAUSIBLE_DENSITY,
                f"a box with this mass and inertia has a density of {shown} kg/m³, which no "
                f"material has: {advice}",
            )
        )
    elif density is None or density > HEAVIEST:
        shown = "no volume" if density is None else f"a density of {density:.2g} kg/m³"
        found.append(
            Finding(
                "warning",
                "poorly-known-inertia",
                f"the inertia that fits best is that of a box with {shown}, which no body has: the "
                "data know the inertia poorly. Use mass and centre of mass alone, or turn the "
                "payload faster about all axes",
            )
        )
    return tuple(found)


def _residuals(motion: FrameMotion, wrench: Wrench, fit: SensorFit) -> tuple[Array, Array, Array]:
    """At a part of the samples: residual and wrench without bias (n, 6), in the axes of the frame;
    and differences of the residual (n_pairs, 6) between samples that are close in time.
    """
    usable = usable_samples(motion, wrench)
    period = float(np.median(np.diff(motion.time[usable]))) if len(usable) > 1 else 1.0
    k = max(1, round(NOISE_S / period)) if period > 0.0 else 1
    first = usable[: max(len(usable) - k, 1)]
    first = first[:: -(-len(first) // MOST_SAMPLES)]
    second = usable[np.minimum(np.searchsorted(usable, first) + k, len(usable) - 1)]
    out = [_residual_at(motion, wrench, fit, index) for index in (first, second)]
    change = np.linalg.norm(
        motion.proper_acceleration[second] - motion.proper_acceleration[first], axis=1
    )
    near = (change < SAME_PLACE) & (second > first)
    return out[0][0], out[0][1], (out[1][0] - out[0][0])[near]


def _residual_at(
    motion: FrameMotion, wrench: Wrench, fit: SensorFit, index: NDArray[np.int64]
) -> tuple[Array, Array]:
    bias = fit.bias
    R = fit.R_frame_sensor
    force = (wrench.force[index] - bias[:3]) @ R.T
    torque = (wrench.torque[index] - bias[3:]) @ R.T
    loaded = np.column_stack([force, torque])
    return loaded - wrench_regressor(part_of(motion, index)) @ fit.body.phi, loaded


def _sizes(motion: FrameMotion, wrench: Wrench) -> Array:
    """Proper acceleration (n,) m/s² at the samples that are used."""
    index = usable_samples(motion, wrench)
    return np.asarray(np.linalg.norm(motion.proper_acceleration[index], axis=1))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
