"""Identification by energy and power, from logs to files."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from given_signals import FEW_FITS
from small_arm import URDF, arm_log, write_arm, write_run

from steelyard.cli import main
from steelyard.errors import RegressionError
from steelyard.estimators.result_file import read_result, read_schema
from steelyard.excitation.fourier import multisine
from steelyard.identification.identify import identify
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.regression.equation import Equation, processing_for
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
from steelyard.simulation.simulate import Controller, Sensors, simulate
from steelyard.validation.result_comparison import compare_results


@pytest.mark.parametrize("equation", ["energy", "power"])
def test_the_built_in_arm_is_recovered_within_its_intervals(equation):
    """69 base parameters from 60 s of a motion that does not repeat itself."""
    robot = builtin_arm()
    model = Model(robot)
    theta = builtin_truth(model)
    log = simulate(
        model,
        theta,
        multisine(robot, period_s=60.0, n_harmonics=40, seed=3),
        duration_s=60.0,
        rate_hz=100.0,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=0.2, encoder_step=2e-5),
        seed=3,
    )
    found = identify(
        robot,
        log,
        equation=equation,
        method="wls",
        processing=Processing(cutoff_hz=8.0),
        friction_width=0.0,
        keep_first_run=False,
    ).estimate
    truth = base_map(model).K @ theta
    parameters = found.parameters()
    inside = [p.lower <= x <= p.upper for p, x in zip(parameters, truth, strict=True)]
    assert np.mean(inside) > 0.9
    error = np.linalg.norm(found.beta - truth) / np.linalg.norm(truth)
    assert error < 0.05
    # the intervals are narrow enough for that to mean something
    half = np.array([0.5 * (p.upper - p.lower) for p in parameters])
    assert np.median(half / np.maximum(np.abs(truth), 0.05)) < 0.5
    assert found.equation.name == equation
    assert [channel.name for channel in found.channels] == [equation]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Files of the default method by energy, with what was printed."""
    folder = tmp_path_factory.mktemp("energy")
    paths = {
        "folder": folder,
        "robot": write_arm(folder),
        "train": write_run(folder, 1, "train.csv"),
        "test": write_run(folder, 2, "test.csv"),
        "out": folder / "out",
    }
    code, shown = command(
        "identify",
        *(paths["robot"], paths["train"], "--model", "energy", "--interval-s", "0.05"),
        *("--validate-on", paths["test"], "-o", paths["out"], "--threads", "1", *FEW_FITS),
    )
    assert code == 0
    return {**paths, "shown": shown}


