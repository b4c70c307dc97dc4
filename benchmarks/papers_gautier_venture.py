"""Rows of `papers`: Gautier and Venture (2013).

Their recordings are not in the text. What rests on them is computed from the printed digits of
Table II, or on a twin: the TX-40 whose parameters are a column of that table, on a motion through
eleven points, with noise of 5 % of the rms of each torque.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
from paper_row import AT_MOST, Effort, Row

from steelyard.estimators.cad import estimate_cad, estimate_cad_essential, relative_distance
from steelyard.estimators.physical_counts import consistency_of_bodies
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.motions.via_points import random_via_points, via_point_motion
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.signals.motion import Measurements, Motion

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from gautier_venture_paper import TABLE_II, table_bodies
from paper_robots import TX40, tx40, tx40_model

NOISE = 0.05
SYMBOLS = {"XX": "Ixx", "XY": "Ixy", "XZ": "Ixz", "YY": "Iyy", "YZ": "Iyz", "ZZ": "Izz",
           "MX": "mx", "MY": "my", "MZ": "mz", "M": "m"}  # fmt: skip
TERMS = {"Ia": "Ia", "Fv": "fv", "Fs": "fc", "off": "fo"}


@cache
def model() -> Model:
    """The 86 columns, with rotor 6 shared by joints 5 and 6."""
    return tx40_model(separate_coupling_inertia=False)


def column_of(name: str) -> str:
    """Our name of a parameter of Table II."""
    symbol, joint = name.rstrip("123456"), name[-1]
    if symbol in ("Fvm", "Fsm") or name == "Ia6":
        return "motor_6." + {"Fvm": "fv", "Fsm": "fc", "Ia": "Ia"}[symbol]
    if symbol in TERMS:
        return f"joint_{joint}.{TERMS[symbol]}"
    return f"link_{joint}.{SYMBOLS[symbol]}"


def table_theta(which: int) -> np.ndarray:
    """Parameters (86,) of a column of Table II; those that it lacks move no torque and are 0.

    Ia5, Fv5 and Fv6 there hold rotor 6's share.
    """
    values = {column_of(name): row[which] for name, row in TABLE_II.items()}
    values["joint_5.Ia"] -= values["motor_6.Ia"]
    values["joint_5.fv"] -= values["motor_6.fv"]
    values["joint_6.fv"] -= values["motor_6.fv"]
    return model().theta(values)


def ranks(_: Effort, *, separate: bool) -> tuple[float, ...]:
    """Standard and base parameters."""
    own = tx40_model(separate_coupling_inertia=separate)
    return float(len(own.columns)), float(base_map(own).rank)


def lengths(_: Effort) -> tuple[float, ...]:
    """d3, r3 and r4 (m), from the frames of the robot."""
    third, fourth = (np.asarray(joint.placement)[:3, 3] for joint in tx40().joints[2:4])
    return float(third[0]), float(third[2]), float(np.abs(fourth).max())


def rotor_inertia(_: Effort) -> tuple[float, ...]:
    """What rotors of 1 kg m² add to the inertia of joints 5 and 6 (eq 35), from the torques."""
    overlay = parse_overlay(TX40)
    own = model_of(tx40(), overlay=overlay)
    # an inertia is stated at the joint that its motor turns: the square of the ratio
    theta = own.theta({"motor_5.Ia": 45.0**2, "motor_6.Ia": 32.0**2})
    still = np.zeros((1, 6))
    tau = [torque(own, theta, still, still, np.eye(6)[[k]])[0] for k in (4, 5)]
    gravity = torque(own, theta, still, still, still)[0]
    return float(tau[0][4] - gravity[4]), float(tau[1][5] - gravity[5])


def norms(which: int) -> float:
    """Relative distance of a column of Table II to the a priori values, from the printed digits."""
    table = np.array(list(TABLE_II.values()))
    return relative_distance(table[:, which], table[:, 0])


def moved(which: int) -> int:
    """Parameters of Table II whose printed digits differ from the a priori ones."""
    return sum(row[which] != row[0] for row in TABLE_II.values())


def frozen(_: Effort) -> float:
    """Of the parameters of Table II that are no base columns here, those that do not move there."""
    independent = {model().column_names[k] for k in base_map(model()).independent}
    others = [row for name, row in TABLE_II.items() if column_of(name) not in independent]
    return float(sum(row[1] == row[0] for row in others))


def counts(which: int) -> tuple[float, ...]:
    """Positive definite inertias of links 3 to 6 at the tolerances of Table III."""
    report = consistency_of_bodies([f"link_{k}" for k in range(3, 7)], table_bodies(which))
    return tuple(map(float, report.counts))


@cache
def twin(which: int, seed: int) -> tuple[Motion, np.ndarray, int]:
    """A motion, its torques by a column of Table II, with noise, and its number of points."""
    limits = motion_limits(tx40(), lower=-1.5, upper=1.5, velocity=3.0, acceleration=10.0)
    points = random_via_points(limits, seed=seed)
    plan = via_point_motion(points, limits)
    time = np.arange(0.0, plan.breaks[-1], 0.01)
    state = plan.evaluate(time)
    motion = Motion(time, state.q, state.v, state.a)
    tau = torque(model(), table_theta(which), motion.q, motion.v, motion.a)
    rng = np.random.default_rng(seed)
    noise = NOISE * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return motion, tau + noise, len(points)


@cache
def estimate(which: int) -> np.ndarray:
    """Parameters (86,) of the twin, closest to the a priori values: by its base columns where its
    truth is the base column of Table II, by essential ones where it is the essential column.
    """
    motion, tau, _ = twin(which, 0)
    data = compress(model(), motion, Measurements(model().channels, tau))
    prior = table_theta(0)
    if which == 1:
        found = estimate_cad(model(), data, prior, columns="independent")
    else:
        found, _ = estimate_cad_essential(model(), data, prior, columns="independent")
    return np.asarray(found.standard.theta)


def twin_norm(which: int) -> float:
    """Relative distance of the twin's estimate to the a priori values."""
    return relative_distance(estimate(which), table_theta(0))


