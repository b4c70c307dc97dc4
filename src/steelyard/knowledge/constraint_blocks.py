"""Constraints as conic conditions on a model's parameters, each with its statement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, equation_block, linear_block, psd_block
from steelyard.errors import ModelError, did_you_mean, listed, shown
from steelyard.knowledge._region_blocks import (
    com_blocks,
    inside_block,
    mirror_signs,
    symmetry_block,
)
from steelyard.knowledge.attached_rest import attached_rest_blocks
from steelyard.knowledge.constraints import Constraints, Range
from steelyard.knowledge.physical_blocks import full_consistency, sousa_consistency, sousa_matrix
from steelyard.knowledge.statements import (
    Copies,
    DefaultBound,
    FixedCopy,
    Limit,
    Mass,
    Massless,
    MassTogether,
    Parameter,
    Physical,
    Quantity,
    RestPhysical,
    SecondMoment,
    TotalMass,
)
from steelyard.model.model import Model
from steelyard.model.typical_sizes import default_bound
from steelyard.robot.inertia import pseudo_inertia, transform

Array = NDArray[np.float64]


def blocks(model: Model, constraints: Constraints) -> tuple[Block, ...]:
    """The constraints as conic conditions on the parameters of ``model``, each with its statement.

    Regions and symmetry planes of massless bodies have no effect and are left out.
    """
    names = ColumnsByName(model)
    massless = massless_bodies(names, constraints)
    _refuse_zero_mass(names, constraints, massless)
    return (
        *_consistency_blocks(names, constraints, massless),
        *_term_blocks(names, constraints),
        *_mass_blocks(names, constraints),
        *_region_blocks(names, constraints, massless),
        *_value_blocks(names, constraints),
        *_copy_blocks(names, constraints),
        *_rest_blocks(names, constraints),
        *attached_rest_blocks(model, constraints),
    )


class ColumnsByName:
    """Columns by the names of bodies and parameters; errors list the valid names."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.first: dict[str, int] = {}
        self.body_of_link: dict[str, str] = {}
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
            self.first[body.name] = first
            self.body_of_link.update((link, body.name) for link, _ in body.links)
        self.column = {name: i for i, name in enumerate(model.column_names)}

    def body(self, name: str, what: str) -> int:
        """First column of a body."""
        if name in self.first:
            return self.first[name]
        if name in self.body_of_link:
            raise ModelError(
                f"{what} names the link {shown(name)}, which fixed joints merge into the body "
                f"'{self.body_of_link[name]}'; name that body, and give what is known in its frame"
            )
        if any(link.name == name for link in self.model.robot.links):
            raise ModelError(
                f"{what} names the link {shown(name)}, which never moves, so that it has no "
                f"parameters; the moving bodies are {listed(self.first)}"
            )
        raise ModelError(
            f"{what} names the body {shown(name)}, which is none of "
            f"{listed(self.first)}{did_you_mean(name, self.first)}"
        )

    def parameters(self, name: str, what: str) -> list[int]:
        """Column of a parameter, or all columns of a kind of term."""
        if name in self.column:
            return [self.column[name]]
        kinds = [column.kind for column in self.model.columns]
        if name in kinds and name != "rigid_body":
            return [i for i, kind in enumerate(kinds) if kind == name]
        owner, _, symbol = name.rpartition(".")
        if owner in self.body_of_link and owner not in self.first:
            raise ModelError(
                f"{what} names the parameter {shown(name)}, but fixed joints merge the link into "
                f"the body '{self.body_of_link[owner]}': '{self.body_of_link[owner]}.{symbol}'"
            )
        raise ModelError(
            f"{what} names the parameter {shown(name)}, which the model does not have"
            f"{did_you_mean(name, self.column)}"
        )


