"""Verdicts of whole identifications: what is right is usable, what is wrong is not."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from given_signals import FEW, GIVEN
from humanoid import humanoid, humanoid_log
from recorded import kinova_log, kinova_robot
from small_arm import URDF, arm_log, true_theta

from steelyard.cli import main
from steelyard.errors import EstimationError, InputRefusedError
from steelyard.estimators.result_file import read_result
from steelyard.excitation.motions.fourier import multisine
from steelyard.identification.identify import Identification, identify, with_validation
from steelyard.logs.log import Log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
from steelyard.simulation.simulate import Controller, Sensors, simulate
from steelyard.validation.saved_results import validate_result

ARM = Robot.from_urdf_text(URDF)
BARE = Robot.from_urdf_text(URDF.replace('lower="-2.5" upper="2.5" ', 'lower="-1e9" upper="1e9" '))


def with_signals(log: Log, quantity: str, change) -> Log:
    """The log with one quantity of all joints changed."""
    signals = {
        key: change(values) if key[1] == quantity else values for key, values in log.signals.items()
    }
    return replace(log, signals=signals)


def simulated(robot: Robot, theta: np.ndarray, seed: int = 1, noise: float = 0.1) -> Log:
    """Ten seconds of a robot with these parameters."""
    return simulate(
        Model(robot),
        theta,
        multisine(robot, period_s=5.0, seed=seed),
        duration_s=10.0,
        rate_hz=100.0,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=noise),
        seed=seed,
    )


def judged(robot: Robot, logs, **options) -> Identification:
    """A quick identification; warnings are expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return identify(robot, logs, **{**FEW, "certify": False, **options})


def accepting(robot: Robot, log: Log, **options) -> Identification:
    """The identification that goes on in spite of every severe finding."""
    accept: set[str] = set()
    for _ in range(5):
        try:
            return judged(robot, log, accept=tuple(sorted(accept)), **options)
        except InputRefusedError as refused:
            accept |= {one.code for one in refused.findings}
    raise AssertionError("refused again and again")


def codes(found: Identification) -> set[str]:
    return {one.code for one in found.verdict.reasons}


@pytest.fixture(scope="module")
def good() -> Identification:
    return judged(ARM, arm_log(ARM, 1))


def test_a_clean_log_is_usable_alone_and_on_another(good):
    """On left-out parts of its log, then on another log, which replaces them."""
    assert good.verdict.level == "usable"
    assert good.verdict.numbers.data == "left-out parts of the log"
    assert good.verdict.numbers.file_with_terms > good.verdict.numbers.error
    tested = with_validation(good, arm_log(ARM, 2))
    assert tested.verdict.level == "usable"
    assert tested.verdict.numbers.data == "data that was not used"
    assert tested.verdict.numbers.error == pytest.approx(
        tested.validation.overall.prediction.balanced_error
    )


def test_validating_on_the_training_log_is_no_test(good):
    """Its verdict stays that of left-out parts, and says that the log was used."""
    with pytest.warns(UserWarning, match="used for the estimate"):
        again = with_validation(good, arm_log(ARM, 1))
    assert again.verdict.numbers.data == "left-out parts of the log"
    assert again.verdict.level == "usable with care"


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.02, 0.3])
def test_the_verdict_does_not_depend_on_how_small_the_noise_is(noise):
    """A right model is usable from no noise at all up to a few percent."""
    assert judged(ARM, arm_log(ARM, 3, noise=noise)).verdict.level == "usable"


def test_an_exact_file_is_usable():
    """Where the file is right already, the estimate is as good, and not blamed for it."""
    model = Model(ARM)
    terms = [column.term_kind is not None for column in model.columns]
    log = simulated(ARM, np.where(terms, true_theta(model), model.prior_theta()))
    assert judged(ARM, log).verdict.level == "usable"


def test_degrees_are_not_usable_however_bad_the_file_is():
    """Positions in degrees: better than the file a hundredfold, and worth nothing."""
    log = with_signals(arm_log(ARM, 1), "position", np.rad2deg)
    found = accepting(BARE, log)
    assert found.verdict.level == "do not use"
    assert "file-contradicted" in codes(found)
    assert found.verdict.numbers.error < 0.01 * found.verdict.numbers.file


def test_torques_that_are_noise_are_not_usable():
    """Nothing explains them, and their own noise is no excuse."""
    rng = np.random.default_rng(0)
    log = with_signals(arm_log(ARM, 1), "torque", lambda tau: rng.normal(size=len(tau)))
    found = accepting(ARM, log)
    assert found.verdict.level == "do not use"
    assert "explains-nothing" in codes(found)


