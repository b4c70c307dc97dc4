"""Settings of a design: each changes the motion, or is refused by name where it cannot."""

from __future__ import annotations

import contextlib
import io
from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.linalg
from oracles import pinocchio_model, pinocchio_q, pinocchio_velocity_index
from small_arm import write_arm

from steelyard.cli import main
from steelyard.errors import SteelyardError
from steelyard.excitation.design import design_motion
from steelyard.excitation.design_settings import BASES, USED_BY, DesignSettings
from steelyard.excitation.limits import MotionLimits, motion_limits
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.terms import joint_terms
from steelyard.robot.robot import Robot

OTHER = {
    "period_s": 15.0,
    "periods": 2,
    "harmonics": 2,
    "criterion": "e-optimal",
    "budget_s": 123.0,
    "rounds": 2,
    "threads": 1,
    "measure": "frobenius",
    "n_rows": 12,
    "condition_weight": 3.0,
    "equilibrium_weight": 0.5,
    "column_scale": "prior",
    "optimiser": "powell",
    "n_starts": 2,
    "seed": 7,
    "rate_hz": 150.0,
    "share": 0.8,
    "interpolation": "cubic",
    "samples": 90,
}
"""Another value of every setting than its default."""
OPTIONS = {
    "period_s": "--period 20",
    "periods": "--periods 1",
    "harmonics": "--harmonics 5",
    "criterion": "--criterion d-optimal",
    "budget_s": "--budget 30s",
    "rounds": "--rounds 1",
    "threads": "--threads 1",
    "measure": "--measure svd",
    "n_rows": "--rows 30",
    "condition_weight": "--condition-weight 1",
    "equilibrium_weight": "--equilibrium-weight 0.01",
    "column_scale": "--column-scale none",
    "optimiser": "--optimiser gradient",
    "n_starts": "--starts 60",
}
"""Every option that not all bases use, most with its default."""
UNUSED = [(name, basis) for name, users in USED_BY.items() for basis in BASES if basis not in users]
QUICK = {
    "fourier": {"period_s": 4.0, "harmonics": 3, "rounds": 1, "budget_s": 300.0},
    "via": {"period_s": 12.0, "rounds": 1, "budget_s": 300.0},
    "postures": {"period_s": 24.0},
    "points": {"n_starts": 3, "n_rows": 14, "budget_s": 300.0},
}
"""Searches that end before their budget does."""


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> tuple[Model, MotionLimits]:
    """Two bodies with drive inertias, and limits that points can keep."""
    robot = Robot.from_urdf(write_arm(tmp_path_factory.mktemp("arm")))
    return Model(robot, joint_terms(robot.joint_names, ("drive_inertia",))), motion_limits(
        robot, acceleration=20.0
    )


def settings_of(basis: str, **changes) -> DesignSettings:
    return DesignSettings(basis=basis, **{**QUICK[basis], **changes})  # type: ignore[arg-type]


def states_of(motion) -> np.ndarray:
    """Positions at a thousand times of the run, and its duration."""
    time = np.linspace(0.0, motion.duration_s, 1000)
    return np.append(motion.trajectory.derivative(time, 0).ravel(), motion.duration_s)


def test_the_table_names_settings_and_covers_all():
    """Each name in the tables is that of a setting, and every setting has another value here."""
    names = {one.name for one in fields(DesignSettings)} - {"basis"}
    assert set(USED_BY) == set(OPTIONS)
    assert set(OTHER) == names
    assert {name: getattr(DesignSettings(), name) for name in OTHER}.items().isdisjoint(
        OTHER.items()
    )


@pytest.mark.parametrize(("name", "basis"), UNUSED)
def test_a_setting_without_effect_is_refused_by_name(tmp_path, name, basis):
    """In Python where it differs from its default, on the command line wherever it is given."""
    with pytest.raises(SteelyardError, match=f"^{name} has no effect with the basis '{basis}'"):
        DesignSettings(basis=basis, **{name: OTHER[name]})
    words = OPTIONS[name].split()
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(["design", str(write_arm(tmp_path)), "--basis", basis, *words])
    assert code == 2
    assert f"{words[0]} has no effect with the basis '{basis}', only with" in said.getvalue()


