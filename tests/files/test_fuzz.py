"""Every reader on a few hundred damaged files: named errors of one line, or content that is used.

Warnings are errors here, so that none may stand beside a refusal. What a reader accepts goes on
into the next step: a model, a verdict, a fit.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hostile.honest import make_honest
from hostile_meshes import GEOMETRY, XYZ, ball, collada, lines, ply, stl
from mutations import VALUES, Random, mutated_array, mutated_bytes, mutated_json

from steelyard.certificates.verify import verify
from steelyard.diagnosis.checked_log import check_log
from steelyard.errors import SteelyardError
from steelyard.estimators.least_squares import wls
from steelyard.estimators.result_file import read_result
from steelyard.excitation.collision.collision_pairs import read_srdf
from steelyard.excitation.collision.collision_shapes import mesh_hull
from steelyard.excitation.files.motion_file import read_motion
from steelyard.identification.identify import identify
from steelyard.knowledge.base_values import read_base_values
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.knowledge.overlay.toml_file import read_overlay
from steelyard.knowledge.prior import prior_from_file
from steelyard.logs.reading import read_log
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.payload.payload_file import read_payload
from steelyard.regression.factor_file import read_regression
from steelyard.robot.formats.urdf_shapes import MeshReference
from steelyard.robot.physical_links import check_links
from steelyard.robot.robot import Robot

SEED = int(os.environ.get("STEELYARD_FUZZ_SEED", "20261118"))
"""Another one searches elsewhere."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of honest files of the two-joint arm."""
    folder = tmp_path_factory.mktemp("honest")
    make_honest(folder)
    points = ball(20)
    meshes = {
        "a.dae": collada(scene=f"<node><scale>1 2 3</scale>{GEOMETRY}</node>"),
        "a.ply": ply(20, XYZ, points.astype("<f4").tobytes()),
        "a.obj": lines(*(f"{x} {y} {z}" for x, y, z in points.tolist())),
        "a.stl": stl(points[:18]),
    }
    for name, data in meshes.items():
        (folder / name).write_bytes(data)
    return folder


def _robot(path: Path, honest: Path) -> object:
    robot = read_robot(path)
    check_links(robot)
    return Model(robot).prior_theta()


def _overlay(path: Path, honest: Path) -> object:
    overlay = read_overlay(path)
    robot = apply_overlay(Robot.from_urdf(honest / "arm.urdf"), overlay)
    return model_of(robot, overlay=overlay)


def _arm(honest: Path) -> Model:
    return Model(Robot.from_urdf(honest / "arm.urdf"))


def _result(path: Path, honest: Path) -> object:
    return read_result(path).model_for(Robot.from_urdf(honest / "arm.urdf"))


def _bound(path: Path, honest: Path) -> object:
    return verify(honest / "found" / "certificate.json", result=path)


def _npz(rng: Random, data: bytes) -> bytes:
    """An archive with one array changed; or its bytes."""
    if rng.random() < 0.3:
        return mutated_bytes(rng, data)
    with np.load(io.BytesIO(data)) as archive:
        arrays = dict(archive)
    names = [name for name in arrays if name != "header"]
    name = names[int(rng.integers(len(names)))]
    if rng.random() < 0.1:
        arrays[f"{name}\x1b"] = arrays.pop(name)
    else:
        arrays[name] = mutated_array(rng, arrays[name])
    if "header" in arrays and rng.random() < 0.5:
        arrays["header"] = np.frombuffer(mutated_json(rng, arrays["header"].tobytes()), np.uint8)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _gzip(rng: Random, data: bytes) -> bytes:
    """A packed file with changed content; or with changed bytes."""
    if rng.random() < 0.5:
        return mutated_bytes(rng, data)
    return gzip.compress(mutated_bytes(rng, gzip.decompress(data)), 1)


@dataclass(frozen=True)
class Subject:
    """A reader: the honest file that is damaged, how, and what is done with the outcome."""

    file: str
    use: Callable[[Path, Path], object]
    mutate: Callable[[Random, bytes], bytes] = mutated_bytes
    cases: int = 250


def _mesh(path: Path, honest: Path) -> object:
    """The hull of a mesh, which is where huge and flat ones are refused."""
    mesh = MeshReference(path.name, np.ones(3), np.eye(4), 1)
    return mesh_hull("upper", mesh, path.with_name("arm.urdf"), [])


