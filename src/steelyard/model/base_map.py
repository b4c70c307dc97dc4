"""Base parameters: the combinations of parameters that the torques determine.

The columns of the regressor are linearly dependent for every motion. The first independent
ones from the left, in a chosen order of columns, are the *base columns*; every other column
is a fixed combination of them, W_d = W_b K_d, so the torque depends on theta only through

    beta = K theta,      K = [I  K_d] P           (Sousa and Cortesão 2014, eqs 29-49)

K depends on the robot's geometry only, not on data. It is found numerically on random states
and then cleaned: entries of the size of rounding errors become exact zeros, and the rest are
rounded to the shortest decimals that agree with the regressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError
from steelyard.model.dependent_columns import (
    clean_coefficients,
    independent_columns,
    unit_columns,
)
from steelyard.model.kernels import torque_regressor
from steelyard.model.linkwise_base import is_linkwise, linkwise_base
from steelyard.model.model import Column, Model
from steelyard.model.random_states import random_states
from steelyard.robot.conventions import SOUSA_ORDER
from steelyard.robot.inertia import PARAMETERS

Array = NDArray[np.float64]
ColumnOrder = Literal["pinocchio", "sousa"]

LINKWISE_FROM, LONG_PATH = 600, 24
"""Columns of a model, or joints between the ground and a link, from which base parameters are found
link by link. All columns at once take up to 18 s, and in two of six chains of 42 links
rounding chose one column too many.
"""


@dataclass(frozen=True, eq=False)
class BaseMap:
    """beta = K theta: the identifiable combinations of a model's parameters.

    columns : every column of the model.
    independent : indices of the base columns, in the order they were chosen.
    K : (n_base, n_columns) with exact zeros and ones.
    sequence : the order in which columns were tried for independence.
    """

    columns: tuple[Column, ...]
    independent: tuple[int, ...]
    K: Array
    sequence: tuple[int, ...]
    model_hash: str

    def __repr__(self) -> str:
        return f"<BaseMap: {self.rank} base parameters of {len(self.columns)} parameters>"

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each base parameter: the name of its base column."""
        return tuple(self.columns[i].name for i in self.independent)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each base parameter."""
        return tuple(self.columns[i].unit for i in self.independent)

    @cached_property
    def _names(self) -> list[str]:
        return [column.name for column in self.columns]

    @cached_property
    def _paper_labels(self) -> list[str]:
        return paper_labels(self.columns)

    def combination(self, k: int, style: Literal["names", "papers"] = "names") -> str:
        """Base parameter ``k`` as text, such as ``l_2z - l_3y + 0.55 (m_3 + m_4)``."""
        labels = self._names if style == "names" else self._paper_labels
        own = self.independent[k]
        sequence = np.array(self.sequence)
        others = sequence[(self.K[k, sequence] != 0.0) & (sequence != own)].tolist()
        members = [own, *others]
        return write_combination([labels[i] for i in members], self.K[k, members].tolist())

    def combinations(self, style: Literal["names", "papers"] = "names") -> tuple[str, ...]:
        """Every base parameter as text."""
        return tuple(self.combination(k, style) for k in range(self.rank))

    def fate(self, column: int) -> Fate:
        """Whether the torques of any motion determine one standard parameter."""
        name = self.columns[column].name
        rows = np.flatnonzero(self.K[:, column])
        if len(rows) == 0:
            return Fate(name, "never", "it has no effect on any torque")
        if len(rows) == 1 and np.count_nonzero(self.K[rows[0]]) == 1:
            return Fate(name, "alone", "identifiable alone")
        if len(rows) == 1:
            return Fate(name, "combination", f"only in {self.combination(int(rows[0]))}")
        # written out, these would fill pages: a distal mass is part of many combinations
        where = ", ".join(self.names[row] for row in rows)
        return Fate(name, "combination", f"only in the combinations of {where}")

    def fates(self) -> tuple[Fate, ...]:
        """:meth:`fate` of every standard parameter."""
        return self._fates

    @cached_property
    def _fates(self) -> tuple[Fate, ...]:
        return tuple(self.fate(i) for i in range(len(self.columns)))


@dataclass(frozen=True)
class Fate:
    """Whether a standard parameter is identifiable.

    kind : "alone", "combination", "never", or "not excited" (by the data at hand).
    """

    name: str
    kind: Literal["alone", "combination", "never", "not excited"]
    words: str


def base_map(model: Model, order: ColumnOrder | Sequence[int] = "sousa") -> BaseMap:
    """Base parameters of a model: the first independent columns from the left in ``order``.

    order : "sousa" takes each body's inertia first, then its first moments, then its mass
        (Sousa and Cortesão 2014, eq 13); "pinocchio" keeps the model's own order, mass first; or
        a sequence that names every column once. "sousa" gives the shortest combinations: with
        mass first, coefficients are divided by lever arms, and short ones give large factors.

    For large robots (600 columns, or chains of 24 joints), "sousa" chooses base columns link by
    link, those of a link that are farthest from depending on others
    (`steelyard.model.linkwise_base`); ``sequence`` of the result is an order whose first
    independent columns these are.
    """
    if isinstance(order, str):
        sequence = column_order(model, order)
        if order == "sousa" and _is_large(model) and is_linkwise(model):
            return _cached_linkwise(model, sequence)
    else:
        sequence = tuple(int(i) for i in order)
        if sorted(sequence) != list(range(len(model.columns))):
            raise ModelError(f"an order must name each of the {len(model.columns)} columns once")
    return _cached_base_map(model, sequence)


@lru_cache(maxsize=64)
def _cached_base_map(model: Model, sequence: tuple[int, ...]) -> BaseMap:
    W, scale = unit_columns(model, sampled_regressor(model.sampled, seed=0))
    independent = independent_columns(W, sequence)
    K = np.zeros((len(independent), W.shape[1]))
    dependent = np.setdiff1d(np.arange(W.shape[1]), independent)
    K[np.arange(len(independent)), list(independent)] = 1.0
    if len(independent) and len(dependent):
        K[:, dependent] = clean_coefficients(W, scale, independent, dependent)
    K.setflags(write=False)
    return BaseMap(model.columns, independent, K, sequence, model.hash)


def _is_large(model: Model) -> bool:
    longest = int(model.mechanism.path_length.max())
    return len(model.columns) >= LINKWISE_FROM or longest >= LONG_PATH


@lru_cache(maxsize=16)
def _cached_linkwise(model: Model, sequence: tuple[int, ...]) -> BaseMap:
    found = linkwise_base(model.sampled, sequence)
    found.K.setflags(write=False)
    return BaseMap(model.columns, found.independent, found.K, found.sequence, model.hash)


def column_order(model: Model, order: ColumnOrder) -> tuple[int, ...]:
    """Indices of the model's columns in the named order."""
    if order not in ("pinocchio", "sousa"):
        raise ModelError(f"there is no column order '{order}'; use 'pinocchio' or 'sousa'")
    indices = list(range(len(model.columns)))
    if order == "sousa":
        for first in model.first_column_of_body:
            indices[first : first + 10] = [first + k for k in SOUSA_ORDER]
    return tuple(indices)