@pytest.mark.parametrize("name", ["condition_weight", "equilibrium_weight"])
def test_weights_are_of_the_balanced_measure_alone(tmp_path, name):
    """The others have no weights, and say so."""
    with pytest.raises(SteelyardError, match=f"^{name} has no effect with the measure 'svd'"):
        settings_of("points", **{name: OTHER[name]})
    assert settings_of("points", measure="balanced", **{name: OTHER[name]})
    said = io.StringIO()
    argv = ["design", str(write_arm(tmp_path)), "--basis", "points", *OPTIONS[name].split()]
    with contextlib.redirect_stderr(said):
        assert main(argv) == 2
    assert "has no effect with the measure 'svd', only with 'balanced'" in said.getvalue()


CHANGES = [
    *(("fourier", name) for name in ("period_s", "periods", "harmonics", "criterion", "rounds")),
    *(("via", name) for name in ("period_s", "criterion", "rounds")),
    ("postures", "period_s"),
    *(
        ("points", name)
        for name, users in USED_BY.items()
        if "points" in users and name != "budget_s"
    ),
    *((basis, name) for basis in BASES for name in ("seed", "share")),
]


@pytest.fixture(scope="module")
def plain(arm) -> dict[str, np.ndarray]:
    """The motion of every basis without other options."""
    model, limits = arm
    found = {basis: states_of(design_motion(model, limits, settings_of(basis))) for basis in BASES}
    balanced = settings_of("points", measure="balanced")
    return {**found, "balanced": states_of(design_motion(model, limits, balanced))}


