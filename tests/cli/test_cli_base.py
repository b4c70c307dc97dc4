"""``steelyard base`` and ``steelyard verify``: verdicts, files, exit codes and refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from paper_robots import BETA_T1, BETA_T2
from small_arm import true_theta, write_arm, write_run

from steelyard.certificates.verify import verify
from steelyard.cli import main
from steelyard.conic.exact_text import number
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.robot.robot import Robot

# the three links of Sousa and Cortesão (2014), Table 1: axes z, then perpendicular to it, then
# parallel to that, 1 m away
TABLE_1_URDF = """<robot name="table 1"><link name="ground"/>
<link name="link_1"/><link name="link_2"/><link name="link_3"/>
<joint name="joint_1" type="revolute"><parent link="ground"/><child link="link_1"/>
  <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="joint_2" type="revolute"><parent link="link_1"/><child link="link_2"/>
  <origin rpy="-1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="joint_3" type="revolute"><parent link="link_2"/><child link="link_3"/>
  <origin xyz="1 0 0"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
NO_TERMS = "terms = []\n\n[constraints]\nsecond_moment = inf\n"


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(part) for part in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """The one line with which a command is refused."""
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("steelyard: error: ")
    assert err.count("\n") == 1
    return err


def write_values(path: Path, names: tuple[str, ...], beta: np.ndarray) -> Path:
    """``name,value`` lines without a header, as the parameters stand in a paper."""
    lines = [f"{name}, {value!r}\n" for name, value in zip(names, beta.tolist(), strict=True)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def arm(tmp_path):
    """The small arm's file, its model and its true base parameters."""
    robot = write_arm(tmp_path)
    model = Model(Robot.from_urdf(robot))
    base = base_map(model)
    return robot, base, base.K @ true_theta(model)


def broken(base, beta):
    """A negative viscous friction."""
    out = beta.copy()
    out[base.names.index("elbow.fv")] = -0.05
    return out


def test_true_parameters_are_feasible(capsys, tmp_path, arm):
    """Exit code 0, a verdict, a margin, and a certificate that `verify` accepts."""
    robot, base, beta = arm
    values, out = write_values(tmp_path / "beta.csv", base.names, beta), tmp_path / "proof.json"
    code, text, err = run(capsys, "base", "test", values, robot, "--certificate", out)
    assert (code, err) == (0, "")
    assert "feasible: a physical robot can have these base parameters" in text
    assert "largest margin" in text
    code, text, err = run(capsys, "verify", out)
    assert (code, err) == (0, "")
    assert "feasible, valid" in text
    assert [float(number(x)) for x in json.loads(out.read_text())["numbers"]["beta"]] == list(beta)


def test_negative_friction_is_infeasible_and_corrected(capsys, tmp_path, arm):
    """Exit code 1 with a certificate; the correction is feasible, close, and can be read."""
    robot, base, beta = arm
    bad = broken(base, beta)
    values = write_values(tmp_path / "beta.csv", base.names, bad)
    proof, out = tmp_path / "proof.json", tmp_path / "corrected.csv"
    code, text, _ = run(capsys, "base", "test", values, robot, "--certificate", proof, "--json")
    document = json.loads(text)
    assert code == 1
    assert document["verdict"] == "infeasible"
    assert document["margin"] < 0
    assert verify(proof, model=document["model_hash"]).kind == "infeasible"
    code, text, _ = run(
        capsys, "base", "correct", values, robot, "-o", out, "--certificate", proof, "--json"
    )
    document = json.loads(text)
    assert code == 0
    assert document["distance"] == pytest.approx(0.05, rel=1e-3)
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["name"] for row in rows] == list(base.names)
    assert verify(proof).valid
    written = json.loads(proof.read_text())["numbers"]["beta"]
    assert [float(number(x)) for x in written] == [float(row["value"]) for row in rows]
    assert run(capsys, "base", "test", out, robot)[0] == 0


def test_feasible_parameters_are_corrected_to_themselves(capsys, tmp_path, arm):
    """Feasible base parameters are not changed."""
    robot, base, beta = arm
    values, out = write_values(tmp_path / "beta.csv", base.names, beta), tmp_path / "same.csv"
    code, text, _ = run(capsys, "base", "correct", values, robot, "-o", out, "--json")
    assert code == 0
    assert json.loads(text)["distance"] == 0.0
    with out.open(newline="") as stream:
        assert [float(row["value"]) for row in csv.DictReader(stream)] == beta.tolist()


