"""Inertial parameters in other programs' conventions: maps to and from our ten parameters.

Ours is the order of :data:`steelyard.robot.inertia.PARAMETERS` with the inertia about the frame
origin. Formats that are a reordering are index tuples, applied as ``phi[..., ORDER]``;
formats that state the inertia about the centre of mass, or its principal axes, are dataclasses.
All maps work on arrays with any leading axes (...). ``docs/conventions.md`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError
from steelyard.robot.inertia import (
    PARAMETERS,
    as_phi,
    from_com,
    from_log_cholesky,
    from_origin,
    inertia_origin,
    log_cholesky,
    to_com,
)
from steelyard.robot.rotations import rotation_quaternion, rotation_rpy

Array = NDArray[np.float64]

SOUSA_ORDER = (4, 5, 7, 6, 8, 9, 1, 2, 3, 0)
"""Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m: Sousa and Cortesão 2014, eq 13."""

IDYNTREE_ORDER = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)
"""m mcx mcy mcz Ixx Ixy Ixz Iyy Iyz Izz: iDynTree's ``SpatialInertia.asVector``, and
pi = (m, m c, vech(I_B)) of Traversaro et al. 2016, eq 3."""

_FULL = ((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))  # xx yy zz xy xz yz
_VECH = ((0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2))  # xx xy xz yy yz zz


@dataclass(frozen=True, eq=False)
class UrdfInertial:
    """URDF ``<inertial>``: mass (...) kg, ``origin`` xyz (..., 3) m and rpy (..., 3) rad of
    a frame at the centre of mass, and in its axes the inertia (..., 6) kg m² in the order
    ixx ixy ixz iyy iyz izz.
    """

    mass: Array
    xyz: Array
    rpy: Array
    inertia: Array


@dataclass(frozen=True, eq=False)
class MjcfInertial:
    """MJCF ``<inertial>`` by principal axes: mass (...) kg, pos (..., 3) m of the centre of
    mass, quat (..., 4) w x y z of the principal axes, diaginertia (..., 3) kg m².
    """

    mass: Array
    pos: Array
    quat: Array
    diaginertia: Array


@dataclass(frozen=True, eq=False)
class MjcfFullInertial:
    """MJCF ``<inertial>`` by tensor: mass (...) kg, pos (..., 3) m of the centre of mass,
    fullinertia (..., 6) kg m² about it in body axes, ordered xx yy zz xy xz yz.
    """

    mass: Array
    pos: Array
    fullinertia: Array


@dataclass(frozen=True, eq=False)
class DrakeInertia:
    """Drake ``SpatialInertia``: mass (...) kg, p_BoBcm_B (..., 3) m, and the unit inertia
    G_BBo_B (..., 6) m² about the *origin*, in the order of ``UnitInertia``'s arguments,
    Gxx Gyy Gzz Gxy Gxz Gyz.
    """

    mass: Array
    com: Array
    unit_inertia: Array


def to_pinocchio(phi: ArrayLike) -> Array:
    """(..., 10) as ``pin.Inertia.toDynamicParameters``: the same numbers, copied."""
    return as_phi(phi).copy()


def from_pinocchio(x: ArrayLike) -> Array:
    """phi from ``pin.Inertia.toDynamicParameters``: the same numbers, copied."""
    return as_phi(x).copy()


def to_sousa(phi: ArrayLike) -> Array:
    """(..., 10) in :data:`SOUSA_ORDER`."""
    return as_phi(phi)[..., SOUSA_ORDER]


def from_sousa(x: ArrayLike) -> Array:
    """phi (..., 10) from values in :data:`SOUSA_ORDER`."""
    return as_phi(x)[..., np.argsort(SOUSA_ORDER)]


def to_idyntree(phi: ArrayLike) -> Array:
    """(..., 10) in :data:`IDYNTREE_ORDER`."""
    return as_phi(phi)[..., IDYNTREE_ORDER]


def from_idyntree(x: ArrayLike) -> Array:
    """phi (..., 10) from values in :data:`IDYNTREE_ORDER`."""
    return as_phi(x)[..., np.argsort(IDYNTREE_ORDER)]


def to_figaroh(phi: ArrayLike, joint: str) -> dict[str, float]:
    """FIGAROH 1.0.2's standard parameters of the body, phi (10,), that ``joint`` carries.

    Keys such as ``Ixx_elbow``, in our order. FIGAROH names a body by its joint and lumps
    links behind fixed joints into it.
    """
    values = as_phi(phi).reshape(10)
    return {key: float(value) for key, value in zip(figaroh_names(joint), values, strict=True)}


def from_figaroh(parameters: dict[str, float], joint: str) -> Array:
    """phi (10,) of the body that ``joint`` carries, from FIGAROH's standard parameters."""
    names = figaroh_names(joint)
    missing = [name for name in names if name not in parameters]
    if missing:
        raise ModelError(
            f"FIGAROH parameters of joint '{joint}' lack {', '.join(missing)}; "
            f"there are {', '.join(parameters) or 'none'}"
        )
    return np.array([parameters[name] for name in names], dtype=float)


