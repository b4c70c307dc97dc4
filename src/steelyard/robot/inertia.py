"""Inertial parameters of rigid bodies: ten numbers, their matrix forms, physical consistency.

A body is a 10-vector ``phi`` in the order of :data:`PARAMETERS`::

    m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz        (kg, kg m, kg m²)

with the first moment ``h = m c`` and the rotational inertia about the *origin* of the
body frame, all in the axes of that frame. Off-diagonal entries are entries of the tensor,
``Ixy = -∫ x y dm``. All functions work on arrays of shape (..., 10) unless they say
otherwise.

A body is *physical* when some mass density has these parameters, that is, when the 4×4
pseudo-inertia is positive semidefinite (Traversaro et al. 2016, Definition 2; Wensing,
Kim and Slotine 2018). This is the same as: mass is positive, no principal moment about
the centre of mass is negative, and the largest of them is at most the sum of the other
two. Flat bodies, thin rods and point masses lie on the boundary and are physical, as is
a massless body (ten zeros).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError

Array = NDArray[np.float64]
Rule = Literal[
    "not_finite",
    "mass",
    "massless_with_inertia",
    "inertia_positive_definite",
    "triangle_inequality",
]

PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
PARAMETER_UNITS = ("kg", "kg m", "kg m", "kg m") + 6 * ("kg m²",)

ROUNDING = 1e-12
"""A difference below this share of a body's moments is rounding, not a violation.

