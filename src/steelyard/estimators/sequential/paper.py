"""The sequential method as published: each joint's own rows, outer links fixed.

The torque of joint i depends only on the links that it carries, so the stacked regressor of all
joints is block upper triangular, with block rows Y_i = [0 ... Y_ii Y_i,i+1 ... Y_in]. The method
goes from the last link to the first. Its i-th semidefinite program is, in epigraph form,

    minimise u + lambda |D theta_i|²   subject to   [[1, e], [eᵀ, u]] psd,  theta_i physical,
    e = tau_i - sum_{j > i} Y_ij theta_j - Y_ii theta_i

(a Schur complement: the matrix is psd exactly if |e|² <= u), with the outer links theta_j at their
estimates. Y_iiᵀ Y_ii is singular, since a joint sees at most a few of the ten parameters of its
link; lambda |D theta|², D in typical sizes, makes the program's solution unique. |e|² is a
constant plus a form in the compressed factor of joint i, so the epigraph needs no samples.

What a joint does not see of its own link is set by that regularisation, and then *fixed*: the inner
joints see it, and cannot undo it. So the result depends on lambda, and is far from the simultaneous
optimum; `steelyard.estimators.sequential.inward` is the sound version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.sequential.inward import LinkwiseFit
from steelyard.estimators.sequential.links import Link
from steelyard.estimators.sequential.window import solve_window
from steelyard.model.model import Model
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]


def joint_rows(model: Model, regression: Regression) -> tuple[tuple[int, ...], ...]:
    """The row groups of each link's own joint: one, or six for a floating base.

    Refuses rows that are not the torques of single joints, and links that share a joint coordinate.
    """
    if not regression.equation.of_joints:
        raise EstimationError(
            "the method 'sequential-paper' needs torque rows of each joint, not "
            f"{regression.equation.words}; use the method 'sequential'"
        )
    names = [group.name for group in regression.groups]
    mechanism = model.mechanism
    out = []
    for i, body in enumerate(mechanism.bodies):
        here = int(mechanism.coordinate[i])
        sharing = np.flatnonzero(mechanism.coordinate == here)
        if len(sharing) > 1:
            links = ", ".join(f"'{mechanism.bodies[k].name}'" for k in sharing)
            raise EstimationError(
                f"the links {links} move with one joint coordinate (mimic joints), so no row "
                "belongs to one of them: use the method 'sequential'"
            )
        count = 6 if body.joint is None else 1
        wanted = mechanism.coordinates[here : here + count]
        missing = [name for name in wanted if name not in names]
        if missing:
            raise EstimationError(
                f"there is no torque row of '{missing[0]}', which the method 'sequential-paper' "
                f"needs for link '{body.name}': use the method 'sequential'"
            )
        out.append(tuple(names.index(name) for name in wanted))
    return tuple(out)


def fit_paper(
    rows: Sequence[Sequence[int]],
    columns: Sequence[Sequence[int]],
    factors: Mapping[int, Array],
    K: Array,
    links: Sequence[Link],
) -> LinkwiseFit:
    """The published method.

    rows : row groups of each link's joint. columns : base parameters of each group.
    factors : of [W_g tau_g] of each group, in units of the noise.
    """
    u: list[Array] = [link.start.copy() for link in links]
    duals: list[tuple[Array, ...]] = [() for _ in links]
    theta = np.concatenate([link.origin for link in links])
    sizes, n_clarabel = [], 0
    for i in range(len(links) - 1, -1, -1):
        link = links[i]
        here = [(factors[g], K[list(columns[g])]) for g in rows[i]]
        F = np.vstack([factor[:, :-1] @ own[:, link.columns] for factor, own in here])
        g = np.concatenate([factor[:, -1] - factor[:, :-1] @ (own @ theta) for factor, own in here])
        found = solve_window([link], F @ link.turn, g, [u[i]])
        u[i], duals[i] = found.u[0], found.duals[0]
        theta[link.columns] = link.theta(u[i])
        sizes.append((len(F), link.size))
        n_clarabel += found.by_clarabel
    return LinkwiseFit(tuple(u), tuple(duals), tuple(sizes), n_clarabel)