def test_json_objects_and_result_files_are_read(capsys, tmp_path, arm):
    """The same verdict from an object of values, parameters.csv and result.json."""
    robot, base, beta = arm
    values = tmp_path / "beta.json"
    values.write_text(json.dumps(dict(zip(base.names, beta.tolist(), strict=True))))
    assert run(capsys, "base", "test", values, robot)[0] == 0
    log = write_run(tmp_path, 1)
    argv = ["identify", robot, log, "--method", "wls", "-o", tmp_path / "out"]
    assert run(capsys, *argv)[0] == 0
    for name in ("result.json", "parameters.csv"):
        code, text, err = run(capsys, "base", "test", tmp_path / "out" / name, robot, "--json")
        assert (code, err) == (0, "")
        assert json.loads(text)["verdict"] == "feasible"


def test_table_1_of_sousa_and_cortesao(capsys, tmp_path):
    """beta_t1 is feasible by the 6×6 condition and proven infeasible by full consistency."""
    robot, overlay = tmp_path / "robot.urdf", tmp_path / "robot.toml"
    robot.write_text(TABLE_1_URDF)
    overlay.write_text(NO_TERMS)
    names = base_map(Model(Robot.from_urdf(robot), ())).names
    answers = {}
    for label, beta in (("t1", BETA_T1), ("t2", BETA_T2)):
        values = write_values(tmp_path / "beta.csv", names, beta)
        for consistency in ("sousa", "full"):
            proof = tmp_path / "proof.json"
            argv = ["base", "test", values, robot, "--overlay", overlay]
            argv += ["--consistency", consistency, "--certificate", proof, "--json"]
            code, text, err = run(capsys, *argv)
            assert err == ""
            answers[label, consistency] = json.loads(text)["verdict"]
            assert code == (answers[label, consistency] != "feasible")
            assert verify(proof).valid
    assert answers.pop(("t1", "sousa")) == "feasible"
    assert set(answers.values()) == {"infeasible"}
    values = write_values(tmp_path / "beta.csv", names, BETA_T1)
    argv = ["base", "correct", values, robot, "--overlay", overlay, "-o", tmp_path / "out.csv"]
    code, text, _ = run(capsys, *argv, "--json")
    assert code == 0
    assert json.loads(text)["distance"] == pytest.approx(1.9e-4, rel=0.03)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("elbow.fv", "elbow.fw"), "did you mean 'elbow.fv'?"),
        (lambda text: text.split("\n", 1)[1], "there is no value for"),
        (lambda text: text + text.split("\n", 1)[0], "is there twice"),
        (lambda text: text.replace(",", ";"), "is not name,value"),
        (lambda text: text.split(",")[0] + ", much\n", "not a finite number"),
        (lambda text: text.split(",")[0] + ", inf\n", "not a finite number"),
        (lambda text: "", "there is no value for"),
        (lambda text: "name,amount\n", "no column 'value'"),
        (lambda text: "[1, 2]", "must be an object"),
        (lambda text: '{"schema": "steelyard.result/1"}', "is damaged"),
    ],
)
def test_files_that_do_not_fit_are_refused(capsys, tmp_path, arm, change, words):
    """One line that says what is wrong with the values."""
    robot, base, beta = arm
    values = write_values(tmp_path / "beta.csv", base.names, beta)
    values.write_text(change(values.read_text()))
    assert words in refused(capsys, "base", "test", values, robot)


def test_missing_files_and_actions_are_refused(capsys, tmp_path, arm):
    """One line each."""
    robot, base, beta = arm
    assert "there is no such file" in refused(capsys, "base", "test", tmp_path / "none", robot)
    assert "is a folder" in refused(capsys, "base", "test", tmp_path, robot)
    assert "ACTION" in refused(capsys, "base")
    values = write_values(tmp_path / "beta.csv", base.names, beta)
    assert "-o" in refused(capsys, "base", "correct", values, robot)
    assert "cannot be written" in refused(
        capsys, "base", "correct", values, robot, "-o", tmp_path / "none" / "out.csv"
    )


