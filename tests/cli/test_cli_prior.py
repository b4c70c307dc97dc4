"""Priors and methods on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from given_signals import FIXED
from small_arm import URDF, arm_log, write_arm

from steelyard.cli import main
from steelyard.logs.writer_csv import write_csv
from steelyard.robot.robot import Robot

SOLID = '<collision><geometry><box size="0.3 0.05 0.05"/></geometry></collision></link>'
QUICK = ("--resamples", "20", "--no-ranges", "--no-term-comparison", *FIXED)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """The small arm with collision boxes, and a log."""
    folder = tmp_path_factory.mktemp("arm")
    text = URDF.replace("</inertial></link>", f"</inertial>{SOLID}")
    log = folder / "run.csv"
    write_csv(arm_log(Robot.from_urdf_text(URDF), 1), log)
    return {"robot": write_arm(folder, text), "log": log, "folder": folder}


def identified(capsys, files, *options) -> tuple[int, dict, str]:
    """Exit code, result and standard error."""
    argv = ("identify", files["robot"], files["log"], "--json", *QUICK, *options)
    code = main([str(part) for part in argv])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else {}, err


@pytest.mark.parametrize(
    "method",
    ["entropic", "pullback", "feasible", "essential", "cad", "cad-essential", "wls", "ols"],
)
def test_every_method_gives_a_result(capsys, files, method):
    """The result names its method, and predicts the log."""
    gamma = ("--gamma", "100") if method in ("entropic", "pullback") else ()
    code, document, err = identified(capsys, files, "--method", method, *gamma)
    assert (code, err) == (0, "")
    assert document["estimate"]["method"] == method
    assert document["estimate"]["relative_error"] < 0.2
    assert ("prior" in document["record"]) == (method in ("entropic", "pullback"))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("robot", "the robot file"),
        ("mass=4", "a mass of 4 kg alone"),
        ("density=2000", "uniform solids of 2000 kg/m³"),
        ("solids=4", "uniform solids of 4 kg together"),
    ],
)
def test_sources_of_priors(capsys, files, source, words):
    """The result records the source of the prior and its weight."""
    code, document, err = identified(capsys, files, "--prior", source, "--gamma", "10")
    assert (code, err) == (0, "")
    record = document["record"]["prior"]
    assert (record["source"], record["gamma"], record["rule"]) == (words, 10.0, "given")


def test_a_result_as_the_prior_of_the_next(capsys, files):
    """A result can be the prior for other logs, and is refused for the logs it came from."""
    code, document, _ = identified(capsys, files)
    path = files["folder"] / "first.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    code, _, err = identified(capsys, files, "--prior", path)
    assert code == 2
    assert "the same data twice" in err
    other = {**files, "log": files["folder"] / "other.csv"}
    write_csv(arm_log(Robot.from_urdf_text(URDF), 2), other["log"])
    code, again, err = identified(capsys, other, "--prior", path)
    assert (code, err) == (0, "")
    assert again["record"]["prior"]["source"] == f"'{path}'"
    assert again["record"]["prior"]["gamma"] >= document["record"]["prior"]["gamma"]


def test_the_table_of_standard_parameters_as_a_prior(capsys, files, tmp_path):
    """The table that identify writes beside its result can be the prior of other logs."""
    argv = ("identify", files["robot"], files["log"], *QUICK, "--gamma", "100", "-o", tmp_path)
    assert main([str(part) for part in argv]) == 0
    capsys.readouterr()
    other = {**files, "log": tmp_path / "other.csv"}
    write_csv(arm_log(Robot.from_urdf_text(URDF), 3), other["log"])
    table = tmp_path / "standard_parameters.csv"
    code, document, err = identified(capsys, other, "--prior", table, "--gamma", "100")
    assert (code, err) == (0, "")
    assert document["record"]["prior"]["source"] == f"'{table}'"
    assert set(document["record"]["prior"]["divergence"]) == {"upper", "fore"}


@pytest.mark.parametrize("rule", ["leave-blocks-out", "l-curve"])
def test_rules_for_gamma(capsys, files, rule):
    """Both rules for gamma record the values that they tried."""
    _, document, _ = identified(capsys, files, "--gamma", rule)
    record = document["record"]["prior"]
    assert record["rule"] == rule
    assert record["gamma"] in [trial["gamma"] for trial in record["trials"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--prior", "mass=heavy"), "--prior is 'mass=heavy'; it must be like mass=18"),
        (("--prior", "mass=-1"), "the total mass is -1"),
        (("--prior", "nowhere.csv"), "does not exist"),
        (("--gamma", "much"), "--gamma is 'much'; it must be a positive number"),
        (("--gamma", "nan"), "--gamma is 'nan'"),
        (("--gamma", "-1"), "--gamma is '-1'"),
        (("--gamma", "0"), "--method feasible uses no prior"),
        (("--gamma", "1e30"), "gamma is 1e+30; it must be between"),
        (("--method", "wls", "--prior", "mass=4"), "--prior is given, but the method 'wls' does"),
        (("--method", "wls", "--repair-prior", "floor-moments"), "the method 'wls' does not use"),
        (("--method", "cad", "--gamma", "7"), "--gamma is given, but the method 'cad' does not"),
        (("--method", "wls", "--total-mass", "1", "2"), "--total-mass is given, but the method"),
        (("--consistency", "sousa"), "consistency is 'sousa', but a fit with a prior needs 'full'"),
    ],
)
def test_bad_input_is_one_line(capsys, files, options, words):
    """Refused with code 2, in one line that says what and what to do."""
    code, _, err = identified(capsys, files, *options)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1


def test_a_file_that_is_not_physical_is_repaired_unless_told_otherwise(capsys, files, tmp_path):
    """An unphysical prior is repaired; with 'none' it is refused by body, rule and option."""
    text = files["robot"].read_text().replace('izz="0.025"', 'izz="0.9"', 1)
    bad = {**files, "robot": write_arm(tmp_path, text)}
    code, _, err = identified(capsys, bad, "--repair-prior", "none")
    assert code == 2
    assert "'upper' breaks the triangle inequality" in err
    assert "--repair-prior" in err
    code, document, _ = identified(capsys, bad, "--gamma", "100")
    assert code == 0
    assert "prior-repaired" in [finding["code"] for finding in document["findings"]]


def test_the_terms_that_the_data_ask_for(capsys, files):
    """With --torque link, the term comparison finds the friction of the simulated motors."""
    argv = ("identify", files["robot"], files["log"], "--json", "--torque", "link")
    more = (*FIXED, "--resamples", "20", "--no-ranges", "--admit", "none")
    code = main([str(part) for part in (*argv, *more)])
    document = json.loads(capsys.readouterr().out)
    # without the friction that the log has, little is known of other motions
    reasons = [one["code"] for one in document["verdict"]["reasons"]]
    assert (code, document["verdict"]["level"]) == (1, "do not use")
    assert "little-determined" in reasons
    assert "terms-contradicted" in [finding["code"] for finding in document["findings"]]
    assert "viscous" in document["record"]["terms"]["advised"]
    assert {term["kind"] for term in document["model"]["terms"]} == {"coulomb", "offset"}