@pytest.mark.parametrize(("basis", "name"), CHANGES)
def test_every_setting_changes_the_motion(arm, plain, basis, name):
    """What a basis uses makes another motion."""
    model, limits = arm
    weights = name in ("condition_weight", "equilibrium_weight")
    changes = {name: OTHER[name], **({"measure": "balanced"} if weights else {})}
    if name == "optimiser":
        changes["budget_s"] = 2.0
    found = states_of(design_motion(model, limits, settings_of(basis, **changes)))
    before = plain["balanced" if weights else basis]
    assert not np.allclose(found, before, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("basis", ["fourier", "via", "points"])
def test_the_budget_ends_the_search(arm, basis):
    """With hardly any time, few motions are looked at."""
    model, limits = arm
    free = {"fourier": {"rounds": None}, "via": {"rounds": None}, "points": {"n_starts": 40}}
    short = design_motion(model, limits, settings_of(basis, **free[basis], budget_s=0.2))
    longer = design_motion(model, limits, settings_of(basis, **free[basis], budget_s=2.0))
    assert short.evaluations < longer.evaluations


@pytest.mark.parametrize("measure", ["svd", "qr", "frobenius", "balanced"])
def test_the_measures_are_those_of_numpy_on_the_energies_of_pinocchio(arm, measure):
    """W from the nodes of the run, by Pinocchio; measures by NumPy and SciPy. The one that is
    made small is the value, and the search has made it smaller.
    """
    model, limits = arm
    motion = design_motion(model, limits, settings_of("points", measure=measure))
    W = energy_differences(model, motion)
    rows, columns = W.shape
    assert (rows, columns) == (14, base_map(model).rank)
    R = scipy.linalg.qr(W, mode="r", pivoting=True)[0]
    A = W.T @ W
    ours = {one.name: one.value for one in motion.measures}
    what = f"energy differences (14 × {columns})"
    expected = {
        "svd": (f"condition number of {what}", np.linalg.cond(W)),
        "qr": (
            f"condition number, estimate by QR, of {what}",
            abs(R[0, 0] / R[columns - 1, columns - 1]),
        ),
        "frobenius": (
            f"Frobenius condition of WᵀW of {what}",
            np.linalg.norm(A) * np.linalg.norm(np.linalg.inv(A)),
        ),
    }
    if measure == "balanced":  # elsewhere both of two points may be as fast as a joint can be
        expected["balanced"] = f"equilibrium S of {what}", np.abs(W).max() / np.abs(W).min()
    for name, value in expected.values():
        assert ours[name] == pytest.approx(value, rel=1e-5)
    value = expected[measure][1]
    if measure == "balanced":
        value = np.linalg.cond(W) + 0.01 * value
    assert motion.value == pytest.approx(value, rel=1e-5)
    assert motion.value < 0.9 * motion.start_value


def energy_differences(model: Model, motion) -> np.ndarray:
    """W (n_rows, n_base) of the points between which the run moves, rest at its ends left out."""
    import pinocchio as pin

    run = motion.trajectory
    q, v = (run.derivative(run.breaks[1:-1], order) for order in (0, 1))
    robot = model.robot
    pin_model = pinocchio_model(robot)
    data = pin_model.createData()
    at = pinocchio_q(robot, pin_model, q)
    order = pinocchio_velocity_index(robot, pin_model)
    names = [f"{body}.{p}" for body in ("upper", "fore") for p in PIN]
    rows = []
    for k in range(len(q)):
        speed = np.zeros(pin_model.nv)
        speed[order] = v[k]
        row = pin.computeKineticEnergyRegressor(pin_model, data, at[k], speed).copy()
        row = row + pin.computePotentialEnergyRegressor(pin_model, data, at[k])
        of = dict(zip(names, row.tolist(), strict=True))
        for j, joint in enumerate(model.channels):
            of[f"{joint}.Ia"] = 0.5 * v[k, j] ** 2
        rows.append([of[name] for name in model.column_names])
    return np.diff(np.array(rows), axis=0)[:, list(base_map(model).independent)]


PIN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def test_start_and_end_of_points_are_those_that_are_given(arm):
    """The run begins and ends at rest, at two poses; without an end where it began."""
    model, limits = arm
    start, end = [0.3, -0.2], [-0.4, 0.6]
    both = design_motion(model, limits, settings_of("points"), start=start, end=end)
    one = design_motion(model, limits, settings_of("points"), start=start)
    for motion, last in ((both, end), (one, start)):
        time = [0.0, motion.duration_s]
        np.testing.assert_allclose(motion.trajectory.derivative(time, 0), [start, last], atol=1e-9)
        np.testing.assert_allclose(motion.trajectory.derivative(time, 1), 0.0, atol=1e-9)
        assert motion.holds


def test_columns_are_scaled_by_what_is_known_of_the_robot(arm):
    """Measures of the balanced search are those of W with each column times its parameter."""
    model, limits = arm
    limits = replace(limits, torque=np.full(2, np.inf))
    rng = np.random.default_rng(1)
    settings = settings_of("points", column_scale="prior", measure="balanced")
    found = []
    for theta in rng.uniform(0.5, 1.5, size=(2, len(model.columns))):
        motion = design_motion(model, limits, settings, theta=theta)
        W = energy_differences(model, motion) * np.abs(base_map(model).K @ theta)
        S = np.abs(W).max() / np.abs(W).min()
        assert motion.value == pytest.approx(np.linalg.cond(W) + 0.01 * S, rel=1e-5)
        found.append(states_of(motion))
    assert not np.allclose(*found)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"column_scale": "big"}, "column_scale is 'big'; it is one of"),
        ({"n_rows": 0}, "n_rows is 0; 1 to 10,000 are possible"),
        ({"n_rows": 20_000}, "n_rows is 20000"),
        ({"measure": "trace"}, "measure is 'trace'"),
        ({"optimiser": "luck"}, "optimiser is 'luck'"),
        ({"n_starts": 0}, "n_starts 0"),
        ({"measure": "balanced", "condition_weight": -1.0}, "condition_weight and equilibrium"),
    ],
)
def test_wrong_settings_of_points_are_named(changes, words):
    """What, how much, and what is possible."""
    with pytest.raises(SteelyardError, match=words):
        DesignSettings(basis="points", **changes)