def test_a_log_of_friction_alone_says_little_about_the_links():
    """Links of a thousandth of the file's mass do not show beside friction."""
    model = Model(ARM)
    theta = 1e-3 * model.prior_theta()
    theta += [{"fv": 2.0, "fc": 3.0}.get(column.symbol, 0.0) for column in model.columns]
    found = accepting(ARM, simulated(ARM, theta))
    assert found.verdict.level != "usable"
    assert "links-not-seen" in codes(found)


def test_an_estimate_that_the_file_beats_is_not_usable():
    """Trained on one robot, tested on the robot that the file describes."""
    own = simulated(ARM, Model(ARM).prior_theta(), seed=2, noise=0.0)
    found = judged(ARM, arm_log(ARM, 1), validate_on=own)
    assert found.verdict.level == "do not use"
    assert "worse-than-file" in codes(found)


def test_a_wrong_validation_log_is_named_as_such(good):
    """Its torques have the wrong sign: the verdict blames that log, and is not usable."""
    wrong = with_signals(arm_log(ARM, 2), "torque", np.negative)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tested = with_validation(good, wrong)
    assert tested.verdict.level != "usable"
    assert "validation-log-wrong" in codes(tested)
    severe = [one for one in tested.findings if one.level == "severe"]
    assert severe
    assert all(one.words.startswith("validation log 'run'") for one in severe)


def test_an_accepted_severe_finding_needs_another_log_that_confirms():
    """Torques with the wrong sign, accepted: alone not to be used, and it says what was."""
    found = accepting(ARM, with_signals(arm_log(ARM, 1), "torque", np.negative))
    assert found.verdict.level == "do not use"
    assert "accepted" in codes(found)
    assert "torque-sign" in found.verdict.sentence


