"""Options of single methods on the command line: against CVXPY, NumPy and SciPy, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cvxpy
import numpy as np
import pytest
import scipy.signal

from steelyard.cli import main
from steelyard.estimators.estimator import EssentialLimits, EstimationOptions
from steelyard.estimators.registry import all_estimators, estimator_named, refuse_needless_options
from steelyard.logs.reading import read_log
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters
from steelyard.robot.inertia import pseudo_inertia
from steelyard.robot.robot import Robot

ARM = """
dh = "modified"
angles = "deg"
[[joint]]
name = "shoulder"
link = "upper"
inertial = [2.5, 0.25, 0.05, 0.075, 0.04, 0.001, 0.08, 0.0, 0.0, 0.07]
lower = -100.0
upper = 100.0
velocity = 90.0
[[joint]]
name = "elbow"
link = "fore"
alpha = -90.0
a = 0.3
inertial = [1.5, 0.15, 0.03, 0.04, 0.03, 0.001, 0.05, 0.0, 0.0, 0.05]
lower = -100.0
upper = 100.0
velocity = 90.0
"""
RATE_HZ = 200.0
SENT = ["--friction", "0.5", "1", "--drive-inertia", "0.05", "--torque-noise", "0.5"]
PLAIN = ["--cutoff-hz", "none", "--torque-filter", "none", "--dead-band", "none"]
PLAIN += ["--friction-width", "0", "--torque-delay", "none", "--velocity", "differentiate"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> tuple[Path, Path]:
    """The arm's table, and a recording in the format of rbtlog files: no header."""
    folder = tmp_path_factory.mktemp("methods")
    robot, log, bare = folder / "arm.toml", folder / "log.csv", folder / "rbtlog_traj1.dat"
    robot.write_text(ARM, encoding="utf-8")
    made = ["simulate", robot, "-o", log, *SENT, "--rate-hz", RATE_HZ, "--duration-s", 20]
    assert main([str(word) for word in made]) == 0
    found = read_log(log)
    keys = [(j, what) for what in ("position", "torque") for j in ("shoulder", "elbow")]
    np.savetxt(bare, np.stack([found.time, *(found.signals[key] for key in keys)], axis=1))
    return robot, bare


def identified(capsys, recorded, *options: object) -> dict:
    """The document of identify with these options."""
    capsys.readouterr()
    argv = ["identify", *recorded, "--json", "--resamples", 0, "--no-ranges", *options]
    assert main([str(word) for word in argv]) in (0, 1)
    return json.loads(capsys.readouterr().out)


def beta_of(document: dict) -> np.ndarray:
    return np.array([one["predicts_with"] for one in document["estimate"]["parameters"]])


def theta_of(document: dict, model: Model) -> np.ndarray:
    values = {one["name"]: one["value"] for one in document["standard"]["parameters"]}
    return np.array([values[name] for name in model.column_names])


