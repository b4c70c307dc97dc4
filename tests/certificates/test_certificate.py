"""The certificate of an identification holds for the written digits, or a finding says why not."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from given_signals import FEW, FEW_FITS, FIXED, QUICK
from small_arm import URDF, arm_log

from steelyard.certificates import certificate as certificates
from steelyard.certificates.certificate import prove
from steelyard.certificates.verify import verify
from steelyard.certificates.writing import write_certificate
from steelyard.cli import main
from steelyard.errors import EstimationError
from steelyard.estimators.result_file import result_document
from steelyard.export.tables import standard_csv
from steelyard.identification.identify import Identification, identify
from steelyard.knowledge.constraints import Constraints
from steelyard.logs.writer_csv import write_csv
from steelyard.robot.robot import Robot


@pytest.fixture(scope="module")
def found() -> Identification:
    robot = Robot.from_urdf_text(URDF)
    quick = {**QUICK, "n_resamples": 20, "ranges": False}
    return identify(robot, [arm_log(robot, 1)], method="feasible", **quick)


def test_a_fit_that_a_prior_draws_has_a_gap_of_its_own_objective():
    """The certificate claims closeness to the optimum of fit and prior, not to the best fit."""
    robot = Robot.from_urdf_text(URDF)
    drawn = identify(robot, [arm_log(robot, 1)], **FEW)
    certificate, findings = prove(drawn.model, drawn.regression, drawn.fit)
    assert certificate is not None
    assert findings == ()
    assert (certificate.verdict.valid, certificate.verdict.kind) == (True, "drawn")
    assert 0.0 <= certificate.gap < 1e-6
    assert certificate.value is None
    assert "of fit and prior together" in certificate.words
    assert "best fit" not in certificate.words
    # certified are the digits of the result, not others that would be feasible as well
    document = json.loads(
        json.dumps(result_document(drawn.model, drawn.estimate)), parse_float=Fraction
    )
    values = [Fraction(one["value"]) for one in document["standard"]["parameters"]]
    assert [Fraction(text) for text in certificate.document["numbers"]["theta"]] == values


def test_the_certificate_is_about_the_digits_of_the_result(found, tmp_path):
    """Parameters of certificate, result and table are the same decimals, and the file verifies."""
    certificate, findings = prove(found.model, found.regression, found.fit)
    assert certificate is not None
    assert findings == ()
    write_certificate(tmp_path / "certificate.json", certificate.document)
    verdict = verify(tmp_path / "certificate.json", model=found.model.hash)
    assert (verdict.valid, verdict.kind) == (True, "optimal")
    document = result_document(found.model, found.estimate, certificate=certificate.summary())
    text = json.dumps(document)
    written = json.loads(text, parse_float=Fraction)["standard"]["parameters"]
    certified = json.loads((tmp_path / "certificate.json").read_text())["numbers"]["theta"]
    assert [Fraction(x) for x in certified] == [Fraction(p["value"]) for p in written]
    table = {
        row["name"]: row["value"]
        for row in csv.DictReader(io.StringIO(standard_csv(found.model, found.estimate)))
    }
    assert [Fraction(table[p["name"]]) for p in written] == [Fraction(x) for x in certified]


def test_the_gap_bounds_what_other_feasible_parameters_reach(found):
    """The stated value is that of the factors, and the robot file's bodies fit no better."""
    certificate, _ = prove(found.model, found.regression, found.fit)
    assert certificate is not None
    factor = found.regression.system(found.fit.weights) / found.fit.sigma

    def value(theta: np.ndarray) -> float:
        away = factor[:, -1] - factor[:, :-1] @ (found.estimate.base.K @ theta)
        return 0.5 * float(away @ away)

    assert certificate.value == pytest.approx(value(found.estimate.standard.theta), rel=1e-9)
    assert certificate.gap is not None
    assert 0.0 <= certificate.gap <= 1e-3 * certificate.value
    rng = np.random.default_rng(0)
    theta = found.estimate.standard.theta
    for _ in range(200):  # feasible, since the feasible set is convex
        other = found.model.prior_theta() * rng.uniform(0.5, 2.0)
        assert (
            value(theta + rng.uniform(0, 1e-3) * (other - theta))
            >= certificate.value - certificate.gap
        )