def figaroh_names(joint: str) -> tuple[str, ...]:
    """The ten names that FIGAROH 1.0.2 gives to the body carried by ``joint``."""
    return tuple(f"{parameter}_{joint}" for parameter in PARAMETERS)


def to_mujoco_sysid(phi: ArrayLike, name: str = "body") -> Array:
    """theta (..., 10) of ``mujoco.sysid`` with ``InertiaType.Pseudo``: log-Cholesky."""
    return log_cholesky(phi, name)


def from_mujoco_sysid(theta: ArrayLike) -> Array:
    """phi (..., 10) from theta of ``mujoco.sysid`` with ``InertiaType.Pseudo``."""
    return from_log_cholesky(theta)


def to_mujoco_sysid_pi(phi: ArrayLike) -> Array:
    """pi (..., 13) of ``mujoco.sysid``: m, h and the nine entries of the inertia about the
    origin by rows. (Its docstrings say ten entries; its code uses thirteen.)
    """
    phi = as_phi(phi)
    tensor = inertia_origin(phi).reshape(*phi.shape[:-1], 9)
    return np.concatenate([phi[..., :4], tensor], axis=-1)


def from_mujoco_sysid_pi(pi: ArrayLike) -> Array:
    """phi (..., 10) from pi (..., 13) of ``mujoco.sysid``."""
    x = np.asarray(pi, dtype=float)
    if x.ndim == 0 or x.shape[-1] != 13:
        raise ModelError(f"mujoco.sysid's pi has 13 entries on its last axis, not {x.shape}")
    return from_origin(x[..., 0], x[..., 1:4], x[..., 4:].reshape(*x.shape[:-1], 3, 3))


def to_urdf(phi: ArrayLike, rpy: ArrayLike = (0.0, 0.0, 0.0)) -> UrdfInertial:
    """URDF inertial whose inertial frame is turned by ``rpy`` (..., 3) rad.

    With R = Rz(yaw) Ry(pitch) Rx(roll), URDF's numbers are ``Rᵀ I_c R``.
    """
    mass, com, inertia = to_com(phi)
    angles = np.broadcast_to(np.asarray(rpy, dtype=float), com.shape).copy()
    R = rotation_from_rpy(angles)
    return UrdfInertial(mass, com, angles, to_vech(np.swapaxes(R, -1, -2) @ inertia @ R))


def from_urdf(inertial: UrdfInertial) -> Array:
    """phi (..., 10) of a URDF inertial: ``I_c = R I_urdf Rᵀ``."""
    R = rotation_from_rpy(inertial.rpy)
    inertia = R @ from_vech(inertial.inertia) @ np.swapaxes(R, -1, -2)
    return from_com(inertial.mass, inertial.xyz, inertia)


def to_mjcf(phi: ArrayLike) -> MjcfInertial:
    """MJCF inertial by principal axes: ``I_c = R(quat) diag(diaginertia) R(quat)ᵀ``.

    Principal moments in descending order, as MuJoCo's compiler sorts them, and w >= 0.
    """
    mass, com, inertia = to_com(phi)
    moments, axes = np.linalg.eigh(inertia)
    moments, axes = moments[..., ::-1], axes[..., ::-1].copy()
    axes[..., 2] *= np.sign(np.linalg.det(axes))[..., None]
    return MjcfInertial(mass, com, quaternion_from_rotation(axes), moments)


def from_mjcf(inertial: MjcfInertial) -> Array:
    """phi (..., 10) of an MJCF inertial by principal axes; quat need not be normalised."""
    R = rotation_from_quaternion(inertial.quat)
    scaled = R * np.asarray(inertial.diaginertia, dtype=float)[..., None, :]
    return from_com(inertial.mass, inertial.pos, scaled @ np.swapaxes(R, -1, -2))


def to_mjcf_full(phi: ArrayLike) -> MjcfFullInertial:
    """MJCF inertial by tensor."""
    mass, com, inertia = to_com(phi)
    return MjcfFullInertial(mass, com, inertia[..., _FULL[0], _FULL[1]])


def from_mjcf_full(inertial: MjcfFullInertial) -> Array:
    """phi (..., 10) of an MJCF inertial by tensor."""
    return from_com(inertial.mass, inertial.pos, _symmetric(inertial.fullinertia, _FULL))