@pytest.mark.parametrize(
    "options",
    [
        {"method": "wls"},
        {"method": "ols"},
        {"method": "feasible"},
        {"method": "sequential"},
        {"equation": "energy"},
        {"equation": "power"},
    ],
    ids=str,
)
def test_every_method_and_equation_has_a_verdict(options):
    """Base parameters alone, link by link, without accelerations: a clean log is usable."""
    keep = {name: FEW[name] for name in ("processing", "friction_width")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = identify(
            ARM,
            arm_log(ARM, 1, noise=0.02),
            **keep,
            n_resamples=20,
            ranges=False,
            certify=False,
            **options,
        )
    assert found.verdict.level == "usable", found.verdict.sentence
    assert found.verdict.numbers.tested


def test_one_joint_has_a_verdict():
    """A pendulum: no joint is the worst of one."""
    one = Robot.from_urdf_text(URDF).lock({"elbow": 0.3})
    log = arm_log(one, 1, noise=0.05)
    found = judged(one, log)
    assert codes(found) <= {"input"}, found.verdict.sentence
    assert found.verdict.numbers.error < 0.01


def test_a_log_with_few_blocks_is_not_tested():
    """Too short to leave a part out: with care, and it says so."""
    log = arm_log(ARM, 1, noise=0.02)
    rows = slice(0, 160)
    short = Log(log.time[rows], {key: one[rows] for key, one in log.signals.items()}, name="run")
    found = judged(ARM, short, processing=replace(GIVEN, dead_band=None))
    assert found.verdict.level != "usable"


@pytest.mark.parametrize("method", ["entropic", "feasible"])
def test_a_short_log_of_little_motion_is_not_to_be_used(method, tmp_path):
    """0.8 s of the built-in arm: the errors that it shows are a tenth of those to come, the verdict
    tells them, and there is no robot file. Twenty seconds are usable.
    """
    robot = builtin_arm()
    model = Model(robot)
    truth = builtin_truth(model)
    motion = multisine(robot, seed=3)
    log = simulate(
        model,
        truth,
        motion,
        duration_s=20.0,
        rate_hz=250.0,
        sensors=Sensors(torque_noise=0.2, encoder_step=2e-5),
    )
    rows = (log.time > 9.0) & (log.time < 9.8)
    short = Log(log.time[rows], {key: one[rows] for key, one in log.signals.items()}, name="run")
    processing = Processing(cutoff_hz=20.0, torque_filter="same", dead_band="tenth")
    quick = {
        "method": method,
        "processing": processing,
        "friction_width": 0.0,
        "ranges": False,
        "n_resamples": 0,
        "certify": False,
    }
    if method == "entropic":
        quick |= {"gamma": "leave-blocks-out", "compare_terms": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, good = (identify(robot, one, **quick) for one in (short, log))
    assert found.verdict.level == "do not use"
    assert "little-determined" in codes(found)
    (finding,) = [one for one in found.findings if one.code == "little-determined"]
    assert "record for longer" in finding.words
    assert found.verdict.numbers.elsewhere > 3.0 * found.verdict.numbers.error
    with pytest.raises(EstimationError, match="write_anyway=True"):
        found.to_urdf(tmp_path / "a.urdf")
    assert good.verdict.level == "usable", good.verdict.sentence
    assert good.verdict.numbers.elsewhere < 0.05


@pytest.mark.parametrize("seed", range(20))
def test_a_right_model_misses_nothing(seed):
    """Logs of the virtual robot, whose model is that of the fit."""
    found = judged(ARM, arm_log(ARM, seed), gamma="leave-blocks-out")
    assert codes(found) == set()
    assert found.verdict.level == "usable"


@pytest.mark.dataset
def test_a_kinova_misses_something():
    """Parts of a recorded log that are unlike the rest: the model does not describe all of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = identify(
            kinova_robot(),
            kinova_log("opti_traj_testing1"),
            n_resamples=0,
            ranges=False,
            compare_terms=False,
            certify=False,
        )
    (reason,) = [one for one in found.verdict.reasons if one.code == "model-misses"]
    assert reason.value > 3.0
    assert "model-misses" in {one.code for one in found.findings}
    assert found.verdict.level == "usable with care"


@pytest.mark.parametrize("equation", ["energy", "power"])
def test_the_verdict_on_a_fit_of_energy_is_about_energy(equation):
    """Its error is a share of energy or power, in the sentence as in the numbers."""
    keep = {name: FEW[name] for name in ("processing", "friction_width", "n_resamples", "ranges")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = identify(ARM, arm_log(ARM, 1, noise=0.02), equation=equation, certify=False, **keep)
    assert f"of the {equation} is unexplained" in found.verdict.sentence
    assert "of the torque" not in found.verdict.sentence


@pytest.mark.parametrize("method", ["entropic", "wls"])
def test_a_floating_robot_has_a_verdict(method):
    """Base force, base torque and joints count alike."""
    options = {"gamma": 10.0} if method == "entropic" else {}
    found = identify(
        humanoid(),
        humanoid_log(1),
        method=method,
        processing=Processing(cutoff_hz=12.0, torque_filter="same", dead_band="tenth"),
        friction_width=0.0,
        compare_terms=False,
        ranges=False,
        n_resamples=20,
        certify=False,
        **options,
    )
    assert found.verdict.level == "usable", found.verdict.sentence
    assert {one.name for one in found.verdict.numbers.joints} >= {"base.fx", "base.nz"}


# --- the same sentence everywhere, and no robot file where it says no ----------------------------


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """An arm and a log of nothing but noise, as files."""
    folder = tmp_path_factory.mktemp("noise")
    (folder / "arm.urdf").write_text(URDF, encoding="utf-8")
    rng = np.random.default_rng(0)
    log = with_signals(arm_log(ARM, 1), "torque", lambda tau: rng.normal(size=len(tau)))
    write_csv(log, folder / "run.csv")
    robot = Robot.from_urdf(folder / "arm.urdf")
    found = accepting(robot, log)
    accepted = sorted({one.code for one in found.findings if one.level == "severe"})
    return folder, found, ",".join(accepted)


def test_the_sentence_is_the_same_everywhere(good, tmp_path):
    """repr, summary, notebook, report and result.json."""
    paths = good.save(tmp_path)
    sentence = good.verdict.sentence
    one_line = " ".join(repr(good).split())
    assert f"verdict {sentence}" in one_line
    assert sentence in " ".join(good.summary().split())
    assert sentence in good._repr_html_().replace("&#x27;", "'")
    assert json.loads(paths["result"].read_text())["verdict"]["sentence"] == sentence
    page = paths["report"].read_text().replace("&#39;", "'")
    told = sentence[0].upper() + sentence[1:]
    assert told in page
    assert page.index(told) < page.index('class="tiles"')


def test_warnings_stand_in_the_first_lines_of_the_report(noise, tmp_path):
    """Above the tiles, with their codes."""
    _, found, _ = noise
    page = found.save(tmp_path)["report"].read_text()
    first = page[: page.index('class="tiles"')]
    assert "do-not-use" in first
    assert f"verdict {found.verdict.sentence}" in " ".join(repr(found).split())
    for finding in [one for one in found.findings if one.alarming][:3]:
        assert f"({finding.code})" in first
    assert "warnings" in repr(found)


def test_no_robot_file_of_a_result_that_is_not_to_be_used(noise, tmp_path):
    """Python: refused with the option that overrides, which writes it; the rest is written."""
    _, found, _ = noise
    with pytest.raises(EstimationError, match="write_anyway=True"):
        found.to_urdf(tmp_path / "a.urdf")
    with pytest.raises(EstimationError, match="do not use"):
        found.to_mjcf(tmp_path / "a.xml")
    assert found.to_urdf(tmp_path / "a.urdf", write_anyway=True).exists()
    paths = found.save(tmp_path / "out")
    assert "identified_robot" not in paths
    document = json.loads(paths["result"].read_text())
    assert document["verdict"]["level"] == "do not use"
    (finding,) = [one for one in document["findings"] if one["code"] == "robot-file-not-written"]
    assert "--write-anyway" in finding["words"]
    anyway = found.save(tmp_path / "out", write_anyway=True)
    assert anyway["identified_robot"].exists()
    # and again without: the file of that run is not taken for one of this
    paths = found.save(tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").glob("*.identified.*"))
    assert names == ["arm.identified.joints.json.earlier", "arm.identified.urdf.earlier"]


def test_the_command_line_exits_with_1(noise, capsys, tmp_path):
    """No robot file without --write-anyway, also from export; the sentence is printed."""
    folder, found, accepted = noise
    out = tmp_path / "out"
    argv = ["identify", str(folder / "arm.urdf"), str(folder / "run.csv"), "-o", str(out)]
    argv += ["--accept", accepted, "--cutoff-hz", "10", "--torque-filter", "same"]
    argv += ["--dead-band", "tenth", "--gamma", "100", "--no-term-comparison"]
    argv += ["--resamples", "20", "--no-ranges", "--friction-width", "0"]
    assert main(argv) == 1
    text = capsys.readouterr().out
    assert "Verdict: do not use: " in text
    assert f"Verdict: {found.verdict.sentence}." in text
    assert "Assumed: " in text
    assert not list(out.glob("*.identified.*"))
    assert main(["export", str(out), "--to", "urdf"]) == 2
    assert "--write-anyway" in capsys.readouterr().err
    assert main(["export", str(out), "--to", "urdf", "--write-anyway"]) == 0
    assert main([*argv, "--write-anyway"]) == 1
    assert (out / "arm.identified.urdf").exists()
    capsys.readouterr()
    assert main(["compare", str(out), str(out)]) == 0
    assert "whose verdict was: do not use" in capsys.readouterr().out
    assert main(["validate", str(folder / "arm.urdf"), str(out), str(folder / "run.csv")]) == 1
    assert "Verdict: do not use: " in capsys.readouterr().out


def test_a_result_of_an_earlier_version_has_no_verdict(good, tmp_path):
    """It is read, validated, compared and exported as before."""
    path = good.save(tmp_path)["result"]
    document = json.loads(path.read_text())
    del document["verdict"], document["record"]["file_with_terms"]
    del document["hashes"]["document"], document["files"]
    path.write_text(json.dumps(document), encoding="utf-8")
    held_out = validate_result(ARM, read_result(path), arm_log(ARM, 2))
    assert held_out.overall.file_with_terms is None
    assert main(["compare", str(path), str(path)]) == 0


def test_write_anyway_needs_a_folder(capsys) -> None:
    """Without -o there is no robot file to write, and the option would do nothing."""
    assert main(["identify", "arm.urdf", "run.csv", "--write-anyway"]) == 2
    assert "give -o" in capsys.readouterr().err


def test_every_log_is_corrected_by_its_own_delay() -> None:
    """What a finding calls corrected is: the second of two logs may be late, or the first alone."""
    theta = true_theta(Model(ARM))
    right, other = (simulated(ARM, theta, seed=seed) for seed in (1, 2))
    other = replace(other, name="late")
    late = with_signals(other, "torque", lambda x: np.concatenate([np.full(4, x[0]), x[:-4]]))
    delay_s = 4.0 * float(np.median(np.diff(other.time)))
    for logs in ([right, late], [late, right]):
        found = judged(ARM, logs)
        used = [run.processing.torque_delay for run in found.estimate.runs]
        assert used[logs.index(late)] == pytest.approx(delay_s, rel=0.1)
        assert used[logs.index(right)] == "auto"
        assert [one.code for one in found.findings if one.alarming] == ["delay"]