def cross_error(_: Effort) -> float:
    """Error (%) of the twin's essential solution on another motion."""
    motion, tau, _points = twin(2, 1)
    off = torque(model(), estimate(2), motion.q, motion.v, motion.a) - tau
    return 100.0 * float(np.linalg.norm(off) / np.linalg.norm(tau))


CAD = "steelyard identify tx40.urdf log.csv --overlay tx40.toml --method {} --columns independent"
COUNTS = (
    "links 3 to 6 alone, by the printed digits of Table II, which lacks parameters of links 1 and 2"
)
ROWS = (
    Row("abstract", "parameters of a link and its joint", "14",
        lambda _: len(Model(tx40()).columns) / 6.0, command="steelyard base list tx40.toml"),
    Row("Table I", "d3, r3, r4 (m)", "0.225 0.035 0.225", lengths),
    Row("(34), (35)", "Ia5 and Ia6 (kg m²) of rotors of 1 kg m²: 45² + 32² and 32²", "3049 1024",
        rotor_inertia),
    Row("V-B", "standard and base parameters", "86 61", lambda e: ranks(e, separate=False),
        differ=(0.98, 1.0), reason="rotor 6 shared by both rows leaves a rank of 60"),
    Row("V-B", "base parameters, with an inertia of the coupling of its own", "61",
        lambda e: ranks(e, separate=True)[1]),
    Row("V-B", "essential parameters: those of Table II that move", "31",
        lambda _: float(moved(2))),
    Row("V-B", "points of a motion with trapezoidal acceleration", "11",
        lambda _: float(twin(2, 0)[2]), command="steelyard design ROBOT --basis via"),
    Row("Table II", "parameters that move in the base solution", "61", lambda _: float(moved(1)),
        differ=(0.95, 0.96), reason="of our 60 base columns two move by less than a printed digit"),
    Row("Table II", "of 16 others, those that keep their a priori value", "16", frozen),
    Row("Table II", "norm of e_b, relative", "0.1591", lambda _: norms(1)),
    Row("Table II", "norm of e_e, relative", "0.0416", lambda _: norms(2)),
    Row("Table II", "norm of e_b, relative, identified from a twin", "0.1591",
        lambda _: twin_norm(1), agree=(0.9, 1.1), command=CAD.format("cad")),
    Row("Table II", "norm of e_e, relative, identified from a twin", "0.0416",
        lambda _: twin_norm(2), agree=(0.9, 1.1), command=CAD.format("cad-essential")),
    Row("V-B", "norm of e_b over that of e_e", "4", lambda _: norms(1) / norms(2)),
    Row("V-B", "error on another motion (%), at most", "10", cross_error, agree=AT_MOST,
        command=CAD.format("cad-essential") + " --validate-on other.csv"),
    Row("Table III", "positive definite inertias, base solution, at 0, -0.01, -0.02, -0.04",
        "2 3 5 6", lambda _: counts(1), differ=(0.0, 0.7), reason=COUNTS),
    Row("Table III", "positive definite inertias, essential solution, at the same", "6 6 6 6",
        lambda _: counts(2), differ=(0.5, 0.7),
        reason=COUNTS + "; link 6 has Jzz = 0 there, so that 6 at zero cannot be"),
)  # fmt: skip
