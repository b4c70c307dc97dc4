"""Values of a body with intervals of the right kind."""

import numpy as np

from steelyard.payload.intervals import VALUE_NAMES, derived_values, values_with_intervals
from steelyard.payload.one_body import fit_body
from steelyard.robot.inertia import to_com
from tests.helpers.frame_motions import random_body


def test_derivatives_are_those_of_finite_differences():
    """The slopes of centre of mass and inertia about it are those of central differences."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        phi = random_body(rng, rng.uniform(0.2, 5.0))
        slopes = derived_values(phi)[1]
        for k in range(10):
            step = np.zeros(10)
            step[k] = 1e-6
            change = derived_values(phi + step)[0] - derived_values(phi - step)[0]
            np.testing.assert_allclose(slopes[:, k], change / 2e-6, atol=1e-6)


def test_values_are_those_of_the_body():
    """Names and values agree with the body about its centre of mass."""
    phi = random_body(np.random.default_rng(1), 2.0)
    mass, com, inertia = to_com(phi)
    values = dict(zip(VALUE_NAMES, derived_values(phi)[0], strict=True))
    assert values["m"] == mass
    assert values["cy"] == com[1]
    assert values["Ixz_com"] == inertia[0, 2]
    assert values["Iyz"] == phi[8]


def test_open_direction_gets_the_range_of_physical_bodies():
    """Where only the inertia about two axes is known, the third has the range of the triangle
    inequality.
    """
    mass, com = 1.0, np.zeros(3)
    rows = np.eye(10) * 1e4
    rows[9] = 0.0  # Izz is not measured
    phi = np.array([mass, *com, 0.02, 0.0, 0.03, 0.0, 0.0, 0.04])
    z = rows @ phi
    fit = fit_body(rows, z)
    open_direction = np.eye(10)[:, 9:]
    covariance = np.diag([1e-8] * 9 + [0.0])
    values = values_with_intervals(fit, covariance, 20, R=rows, z=z, undetermined=open_direction)
    by_name = {value.name: value for value in values}
    izz = by_name["Izz"]
    assert izz.kind == "feasible range"
    assert izz.sigma is None
    # the fit allows the two others to change by about 4e-4
    np.testing.assert_allclose([izz.lower, izz.upper], [0.01, 0.05], atol=1.5e-3)
    assert by_name["Izz_com"].kind == "not determined"
    assert by_name["Ixx"].kind == "confidence"
    unbounded = values_with_intervals(fit, covariance, 20, undetermined=open_direction)
    assert unbounded[-1].kind == "not determined"


def test_open_centre_of_mass_has_a_range_where_the_inertia_limits_it():
    """The centre of mass is limited by the moments of inertia about the origin."""
    rows = np.eye(10) * 1e4
    rows[3] = 0.0  # mz is not measured
    phi = np.array([1.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.03, 0.0, 0.0, 0.04])
    z = rows @ phi
    fit = fit_body(rows, z)
    values = values_with_intervals(
        fit, np.eye(10) * 1e-8, 20, R=rows, z=z, undetermined=np.eye(10)[:, 3:4]
    )
    cz = values[VALUE_NAMES.index("cz")]
    # Sigma_zz = (Ixx + Iyy - Izz) / 2 = 0.005 >= m cz²
    assert cz.kind == "feasible range"
    np.testing.assert_allclose([cz.lower, cz.upper], [-0.0707, 0.0707], atol=4e-3)


def test_level_and_freedom_set_the_width():
    """Limits are t quantiles times sigma about the value."""
    rows = np.eye(10) * 1e4
    z = rows @ random_body(np.random.default_rng(1), 2.0)
    mass = values_with_intervals(fit_body(rows, z), np.eye(10) * 1e-4, 4, 0.9)[0]
    np.testing.assert_allclose(mass.upper - mass.value, 2.1318 * 0.01, rtol=1e-4)
    np.testing.assert_allclose(mass.value - mass.lower, 2.1318 * 0.01, rtol=1e-4)
