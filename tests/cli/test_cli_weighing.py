"""From a simulated log to the weighed payload, by commands alone."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steelyard.cli import main
from steelyard.identification import payload_outputs
from steelyard.identification.payload import weigh_payload_ft
from steelyard.payload.payload_file import read_payload
from steelyard.robot.inertia import from_com
from steelyard.simulation.builtin_arm import arm_urdf

MASS, COM = 1.2, np.array([0.02, -0.01, 0.06])
TRUTH = from_com(MASS, COM, np.diag([0.003, 0.004, 0.002]))
CARRIED = "--payload 1.2 --payload-com 0.02 -0.01 0.06 --payload-inertia 0.003 0 0 0.004 0 0.002"
RUN = "--rate-hz 200 --duration-s 10 --controller ideal"
SENSOR = "--sensor tool --sensor-noise 0.2 0.01 --sensor-bias 1 -2 3 0.1 0.05 0"
HEAD = "time,ft.qx,ft.qy,ft.qz,ft.qw,ft.fx,ft.fy,ft.fz,ft.tx,ft.ty,ft.tz"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with the built-in arm; pages without figures, which take time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(payload_outputs, "render_payload_page", lambda estimate: "<page>")
    (tmp_path / "arm.urdf").write_text(arm_urdf(), encoding="utf-8")
    return tmp_path


def run(words: str) -> int:
    return main(words.split())


def miss(estimate, truth: np.ndarray) -> float:
    """Largest distance of the ten parameters from the truth, in standard deviations."""
    values = [estimate.value(name) for name in ("m", "mx", "my", "mz", "Ixx", "Iyy", "Izz")]
    right = truth[[0, 1, 2, 3, 4, 6, 9]]
    return max(abs(one.value - x) / one.sigma for one, x in zip(values, right, strict=True))


def test_simulated_weighed_and_carried_again(folder, capsys):
    """The body and the bias come back; what was weighed can be carried and weighed again."""
    assert run(f"simulate arm.urdf -o held.csv {RUN} {CARRIED} {SENSOR}") == 0
    assert run("payload ft arm.urdf held.csv --sensor tool -o weighed") == 0
    found = read_payload("weighed/payload.json")
    assert miss(found, TRUTH) < 4.5
    assert all(value.kind == "confidence" for value in found.values)
    for name, bias in zip(("fx", "fy", "fz", "tx", "ty", "tz"), (1, -2, 3, 0.1, 0.05, 0)):
        value = found.value(f"bias_{name}")
        assert abs(value.value - bias) < 4.5 * value.sigma
    again = f"simulate arm.urdf -o again.csv {RUN} --payload weighed/payload.json {SENSOR} --seed 5"
    assert run(again) == 0
    assert run("payload ft arm.urdf again.csv --sensor tool -o second --solver manifold") == 0
    assert miss(read_payload("second/payload.json"), found.phi) < 4.5
    capsys.readouterr()
    for words, says in (
        ("arm.urdf held.csv --sensor toll", "did you mean 'tool'"),
        ("arm.urdf held.csv --sensor tool --axes base", "sensor's axes"),
        ("arm.urdf held.csv --sensor tool --sign by-body", "sign"),
        ("held.csv --sensor tool", "tool"),
    ):
        assert run(f"payload ft {words}") == 2
        assert says in capsys.readouterr().err


def test_joint_torques_weigh_it_too(folder):
    """From runs without and with the payload; wider intervals, which cover."""
    drives = "--friction 0.5 0.5 --drive-inertia 0.05 --torque-noise 0.1"
    assert run(f"simulate arm.urdf -o empty.csv {RUN} {drives} --seed 1") == 0
    carried = f"{CARRIED} --payload-link tool --seed 2"
    assert run(f"simulate arm.urdf -o loaded.csv {RUN} {drives} {carried}") == 0
    assert run("payload joints arm.urdf loaded.csv --empty empty.csv --frame tool -o weighed") == 0
    found = read_payload("weighed/payload.json")
    assert found.mode == "joints"
    assert [run.loaded for run in found.runs] == [False, True]
    for name, right in (("m", MASS), ("cx", COM[0]), ("cy", COM[1]), ("cz", COM[2])):
        value = found.value(name)
        assert value.kind == "confidence"
        assert abs(value.value - right) < 4.5 * value.sigma


def write_poses(path, n: int, *, w_first: bool = False, one_axis: bool = False) -> None:
    """A table of orientations at rest and the wrench of the body in them."""
    rng = np.random.default_rng(1)
    turns = Rotation.random(n, random_state=3)
    if one_axis:
        turns = Rotation.from_rotvec(np.outer(np.linspace(0.0, 6.0, n), [0.0, 0.0, 1.0]))
    force = turns.inv().apply([0.0, 0.0, 9.81 * MASS])
    wrench = np.column_stack([force, np.cross(COM, force)])
    wrench += [0.05, 0.05, 0.05, 0.003, 0.003, 0.003] * rng.normal(size=wrench.shape)
    quaternions = np.roll(turns.as_quat(), 1 if w_first else 0, axis=1)
    table = np.column_stack([np.arange(n), quaternions, wrench])
    np.savetxt(path, table, delimiter=",", header=HEAD, comments="")


def test_poses_at_rest_give_mass_and_centre_of_mass(folder, capsys):
    """A table of orientations and wrenches; inertia is open, and refused where it is needed."""
    write_poses("poses.csv", 12)
    assert run("payload ft poses.csv --sensor ft --at-rest --json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["static"]
    values = {value["name"]: value for value in document["values"]}
    assert values["Ixx_com"]["kind"] != "confidence"
    for name, right in (("m", MASS), ("cx", COM[0]), ("cy", COM[1]), ("cz", COM[2])):
        assert abs(values[name]["value"] - right) < 4.5 * values[name]["sigma"]
    assert run("payload ft poses.csv --sensor ft --at-rest --inertia needed") == 2
    assert "too slow to determine the payload's inertia" in capsys.readouterr().err
    write_poses("poses.csv", 12, w_first=True)
    assert run("payload ft poses.csv --sensor ft --at-rest") == 2
    assert "w-first" in capsys.readouterr().err
    assert run("payload ft poses.csv --sensor ft --at-rest --quaternion w-first") == 0


def test_a_table_of_poses_at_rest_needs_no_time(folder, capsys):
    """CSV, NPZ, two tables and arrays, row by row: what the same table with a time gives."""
    write_poses("timed.csv", 12)
    table = np.loadtxt("timed.csv", delimiter=",", skiprows=1)[:, 1:]
    names = HEAD.split(",")[1:]
    for path, columns in (
        ("whole.csv", slice(10)),
        ("turns.csv", slice(4)),
        ("ft.csv", slice(4, 10)),
    ):
        head = ",".join(names[columns])
        np.savetxt(path, table[:, columns], delimiter=",", header=head, comments="")
    np.savez("whole.npz", **dict(zip(names, table.T)))
    assert run("payload ft timed.csv --sensor ft --at-rest --json") == 0
    right = json.loads(capsys.readouterr().out)["values"]
    for files in ("whole.csv", "whole.npz", "ft.csv --poses turns.csv"):
        assert run(f"payload ft {files} --sensor ft --at-rest --json") == 0
        assert json.loads(capsys.readouterr().out)["values"] == right
    arrays = dict(zip(names, table.T))
    found = weigh_payload_ft(None, arrays, "ft", at_rest=True)
    assert found.value("m").value == right[0]["value"]
    assert run("payload ft whole.csv --sensor ft") == 2
    assert "no time column" in (said := capsys.readouterr().err)
    assert "--at-rest" in said


def test_too_few_orientations_are_a_negative_or_a_bad_answer(folder, capsys):
    """Turned about the vertical only, gravity never changes in the sensor: it is said."""
    write_poses("poses.csv", 12, one_axis=True)
    assert run("payload ft poses.csv --sensor ft --at-rest") in (1, 2)
    captured = capsys.readouterr()
    assert "orientation" in captured.out + captured.err


def test_unconstrained_least_squares_is_in_table_json_and_page(tmp_path, monkeypatch, capsys):
    """Beside the physical body, with what no body can have of it; read back from the file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(arm_urdf(), encoding="utf-8")
    noisy = SENSOR.replace("--sensor-noise 0.2 0.01", "--sensor-noise 5 1")
    assert run(f"simulate arm.urdf -o held.csv {RUN} {CARRIED} {noisy}") == 0
    main(["payload", "ft", "arm.urdf", "held.csv", "--sensor", "tool", "-o", "weighed"])
    text = capsys.readouterr().out
    assert "The physical body beside unconstrained least squares" in text
    main(["payload", "ft", "arm.urdf", "held.csv", "--sensor", "tool", "--json"])
    entry = json.loads(capsys.readouterr().out)["unconstrained"]
    assert entry["broken"]
    assert entry["broken"][0] in text
    found = read_payload("weighed/payload.json")
    np.testing.assert_allclose(found.unconstrained.phi, entry["inertial_parameters"])
    assert list(found.unconstrained.broken) == entry["broken"]
    page = (tmp_path / "weighed" / "report.html").read_text("utf-8")
    assert "The physical body beside unconstrained least squares" in page
    assert "Unconstrained least squares fits no body" in page
    shown = f"{1000.0 * found.unconstrained.value('cx'):.4g}"
    assert shown in page
    assert shown in text


def test_a_budget_is_an_option_of_the_manifold(folder, capsys):
    """Refused by name for the other solver; without time a warning says so."""
    assert run(f"simulate arm.urdf -o held.csv {RUN} {CARRIED} {SENSOR}") == 0
    capsys.readouterr()
    ft = "payload ft arm.urdf held.csv --sensor tool"
    assert run(f"{ft} --budget-s 1") == 2
    assert "the solver 'sdp' cannot be stopped early; use the solver 'manifold'" in (
        capsys.readouterr().err
    )
    assert run(f"{ft} --solver manifold --budget-s 30") == 0