def regression_of(recorded) -> tuple[Model, np.ndarray, np.ndarray]:
    """Model, W (n, nv, n_columns) and tau (n, nv) by the processing of Sousa and Cortesão (2014,
    5.2.2) with SciPy and NumPy: sign(v) for Coulomb friction.
    """
    robot, bare = recorded
    table = np.loadtxt(bare)
    b, a = scipy.signal.butter(3, 2.5, fs=RATE_HZ)
    q = scipy.signal.filtfilt(b, a, table[:, 1:3], axis=0)

    def derivative(x: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        out[2:-2] = (-x[4:] + 8 * x[3:-1] - 8 * x[1:-3] + x[:-4]) * RATE_HZ / 12.0
        return out

    v = derivative(q)
    keep = slice(round(3 * RATE_HZ), -round(1 * RATE_HZ))
    model = Model(Robot.from_dh_file(robot)).with_widths({})
    W = torque_regressor(model, q[keep], v[keep], derivative(v)[keep])
    return model, W, table[keep, 3:]


def test_the_preset_is_the_processing_of_the_paper_with_sign_of_v(capsys, recorded):
    """Least squares by NumPy on signals by SciPy give the same base parameters, and the file
    without a header is read as time, positions and torques of the joints in order.
    """
    found = identified(capsys, recorded, "--preset", "sousa2014", "--method", "ols")
    model, W, tau = regression_of(recorded)
    base = base_map(model)
    columns = W[:, :, list(base.independent)].reshape(-1, base.rank)
    expected = np.linalg.lstsq(columns, tau.ravel(), rcond=None)[0]
    np.testing.assert_allclose(beta_of(found), expected, rtol=2e-3, atol=2e-4)
    wide = identified(
        capsys, recorded, "--preset", "sousa2014", "--method", "ols", "--friction-width", 0.3
    )
    assert np.abs(beta_of(wide) - expected).max() > 0.02


@pytest.mark.parametrize("weighting", ["ols", "wls"])
def test_feasible_estimation_with_equal_weights_is_that_of_cvxpy(capsys, recorded, weighting):
    """FBPE: the feasible parameters with the smallest squares, all joints with the same weight, or
    each by its residuals in least squares of its own.
    """
    options = ("--preset", "sousa2014", "--method", "feasible", "--weighting", weighting)
    found = identified(capsys, recorded, *options)
    model, W, tau = regression_of(recorded)
    base = base_map(model)
    weights = np.ones(2)
    for j in range(2) if weighting == "wls" else ():
        own = W[:, j][:, list(base.independent)]
        solution, _, rank, _ = np.linalg.lstsq(own, tau[:, j], rcond=1e-10)
        rest = tau[:, j] - own @ solution
        weights[j] = 1.0 / np.sqrt(rest @ rest / (len(rest) - rank))
    A = (weights[:, None] * W[:, :, list(base.independent)]).reshape(-1, base.rank)
    R = np.linalg.qr(np.column_stack([A, (weights * tau).ravel()]), mode="r")
    theta = cvxpy.Variable(len(model.columns))
    units = [pseudo_inertia(unit) for unit in np.eye(10)]
    conditions = [
        sum(theta[first + k] * units[k] for k in range(10)) >> 0
        for first in model.first_column_of_body
    ]
    conditions += [
        theta[k] >= 0
        for k, column in enumerate(model.columns)
        if column.term_kind is not None and not column.term_kind.may_be_negative
    ]
    residual = R[:-1, -1] - R[:-1, :-1] @ (base.K @ theta)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(residual)), conditions)
    best = problem.solve(solver=cvxpy.CLARABEL)
    ours = R[:-1, -1] - R[:-1, :-1] @ beta_of(found)
    square = float(ours @ ours) + R[-1, -1] ** 2
    assert square == pytest.approx(best + R[-1, -1] ** 2, rel=2e-4)
    np.testing.assert_allclose(beta_of(found), base.K @ theta.value, rtol=0.02, atol=0.01)
    codes = {one["code"] for one in found["findings"]}
    assert ("method-options" in codes) == (weighting == "ols")


@pytest.mark.parametrize("method", ["sequential", "sequential-paper", "feasible"])
def test_the_centre_of_the_weak_pull_is_a_choice(capsys, recorded, method):
    """What the data leave open has the file's values, or zero; what they determine is the same but
    for the method as it was published, whose default is zero.
    """
    model = Model(Robot.from_dh_file(recorded[0]))
    open_directions = np.linalg.svd(base_map(model).K)[2][base_map(model).rank :]
    file = known_parameters(model)
    scale = {}
    found = {}
    for towards in ("file", "zero"):
        document = identified(capsys, recorded, "--method", method, "--towards", towards)
        found[towards] = beta_of(document)
        theta = theta_of(document, model)
        scale[towards] = np.linalg.norm(open_directions @ (theta - file))
        said = [one["words"] for one in document["findings"] if one["code"] == "method-options"]
        assert said == [f"estimated with towards {towards}, as asked"]
    assert scale["file"] < (0.95 if method == "sequential-paper" else 0.5) * scale["zero"]
    plain = beta_of(identified(capsys, recorded, "--method", method))
    default = "zero" if method == "sequential-paper" else "file"
    np.testing.assert_array_equal(plain, found[default])
    if method != "sequential-paper":  # which fixes outer links where they should stay open
        np.testing.assert_allclose(found["file"], found["zero"], rtol=0.05, atol=0.05)


