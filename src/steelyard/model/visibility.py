"""What a choice of sensors can see of each link, for any motion.

The rows of the equation that are measured (joint torques, the wrench of a floating base) decide
which parameters can be found at all. A parameter is seen *alone* if the rows determine its value,
*in sums* if they determine only sums of it and others, and *not at all* if no row depends on it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError, listed
from steelyard.model.base_map import sampled_regressor
from steelyard.model.dependent_columns import ZERO_TOLERANCE, independent_columns, unit_columns
from steelyard.model.mechanism import BASE_WRENCH, row_words
from steelyard.model.model import Model

Array = NDArray[np.float64]
ALONE = 1e-7
"""Largest share of a parameter in an unseen direction that counts as rounding."""
LEAST_STATES = 60
"""Random states at least: a row alone may have to determine all parameters of a link."""


@dataclass(frozen=True)
class LinkVisibility:
    """What is seen of one body, named after its link, or of the terms of a joint.

    alone, in_sums, not_seen : symbols of its parameters. n_sums : independent combinations, in
    which its parameters take part.
    """

    name: str
    alone: tuple[str, ...]
    in_sums: tuple[str, ...]
    not_seen: tuple[str, ...]
    n_sums: int

    @property
    def words(self) -> str:
        """What is seen, in words, without the name."""
        parts = []
        if self.alone:
            parts.append(f"{_symbols(self.alone)} alone")
        if self.in_sums:
            sums = "one sum" if self.n_sums == 1 else f"{self.n_sums} sums"
            parts.append(f"{_symbols(self.in_sums)} only in {sums} with other parameters")
        if self.not_seen:
            parts.append(f"{_symbols(self.not_seen)} not at all")
        return "; ".join(parts)


@dataclass(frozen=True)
class Visibility:
    """What the measured rows of a model can see.

    channels : the rows. rank : independent combinations that they determine, of as many as all
    rows of the model would, ``whole_rank``. links : of every body. joints : of every joint's terms.
    """

    channels: tuple[str, ...]
    rank: int
    whole_rank: int
    links: tuple[LinkVisibility, ...]
    joints: tuple[LinkVisibility, ...]


def visibility(model: Model, channels: Collection[str]) -> Visibility:
    """What these torque rows of the model can see of every link and joint, for any motion."""
    unknown = [name for name in channels if name not in model.channels]
    if unknown:
        raise ModelError(
            f"there is no torque row {listed(unknown)}; the rows are {listed(model.channels)}"
        )
    rows = [k for k, name in enumerate(model.channels) if name in channels]
    n = len(model.columns)
    plain = model.sampled
    # the channels that are left must have more rows than there are columns
    states = max(LEAST_STATES, (2 * n + 20) // max(len(rows), 1))
    whole = sampled_regressor(plain, seed=0, least_rows=len(model.channels) * states)
    W = whole.reshape(-1, len(model.channels), n)
    seen = _unit(model, W[:, rows].reshape(-1, n)) if rows else np.zeros((1, n))
    _, s, Vt = np.linalg.svd(_triangle(seen))
    rank = int(np.count_nonzero(s > 1e-9 * max(s[0], 1.0)))
    unseen = Vt[rank:] if rank < n else np.zeros((0, n))
    alone = np.linalg.norm(unseen, axis=0) <= ALONE
    zero = ~np.any(seen != 0.0, axis=0)
    K = Vt[:rank]

    def of(name: str, columns: list[int]) -> LinkVisibility:
        symbols = [model.columns[k].symbol for k in columns]
        sums = [k for k in columns if not alone[k] and not zero[k]]
        count = int(np.linalg.matrix_rank(K[:, sums], 1e-7)) if sums else 0
        pairs = list(zip(symbols, columns, strict=True))
        return LinkVisibility(
            name,
            tuple(one for one, k in pairs if alone[k] and not zero[k]),
            tuple(one for one, k in pairs if k in sums),
            tuple(one for one, k in pairs if zero[k]),
            count,
        )

    links = [
        of(body.name, list(range(first, first + 10)))
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True)
    ]
    owners: dict[str, list[int]] = {}
    for k, column in enumerate(model.columns):
        if column.term_kind is not None:
            owners.setdefault(column.owner, []).append(k)
    all_rows = _unit(model, whole)
    return Visibility(
        tuple(model.channels[k] for k in rows),
        rank,
        len(independent_columns(_triangle(all_rows), range(n))),
        tuple(links),
        tuple(of(name, columns) for name, columns in owners.items()),
    )


def unmeasured_words(model: Model, channels: Collection[str]) -> str | None:
    """What the rows cannot see that all rows of the model would; None where nothing is lost.

    channels : the rows that were measured.
    """
    if set(channels) >= set(model.channels):
        return None
    part, whole = visibility(model, channels), visibility(model, model.channels)
    if part.rank == whole.rank:
        return None
    lost: dict[str, list[str]] = {}
    for few, all_ in zip((*part.links, *part.joints), (*whole.links, *whole.joints), strict=True):
        if few != all_:
            lost.setdefault(few.words, []).append(few.name)
    parts = "; ".join(f"of {listed(names)}: {words}" for words, names in lost.items())
    return (
        f"the measured rows ({listed(rows_in_words(part.channels))}) determine {part.rank} of "
        f"{whole.rank} combinations of parameters that all rows of the robot would; seen is, "
        f"{parts or 'of every link, fewer sums'}"
    )


def rows_in_words(channels: Collection[str]) -> list[str]:
    """Names of torque rows, the six of a base together as "base wrench"."""
    whole = set(BASE_WRENCH) <= set(channels)
    names = [row_words(name) for name in channels if not (whole and name in BASE_WRENCH)]
    return ["base wrench", *names] if whole else names


def sensing_choices(model: Model) -> dict[str, tuple[str, ...]]:
    """The usual choices of rows, by name: all, the base's wrench alone, joint torques alone."""
    joints = tuple(name for name in model.channels if name not in BASE_WRENCH)
    if not model.robot.floating_base:
        return {"joint torques": joints}
    return {
        "base wrench and joint torques": model.channels,
        "base wrench": BASE_WRENCH,
        "joint torques": joints,
    }


def _unit(model: Model, W: Array) -> Array:
    scaled, _ = unit_columns(model, W)
    scaled[np.abs(scaled) < ZERO_TOLERANCE * np.abs(scaled).max(initial=1.0)] = 0.0
    return scaled


def _triangle(rows: Array) -> Array:
    """Triangular factor of the rows."""
    return np.asarray(np.linalg.qr(rows, mode="r"), dtype=float)


def _symbols(symbols: tuple[str, ...]) -> str:
    """Symbols in a row; "all ten parameters" for a whole body."""
    return "all ten parameters" if len(symbols) == 10 else ", ".join(symbols)