SUBJECTS = {
    "dae": Subject("a.dae", _mesh),
    "ply": Subject("a.ply", _mesh),
    "obj": Subject("a.obj", _mesh, cases=100),
    "stl": Subject("a.stl", _mesh, cases=100),
    "urdf": Subject("arm.urdf", _robot),
    "mjcf": Subject("arm.xml", _robot, cases=200),
    "srdf": Subject("arm.srdf", lambda path, honest: read_srdf(path, ["upper", "fore"]), cases=100),
    "overlay": Subject("arm.toml", _overlay),
    "csv": Subject("short.csv", lambda path, honest: read_log(path)),
    "gz": Subject("short.csv.gz", lambda path, honest: read_log(path), _gzip, 100),
    "npz": Subject("short.npz", lambda path, honest: read_log(path), _npz),
    "certificate": Subject("found/certificate.json", lambda p, h: verify(p), mutated_json),
    "result": Subject("unsealed.json", _result, mutated_json, 150),
    "bound": Subject("unsealed.json", _bound, mutated_json, 100),
    "prior": Subject(
        "found/standard_parameters.csv", lambda p, h: prior_from_file(_arm(h), p), cases=150
    ),
    "prior-json": Subject(
        "unsealed.json", lambda p, h: prior_from_file(_arm(h), p), mutated_json, 60
    ),
    "base": Subject(
        "found/parameters.csv", lambda p, h: read_base_values(p, base_map(_arm(h))), cases=60
    ),
    "regression": Subject("factors.npz", lambda p, h: wls(read_regression(p)), _npz, 150),
    "payload": Subject("payload.json", lambda p, h: read_payload(p).phi, mutated_json),
    "motion": Subject("motion.json", lambda p, h: read_motion(p).holds, mutated_json, 150),
    "log-check": Subject(
        "short.csv", lambda p, h: check_log(read_log(p), Robot.from_urdf(h / "arm.urdf")), cases=60
    ),
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_reader_raises_named_errors_only(honest, tmp_path, name):
    """Whatever was done to the file; a case can be made again from its number."""
    subject = SUBJECTS[name]
    original = (honest / subject.file).read_bytes()
    path = tmp_path / Path(subject.file).name
    refused = 0
    for case in range(subject.cases):
        rng = np.random.default_rng([SEED, list(SUBJECTS).index(name), case])
        path.write_bytes(subject.mutate(rng, original))
        refused += _refused(lambda: subject.use(path, honest), case)
    assert 0 < refused < subject.cases


def test_tables_of_denavit_and_hartenberg_raise_named_errors_only():
    """Every field of a row with every value of a wrong type, name or size."""
    valid = {"a": 0.3, "alpha": 1.57, "d": 0.1, "theta": 0.0, "kind": "revolute", "name": "j0"}
    cases = list(product([*valid, "inertial", "link", "limits", "extra"], VALUES))
    refused = 0
    for case, (key, value) in enumerate(cases):
        rows = [valid | {key: value}, valid | {"name": "j1"}]
        refused += _refused(lambda rows=rows: Robot.from_dh(rows, convention="modified"), case)
    assert 0 < refused < len(cases)


@pytest.mark.parametrize("method", ["entropic", "wls"])
def test_a_fit_to_damaged_signals_raises_named_errors_only(honest, method):
    """A few cells, or whole columns, of a log replaced by extreme numbers."""
    robot = Robot.from_urdf(honest / "arm.urdf")
    log = read_log(honest / "run.csv")
    columns = {"time": log.time} | {f"{j}.{q}": values for (j, q), values in log.signals.items()}
    extremes = (np.nan, np.inf, 0.0, 1e29, -1e29, 1e-320, 1e12, 1e160, 1e308, 1e-15, -1.0)
    for case in range(12):
        rng = np.random.default_rng([SEED, 100, case])
        table = {name: values.copy() for name, values in columns.items()}
        values = table[list(table)[int(rng.integers(len(table)))]]
        extreme = extremes[int(rng.integers(len(extremes)))]
        with np.errstate(all="ignore"):
            if case % 3 == 0:
                values *= extreme
            else:
                values[rng.integers(len(values), size=int(rng.integers(1, 30)))] = extreme
        _refused(
            lambda table=table: identify(
                robot, table, method=method, ranges=False, compare_terms=False, n_resamples=20,
                threads=1,
            ),
            case,
        )  # fmt: skip


def _refused(act: Callable[[], object], case: int) -> bool:
    """Whether it was refused, with one printable line; any other error fails."""
    try:
        act()
    except SteelyardError as error:
        message = str(error)
    except Exception as failure:
        failure.add_note(f"in case {case}")
        raise
    else:
        return False
    assert message
    assert message.isprintable(), f"case {case}: {message!r}"
    return True