def command(*arguments) -> tuple[int, str]:
    """Exit code of a command, and what it printed."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        code = main([str(one) for one in arguments])
    return code, " ".join(printed.getvalue().split())


def test_the_result_states_the_equation(written):
    """Rows, fit and record are those of energy, and the file keeps to the schema."""
    document = json.loads((written["out"] / "result.json").read_text("utf-8"))
    jsonschema.validate(document, read_schema())
    assert document["record"]["equation"] == {"name": "energy", "interval_s": 0.05}
    (channel,) = document["estimate"]["channels"]
    assert channel["name"] == "energy"
    assert channel["n_rows"] == document["estimate"]["n_rows"]
    processing = document["record"]["runs"][0]["processing"]
    asked = {name: processing[name] for name in ("acceleration", "torque_filter", "dead_band")}
    assert asked == {"acceleration": "none", "torque_filter": "none", "dead_band": None}
    assert "differences of energy in" in written["shown"]
    assert "Fit of the energy over intervals of 0.05 s (J)" in written["shown"]
    assert document["validation"]["overall"]["prediction"]["relative_error"] < 0.05


def test_what_follows_a_result_works_on_energy(written):
    """The certificate is verified, the torques of a log are predicted, a robot file is exported,
    and the report shows errors of joints.
    """
    out = written["out"]
    assert command("verify", out / "certificate.json")[0] == 0
    code, shown = command("validate", written["robot"], out / "result.json", written["test"])
    assert code == 0
    assert "shoulder" in shown
    exported = written["folder"] / "exported.xml"
    assert command("export", out / "result.json", "--to", "mjcf", "-o", exported)[0] == 0
    report = (out / "report.html").read_text("utf-8")
    assert "differences of energy, over intervals of 0.05 s" in report
    assert "Error of each joint" in report


def test_a_report_without_other_logs_shows_the_error_of_the_equation(tmp_path):
    """It has one line, in W; the torques of the run are predicted with accelerations."""
    arm = Robot.from_urdf_text(URDF)
    found = identify(
        arm, arm_log(arm, 1), equation="power", method="wls", processing=Processing(cutoff_hz=20.0)
    )
    assert found.first_run is not None
    assert np.isfinite(found.first_run.motion.a).all()
    report = found.save(tmp_path)["report"].read_text("utf-8")
    assert "Error of the power over intervals of 0.03125 s" in report
    assert " W</td>" in report
    assert "% of the power" in repr(found)
    assert "equation" in found.summary()
    assert np.isfinite(found.predict(arm_log(arm, 2))).all()


def test_results_of_two_equations_are_compared(written, tmp_path):
    """What was fitted is named as a difference; errors of energy and torque are not compared."""
    arm = Robot.from_urdf(written["robot"])
    torque = identify(
        arm, written["train"], method="wls", processing=Processing(cutoff_hz=20.0)
    ).save(tmp_path)
    compared = compare_results(
        *(read_result(path) for path in (torque["result"], written["out"] / "result.json"))
    )
    settings = {pair.what: (pair.a, pair.b) for pair in compared.settings}
    assert settings["model"] == ("torque", "energy over intervals of 0.05 s")
    assert all(pair.held_out for pair in compared.errors)


def test_logs_are_prepared_without_accelerations():
    """They are NaN, whatever the log offers; torque rows and measured ones are refused."""
    arm = Robot.from_urdf_text(URDF)
    energy = Equation("energy")
    run = prepare(arm_log(arm, 1), Model(arm), processing_for(energy, Processing(cutoff_hz=20.0)))
    assert np.isnan(run.motion.a).all()
    assert np.isfinite(run.motion.v).all()
    assert set(run.record.acceleration_from.values()) == {"not used"}
    assert run.record.processing_as_used.acceleration == "differentiate"
    with pytest.raises(RegressionError, match="the torque model needs accelerations"):
        processing_for(Equation(), Processing(acceleration="none"))
    with pytest.raises(RegressionError, match="but the energy model uses none"):
        processing_for(energy, Processing(acceleration="measured"))
    kept = Processing(torque_filter="same", dead_band=0.1)
    assert processing_for(energy, kept).torque_filter == "same"
    assert processing_for(energy, kept).dead_band == 0.1


def test_wrong_options_are_named(capsys, written):
    """An unknown model, an interval for torques, and one that is longer than the log."""
    arguments = ["identify", str(written["robot"]), str(written["train"])]
    assert main([*arguments, "--model", "force"]) == 2
    assert "invalid choice: 'force'" in capsys.readouterr().err
    for options, words in (
        (["--interval-s", "0.1"], "rows of torque have no intervals"),
        (["--model", "energy", "--interval-s", "0"], "interval_s is 0.0; it must be a time"),
        (["--model", "power", "--interval-s", "90"], "no interval of 90 s is complete"),
    ):
        assert main([*arguments, *options]) == 2
        assert words in capsys.readouterr().err
    with pytest.raises(RegressionError, match="there is no equation 'momentum'"):
        identify(written["robot"], written["train"], equation="momentum")


def test_a_dead_band_costs_the_intervals_that_it_touches():
    """It leaves torques of slow joints out, and with them every interval that they are part of."""
    arm = Robot.from_urdf_text(URDF)
    rows = []
    for band in (None, 0.1):
        processing = Processing(cutoff_hz=20.0, dead_band=band)
        found = identify(
            arm, arm_log(arm, 1), equation="power", method="wls", processing=processing
        )
        rows.append(found.estimate.n_rows)
    assert 0.2 * rows[0] < rows[1] < 0.95 * rows[0]


def test_help_lists_the_models(capsys):
    """Choices and their words come from the list of equations."""
    assert main(["identify", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "--model {torque,energy,power}" in words
    assert "power: mean power over short intervals, without accelerations" in words


def test_the_folder_of_the_result_is_complete(written):
    """All files of an identification are there."""
    names = {path.name for path in Path(written["out"]).iterdir()}
    assert {"result.json", "report.html", "certificate.json", "parameters.csv"} <= names
    assert any(name.endswith(".identified.urdf") for name in names)
