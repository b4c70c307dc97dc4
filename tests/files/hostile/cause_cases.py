"""Inputs that are numbers out of proportion: the refusal names the cause, not what failed of it."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np

from hostile.case import FIT, Action, Bench, Case, array_bytes, nested_lists


def _log(bench: Bench, change) -> str:
    """The honest log with its table changed by a function."""
    lines = (bench.honest / "run.csv").read_text("utf-8").splitlines()
    names = lines[0].split(",")
    table = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
    kinds = [
        next((kind for kind in ("time", "position", "torque") if kind in name), "")
        for name in names
    ]
    table = change(table, np.array(kinds))
    rows = [",".join(repr(float(x)) for x in row) for row in table]
    return bench.write("\n".join([lines[0], *rows]) + "\n", ".csv")


def _scaled(bench: Bench, kind: str, factor: float, *options: str) -> Action:
    def change(table, kinds):
        table[:, kinds == kind] *= factor
        return table

    return ["identify", bench.robot, _log(bench, change), "--no-ranges", *options]


def _gravity(bench: Bench, *xyz: str) -> Action:
    return ["identify", bench.robot, bench.log, "--no-ranges", "--gravity", *xyz]


def _regression(bench: Bench, change) -> Action:
    """The honest regression file with its arrays changed, read from Python: no command reads it."""
    with np.load(bench.honest / "factors.npz") as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    change(arrays, header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", array_bytes(array))
    return [FIT, bench.write(stream.getvalue(), ".npz")]


def _arrays(name: str, change):
    def of_all(arrays, header):
        arrays[name] = change(arrays[name])

    return of_all


def _merged(depth: int) -> dict[str, object]:
    """A record of merged runs, of merged runs, and so on."""
    record: dict[str, object] = {}
    for _ in range(depth):
        record = {"merged": [record]}
    return record


def _header(**changed):
    return lambda arrays, header: header.update(changed)


CASES = [
    Case("torques-1e-15", lambda b: _scaled(b, "torque", 1e-15), ("torque",)),
    Case("torques-1e-300", lambda b: _scaled(b, "torque", 1e-300), ("torque",)),
    Case("torques-1e300", lambda b: _scaled(b, "torque", 1e300), ("torque",)),
    Case("torques-1e12", lambda b: _scaled(b, "torque", 1e12), ("torque",)),
    Case("torques-mNm", lambda b: _scaled(b, "torque", 1e3), ("unit",)),
    Case(
        "torques-mNm-least-squares",
        lambda b: _scaled(b, "torque", 1e3, "--method", "wls"),
        ("unit",),
        (0, 2),
    ),
    Case("positions-1e-15", lambda b: _scaled(b, "position", 1e-15), ("position", "move")),
    Case("positions-1e300", lambda b: _scaled(b, "position", 1e300), ("position",)),
    Case("stamps-1e-300", lambda b: _scaled(b, "time", 1e-300), ("time",)),
    Case("stamps-1e300", lambda b: _scaled(b, "time", 1e300), ("time",)),
    Case("stamps-1e-15", lambda b: _scaled(b, "time", 1e-15), ("time", "rate")),
    Case("gravity-1e300", lambda b: _gravity(b, "0", "0", "1e300"), ("gravity",)),
    Case("gravity-1e20", lambda b: _gravity(b, "0", "0", "1e20"), ("gravity",)),
    Case("gravity-1e-300", lambda b: _gravity(b, "0", "0", "1e-300"), ("gravity",), (0, 2)),
    Case("gravity-nan", lambda b: _gravity(b, "0", "0", "nan"), ("gravity",)),
    Case(
        "regression-complex",
        lambda b: _regression(b, _arrays("factors_0", lambda x: x + 1j)),
        ("complex",),
    ),
    Case(
        "regression-complex-K",
        lambda b: _regression(b, _arrays("K", lambda x: x + 0j)),
        ("complex",),
    ),
    Case(
        "regression-text",
        lambda b: _regression(b, _arrays("K", lambda x: x.astype(str))),
        ("numeric", "numbers"),
    ),
    Case(
        "regression-objects",
        lambda b: _regression(b, _arrays("K", lambda x: x.astype(object))),
        ("objects",),
    ),
    Case(
        "regression-1e300",
        lambda b: _regression(b, _arrays("factors_0", lambda x: 1e300 * x)),
        ("1e",),
    ),
    Case(
        "regression-1e-320",
        lambda b: _regression(b, _arrays("factors_0", lambda x: 1e-320 + 0 * x)),
        ("",),
        (0, 2),
    ),
    Case(
        "regression-counts-nan",
        lambda b: _regression(b, _arrays("counts", lambda x: x * np.nan)),
        ("counts", "numbers", "indices"),
    ),
    Case(
        "regression-counts-negative",
        lambda b: _regression(b, _arrays("counts", lambda x: -x)),
        ("counts",),
    ),
    Case(
        "regression-block-nan",
        lambda b: _regression(b, _header(block_s=float("nan"))),
        ("block", "finite", "indices"),
    ),
    Case(
        "regression-block-1e-320", lambda b: _regression(b, _header(block_s=1e-320)), ("",), (0, 2)
    ),
    Case(
        "regression-deep", lambda b: _regression(b, _header(record=nested_lists(90))), ("nested",)
    ),
    Case(
        "regression-deep-merged",
        lambda b: _regression(b, _header(record=_merged(300))),
        ("nested",),
    ),
    Case(
        "regression-million-groups",
        lambda b: _regression(b, _header(groups=[["a", []]] * 200_000)),
        ("groups", "factors"),
    ),
    Case(
        "regression-columns",
        lambda b: _regression(b, _header(columns=[[1, 2, 3, 4]] * 3)),
        ("shapes",),
    ),
    Case(
        "regression-format",
        lambda b: _regression(b, _header(format="\x1b[2J" * 100_000)),
        ("format",),
    ),
]
