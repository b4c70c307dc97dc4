"""The identified inverse dynamics as a Python module that needs NumPy only.

The module has the base parameters as constants of straight-line code, and evaluates any number
of samples at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numpy.typing import ArrayLike

from steelyard._version import __version__
from steelyard.export._inverse_dynamics import base_theta, inverse_dynamics, travel_terms
from steelyard.export._straight_line import Target, Value, statements
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model

NUMPY = Target(
    entry="{array}[..., {index}]",
    assign="{name} = {text}",
    store="{name} = {text}",
    sin="np.sin",
    cos="np.cos",
    sign="np.sign",
    clip="_clip",
    exp="np.exp",
    abs="np.abs",
)


def numpy_module(model: Model, base: BaseMap, beta: ArrayLike, *, name: str | None = None) -> str:
    """Text of a module with the inverse dynamics of base parameters beta (n_base,).

    name : the robot's name in the module; by default its own.

    The module defines ``torque(q, v, a)`` and ``gravity(q)`` for arrays (..., nq) and (..., nv), in
    rad or m, and the constants ROBOT, JOINTS, UNITS (of the torques), PARAMETERS (name, value,
    unit) and LOCKED (joint, position). ``gravity`` is the weight's part of the torque, without
    friction and offsets. Where friction builds up over a travel, ``torque(q, v, a, z)`` takes its
    state, which ``friction_state(q)`` makes of positions in the order of time; without, joints are
    taken to have moved on for several travels.
    """
    theta = base_theta(model, base, beta)
    dynamics = inverse_dynamics(model, theta)
    robot = model.robot
    values = theta[list(base.independent)].tolist()
    gravity = ", ".join(f"{x:.10g}" for x in robot.gravity.tolist())
    travels = travel_terms(model)
    with_state = STATE if travels else dict.fromkeys(STATE, "")
    return TEMPLATE.format(
        **{
            key: text.format(nq=model.nq, nv=model.nv, n=len(travels))
            for key, text in {**with_state, "travels": _travels(model)}.items()
        },
        version=__version__,
        base=FLOATING_BASE if robot.floating_base else "",
        gravity_vector=gravity,
        robot=repr(robot.name if name is None else name),
        joints=_tuple(repr(joint) for joint in model.channels),
        units=_tuple(repr(unit) for unit in model.channel_units),
        parameters=_tuple(map(repr, zip(base.names, values, base.units, strict=True))),
        locked=_tuple(repr((joint, float(at))) for joint, at in robot.locked.items()),
        nq=model.nq,
        nv=model.nv,
        torque=_body(dynamics.torque),
        gravity=_body(dynamics.gravity),
    )


def _travels(model: Model) -> str:
    """Owner, travel and direction of each friction that builds up over a travel, as text."""
    rows = {name: row for row, name in enumerate(model.channels)}
    entries = [
        repr((term.owner, term.travel, tuple((rows[j], w) for j, w in term.direction)))
        for term in travel_terms(model)
    ]
    if not entries:
        return ""
    return (
        (
            "\n# friction that builds up over a travel (rad or m): owner, travel, (joint, weight)\n"
            f"TRAVELS = {_tuple(entries)}\n"
        )
        .replace("{", "{{")
        .replace("}", "}}")
    )


def _body(results: Sequence[Value]) -> str:
    return "\n".join(f"    {line}" for line in statements(NUMPY, results, "tau").texts)


def _tuple(entries: Iterable[str]) -> str:
    """A tuple with one entry in each line."""
    lines = "".join(f"    {entry},\n" for entry in entries)
    return f"(\n{lines})" if lines else "()"


FLOATING_BASE = """
The base floats. q begins with its position and quaternion (x, y, z, w) in the world; v and a begin
with the linear and the angular velocity of the base and their derivatives, in its own frame; tau
begins with force and moment, in the same frame.
"""

STATE = {
    "z_short": ", z",
    "z_default": ", z=None",
    "z_words": """
z (..., {n}): state of friction that builds up over a travel, see TRAVELS and friction_state.
Without it, joints are taken to have moved on for several travels.
""",
    "z_prelude": """\
    z = np.sign(_along(v, 0)) if z is None else _entries("z", z, {n})
""",
    "z_function": """\
def friction_state(q, start=None):
    \"\"\"State z (n, {n}) of friction along positions q (n, {nq}) in the order of time.

    start ({n},): at the first position; by default friction has built up by then.
    \"\"\"
    path = _along(_entries("q", q, {nq}), {nq} - {nv})
    d = np.diff(path, axis=0)
    z = np.zeros(path.shape)
    if start is not None:
        z[0] = start
    elif len(d):
        moving = d != 0.0
        z[0] = np.sign(d[moving.argmax(axis=0), range({n})])
    travels = np.array([travel for _, travel, _ in TRAVELS])
    for k, way in enumerate(np.sign(d)):
        z[k + 1] = way + (z[k] - way) * np.exp(-np.abs(d[k]) / travels)
        z[k + 1] = np.where(way == 0.0, z[k], z[k + 1])
    return z


def _along(x, first):
    return np.stack([sum(w * x[..., row + first] for row, w in d) for _, _, d in TRAVELS], axis=-1)


""",
}
# texts of the robot file come in as literals (repr) only
TEMPLATE = '''\
"""Inverse dynamics of a robot, written by Steelyard {version}; needs NumPy only.

    tau = torque(q, v, a{z_short})      torques of a motion: bodies, drives and friction
    tau = gravity(q)           the weight's part of it, without friction and offsets

q (..., {nq}): positions, rad or m. v and a (..., {nv}): speeds and accelerations.
tau (..., {nv}): torques, N m or N. The order is that of JOINTS.
{z_words}\\
Gravity: {gravity_vector} m/s^2 in the frame of the robot's base.
{base}
PARAMETERS are base parameters, each named after one of the parameters that it combines. Their
values are constants in the code: a change of the list changes nothing.
"""

import numpy as np

ROBOT = {robot}

JOINTS = {joints}

# of the torques
UNITS = {units}

# name, value, unit
PARAMETERS = {parameters}

# joints that do not move, and where: rad or m
LOCKED = {locked}
{travels}

def torque(q, v, a{z_default}):
    """Torques (..., {nv}) of a motion: q (..., {nq}), v and a (..., {nv})."""
    q, v, a = _entries("q", q, {nq}), _entries("v", v, {nv}), _entries("a", a, {nv})
    tau = np.empty((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1], a.shape[:-1]), {nv}))
{z_prelude}{torque}
    return tau


def gravity(q):
    """Torques (..., {nv}) that hold the weight at positions q (..., {nq})."""
    q = _entries("q", q, {nq})
    tau = np.empty((*q.shape[:-1], {nv}))
{gravity}
    return tau


{z_function}def _entries(name, values, n):
    array = np.asarray(values, dtype=float)
    if array.ndim == 0 or array.shape[-1] != n:
        raise ValueError(f"{{name}} has shape {{array.shape}}; its last axis must be {{n}} long")
    return array


def _clip(x):
    return np.clip(x, -1.0, 1.0)
'''