def sampled_regressor(model: Model, seed: int, least_rows: int = 0) -> Array:
    """Regressor (n_rows, n_columns) stacked over random states in general position.

    n_rows is nv times the number of states, and at least ``least_rows``.
    """
    n_columns = len(model.columns)
    usual = 4 * n_columns // model.nv + 20
    # half as many states are twice as many rows as columns still, and less memory
    n_states = max(30, usual if n_columns < LINKWISE_FROM else usual // 2)
    n_samples = max(n_states, -(-least_rows // model.nv))
    q, v, a = random_states(np.random.default_rng(seed), model.robot, n_samples)
    return torque_regressor(model, q, v, a).reshape(-1, n_columns)


def paper_labels(columns: Sequence[Column]) -> list[str]:
    """Names as the papers write them, bodies counted from one: L_2xx, l_2x, m_2, fv_2."""
    bodies: dict[str, int] = {}
    for column in columns:
        if column.kind == "rigid_body":
            bodies.setdefault(column.owner, len(bodies) + 1)
    labels = []
    number = 0
    for column in columns:
        if column.kind == "rigid_body":
            number = bodies[column.owner]
            labels.append(_inertial_label(column.symbol, number))
        else:
            labels.append(f"{column.symbol}_{number}")
    doubled = {label for label in labels if labels.count(label) > 1}
    return [
        column.name if label in doubled else label
        for label, column in zip(labels, columns, strict=True)
    ]


def _inertial_label(symbol: str, number: int) -> str:
    if symbol == PARAMETERS[0]:
        return f"m_{number}"
    head, axes = ("L", symbol[1:]) if symbol.startswith("I") else ("l", symbol[1:])
    return f"{head}_{number}{axes}"


def write_combination(labels: Sequence[str], coefficients: Sequence[float]) -> str:
    """A sum in the given order, equal factors grouped: ``a - b + 0.3 (c + d)``."""
    members: dict[tuple[float, str], list[str]] = {}
    for label, coefficient in zip(labels, coefficients, strict=True):
        # factors of one are not grouped: each is a term of its own
        key = (float(coefficient), label if abs(coefficient) == 1.0 else "")
        members.setdefault(key, []).append(label)
    pieces = []
    for (coefficient, _), group in members.items():
        sign = "-" if coefficient < 0 else "+"
        factor = "" if abs(coefficient) == 1.0 else f"{abs(coefficient):.10g} "
        inner = group[0] if len(group) == 1 else f"({' + '.join(group)})"
        pieces.append(f"{sign} {factor}{inner}")
    return " ".join(pieces).removeprefix("+ ")