def stated_prior(folder: Path, recorded, **terms: float) -> Path:
    """The file's bodies and some terms, as a table of standard parameters."""
    model = Model(Robot.from_dh_file(recorded[0]))
    values = dict(zip(model.column_names, model.prior_theta().tolist(), strict=True))
    bodies = {n: x for n, x in values.items() if n.startswith(("upper.", "fore."))}
    lines = [f"{name},{value!r}\n" for name, value in {**bodies, **terms}.items()]
    path = folder / "prior.csv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_stated_friction_is_not_replaced_silently(capsys, tmp_path, recorded):
    """Values that a prior states are its values, and others are those of a first fit; "kept" ones
    are in the result, digit for digit, and the rest is least squares of what they leave, by NumPy;
    "first-fit" replaces all, "given" none. Each result says which.
    """
    prior = stated_prior(tmp_path, recorded, **{"elbow.fc": 0.7, "shoulder.fv": 0.45})
    options = ("--preset", "sousa2014", "--method", "cad", "--prior", prior)
    model, W, tau = regression_of(recorded)
    base = base_map(model)
    found = {}
    for rule in ("stated", "kept", "given", "first-fit"):
        document = identified(capsys, recorded, *options, "--drive-terms", rule)
        theta = dict(zip(model.column_names, theta_of(document, model), strict=True))
        (said,) = [x["words"] for x in document["findings"] if x["code"] == "drive-terms-of-prior"]
        found[rule] = (theta, said, beta_of(document))
    default = identified(capsys, recorded, *options)
    np.testing.assert_array_equal(beta_of(default), found["stated"][2])
    theta, said, beta = found["kept"]
    assert (theta["elbow.fc"], theta["shoulder.fv"]) == (0.7, 0.45)
    assert "kept as stated: shoulder.fv, elbow.fc" in said
    assert "from a first weighted fit: shoulder.fc" in said
    assert "as stated: shoulder.fv, elbow.fc" in found["stated"][1]
    assert "kept" not in found["stated"][1]
    fitted = found["first-fit"][0]["elbow.fc"]
    assert found["stated"][0]["elbow.fc"] == pytest.approx(fitted, rel=1e-9)
    assert abs(fitted - 0.7) > 0.05
    assert "first weighted fit" not in found["given"][1]
    assert "as stated" not in found["first-fit"][1]
    assert "elbow.fc" in found["first-fit"][1]
    # the rest, weighted joint by joint
    own = [name for name in base.names if name not in ("elbow.fc", "shoulder.fv")]
    columns = W[:, :, list(base.independent)]
    weights = np.ones(2)
    for j in range(2):
        solution, _, rank, _ = np.linalg.lstsq(columns[:, j], tau[:, j], rcond=1e-10)
        rest = tau[:, j] - columns[:, j] @ solution
        weights[j] = 1.0 / np.sqrt(rest @ rest / (len(rest) - rank))
    fixed = np.array([{"elbow.fc": 0.7, "shoulder.fv": 0.45}.get(name, 0.0) for name in base.names])
    free = [base.names.index(name) for name in own]
    A = (weights[:, None] * columns).reshape(-1, base.rank)
    left = (weights * tau).ravel() - A @ fixed
    expected = fixed.copy()
    expected[free] = np.linalg.lstsq(A[:, free], left, rcond=None)[0]
    np.testing.assert_allclose(beta, expected, rtol=5e-3, atol=1e-3)


