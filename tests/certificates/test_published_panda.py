"""The Panda's published least-squares parameters (Gaz et al. 2019), by their printed digits."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from exact_second import is_valid
from paper_robots import panda
from robot_files import dataset

from steelyard.certificates.base_feasibility import base_feasibility, correct_base
from steelyard.certificates.verify import verify
from steelyard.certificates.writing import certificate_of
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.terms import joint_terms
from steelyard.model.typical_sizes import parameter_scale

pytestmark = pytest.mark.dataset
FRICTION = ("viscous", "coulomb", "offset")
TERM = re.compile(r"([+-]?)([\d.]+)?(?:\(([^)]*)\)|J(\d)?([xyz]{2})(\d)?|c(\d)([xyz])m\d|m(\d))")


def form(text: str, place: dict[str, int]) -> np.ndarray:
    """Coefficients (n_columns,) of a printed combination such as ``J3xy + 0.0825c4z m4``."""
    text = "".join(text.split())
    row = np.zeros(len(place))
    at = 0
    while at < len(text):
        match = TERM.match(text, at)
        assert match, (text, at)
        sign, factor, inner, before, axes, behind, of, axis, mass = match.groups()
        value = float(factor or 1.0) * (-1.0 if sign == "-" else 1.0)
        if inner:
            row += value * form(inner, place)
        elif axes:
            row[place[f"link_{before or behind}.I{axes}"]] += value
        else:
            row[place[f"link_{of}.m{axis}" if axis else f"link_{mass}.m"]] += value
        at = match.end()
    return row


@pytest.fixture(scope="module")
def published():
    """The model, its base parameters, and the printed table: combinations and values."""
    robot = panda()
    model = Model(robot, joint_terms(robot.joint_names, FRICTION))
    base = base_map(model)
    text = (dataset("panda_gaz2019") / "published_parameters.json").read_text()
    table = json.loads(text)
    place = {name: i for i, name in enumerate(model.column_names)}
    rows = table["base_coefficients_table_III"]
    E = np.array([form(row["expr"], place) for row in rows])
    beta = np.zeros(base.rank)
    for row, values in zip(rows, E, strict=True):
        own = [k for k, column in enumerate(base.independent) if values[column] != 0.0]
        assert len(own) == 1  # the authors' base columns are ours
        beta[own[0]] = row["CLS"] / values[base.independent[own[0]]]
    for k, name in enumerate(base.names):
        joint, _, symbol = name.partition(".")
        if symbol in ("fv", "fc", "fo"):
            beta[k] = table["friction_linear_CLS"][symbol][int(joint[-1]) - 1]
    return model, base, E, beta


def test_the_printed_combinations_are_ours(published):
    """All 43, to the printed digits; one row counts the mass of link 3 twice."""
    _, base, E, _ = published
    M = E[:, list(base.independent)]
    off = np.abs(E - M @ base.K) > 1e-4
    assert M.shape[0] == np.count_nonzero(M) == 43
    (row,), (column,) = np.nonzero(off)
    assert base.columns[column].name == "link_3.m"
    assert base.names[np.flatnonzero(M[row])[0]] == "link_2.Ixx"


def test_the_printed_least_squares_belongs_to_no_robot(published):
    """Proven infeasible with and without signs of friction, by 4×4 and by 6×6 matrices; no table
    that rounds to the printed digits is feasible.
    """
    model, base, _, beta = published
    scale = parameter_scale(model)
    for known in (
        Constraints(),
        Constraints(nonnegative_terms=False),
        Constraints(consistency="sousa"),
    ):
        given = blocks(model, known)
        answer = base_feasibility(base, beta, given, scale)
        assert answer.verdict == "infeasible"
        document = certificate_of(model, base, beta, given, answer)
        assert verify(document).valid
        assert is_valid(document)
    # printed with four decimals: the closest feasible base parameters are farther away
    given = blocks(model, Constraints(nonnegative_terms=False))
    closest = correct_base(base, beta, given, scale)
    assert np.max(np.abs(closest.beta - beta)) > 0.00005
    assert closest.distance > 0.00005 * np.sqrt(base.rank)
