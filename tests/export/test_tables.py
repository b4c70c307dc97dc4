"""The tables of parameters: one row each."""

from __future__ import annotations

import csv
import io

from given_signals import GIVEN
from small_arm import URDF, arm_log

from steelyard.errors import ResultError
from steelyard.export.tables import BASE_COLUMNS, STANDARD_COLUMNS, parameters_csv, standard_csv
from steelyard.identification.identify import identify
from steelyard.knowledge._named_values import named_values
from steelyard.robot.robot import Robot


def test_base_parameters_are_written_digit_for_digit():
    """Names, values and interval ends are those of the estimate at the given level."""
    robot = Robot.from_urdf_text(URDF)
    found = identify(robot, arm_log(robot, 1), method="wls")
    rows = list(csv.DictReader(io.StringIO(parameters_csv(found.estimate, 0.8))))
    assert tuple(rows[0]) == BASE_COLUMNS
    for row, parameter in zip(rows, found.estimate.parameters(0.8), strict=True):
        assert row["name"] == parameter.name
        for key in ("value", "lower", "upper", "sigma"):
            assert float(row[key]) == getattr(parameter, key)
    assert standard_csv(found.model, found.estimate) == ",".join(STANDARD_COLUMNS) + "\n"


def test_names_like_formulas_are_marked_and_read_back(tmp_path):
    """A spreadsheet runs no name of a stranger's robot; read as values, the names are as before."""
    robot = Robot.from_urdf_text(URDF.replace('"upper"', '"=upper"').replace('"fore"', '"@fore"'))
    found = identify(robot, arm_log(robot, 1), method="wls", processing=GIVEN)
    table = tmp_path / "parameters.csv"
    table.write_text(parameters_csv(found.estimate), encoding="utf-8")
    with table.open(encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert any(cell.startswith("'=upper") for cell in cells)
    assert not any(cell.startswith(("=", "@")) for cell in cells)
    values = named_values(table, "base", ResultError)
    assert tuple(values) == found.estimate.base.names