def massless_bodies(names: ColumnsByName, constraints: Constraints) -> set[str]:
    """Bodies that are massless, or copies of one that is."""
    massless = {name for name in constraints.massless if names.body(name, "massless") >= 0}
    groups = [*constraints.equal, *((pair.one, pair.other) for pair in constraints.mirrored)]
    while True:
        spread = {name for group in groups if massless & set(group) for name in group}
        if spread <= massless:
            return massless
        massless |= spread


def _refuse_zero_mass(names: ColumnsByName, constraints: Constraints, massless: set[str]) -> None:
    """Refuse a mass of zero, which makes a physical body massless: ``massless`` states that."""
    if constraints.consistency == "none":
        return
    for name in names.first:
        stated = (constraints.mass.get(name), constraints.bounds.get(f"{name}.m"))
        zero = (0.0, 0.0) in stated or constraints.fixed.get(f"{name}.m") == 0.0
        if zero and name not in massless:
            raise ModelError(
                f"the mass of '{name}' is set to 0; list the body in massless, which makes "
                "its ten parameters zero"
            )


def _range(
    quantity: Quantity, columns: Sequence[int], limits: Range, weights: Array | None = None
) -> Iterable[Block]:
    """lower <= weights · theta[columns] <= upper: one block for each limit, or an equation where
    the two are equal.
    """
    row = np.ones(len(columns)) if weights is None else weights
    lower, upper = limits
    if lower is not None and lower == upper:
        yield equation_block(Limit(quantity, "is", lower), columns, row, [-lower])
        return
    if lower is not None:
        yield linear_block(Limit(quantity, "is at least", lower), columns, row, [-lower])
    if upper is not None:
        yield linear_block(Limit(quantity, "is at most", upper), columns, -row, [upper])


def _consistency_blocks(
    names: ColumnsByName, constraints: Constraints, massless: set[str]
) -> Iterable[Block]:
    for name in constraints.second_moments:
        names.body(name, "second_moments")
    auto, length = default_bound(names.model)
    for name, first in names.first.items():
        columns = range(first, first + 10)
        if name in massless:
            yield linear_block(Massless(name), columns, np.eye(10), np.zeros(10), "zero")
            continue
        if constraints.consistency == "full":
            yield full_consistency(Physical(name), first, constraints.margin)
        elif constraints.consistency == "sousa":
            yield sousa_consistency(Physical(name), first, constraints.margin)
        bound = constraints.second_moments.get(name, constraints.second_moment)
        if bound == "auto":
            own: Quantity = DefaultBound(name, length)
            yield from _range(own, columns, (None, auto), moment_weights(length))
        else:
            own = SecondMoment(name)
            yield from _range(own, columns, (None, bound), moment_weights(1.0))


def moment_weights(length_m: float) -> Array:
    """Weights (10,) of m + trace(Sigma) / length² over a body's parameters."""
    size = np.array([1.0 / length_m**2] * 3 + [1.0])
    return np.array([size @ np.diag(pseudo_inertia(unit)) for unit in np.eye(10)])


def _term_blocks(names: ColumnsByName, constraints: Constraints) -> Iterable[Block]:
    if constraints.nonnegative_terms:
        for i, column in enumerate(names.model.columns):
            if column.term_kind is not None and not column.term_kind.may_be_negative:
                yield from _range(Parameter(column.name), [i], (constraints.margin, None))
    for name, limits in constraints.bounds.items():
        for i in names.parameters(name, "bounds"):
            yield from _range(Parameter(names.model.column_names[i]), [i], limits)


def _mass_blocks(names: ColumnsByName, constraints: Constraints) -> Iterable[Block]:
    for name, limits in constraints.mass.items():
        yield from _range(Mass(name), [names.body(name, "mass")], limits)
    sums: list[tuple[MassTogether | TotalMass, Range]] = [
        (MassTogether(tuple(dict.fromkeys(total.bodies))), total.range)
        for total in constraints.mass_sums
    ]
    if constraints.total_mass is not None:
        sums.append((TotalMass(tuple(names.first)), constraints.total_mass))
    for together, (lower, upper) in sums:
        columns = [names.body(name, "mass_sums") for name in together.bodies]
        if upper is not None and upper != lower:
            upper -= constraints.margin
        yield from _range(together, columns, (lower, upper))