def to_drake(phi: ArrayLike) -> DrakeInertia:
    """Drake spatial inertia: com = h / m and G = I_o / m; ten zeros for a massless body.

    Refuses a body of zero mass with a first moment or an inertia: it has no unit inertia.
    """
    phi = as_phi(phi)
    mass, com, _ = to_com(phi)
    undefined = (mass == 0.0) & (phi != 0.0).any(axis=-1)
    if undefined.any():
        raise ModelError(
            f"{int(undefined.sum())} of {undefined.size} bodies have zero mass but a first moment "
            "or an inertia, so Drake's unit inertia is undefined; give them mass or remove them"
        )
    unit = inertia_origin(phi) / np.where(mass == 0.0, 1.0, mass)[..., None, None]
    return DrakeInertia(mass, com, unit[..., _FULL[0], _FULL[1]])


def from_drake(inertia: DrakeInertia) -> Array:
    """phi (..., 10) of a Drake spatial inertia: h = m com and I_o = m G."""
    mass = np.asarray(inertia.mass, dtype=float)
    tensor = mass[..., None, None] * _symmetric(inertia.unit_inertia, _FULL)
    return from_origin(mass, mass[..., None] * np.asarray(inertia.com, dtype=float), tensor)


def to_vech(inertia: ArrayLike) -> Array:
    """vech (..., 6) = xx xy xz yy yz zz of symmetric (..., 3, 3): Traversaro et al. 2016."""
    return np.asarray(inertia, dtype=float)[..., _VECH[0], _VECH[1]]


def from_vech(values: ArrayLike) -> Array:
    """Symmetric (..., 3, 3) from vech (..., 6) = xx xy xz yy yz zz."""
    return _symmetric(values, _VECH)


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """R (..., 3, 3) = Rz(yaw) Ry(pitch) Rx(roll) of URDF's roll, pitch, yaw (..., 3) rad."""
    return _each(rotation_rpy, np.asarray(rpy, dtype=float))


def rotation_from_quaternion(quat: ArrayLike) -> Array:
    """R (..., 3, 3) of quaternions w x y z (..., 4) of any length but zero."""
    q = np.asarray(quat, dtype=float)
    if not np.all(np.linalg.norm(q, axis=-1) > 0.0):
        raise ModelError("a quaternion w x y z is zero or not a number, so it is not a rotation")
    return _each(rotation_quaternion, q)


def _each(rotation: Callable[..., Array], values: Array) -> Array:
    """The rotation (..., 3, 3) of each row of values (..., n)."""
    rows = values.reshape(-1, values.shape[-1])
    return np.array([rotation(*row) for row in rows]).reshape(*values.shape[:-1], 3, 3)


def quaternion_from_rotation(R: ArrayLike) -> Array:
    """Unit quaternion w x y z (..., 4) with w >= 0 of rotation matrices (..., 3, 3)."""
    R = np.asarray(R, dtype=float)
    # Q = 4 q qᵀ: the row with the largest diagonal entry gives q without cancellation.
    Q = np.empty((*R.shape[:-2], 4, 4))
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    Q[..., 0, 0], Q[..., 1, 1] = 1 + xx + yy + zz, 1 + xx - yy - zz
    Q[..., 2, 2], Q[..., 3, 3] = 1 - xx + yy - zz, 1 - xx - yy + zz
    Q[..., 0, 1] = Q[..., 1, 0] = R[..., 2, 1] - R[..., 1, 2]
    Q[..., 0, 2] = Q[..., 2, 0] = R[..., 0, 2] - R[..., 2, 0]
    Q[..., 0, 3] = Q[..., 3, 0] = R[..., 1, 0] - R[..., 0, 1]
    Q[..., 1, 2] = Q[..., 2, 1] = R[..., 1, 0] + R[..., 0, 1]
    Q[..., 1, 3] = Q[..., 3, 1] = R[..., 0, 2] + R[..., 2, 0]
    Q[..., 2, 3] = Q[..., 3, 2] = R[..., 2, 1] + R[..., 1, 2]
    best = np.argmax(np.diagonal(Q, axis1=-2, axis2=-1), axis=-1)
    q: Array = np.take_along_axis(Q, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0.0, -q, q)


def _symmetric(values: ArrayLike, order: tuple[tuple[int, ...], tuple[int, ...]]) -> Array:
    """Symmetric (..., 3, 3) from six entries (..., 6) at the indices (rows, columns) ``order``."""
    x = np.asarray(values, dtype=float)
    if x.ndim == 0 or x.shape[-1] != 6:
        raise ModelError(f"an inertia has six numbers on its last axis, not shape {x.shape}")
    matrix = np.empty((*x.shape[:-1], 3, 3))
    matrix[..., order[0], order[1]] = matrix[..., order[1], order[0]] = x
    return matrix