A flat plate written as Ixx = 0.1, Iyy = 0.7, Izz = 0.8 has Izz - Iyy - Ixx = 8.3e-17 in
binary; a body far from its frame's origin has similar rounding errors when its inertia is
moved to its centre of mass.
"""

_TENSOR = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])
_UPPER = ((0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2))  # xx, xy, xz, yy, yz, zz
_FROM_UPPER = (0, 1, 3, 2, 4, 5)  # to xx, xy, yy, xz, yz, zz


@dataclass(frozen=True)
class Violation:
    """One rule that a body breaks.

    rule : which one.
    amount : by how much, larger is worse: kg for "mass", kg m² for the inertia rules, the
        largest of the nine other parameters for "massless_with_inertia", the number of
        bad entries for "not_finite".
    words : one sentence that names the link and says what is wrong, and by how much.
    """

    rule: Rule
    amount: float
    words: str


def skew(vector: ArrayLike) -> Array:
    """S(a) (..., 3, 3) with ``S(a) b = a × b``, from vectors (..., 3)."""
    a = np.asarray(vector, dtype=float)
    S = np.zeros((*a.shape, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -a[..., 2], a[..., 1], -a[..., 0]
    S[..., 1, 0], S[..., 2, 0], S[..., 2, 1] = a[..., 2], -a[..., 1], a[..., 0]
    return S


def inertia_origin(phi: ArrayLike) -> Array:
    """Rotational inertia about the frame origin (..., 3, 3), kg m²."""
    return as_phi(phi)[..., _TENSOR]


def from_origin(mass: ArrayLike, first_moment: ArrayLike, inertia: ArrayLike) -> Array:
    """phi (..., 10) from mass (...) kg, h (..., 3) kg m, inertia about the frame origin
    (..., 3, 3) kg m² (only its upper triangle is read).
    """
    m, h = np.asarray(mass, dtype=float)[..., None], np.asarray(first_moment, dtype=float)
    upper = np.asarray(inertia, dtype=float)[..., _UPPER[0], _UPPER[1]][..., _FROM_UPPER]
    lead = np.broadcast_shapes(m.shape[:-1], h.shape[:-1], upper.shape[:-1])
    parts = [np.broadcast_to(part, lead + part.shape[-1:]) for part in (m, h, upper)]
    return np.concatenate(parts, axis=-1)


def from_com(mass: ArrayLike, com: ArrayLike, inertia_com: ArrayLike) -> Array:
    """phi (..., 10) from mass (...) kg, centre of mass c (..., 3) m and the inertia about
    it (..., 3, 3) kg m² in the axes of the body frame: ``I = I_c + m S(c)ᵀ S(c)``.
    """
    m, c = np.asarray(mass, dtype=float), np.asarray(com, dtype=float)
    inertia = np.asarray(inertia_com, dtype=float) + m[..., None, None] * _about_origin(c, c)
    return from_origin(m, m[..., None] * c, inertia)


def to_com(phi: ArrayLike) -> tuple[Array, Array, Array]:
    """(mass (...) kg, centre of mass (..., 3) m, inertia about it (..., 3, 3) kg m²).

    A body of zero mass has no centre of mass: the origin is returned, with the inertia
    unchanged. Its first moment, if any, is lost; :func:`violations` reports such a body.
    """
    phi = as_phi(phi)
    m, h = phi[..., 0], phi[..., 1:4]
    massless = m == 0.0
    c = np.where(massless[..., None], 0.0, h / np.where(massless, 1.0, m)[..., None])
    # S(h)ᵀ S(c) instead of m S(c)ᵀ S(c): one product less that can overflow at tiny mass.
    return m.copy(), c, inertia_origin(phi) - _about_origin(h, c)


def pseudo_inertia(phi: ArrayLike) -> Array:
    """J (..., 4, 4) = [[Sigma, h], [hᵀ, m]], Sigma = tr(I)/2 · 1 - I = ∫ r rᵀ dm."""
    phi = as_phi(phi)
    inertia = inertia_origin(phi)
    J = np.empty((*phi.shape[:-1], 4, 4))
    J[..., :3, :3] = 0.5 * _trace(inertia) * np.eye(3) - inertia
    J[..., :3, 3] = J[..., 3, :3] = phi[..., 1:4]
    J[..., 3, 3] = phi[..., 0]
    return J


def from_pseudo_inertia(J: ArrayLike) -> Array:
    """phi (..., 10) of a pseudo-inertia (..., 4, 4): ``I = tr(Sigma) · 1 - Sigma``.

    The symmetric part of ``J`` is taken, so that a product like T J Tᵀ need not be
    symmetric to the last bit.
    """
    full = np.asarray(J, dtype=float)
    full = 0.5 * (full + np.swapaxes(full, -1, -2))
    sigma = full[..., :3, :3]
    return from_origin(full[..., 3, 3], full[..., :3, 3], _trace(sigma) * np.eye(3) - sigma)


def transform(phi: ArrayLike, T_new_old: ArrayLike) -> Array:
    """The same body expressed in another frame: ``J_new = T J Tᵀ``, phi (..., 10).

    ``T_new_old`` (..., 4, 4) is the pose of the old frame in the new one. Refuses anything
    but a rotation and a translation: it would change the body.
    """
    T = np.asarray(T_new_old, dtype=float)
    if T.shape[-2:] != (4, 4):
        raise ModelError(f"T_new_old has shape {T.shape}; a pose is (..., 4, 4)")
    R = T[..., :3, :3]
    skewed = np.max(np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)), initial=0.0)
    row = np.max(np.abs(T[..., 3, :] - (0.0, 0.0, 0.0, 1.0)), initial=0.0)
    if not (skewed <= 1e-6 and row <= 1e-9):
        raise ModelError(
            f"T_new_old is not the pose of a frame: R Rᵀ differs from 1 by up to {skewed:.3g} "
            f"and the last row from 0, 0, 0, 1 by up to {row:.3g}"
        )
    if np.any(np.linalg.det(R) < 0.0):
        raise ModelError("T_new_old is not the pose of a frame: it mirrors (det R = -1)")
    return from_pseudo_inertia(T @ pseudo_inertia(phi) @ np.swapaxes(T, -1, -2))


def log_cholesky(phi: ArrayLike, name: str = "body") -> Array:
    """x (..., 10) = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3) of strictly physical phi.

    Log-Cholesky parameters of Rucker and Wensing (2022): J = U Uᵀ with

        U = e^alpha [[e^d1, s12,  s13,  t1],
                     [0,    e^d2, s23,  t2],
                     [0,    0,    e^d3, t3],
                     [0,    0,    0,    1 ]]

    Every x is a physical body and every strictly physical body has one x. A body on the
    boundary (flat, rod, point, massless) has none and is refused.
    """
    phi = as_phi(phi)
    lacking = ~_strictly_physical(phi)
    if lacking.any():
        which = tuple(int(i) for i in np.argwhere(lacking)[0])
        label = f"{name}[{', '.join(map(str, which))}]" if which else name
        found = violations(phi[which], label)
        why = (
            found[0].words
            if found
            else (
                f"link '{label}' is on the boundary of the physical set (flat, a rod, a point "
                f"or massless): its pseudo-inertia has smallest eigenvalue {margin(phi[which]):.3g}"
            )
        )
        raise ModelError(f"{why}; log-Cholesky parameters need a strictly physical body")
    # The lower Cholesky factor of J with its axes reversed is, reversed back, an upper factor.
    U = np.linalg.cholesky(pseudo_inertia(phi)[..., ::-1, ::-1])[..., ::-1, ::-1]
    scale = U[..., 3, 3]
    V = U / scale[..., None, None]
    diagonal = np.log(V[..., (0, 1, 2), (0, 1, 2)])
    above = V[..., (0, 1, 0, 0, 1, 2), (1, 2, 2, 3, 3, 3)]
    return np.concatenate([np.log(scale)[..., None], diagonal, above], axis=-1)


def from_log_cholesky(x: ArrayLike) -> Array:
    """phi (..., 10) of log-Cholesky parameters (..., 10); see :func:`log_cholesky`."""
    x = as_phi(x)
    U = np.zeros((*x.shape[:-1], 4, 4))
    U[..., (0, 1, 2), (0, 1, 2)] = np.exp(x[..., 1:4])
    U[..., (0, 1, 0, 0, 1, 2), (1, 2, 2, 3, 3, 3)] = x[..., 4:]
    U[..., 3, 3] = 1.0
    U *= np.exp(x[..., :1])[..., None]
    return from_pseudo_inertia(U @ np.swapaxes(U, -1, -2))


def margin(phi: ArrayLike) -> Array:
    """Smallest eigenvalue (...) of the pseudo-inertia; NaN where phi is not finite.

    Negative: no mass density can have these parameters. Its sign does not depend on the
    frame; its size does, and mixes kg with kg m².
    """
    phi = as_phi(phi)
    finite = np.asarray(np.isfinite(phi).all(axis=-1))
    J = pseudo_inertia(np.where(finite[..., None], phi, 0.0))
    return np.where(finite, np.linalg.eigvalsh(J)[..., 0], np.nan)


def is_physical(phi: ArrayLike, tolerance: float = 0.0) -> NDArray[np.bool_]:
    """Whether (...) each body has no :func:`violations`; ``tolerance`` in kg m²."""
    phi = as_phi(phi)
    moments, slack = _principal_moments(phi)
    slack = slack + tolerance
    with np.errstate(invalid="ignore"):
        inertia_holds = (moments[..., 0] >= -slack) & (_triangle_excess(moments) <= slack)
    massless = (phi == 0.0).all(axis=-1)
    return np.asarray(massless | ((phi[..., 0] > 0.0) & inertia_holds))


def violations(phi: ArrayLike, name: str = "body", tolerance: float = 0.0) -> tuple[Violation, ...]:
    """The rules that keep one body, phi (10,), from being physical; empty if it is physical.

    Rules: every number is finite; mass is positive; the principal moments about the
    centre of mass are not negative; the largest is at most the sum of the other two. Ten
    zeros are a massless link and break no rule; zero mass with a first moment or an
    inertia breaks one. A negative principal moment always breaks the triangle inequality too
    and is reported once, under "inertia_positive_definite".

    tolerance : kg m², a violation of an inertia rule up to this size is not reported. It is
        added to :data:`ROUNDING` times the moments of inertia about the frame origin. A
        tiny inertia of a body far from the origin is therefore lost in the rounding of
        phi: to check numbers that a file states about the centre of mass, use
        :func:`violations_about_com`.
    """
    phi = as_phi(phi)
    if phi.shape != (10,):
        raise ModelError(f"violations takes one body of shape (10,), not {phi.shape}")
    found = _invalid_or_massless(phi, name)
    if found is not None:
        return found
    moments, slack = _principal_moments(phi)
    return _mass_and_inertia_violations(float(phi[0]), moments, float(slack) + tolerance, name)


def violations_about_com(
    mass: float, inertia_com: ArrayLike, name: str = "body", tolerance: float = 0.0
) -> tuple[Violation, ...]:
    """:func:`violations` of a body as files state it: mass (kg) and the inertia (3, 3)
    about the centre of mass (kg m²), with rounding relative to that inertia alone.
    """
    return violations(from_origin(mass, np.zeros(3), inertia_com), name, tolerance)


def as_phi(values: ArrayLike) -> Array:
    """``values`` as a float array (..., 10); refuses any other shape."""
    phi = np.asarray(values, dtype=float)
    if phi.ndim == 0 or phi.shape[-1] != 10:
        raise ModelError(
            f"inertial parameters have shape {phi.shape}; the last axis must be the ten of "
            + ", ".join(PARAMETERS)
        )
    return phi


def _about_origin(a: Array, b: Array) -> Array:
    """S(a)ᵀ S(b) = a·b 1 - a bᵀ of parallel vectors (..., 3), symmetric to the last bit."""
    outer = a[..., :, None] * b[..., None, :]
    outer = 0.5 * (outer + np.swapaxes(outer, -1, -2))
    return _trace(outer) * np.eye(3) - outer


def _trace(matrix: Array) -> Array:
    """Trace (..., 1, 1) of (..., 3, 3)."""
    return np.asarray(np.trace(matrix, axis1=-2, axis2=-1))[..., None, None]


def _triangle_excess(moments: Array) -> Array:
    """Largest principal moment minus the other two (...), of ascending moments (..., 3)."""
    return np.asarray(moments[..., 2] - moments[..., 1] - moments[..., 0])


def _principal_moments(phi: Array) -> tuple[Array, Array]:
    """Ascending principal moments about the centre of mass (..., 3) and the size (...) of
    rounding in them, both NaN where the centre of mass cannot be computed.
    """
    with np.errstate(all="ignore"):
        _, _, inertia = to_com(phi)
    known = np.asarray(np.isfinite(inertia).all(axis=(-1, -2)) & np.isfinite(phi).all(axis=-1))
    inertia = np.where(known[..., None, None], inertia, 0.0)
    about_origin = np.where(known[..., None, None], inertia_origin(phi), 0.0)
    moments = np.asarray(np.linalg.eigvalsh(inertia), dtype=float)
    size = np.abs(moments).sum(axis=-1) + np.abs(about_origin).sum(axis=(-1, -2))
    moments = np.where(known[..., None], moments, np.nan)
    return moments, np.where(known, ROUNDING * size, np.nan)


def _strictly_physical(phi: Array) -> NDArray[np.bool_]:
    """Whether (...) bodies are inside the physical set by more than rounding."""
    moments, slack = _principal_moments(phi)
    with np.errstate(invalid="ignore"):
        return np.asarray((phi[..., 0] > 0.0) & (_triangle_excess(moments) < -slack))


def _invalid_or_massless(phi: Array, name: str) -> tuple[Violation, ...] | None:
    """Violations of phi (10,) that is not finite or has no mass; None for any other phi."""
    bad = [PARAMETERS[i] for i in np.flatnonzero(~np.isfinite(phi))]
    if bad:
        words = f"link '{name}' has parameters that are not finite numbers: {', '.join(bad)}"
        return (Violation("not_finite", float(len(bad)), words),)
    if phi[0] != 0.0:
        return None
    largest = float(np.max(np.abs(phi)))
    if largest == 0.0:
        return ()
    moment, inertia = np.max(np.abs(phi[1:4])), np.max(np.abs(phi[4:]))
    words = (
        f"link '{name}' has no mass but a first moment of up to {moment:.6g} kg m and an "
        f"inertia of up to {inertia:.6g} kg m²"
    )
    return (Violation("massless_with_inertia", largest, words),)


def _mass_and_inertia_violations(
    mass: float, moments: Array, slack: float, name: str
) -> tuple[Violation, ...]:
    """Violations of the mass and inertia rules, for principal moments (3,) in ascending order."""
    found: list[Violation] = []
    if mass < 0.0:
        found.append(Violation("mass", -mass, f"link '{name}' has negative mass, {mass:.6g} kg"))
    smallest, excess = float(moments[0]), float(_triangle_excess(moments))
    if not np.isfinite(moments).all():
        words = f"link '{name}' has a mass of {mass:.6g} kg, too small to compute a centre of mass"
        found.append(Violation("not_finite", 1.0, words))
    elif smallest < -slack:
        words = (
            f"link '{name}' has an inertia about its centre of mass that is not positive "
            f"definite: its smallest principal moment is {smallest:.6g} kg m²"
        )
        found.append(Violation("inertia_positive_definite", -smallest, words))
    elif excess > slack:
        words = (
            f"link '{name}' breaks the triangle inequality: its largest principal moment, "
            f"{moments[2]:.6g} kg m², is {excess:.6g} kg m² more than the sum of the other two"
        )
        found.append(Violation("triangle_inequality", excess, words))
    return tuple(found)
