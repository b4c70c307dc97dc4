"""A robot and the terms of its joint torques: an ordered list of named columns.

    tau = W(q, v, a) theta

``theta`` holds ten inertial parameters per body, each body's followed by the terms of the
joint that moves it, then the terms of couplings. Another friction model is another ``Model``
of the same robot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError, did_you_mean, listed, shown
from steelyard.model import terms as _terms
from steelyard.model._term_arrays import TermArrays, term_arrays
from steelyard.model.mechanism import Mechanism, mechanism_of
from steelyard.model.term_kinds import TermKind, term_kind
from steelyard.model.terms import Term
from steelyard.robot.inertia import PARAMETER_UNITS, PARAMETERS
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
RIGID_BODY = "rigid_body"
"""Kind of the columns that belong to bodies."""


@dataclass(frozen=True)
class Column:
    """One parameter of the model.

    owner : the body (by the name of its link), joint or coupling it belongs to.
    symbol : m, mx, ..., Izz, or that of the kind of term, such as fv.
    kind : "rigid_body" or the kind of the term.
    """

    owner: str
    symbol: str
    unit: str
    kind: str

    @property
    def term_kind(self) -> TermKind | None:
        """Properties of its kind of term; None for a parameter of a body."""
        return None if self.kind == RIGID_BODY else term_kind(self.kind)

    @property
    def name(self) -> str:
        """Unique name, such as ``forearm.Ixx`` or ``elbow.fv``."""
        return f"{self.owner}.{self.symbol}"


@dataclass(frozen=True, eq=False)
class Model:
    """A robot and its terms; ``Model(robot)`` takes the default ones."""

    robot: Robot
    terms: tuple[Term, ...] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        chosen = _terms.default_terms(self.robot) if self.terms is None else tuple(self.terms)
        object.__setattr__(self, "terms", self._with_loads(chosen))
        self._check_terms()

    def __repr__(self) -> str:
        kinds = listed(dict.fromkeys(term.kind for term in self.terms))
        count = f"{len(self.columns)} parameters of {len(self.mechanism.bodies)} bodies"
        return f"<Model of '{self.robot.name}': {count}; terms: {kinds}>"

    def _with_loads(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """The terms; a load that is not stated is that of the robot file's inertials."""
        if not any(term.term_kind.response == "load" and not term.load for term in terms):
            return terms
        bodies = zip(self.mechanism.bodies, self._file_inertials, strict=True)
        load = tuple((body.name, phi) for body, phi in bodies)
        return tuple(
            replace(term, load=load)
            if term.term_kind.response == "load" and not term.load
            else term
            for term in terms
        )

    def _check_terms(self) -> None:
        free = set(self.robot.joint_names)
        seen: set[str] = set()
        for term in self.terms:
            for joint, _ in term.direction:
                if joint not in free:
                    raise ModelError(
                        f"term '{term.name}' acts on '{joint}', which is not a joint with its own "
                        f"coordinate; these are {', '.join(self.robot.joint_names)}"
                    )
            if term.name in seen:
                raise ModelError(f"term '{term.name}' is given twice")
            seen.add(term.name)
            kinds = [self.robot.joint(joint).kind for joint, _ in term.direction]
            if term.term_kind.turns_only and "prismatic" in kinds:
                raise ModelError(
                    f"term '{term.name}': {term.term_kind.description} needs a joint that turns"
                )
        if len({term.load for term in self.terms if term.load}) > 1:
            raise ModelError("terms of load-dependent friction state different loads")
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise ModelError(f"two columns are named '{double}': rename the coupling or the link")

    @cached_property
    def mechanism(self) -> Mechanism:
        """The moving bodies as arrays."""
        return mechanism_of(self.robot)

    @property
    def nq(self) -> int:
        """Number of position coordinates (a floating base has seven)."""
        return self.mechanism.nq

    @property
    def nv(self) -> int:
        """Number of velocity coordinates, and of torque rows."""
        return self.mechanism.nv

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the torque rows: base wrench axes, if any, then joints."""
        return self.mechanism.coordinates

    @property
    def channel_units(self) -> tuple[str, ...]:
        """Unit of each torque row: N for forces of the base and of slides, else N m."""
        base = ("N",) * 3 + ("N m",) * 3 if self.robot.floating_base else ()
        joints = self.robot.free_joints
        return (*base, *("N" if joint.kind == "prismatic" else "N m" for joint in joints))

    @cached_property
    def _layout(self) -> tuple[tuple[Column, ...], tuple[int, ...], tuple[int, ...]]:
        """Columns, first column of each body, column of each term."""
        columns: list[Column] = []
        first_of_body: list[int] = []
        column_of_term: dict[int, int] = {}
        waiting = dict(enumerate(self.terms))
        for body in self.mechanism.bodies:
            first_of_body.append(len(columns))
            columns.extend(
                Column(body.name, symbol, unit, RIGID_BODY)
                for symbol, unit in zip(PARAMETERS, PARAMETER_UNITS, strict=True)
            )
            for k in [k for k, term in waiting.items() if term.owner == body.joint]:
                column_of_term[k] = len(columns)
                columns.append(self._term_column(waiting.pop(k)))
        for k, term in waiting.items():
            column_of_term[k] = len(columns)
            columns.append(self._term_column(term))
        order = tuple(column_of_term[k] for k in range(len(self.terms)))
        return tuple(columns), tuple(first_of_body), order

    def _term_column(self, term: Term) -> Column:
        return Column(term.owner, term.symbol, _terms.term_unit(self.robot, term), term.kind)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every parameter, in the order of ``theta``."""
        return self._layout[0]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def first_column_of_body(self) -> tuple[int, ...]:
        """Where each body's ten columns start."""
        return self._layout[1]

    @cached_property
    def term_arrays(self) -> TermArrays:
        """The terms as arrays."""
        return term_arrays(self.terms, self.channels, self._layout[2])

    def prior_theta(self) -> Array:
        """theta (n_columns,) from the file's inertials, terms zero.

        Links merged by fixed joints are summed into their body.
        """
        return self._file_theta.copy()

    @cached_property
    def _file_theta(self) -> Array:
        theta = np.zeros(len(self.columns))
        for first, phi in zip(self.first_column_of_body, self._file_inertials, strict=True):
            theta[first : first + 10] = phi
        return theta

    @cached_property
    def _file_inertials(self) -> tuple[tuple[float, ...], ...]:
        """The ten parameters of each body by the file."""
        merged = (self.mechanism.merged_inertial(self.robot, b) for b in self.mechanism.bodies)
        return tuple(tuple(float(x) for x in phi) for phi in merged)

    def theta(self, values: Mapping[str, float]) -> Array:
        """theta (n_columns,) from values by column name, the rest from the file."""
        theta = self.prior_theta()
        index = {name: i for i, name in enumerate(self.column_names)}
        for name, value in values.items():
            if name not in index:
                raise ModelError(
                    f"there is no column {shown(name)}{did_you_mean(name, index)}; "
                    f"{_similar_columns(name, self.columns)}"
                )
            theta[index[name]] = value
        return theta

    @cached_property
    def load_theta(self) -> Array:
        """theta (n_columns,) of the bodies that load-dependent friction is stated for."""
        stated = dict(next((term.load for term in self.terms if term.load), ()))
        theta = np.zeros(len(self.columns))
        for body, first in zip(self.mechanism.bodies, self.first_column_of_body, strict=True):
            theta[first : first + 10] = stated.get(body.name, np.zeros(10))
        return theta

    def theta_of(self, term: Term, theta: Array) -> float:
        """The value of a term's parameter in theta (n_columns,)."""
        return float(theta[self.term_arrays.column[self.terms.index(term)]])

    @property
    def jumping_terms(self) -> tuple[Term, ...]:
        """The terms that jump at zero speed, such as Coulomb friction."""
        return tuple(term for term in self.terms if term.term_kind.jumps_at_zero_speed)

    def with_widths(self, widths: Mapping[str, float]) -> Model:
        """The model with other widths (rad/s or m/s) of the terms that jump at zero speed.

        widths : by the term's owner; those that are not named have none.
        """
        changed = tuple(
            replace(term, width=float(widths.get(term.owner, 0.0)))
            if term.term_kind.jumps_at_zero_speed and not term.travel
            else term
            for term in self.terms
        )
        return self if changed == self.terms else Model(self.robot, changed)

    @property
    def sampled(self) -> Model:
        """The model for random states: jumps without widths, laws shaped by a speed of one.

        What is identifiable does not depend on the numbers that shape friction, but random states
        might all lie within a large width, where friction looks viscous, or far above a Stribeck
        speed.
        """
        return Model(
            self.robot,
            tuple(
                replace(term, width=0.0, travel=0.0, speed=1.0 if term.speed else 0.0)
                for term in self.terms
            ),
        )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the geometry, gravity and columns: equal hashes mean equal regressors.

        The file's inertials are not part of it: they are to be identified.
        """
        mechanism = self.mechanism
        geometry = {
            "bodies": [body.name for body in mechanism.bodies],
            "coordinates": mechanism.coordinates,
            "columns": [(c.name, c.unit) for c in self.columns],
            "directions": [(t.name, t.direction) for t in self.terms],
            **({"widths": widths} if any(widths := [t.width for t in self.terms]) else {}),
            **({"travels": travels} if any(travels := [t.travel for t in self.terms]) else {}),
            **({"speeds": speeds} if any(speeds := [t.speed for t in self.terms]) else {}),
            **({"loads": loads} if any(loads := [t.load for t in self.terms]) else {}),
        }
        digest = hashlib.sha256(json.dumps(geometry, sort_keys=True).encode())
        for array in (
            mechanism.parent,
            mechanism.kind,
            mechanism.coordinate,
            mechanism.scale,
            mechanism.rest_rotation,
            mechanism.rest_position,
            mechanism.screw,
            mechanism.gravity,
        ):
            # twelve decimals: beyond them two readings of one file may differ
            rounded = np.round(np.asarray(array, dtype=float), 12) + 0.0
            digest.update(rounded.tobytes())
        return digest.hexdigest()


def _similar_columns(name: str, columns: tuple[Column, ...]) -> str:
    """Columns similar to an unknown name: of its owner, else of its symbol, else all."""
    owner, _, symbol = name.rpartition(".")
    of_owner = [column.name for column in columns if column.owner == owner]
    if of_owner:
        return f"those of '{owner}' are {listed(of_owner)}"
    of_symbol = [column.name for column in columns if column.symbol == symbol]
    if of_symbol:
        return f"those called {symbol} are {listed(of_symbol)}"
    return f"the columns are {listed(column.name for column in columns)}"


def check_joint_names(model: Model, names: Iterable[str], what: str) -> None:
    """Refuse names that are not torque channels of the model."""
    unknown = [name for name in names if name not in model.channels]
    if unknown:
        raise ModelError(
            f"{what} names {', '.join(unknown)}, but the joints are {', '.join(model.channels)}"
        )