def test_cad_essential_keeps_stated_values_too(capsys, tmp_path, recorded):
    """A value that is kept is no essential parameter, and stays where it is stated."""
    prior = stated_prior(tmp_path, recorded, **{"elbow.fc": 0.7})
    options = ("--preset", "sousa2014", "--method", "cad-essential", "--prior", prior)
    model = Model(Robot.from_dh_file(recorded[0]))
    for columns in ("all", "independent"):
        document = identified(
            capsys, recorded, *options, "--drive-terms", "kept", "--columns", columns
        )
        theta = dict(zip(model.column_names, theta_of(document, model), strict=True))
        assert theta["elbow.fc"] == 0.7


def test_thresholds_of_essential_parameters_change_how_many_remain(capsys, recorded):
    """Each of the three thresholds, for both methods: removals end where the relative standard
    deviations that remain, recomputed by NumPy, keep them.
    """
    counts = {}
    for words in ((), ("--essential-multiple", 3), ("--essential-ceiling", 0.05)):
        options = (*words, "--essential-significance", 0)
        found = identified(
            capsys, recorded, "--preset", "sousa2014", "--method", "essential", *options
        )
        parameters = found["estimate"]["parameters"]
        kept = [one for one in parameters if one["predicts_with"] != 0.0]
        counts[words] = len(kept)
        model, W, tau = regression_of(recorded)
        names = base_map(model).names
        places = [base_map(model).independent[names.index(one["name"])] for one in kept]
        weights = np.ones(2)
        for j in range(2):
            own = W[:, j][:, list(base_map(model).independent)]
            solution, _, rank, _ = np.linalg.lstsq(own, tau[:, j], rcond=1e-10)
            rest = tau[:, j] - own @ solution
            weights[j] = 1.0 / np.sqrt(rest @ rest / (len(rest) - rank))
        A = (weights[:, None] * W[:, :, places]).reshape(-1, len(places))
        y = (weights * tau).ravel()
        beta = np.linalg.lstsq(A, y, rcond=None)[0]
        spread = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * np.sum((y - A @ beta) ** 2) / len(y))
        relative = spread / np.abs(beta)
        limits = dict(zip(words[::2], words[1::2], strict=True))
        ceiling = limits.get("--essential-ceiling", 0.5)
        multiple = limits.get("--essential-multiple", 30.0)
        assert relative.max() <= 1.01 * min(ceiling, multiple * relative.min())
    full, *fewer = counts.values()
    assert max(fewer) < full
    strict = identified(
        capsys, recorded, "--preset", "sousa2014", "--method", "essential",
        "--essential-multiple", 3, "--essential-significance", 0.5,
    )  # fmt: skip
    assert sum(x["predicts_with"] != 0.0 for x in strict["estimate"]["parameters"]) > min(fewer)


OTHER = {
    "weighting": "ols",
    "towards": "zero",
    "drive_terms": "kept",
    "essential": EssentialLimits(multiple=10.0),
}
"""Another value of each option than its default."""


@pytest.mark.parametrize("method", [one.name for one in all_estimators()])
def test_options_that_a_method_does_not_use_are_refused_by_name(method):
    """For every method and option; a value that there is not is refused as well."""
    estimator = estimator_named(method)
    for name, value in OTHER.items():
        options = replace(EstimationOptions(method), **{name: value})
        if name in estimator.options:
            refuse_needless_options(estimator, options)
            continue
        with pytest.raises(Exception, match=f"^{name} is given, but the method '{method}' does"):
            refuse_needless_options(estimator, options)
    for name in ("weighting", "towards", "drive_terms"):
        with pytest.raises(Exception, match=f"{name} is 'luck'; it is one of"):
            refuse_needless_options(estimator, replace(EstimationOptions(method), **{name: "luck"}))