def test_conditions_are_counted_by_kind(found):
    """The kinds of conditions add up to all of them."""
    certificate, _ = prove(found.model, found.regression, found.fit)
    assert certificate is not None
    blocks = found.fit.blocks
    assert {c.kind: c.n_conditions for c in certificate.cones} == {
        kind: sum(b.kind == kind for b in blocks) for kind in {b.kind for b in blocks}
    }
    assert f"all {len(blocks)} conditions" in certificate.words


def test_conditions_with_equality_are_counted_by_kind():
    """Equations always hold with equality; of the others, those that the verdict lists."""
    robot = Robot.from_urdf_text(URDF)
    drawn = identify(
        robot, [arm_log(robot, 1)], constraints=Constraints(fixed={"elbow.fo": 0.0}), **FEW
    )
    certificate, _ = prove(drawn.model, drawn.regression, drawn.fit)
    assert certificate is not None
    counts = {cone.kind: cone for cone in certificate.cones}
    assert (counts["zero"].n_conditions, counts["zero"].n_with_equality) == (1, 1)
    kinds = [block.kind for block in drawn.fit.blocks]
    tight = [kinds[k] for k in certificate.verdict.details["positions_with_equality"]]
    for kind in ("psd", "nonnegative"):
        assert counts[kind].n_conditions == kinds.count(kind)
        assert counts[kind].n_with_equality == tight.count(kind) < kinds.count(kind)


def test_without_a_bound_there_is_a_feasible_certificate_and_a_warning(found, monkeypatch):
    """If no gap can be proven, feasibility still is, with a warning about the gap."""
    monkeypatch.setattr(certificates, "fit_certificate", lambda *_: None)
    certificate, findings = prove(found.model, found.regression, found.fit)
    assert certificate is not None
    assert (certificate.verdict.valid, certificate.verdict.kind, certificate.gap) == (
        True,
        "feasible",
        None,
    )
    assert [(f.level, f.code) for f in findings] == [("warning", "no-gap-proven")]
    assert "not proven" in certificate.words
    certified = [float(text) for text in certificate.document["numbers"]["theta"]]
    assert certified == found.estimate.standard.theta.tolist()


def test_a_reason_is_given_where_nothing_can_be_proven(found, monkeypatch):
    """Parameters outside a condition have no certificate; the finding names the condition."""

    def refuse(*_: object) -> None:
        raise EstimationError("numbers too long")

    monkeypatch.setattr(certificates, "fit_certificate", refuse)
    theta = found.fit.theta.copy()
    theta[found.model.column_names.index("fore.m")] = -1.0
    certificate, findings = prove(found.model, found.regression, replace(found.fit, theta=theta))
    assert certificate is None
    assert [(f.level, f.code) for f in findings] == [("warning", "no-certificate")]
    assert "fore" in findings[0].words


def test_unconstrained_methods_have_no_certificate(found):
    """Plain least squares has no certificate, and no finding about that."""
    assert prove(found.model, found.regression, None) == (None, ())


def test_the_command_line_states_the_proof_and_warns_of_an_old_certificate(capsys, tmp_path):
    """identify prints what is proven, verify agrees, and an outdated certificate is named."""
    robot = tmp_path / "arm.urdf"
    robot.write_text(URDF)
    write_csv(arm_log(Robot.from_urdf_text(URDF), 1), tmp_path / "log.csv")
    argv = ["identify", str(robot), str(tmp_path / "log.csv"), "-o", str(tmp_path / "out"), *FIXED]
    assert main([*argv, *FEW_FITS, "--no-ranges", "--threads", "1"]) == 0
    said = capsys.readouterr().out
    assert "Proven: the parameters meet all" in said
    assert f"steelyard verify {tmp_path / 'out' / 'certificate.json'}" in said
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert "What is proven" in (tmp_path / "out" / "report.html").read_text()
    assert result["certificate"]["hashes"]["digits"] in (tmp_path / "out/report.html").read_text()
    assert main(["verify", str(tmp_path / "out" / "certificate.json"), "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["hashes"] == {
        **result["certificate"]["hashes"],
        "files": verdict["hashes"]["files"],  # the result names the certificate's own hash instead
    }
    assert main([*argv, "--method", "wls"]) == 0
    said = capsys.readouterr().out
    assert "Proven" not in said
    assert f"{tmp_path / 'out' / 'certificate.json'} is from an earlier estimate" in said
    assert json.loads((tmp_path / "out" / "result.json").read_text())["certificate"] is None
