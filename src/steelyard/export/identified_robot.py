"""A robot with its identified parameters, link by link: what every writer starts from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError, listed
from steelyard.model.attached_links import (
    AttachedLinks,
    AttachedRule,
    attached_links,
    link_inertials,
)
from steelyard.model.model import Model
from steelyard.model.typical_sizes import prior_scale
from steelyard.robot.inertia import violations
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
UNCHANGED = 16.0 * float(np.finfo(float).eps)
"""A body whose parameters differ from the file's by less than this share is not written."""
NEGLIGIBLE = 1e-12
"""A term below this share of its typical size, such as a drive inertia of 3e-15 kg m², is what a
solver leaves of zero, and is written as zero: its torque is lost in the rounding of the others."""
LARGEST = 1e12
"""No parameter of a robot is larger (SI units): one that is was not estimated but typed."""


@dataclass(frozen=True, eq=False)
class IdentifiedRobot:
    """A robot and its parameters.

    theta : (n_columns,) standard parameters of the model; a term is zero where it is negligible.
    inertials : (10,) in its link's frame, of every link whose inertial the parameters change;
        ten zeros for a link that is emptied. Other links keep that of the robot file.
    attached : how bodies of several links are spread over them, by this ``rule``.
    not_estimated : names of the terms of joints whose values in theta mean nothing.
    kept_bodies : the bodies that are as in the file, since nothing about them was estimated.
    """

    model: Model
    theta: Array
    inertials: Mapping[str, Array]
    attached: tuple[AttachedLinks, ...]
    rule: AttachedRule = "keep"
    not_estimated: frozenset[str] = frozenset()
    kept_bodies: tuple[str, ...] = ()

    @property
    def robot(self) -> Robot:
        """The robot, its joints turned and locked as for the parameters."""
        return self.model.robot

    def term_values(self, kind: str) -> dict[str, float]:
        """The values of all terms of one kind, such as "coulomb", by owner; of the estimated."""
        return {
            column.owner: float(self.theta[k])
            for k, column in enumerate(self.model.columns)
            if column.kind == kind and column.name not in self.not_estimated
        }


def identified_robot(
    model: Model,
    theta: ArrayLike,
    *,
    attached: AttachedRule = "keep",
    not_estimated: Collection[str] = (),
) -> IdentifiedRobot:
    """The robot with these standard parameters (n_columns,), spread over its links.

    attached : rule for bodies of several links; see :mod:`steelyard.model.attached_links`.
    not_estimated : names of parameters that come neither from data nor from a prior: such terms of
        joints are not written, and a body that has only such parameters is as in the file.

    Raises ModelError for a link that would not be physical, and for a parameter that is absurdly
    large, and names it.
    """
    values = np.array(theta, dtype=float)
    if values.shape != (len(model.columns),) or not np.isfinite(values).all():
        raise ModelError(
            f"the model has {len(model.columns)} standard parameters; "
            f"{values.size} values were given, or not all are finite"
        )
    kept = _keep_bodies(model, values, not_estimated)
    _refuse_absurd(model, values)
    spread = attached_links(model, attached)
    inertials = link_inertials(model, values, spread)
    keeps = {one.receiver: one for one in spread if one.kept}
    for name, phi in inertials.items():
        found = violations(phi, name)
        if found and name in keeps:
            raise ModelError(
                f"the rest of body '{keeps[name].body}', without {_listed(keeps[name].kept)}, is "
                f"not physical: {found[0].words}; estimate again with the condition that it is "
                "(--attached keep), or give all to one link and empty the others (--attached lump)"
            )
        if found:
            raise ModelError(found[0].words)
    values[_negligible(model, values)] = 0.0
    values.setflags(write=False)
    terms = {column.name for column in model.columns if column.term_kind is not None}
    return IdentifiedRobot(
        model, values, inertials, spread, attached, frozenset(terms & set(not_estimated)), kept
    )


def _keep_bodies(model: Model, values: Array, not_estimated: Collection[str]) -> tuple[str, ...]:
    """Give bodies of which nothing was estimated the file's parameters, where it states them."""
    kept = []
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        columns = slice(first, first + 10)
        stated = model.mechanism.merged_inertial(model.robot, body)
        named = all(column.name in not_estimated for column in model.columns[columns])
        if named and stated[0] > 0.0 and not violations(stated, body.name):
            values[columns] = stated
            kept.append(body.name)
    return tuple(kept)


def not_estimated_words(found: IdentifiedRobot) -> str | None:
    """The joint terms and bodies that were not estimated, by joint; None if all were."""
    kinds: dict[str, list[str]] = {}
    for column in found.model.columns:
        if column.name in found.not_estimated and column.term_kind is not None:
            kinds.setdefault(column.owner, []).append(column.term_kind.description)
    owners: dict[str, list[str]] = {}
    for owner, names in kinds.items():
        owners.setdefault(listed(names), []).append(owner)
    parts = [f"{names} of {listed(joints)}" for names, joints in owners.items()]
    parts += [f"the inertial of {listed(found.kept_bodies)}"] if found.kept_bodies else []
    return "; ".join(parts) or None


def refuse_unphysical_attached(found: IdentifiedRobot) -> None:
    """Refuse to write a file in which a link should keep an inertial that is not physical."""
    for one in found.attached:
        if found.rule == "keep" and one.emptied:
            raise ModelError(
                f"link '{one.emptied[0]}' of the file is not physical, and the estimate does not "
                "change it (it is kept): run steelyard check --fix first, or give --attached lump"
            )


def _refuse_absurd(model: Model, values: Array) -> None:
    """Name the first parameter that no robot has."""
    for column, value in zip(model.columns, values.tolist(), strict=True):
        if abs(value) > LARGEST:
            raise ModelError(
                f"'{column.name}' is {value:.6g} {column.unit}, which no robot has (nothing above "
                f"{LARGEST:g} is written); identify again, or correct it in the result"
            )


def _negligible(model: Model, values: Array) -> NDArray[np.bool_]:
    """Which columns (n_columns,) are terms that are zero but for the solver's rounding.

    Typical sizes are those of the identified bodies, so that the rule holds for any units.
    """
    is_term = np.array([column.term_kind is not None for column in model.columns])
    masses = values[list(model.first_column_of_body)]
    sizes = prior_scale(model, values, (masses > 0.0).astype(float))
    return np.asarray(is_term & (np.abs(values) < NEGLIGIBLE * sizes))


def _listed(links: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in links)


def changed_inertials(found: IdentifiedRobot) -> dict[str, Array]:
    """The inertials (10,) of ``found``, without those of bodies that are as in the file.

    Subtracting the inertia of kept links that are far from the origin costs digits, so that an
    unchanged link would not be recognised by its own numbers.
    """
    model = found.model
    spread = {one.body: one for one in found.attached}
    same: set[str] = set()
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        phi = found.theta[first : first + 10]
        stated = model.mechanism.merged_inertial(found.robot, body)
        one = spread.get(body.name)
        emptied = () if one is None else one.emptied
        if not emptied and (np.abs(phi - stated) <= UNCHANGED * parameter_sizes(stated)).all():
            same.add(body.name if one is None else one.receiver)
    return {name: phi for name, phi in found.inertials.items() if name not in same}


def parameter_sizes(phi: Array) -> Array:
    """Size (10,) of a body's parameters: its mass, largest inertia, and between them sqrt(m I)."""
    mass, inertia = abs(float(phi[0])), float(np.abs(phi[4:]).max())
    return np.repeat([mass, np.sqrt(mass * inertia), inertia], [1, 3, 6])