def test_verify_says_what_is_wrong(capsys, tmp_path, arm):
    """Exit code 1 for an invalid certificate, 2 for a file that is not a certificate."""
    robot, base, beta = arm
    values = write_values(tmp_path / "beta.csv", base.names, broken(base, beta))
    proof = tmp_path / "proof.json"
    run(capsys, "base", "test", values, robot, "--certificate", proof)
    document = json.loads(proof.read_text())
    code, text, _ = run(capsys, "verify", proof, "--json", "--model", document["hashes"]["model"])
    assert code == 0
    assert json.loads(text)["valid"] is True
    code, text, _ = run(capsys, "verify", proof, "--model", "0" * 64)
    assert code == 1
    assert "the hash of the model is not the expected one" in text
    document["numbers"]["y"][0] = "17"
    proof.write_text(json.dumps(document))
    code, text, _ = run(capsys, "verify", proof)
    assert code == 1
    assert "INVALID" in text
    assert "the hash of the digits does not match" in text
    assert "do not balance" in text
    proof.write_text("{}")
    assert "this is not a certificate" in refused(capsys, "verify", proof)
    assert "there is no such file" in refused(capsys, "verify", tmp_path / "none.json")


def closest_by_cvxpy(model: Model, base, beta: np.ndarray, consistency: str, margin: float):
    """The distance to the closest feasible base parameters, from the papers' matrices."""
    cvxpy = pytest.importorskip("cvxpy")
    theta = cvxpy.Variable(len(model.columns))
    conditions = []
    for first in model.first_column_of_body:
        m, x, y, z, xx, xy, yy, xz, yz, zz = (theta[first + k] for k in range(10))
        inertia = cvxpy.bmat([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        zero = 0.0 * m
        if consistency == "sousa":
            skew = cvxpy.bmat([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
            matrix = cvxpy.bmat([[inertia, skew.T], [skew, m * np.eye(3)]])
        else:
            moment = 0.5 * cvxpy.trace(inertia) * np.eye(3) - inertia
            first_moment = cvxpy.bmat([[x], [y], [z]])
            mass = cvxpy.reshape(m, (1, 1), order="F")
            matrix = cvxpy.bmat([[moment, first_moment], [first_moment.T, mass]])
        n = matrix.shape[0]
        conditions.append(0.5 * (matrix + matrix.T) >> margin * np.eye(n))
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(base.K @ theta - beta)), conditions)
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(("consistency", "distance"), [("sousa", 1.649e-3), ("full", 5.64e-2)])
def test_the_correction_is_the_closest_one_and_passes_the_test(
    capsys, tmp_path, consistency, distance
):
    """Sousa and Cortesão's Table 1 without any overlay but its terms: the distance is CVXPY's, a
    stricter margin is never closer, and the output is feasible by the certificate's witness.
    """
    robot = write_arm(tmp_path, TABLE_1_URDF, "table1.urdf")
    model = Model(Robot.from_urdf(robot), ())
    base = base_map(model)
    values = write_values(tmp_path / "beta.csv", base.names, BETA_T2)
    out, proof = tmp_path / "corrected.csv", tmp_path / "proof.json"
    found = []
    for margin in (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
        overlay = tmp_path / "table1.toml"
        overlay.write_text(f"terms = []\n[constraints]\nmargin = {margin!r}\n", encoding="utf-8")
        options = (robot, "--overlay", overlay, "--consistency", consistency, "--json")
        written = ("-o", out, "--certificate", proof)
        code, text, _ = run(capsys, "base", "correct", values, *options, *written)
        assert code == 0
        found.append(json.loads(text)["distance"])
        expected = closest_by_cvxpy(model, base, BETA_T2, consistency, margin)
        assert found[-1] == pytest.approx(expected, rel=2e-3)
        code, text, _ = run(capsys, "base", "test", out, *options, "--witness", proof)
        assert (code, json.loads(text)["verdict"]) == (0, "feasible")
    assert found == sorted(found)
    assert found[0] == pytest.approx(distance, rel=1e-3)


def test_a_witness_of_another_robot_is_refused(capsys, tmp_path, arm):
    """And a certificate without standard parameters, which proves that there are none."""
    robot, base, beta = arm
    values = write_values(tmp_path / "beta.csv", base.names, broken(base, beta))
    proof = tmp_path / "proof.json"
    run(capsys, "base", "test", values, robot, "--certificate", proof)
    assert "has no standard parameters of robot" in refused(
        capsys, "base", "test", values, robot, "--witness", proof
    )