def _region_blocks(
    names: ColumnsByName, constraints: Constraints, massless: set[str]
) -> Iterable[Block]:
    for name, region in constraints.com.items():
        first = names.body(name, "com")
        if name not in massless:
            yield from com_blocks(name, first, region, constraints.margin)
    for name, holder in constraints.inside.items():
        first = names.body(name, "inside")
        if name not in massless:
            yield inside_block(name, first, holder)
    for name, plane in constraints.symmetric.items():
        first = names.body(name, "symmetric")
        if name not in massless:
            yield symmetry_block(name, first, plane)


def _value_blocks(names: ColumnsByName, constraints: Constraints) -> Iterable[Block]:
    """Fixed values, also for copies of a body, so that rounded parameters can meet both exactly."""
    limit_of: dict[int, Limit] = {}
    for name, value in constraints.fixed.items():
        for i in names.parameters(name, "fixed"):
            limit_of[i] = Limit(Parameter(names.model.column_names[i]), "is", value)
            yield linear_block(limit_of[i], [i], [1.0], [-value], "zero")
    for one, other, signs in _copies(names, constraints):
        for k in range(10):
            for known, copy in ((one + k, other + k), (other + k, one + k)):
                if known not in limit_of or copy in limit_of:
                    continue
                value = signs[k] * constraints.fixed.get(names.model.column_names[known], np.nan)
                if np.isfinite(value):
                    statement = FixedCopy(limit_of[known], names.model.column_names[copy], value)
                    yield linear_block(statement, [copy], [1.0], [-value], "zero")


def _copies(names: ColumnsByName, constraints: Constraints) -> Iterable[tuple[int, int, Array]]:
    """First columns of two bodies that are copies, and the signs (10,) between them."""
    for group in constraints.equal:
        starts = [names.body(name, "equal") for name in group]
        for first in starts[1:]:
            yield starts[0], first, np.ones(10)
    for pair in constraints.mirrored:
        one, other = names.body(pair.one, "mirrored"), names.body(pair.other, "mirrored")
        yield one, other, mirror_signs(pair.axis)


def _copy_blocks(names: ColumnsByName, constraints: Constraints) -> Iterable[Block]:
    body = {first: name for name, first in names.first.items()}
    for one, other, signs in _copies(names, constraints):
        same = Copies(body[one], body[other], mirrored=bool(signs.min() < 0))
        columns = [*range(one, one + 10), *range(other, other + 10)]
        A = np.hstack([np.eye(10), -np.diag(signs)])
        yield equation_block(same, columns, A, np.zeros(10))


def _rest_blocks(names: ColumnsByName, constraints: Constraints) -> Iterable[Block]:
    """J_total - J_known is psd, with J_known the sum of the known parts of a body."""
    known: dict[str, Array] = {}
    for name, stated in constraints.known_part.items():
        names.body(name, "known_part")
        known[name] = np.array(stated)
    robot = names.model.robot
    for body in names.model.mechanism.bodies:
        for link, T_body_link in body.links:
            inertial = robot.link(link).inertial
            if link in constraints.known_links and inertial is not None:
                known[body.name] = known.get(body.name, np.zeros(10)) + transform(
                    inertial, T_body_link
                )
    for link in constraints.known_links:
        if link not in names.body_of_link:
            names.body(link, "known_links")
        if robot.link(link).inertial is None:
            raise ModelError(f"known_links names {shown(link)}, which has no inertial in its file")
    matrix = sousa_matrix if constraints.consistency == "sousa" else pseudo_inertia
    for name, part in known.items():
        first = names.first[name]
        yield psd_block(
            RestPhysical(name),
            range(first, first + 10),
            [matrix(unit) for unit in np.eye(10)],
            -matrix(part),
        )
