"""Prior values of a robot's parameters: where they come from, checks and repair.

A prior that an estimate is drawn to must be strictly physical: each body has positive mass and
extent in every direction. Many robot files are not. Such a prior is repaired by a rule, and a
warning names each body, what was wrong with it, and how far it was moved:

    floor-moments   The eigenvalues of the second moment of mass about the centre of mass are
                    raised to 1 % of their sum where they are below. Mass and centre of mass stay.
                    The rule is independent of the link frame. This is the default.
    none            Nothing is repaired: a prior that is not physical is refused.

Bodies to which a source gives no mass have no prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import read_capped
from steelyard._files.json_data import MAX_BYTES, RESULT_SCHEMA, json_value
from steelyard._files.limits import LARGEST_NUMBER as LARGEST_VALUE
from steelyard._files.limits import SMALLEST_NUMBER
from steelyard.errors import ModelError, PriorError, listed, shown, shown_path
from steelyard.findings import Finding
from steelyard.knowledge._named_values import named_values
from steelyard.model.model import Model
from steelyard.model.typical_sizes import typical_mass_and_length
from steelyard.robot.formats.urdf_shapes import Primitive, collision_primitives
from steelyard.robot.inertia import (
    PARAMETERS,
    from_com,
    from_pseudo_inertia,
    to_com,
    transform,
    violations,
)
from steelyard.signals.run_record import content_hashes, runs_from_json

Array = NDArray[np.float64]
RepairRule = Literal["floor-moments", "none"]
REPAIR_RULES = get_args(RepairRule)

DERIVED = ("cx", "cy", "cz", "I1", "I2", "I3", *(f"{symbol}_com" for symbol in PARAMETERS[4:]))
"""Derived values of a body in the table of standard parameters, besides its ten parameters."""
REPAIR_FLOOR = 0.01
"""Smallest share of the sum of second moments in any direction after the repair."""
FLAT = 1e-6
"""Share of the sum of second moments below which a body counts as flat."""
POINT = 0.05
"""Radius of gyration that the repair gives a point mass, in typical distances between bodies."""
"""Larger values are refused: no robot has them, and their products overflow."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Parameter values, how far to trust them, and where they come from.

    theta : (n_columns,) values; bodies with trust > 0 are strictly physical.
    trust : (n_bodies,) weight of each body's prior relative to the others; 0 without a prior.
    source : in words. findings : what was repaired or left out. made_from : content hashes of the
        logs that it was estimated from, if any. stated_terms : names of the terms of joints whose
        values the source states; None for those that are not zero.
    """

    theta: Array
    trust: Array
    source: str
    findings: tuple[Finding, ...] = field(default=())
    made_from: frozenset[str] = frozenset()
    stated_terms: frozenset[str] | None = None

    def terms_stated(self, model: Model) -> frozenset[str]:
        """Names of the terms of joints (friction, drive inertia, ...) whose values are stated."""
        if self.stated_terms is not None:
            return self.stated_terms
        pairs = zip(model.columns, self.theta, strict=True)
        return frozenset(
            column.name for column, value in pairs if column.term_kind is not None and value != 0.0
        )


def prior_of_wider(prior: Prior, model: Model, wider: Model) -> Prior:
    """The prior of a model for one with more terms, whose values are zero."""
    values = dict(zip(model.column_names, prior.theta, strict=True))
    return replace(prior, theta=np.array([values.get(name, 0.0) for name in wider.column_names]))


def prior_from_robot(model: Model, *, repair: RepairRule = "floor-moments") -> Prior:
    """The inertials that the robot file states.

    A link of negative mass leaves its body without a prior, however much the links weigh that are
    fixed to it.
    """
    theta = model.prior_theta().copy()
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        for name, _ in body.links:
            own = model.robot.link(name).inertial
            if own is not None and own[0] < 0.0:
                theta[first : first + 10] = own
    return checked_prior(model, theta, "the robot file", repair=repair)


def prior_from_values(
    model: Model,
    values: Mapping[str, float],
    *,
    source: str = "a table",
    repair: RepairRule = "floor-moments",
) -> Prior:
    """Standard parameters by column name ("forearm.Ixx"); bodies not named have no prior.

    A body must be given with all ten parameters or with none.
    """
    theta = np.zeros(len(model.columns))
    index = {name: i for i, name in enumerate(model.column_names)}
    try:
        model.theta(values)  # raises on names that are no columns
    except ModelError as error:
        raise PriorError(f"{source}: {error}") from None
    for name, value in values.items():
        theta[index[name]] = value
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        names = model.column_names[first : first + 10]
        missing = [name for name in names if name not in values]
        if 0 < len(missing) < 10:
            raise PriorError(
                f"{source} gives '{body.name}' {10 - len(missing)} of its ten parameters; "
                f"{listed(missing)} are missing: give all or none"
            )
    terms = {column.name for column in model.columns if column.term_kind is not None}
    found = checked_prior(model, theta, source, repair=repair)
    return replace(found, stated_terms=frozenset(terms & values.keys()))


def prior_from_file(
    model: Model, path: str | Path, *, repair: RepairRule = "floor-moments"
) -> Prior:
    """Standard parameters from ``name,value`` lines, a JSON object, or a result file."""
    values = named_values(path, "standard", PriorError)
    # the table of standard parameters that identify writes also has derived values
    bodies = {body.name for body in model.mechanism.bodies}
    columns = set(model.column_names)
    values = {
        name: value
        for name, value in values.items()
        if name in columns or not _derived(name, bodies)
    }
    if not values:
        raise PriorError(f"{shown_path(path)}: has no values")
    found = prior_from_values(model, values, source=shown_path(path), repair=repair)
    return replace(found, made_from=_logs_of(path))


def prior_from_geometry(
    model: Model,
    *,
    density: float | None = None,
    total_mass: float | None = None,
) -> Prior:
    """Uniform solids in the shape of the collision boxes, cylinders and spheres of the URDF.

    density : kg/m³; or total_mass : of all bodies with geometry (kg). Give one of the two.
    """
    if (density is None) == (total_mass is None):
        raise PriorError("a prior from geometry needs a density or a total mass: give one of them")
    given = _positive(density if total_mass is None else total_mass, "density or total mass")
    if model.robot.source is None:
        raise PriorError("a prior from geometry needs a robot that was read from a URDF file")
    found = collision_primitives(model.robot.source)
    theta = np.zeros(len(model.columns))
    without = []
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        solids = [
            transform(_uniform(solid), T_body_link @ solid.pose)
            for link, T_body_link in body.links
            for solid in found.solids.get(link, ())
            if solid.volume > 0.0
        ]
        if solids:
            theta[first : first + 10] = np.sum(solids, axis=0)
        else:
            without.append(f"'{body.name}' ({found.skipped.get(body.name, 'no solid')})")
    volume = float(theta[list(model.first_column_of_body)].sum())
    if volume <= 0.0:
        raise PriorError(f"no body has boxes, cylinders or spheres: {listed(without)}")
    theta *= given if total_mass is None else given / volume
    words = f"uniform solids of {given:g} " + ("kg/m³" if total_mass is None else "kg together")
    return checked_prior(model, theta, words, repair="none")


def prior_from_mass(model: Model, total_mass: float) -> Prior:
    """All moving bodies together weigh this much (kg), each in proportion to its length.

    A body is a solid ellipsoid from its joint to the joints it carries, a third as wide as long.
    """
    total = _positive(total_mass, "total mass")
    mechanism = model.mechanism
    _, typical = typical_mass_and_length(model)
    theta = np.zeros(len(model.columns))
    for k, first in enumerate(model.first_column_of_body):
        carried = mechanism.rest_position[np.asarray(mechanism.parent) == k]
        tip = carried.mean(axis=0) if len(carried) else np.zeros(3)
        length = max(float(np.linalg.norm(tip)), 0.5 * typical)
        along = tip / np.linalg.norm(tip) if np.linalg.norm(tip) > 1e-9 else np.array([0, 0, 1.0])
        across = np.eye(3) - np.outer(along, along)
        half = 0.5 * length
        sigma = half**2 / 5.0 * np.outer(along, along) + (half / 3.0) ** 2 / 5.0 * across
        inertia = np.trace(sigma) * np.eye(3) - sigma
        theta[first : first + 10] = from_com(length, 0.5 * tip, length * inertia)
    theta *= total / theta[list(model.first_column_of_body)].sum()
    return checked_prior(model, theta, f"a mass of {total:g} kg alone", repair="none")


def checked_prior(model: Model, theta: Array, source: str, *, repair: RepairRule) -> Prior:
    """A prior with strictly physical bodies: repaired by the rule, or refused with "none"."""
    if repair not in REPAIR_RULES:
        raise PriorError(
            f"there is no repair {shown(str(repair))}; there are {listed(REPAIR_RULES)}"
        )
    if theta.shape != (len(model.columns),):
        raise PriorError(f"{source} must give a number for each of {len(model.columns)} columns")
    bad = np.flatnonzero(~(np.abs(theta) <= LARGEST_VALUE))
    if len(bad):
        names = [f"{model.column_names[k]} = {theta[k]:g}" for k in bad]
        raise PriorError(
            f"{source} has values that are not numbers, or above {LARGEST_VALUE:g}: {listed(names)}"
        )
    masses = np.array([abs(theta[first]) for first in model.first_column_of_body])
    light = np.flatnonzero((masses > 0.0) & (masses < SMALLEST_NUMBER))
    if len(light):
        body = model.mechanism.bodies[int(light[0])]
        raise PriorError(
            f"{source} gives '{body.name}' a mass of {masses[light[0]]:g} kg; it must be 0 or at "
            f"least {SMALLEST_NUMBER:g} kg"
        )
    length = body_spacing(model, theta)
    theta = theta.copy()
    trust = np.ones(len(model.first_column_of_body))
    without_mass, broken, moved, lost = [], [], [], []
    for k, (body, first) in enumerate(
        zip(model.mechanism.bodies, model.first_column_of_body, strict=True)
    ):
        phi = theta[first : first + 10]
        if not phi.any():
            trust[k] = 0.0
            without_mass.append(body.name)
        elif not strictly_physical(phi, length):
            broken.append(violation_words(phi, body.name))
            fixed = floor_moments(phi, length)
            if fixed is None:
                trust[k] = 0.0
                lost.append(body.name)
                theta[first : first + 10] = 0.0
            else:
                moved.append(f"{broken[-1]}; {_move_words(phi, fixed)}")
                theta[first : first + 10] = fixed
    findings = []
    if broken and repair == "none":
        raise PriorError(
            f"the prior from {source} is not physical, or not strictly so: {'; '.join(broken[:4])}"
            + (f"; and {len(broken) - 4} more" if len(broken) > 4 else "")
            + f". Use the repair '{REPAIR_RULES[0]}' (--repair-prior), correct it, or use another "
            "prior"
        )
    if broken:
        findings.append(
            Finding(
                "warning",
                "prior-repaired",
                f"the prior from {source} was not physical; '{repair}' was applied to "
                f"{len(broken)} {'body' if len(broken) == 1 else 'bodies'}"
                + "".join(f"; {words}" for words in moved)
                + (f"; no prior is left for {', '.join(lost)}: no positive mass" if lost else "")
                + ". Correct these inertials if you know better ones",
            )
        )
    if without_mass:
        findings.append(
            Finding(
                "info",
                "no-prior",
                f"{source} gives no mass to {listed(without_mass)}: no prior for them",
            )
        )
    return Prior(theta, trust, source, tuple(findings))


def body_spacing(model: Model, theta: Array) -> float:
    """Root mean square distance (m) between the centres of mass of neighbouring bodies at q = 0.

    It is independent of the link frames. Where it is zero, the typical distance between joints,
    which depends on them, is returned.
    """
    mechanism, firsts = model.mechanism, model.first_column_of_body
    bodies = np.array([theta[first : first + 10] for first in firsts])
    com = bodies[:, 1:4] / np.where(bodies[:, :1] > 0.0, bodies[:, :1], np.inf)
    squares = []
    for k, parent in enumerate(mechanism.parent):
        if parent >= 0 and bodies[k, 0] > 0.0 and bodies[parent, 0] > 0.0:
            there = mechanism.rest_rotation[k] @ com[k] + mechanism.rest_position[k]
            squares.append(float(np.sum((there - com[parent]) ** 2)))
    spacing = float(np.sqrt(np.mean(squares))) if squares else 0.0
    return spacing if spacing > 1e-9 else typical_mass_and_length(model)[1]


def strictly_physical(phi: Array, length: float) -> bool:
    """Whether a body has mass, and extent in every direction.

    length : typical distance between bodies (m); a body that is tiny beside it is a point.
    """
    if not phi[0] > 0.0:
        return False
    sigma = second_moment(phi)
    trace = max(float(np.trace(sigma)), phi[0] * (FLAT * length) ** 2)
    return bool(np.linalg.eigvalsh(sigma)[0] > FLAT * trace)


def floor_moments(phi: Array, length: float) -> Array | None:
    """The body (10,) repaired by the rule 'floor-moments'; None if its mass is not positive.

    length : typical distance between bodies (m), which gives a point mass its extent.
    """
    mass, com, _ = to_com(phi)
    if not mass > 0.0:
        return None
    values, axes = np.linalg.eigh(second_moment(phi))
    size = max(float(values.sum()), float(mass) * (POINT * length) ** 2)
    sigma = (axes * np.maximum(values, REPAIR_FLOOR * size)) @ axes.T
    J = np.zeros((4, 4))
    J[:3, :3] = sigma + mass * np.outer(com, com)
    J[:3, 3] = J[3, :3] = mass * com
    J[3, 3] = mass
    return np.asarray(from_pseudo_inertia(J))


def second_moment(phi: Array) -> Array:
    """Sigma (3, 3) = ∫ r rᵀ dm about the centre of mass (kg m²)."""
    inertia = to_com(phi)[2]
    return np.asarray(0.5 * np.trace(inertia) * np.eye(3) - inertia)


def violation_words(phi: Array, name: str) -> str:
    """What is wrong with a body that is not strictly physical."""
    found = violations(phi, name)
    return found[0].words if found else f"'{name}' is flat: it has no extent in some direction"


def _move_words(before: Array, after: Array) -> str:
    """How far the inertia of a body about its centre of mass was moved."""
    old, new = to_com(before)[2], to_com(after)[2]
    distance, size = float(np.linalg.norm(new - old)), float(np.linalg.norm(old))
    share = f", {100.0 * distance / size:.2g} % of it" if size > 0.0 else ""
    return f"its inertia was moved by {distance:.3g} kg m²{share}"


def _logs_of(path: str | Path) -> frozenset[str]:
    """Content hashes of the logs that a result file was made from; none for another file."""
    data = read_capped(path, MAX_BYTES, PriorError)
    document = json_value(data, shown_path(path), PriorError)
    if not isinstance(document, dict) or document.get("schema") != RESULT_SCHEMA:
        return frozenset()
    where = f"{shown_path(path)}: its record"
    return content_hashes(runs_from_json(document.get("record", {}), where, PriorError))


def _derived(name: str, bodies: set[str]) -> bool:
    """Whether a name is that of a derived value: a body's centre of mass, or inertia about it."""
    owner, _, symbol = name.rpartition(".")
    return owner in bodies and symbol in DERIVED


def _uniform(solid: Primitive) -> Array:
    """Parameters (10,) of a solid of density one, about its own centre and axes."""
    sigma = np.diag(solid.second_moments())
    inertia = np.trace(sigma) * np.eye(3) - sigma
    return from_com(solid.volume, np.zeros(3), solid.volume * inertia)


def _positive(value: float | None, what: str) -> float:
    if value is None or not (np.isfinite(value) and value > 0.0):
        raise PriorError(f"the {what} is {value}; it must be a positive number")
    return float(value)
