"""Two results side by side: parameters, errors, settings and the verdict."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from experiments import Experiment, chain_experiment
from small_arm import URDF, arm_log

from steelyard.errors import ResultError
from steelyard.estimators.estimate import ParameterEstimate
from steelyard.estimators.least_squares import wls
from steelyard.estimators.result_file import Result, read_result, result_document, write_result
from steelyard.identification.identify import identify
from steelyard.identification.outputs import document_of
from steelyard.model.terms import joint_terms
from steelyard.regression.compress import compress
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.validation.base_agreement import agreement, base_pair
from steelyard.validation.result_comparison import compare_results

ARM = Robot.from_urdf_text(URDF)


def written(folder, document) -> Result:
    """A result document, through its file."""
    write_result(folder / "result.json", document)
    return read_result(folder / "result.json")


def estimated(experiment: Experiment, seed: int, noise: float = 0.3) -> dict:
    """The result document of weighted least squares from torques with fresh noise."""
    rng = np.random.default_rng(seed)
    measured = experiment.measured(rng.normal(scale=noise, size=experiment.tau.shape))
    regression = compress(experiment.model, experiment.motion, measured)
    return result_document(experiment.model, wls(regression))


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> SimpleNamespace:
    """Results of the small arm: two logs by entropic, one by wls with fewer terms and options."""
    folder = tmp_path_factory.mktemp("results")
    first, second, test = (arm_log(ARM, seed, name=f"run {seed}") for seed in (1, 2, 3))
    processing = Processing(cutoff_hz=10.0, dead_band=0.1, torque_filter="same")
    quick = partial(
        identify, ARM, compare_terms=False, n_resamples=20, certify=False, friction_width=0.0
    )
    entropic = partial(quick, method="entropic", gamma=1.0, processing=processing)
    made = {
        "entropic": entropic(first, validate_on=test),
        "repeated": entropic(second, validate_on=test),
        "wls": quick(
            first,
            validate_on=second,
            method="wls",
            processing=replace(processing, cutoff_hz=12.0),
            terms=joint_terms(ARM.joint_names, ("viscous", "coulomb")),
        ),
    }
    return SimpleNamespace(
        **{name: written(folder, document_of(found)) for name, found in made.items()}
    )


def test_the_same_result_twice(results):
    """Compared with itself, a result differs in nothing."""
    found = compare_results(results.entropic, results.entropic)
    assert found.same_model
    assert found.agreement.holds
    assert found.agreement.outside == ()
    assert found.settings == ()
    assert all(pair.sigmas == 0.0 for pair in found.base)
    assert all(not pair.change.differs for pair in found.bodies)
    assert found.shared_logs == 1
    assert found.same_held_out is True
    assert (found.findings_only_in_a, found.findings_only_in_b) == ((), ())


def test_two_logs_of_one_robot_agree(results):
    """Logs of one robot give results that agree, with sigmas as computed by hand."""
    found = compare_results(results.entropic, results.repeated)
    assert found.agreement.holds, found.agreement.words
    assert "the results agree: the differences" in found.agreement.words
    assert found.shared_logs == 0
    assert {pair.what for pair in found.settings} >= {"logs"}
    documents = [result.document["estimate"] for result in (results.entropic, results.repeated)]
    for k, pair in enumerate(found.base):
        a, b = (document["parameters"][k] for document in documents)
        spread = np.hypot(a["sigma_cluster"], b["sigma_cluster"])
        assert pair.sigmas == pytest.approx((b["value"] - a["value"]) / spread)
        assert pair.within is (abs(pair.half_widths) <= 1.0)
    assert [pair.name for pair in found.bodies] == ["upper", "fore"]
    masses = [
        next(p["value"] for p in r.document["standard"]["parameters"] if p["name"] == "fore.m")
        for r in (results.entropic, results.repeated)
    ]
    assert (found.bodies[1].mass_a.value, found.bodies[1].mass_b.value) == tuple(masses)
    assert found.bodies[1].ranges_overlap
    assert "elbow.fc" in [pair.name for pair in found.terms]


def test_errors_side_by_side(results):
    """Training error and the three held-out errors, over all joints and for each."""
    found = compare_results(results.entropic, results.repeated)
    together = [pair for pair in found.errors if pair.joint is None]
    assert [(pair.what, pair.held_out) for pair in together] == [
        ("training", False),
        ("outside the dead band", True),
        ("all samples", True),
        ("all, unfiltered torque", True),
    ]
    overall = results.repeated.document["validation"]["overall"]["prediction"]
    assert together[0].a == results.entropic.document["estimate"]["relative_error"]
    assert together[2].b == overall["relative_error_all"]
    joints = {pair.joint for pair in found.errors if pair.held_out and pair.joint}
    assert joints == {"shoulder", "elbow"}
    assert found.same_held_out is True


def test_other_methods_terms_and_processing(results):
    """What was done differently is listed; parameters of another combination are not compared."""
    found = compare_results(results.entropic, results.wls)
    settings = {pair.what: (pair.a, pair.b) for pair in found.settings}
    assert settings["method"] == ("entropic", "wls")
    assert settings["cutoff_hz"] == ("10", "12")
    assert settings["terms in one only"][1] == "none"
    assert "shoulder.Ia" in settings["terms in one only"][0]
    assert settings["prior"][1] == "none"
    assert not found.same_model
    assert found.shared_logs == 1
    assert found.same_held_out is False
    assert "elbow.fo" in found.base_only_in_a
    assert found.bodies == ()
    assert found.bodies_only_in_a == ()
    for name in found.other_combinations:
        pair = next(pair for pair in found.base if pair.name == name)
        assert (pair.sigmas, pair.within) == (None, None)
        assert pair.a.combination != pair.b.combination
    notes = " ".join(found.notes)
    assert "base parameters only in A, not compared" in notes
    assert "no standard parameters" in notes
    codes = {finding.code for finding in found.findings_only_in_a}
    assert codes
    assert not codes & {f["code"] for f in results.wls.document["findings"]}


def test_settings_are_compared_by_value(results, tmp_path):
    """Values that differ in a late digit, or late in a long list, are told apart."""
    document = copy.deepcopy(dict(results.entropic.document))
    document["robot"]["gravity"] = [0.0, 0.0, -9.8100000001]
    document["robot"]["floating_base"] = True
    found = compare_results(results.entropic, written(tmp_path, document))
    settings = {pair.what: (pair.a, pair.b) for pair in found.settings}
    assert settings == {
        "gravity": ("[0.0, 0.0, -9.81]", "[0.0, 0.0, -9.8100000001]"),
        "floating base": ("no", "yes"),
    }


def test_verdicts_are_right_as_often_as_they_say(tmp_path):
    """Pairs with independent noise nearly all agree, with about one parameter in twenty outside
    its interval; if one parameter differs by ten standard deviations, none agrees.
    """
    experiment = chain_experiment(1, n_joints=2, n_samples=800)
    documents = [estimated(experiment, seed) for seed in range(20)]
    stored = [written(tmp_path, document) for document in documents]
    agreed = [
        compare_results(stored[i], stored[j]).agreement
        for i in range(20)
        for j in range(i + 1, min(i + 3, 20))
    ]
    assert sum(found.holds for found in agreed) >= 0.95 * len(agreed)
    share = np.mean([len(found.outside) / found.n for found in agreed])
    assert 0.02 < share < 0.10
    heavier = copy.deepcopy(documents[0])
    entry = heavier["estimate"]["parameters"][0]
    step = 10.0 * (entry["sigma_cluster"] or entry["sigma"])
    for key in ("value", "lower", "upper", "predicts_with"):
        entry[key] += step
    other = written(tmp_path, heavier)
    verdicts = [compare_results(result, other).agreement for result in stored[1:]]
    assert not any(found.holds for found in verdicts)
    assert all(entry["name"] in found.outside for found in verdicts)
    assert all("differ by more than chance explains" in found.words for found in verdicts)


def parameter(value: float, sigma: float, **changes: object) -> ParameterEstimate:
    """A base parameter with an interval of two standard deviations."""
    made = ParameterEstimate(
        "a.m", "a.m", "kg", value, sigma, 0.0, None, value - 2 * sigma, value + 2 * sigma,
        "confidence",
    )  # fmt: skip
    return replace(made, **changes)


def test_sigmas_by_hand():
    """3 - 4 - 5: a difference of 1 with deviations of 0.3 and 0.4 is two joint ones."""
    pair = base_pair(parameter(1.0, 0.3), parameter(2.0, 0.4))
    assert pair.sigmas == pytest.approx(2.0)
    assert pair.half_widths == pytest.approx(1.0)
    assert base_pair(parameter(2.0, 0.4), parameter(1.0, 0.3)).sigmas == pytest.approx(-2.0)
    cluster = base_pair(parameter(1.0, 0.1, sigma_cluster=0.3), parameter(2.0, 0.4))
    assert cluster.sigmas == pytest.approx(2.0)


@pytest.mark.parametrize("kind", ["held", "undetermined"])
def test_parameters_without_interval_are_not_counted(kind):
    """A parameter that is held or undetermined in one result has no difference in sigmas."""
    value = float("nan") if kind == "undetermined" else 1.0
    pair = base_pair(parameter(1.0, 0.3), parameter(value, 0.4, interval_kind=kind))
    assert (pair.sigmas, pair.within) == (None, None)
    assert agreement([pair], 0.95).holds is None
    assert "nothing can be said" in agreement([pair], 0.95).words


def test_the_verdict_in_words():
    """One of ten is 1.2 times its ± apart: by chance. Two times and more: they differ."""
    alike = [base_pair(parameter(1.0, 0.3), parameter(1.0, 0.4)) for _ in range(9)]
    pairs = [replace(pair, name=f"b{k}.m") for k, pair in enumerate(alike)]
    for apart, verdict in ((1.2, "the results agree: the diff"), (2.5, "the results differ by m")):
        odd = base_pair(parameter(1.0, 0.3), parameter(1.0 + apart, 0.4))
        words = agreement([*pairs, odd], 0.95).words
        assert words.startswith(verdict)
        assert f"The largest of 10 differences, of a.m, is {apart:.2g} times the ± of both" in words
        # Bonferroni: the 0.05 % quantile of both tails, 3.29 sigma, over 1.96 sigma
        assert "by chance the largest of so many can be 1.7 times it" in words
        assert words.endswith("1 differs by more than that ±, which about 0.5 of 10 do by chance")
    assert "by more than that ±" not in agreement(pairs, 0.95).words


def test_exact_parameters():
    """Without any spread, equal values agree and others do not."""
    same = base_pair(parameter(1.0, 0.0), parameter(1.0, 0.0))
    other = base_pair(parameter(1.0, 0.0), parameter(1.1, 0.0))
    assert (same.sigmas, same.within) == (0.0, True)
    assert other.within is False
    assert agreement([same], 0.95).holds
    assert not agreement([other], 0.95).holds


def test_nothing_in_common_is_refused(results, tmp_path):
    """Results of robots with other names share no parameter."""
    text = json.dumps(results.wls.document)
    for name in ("shoulder", "elbow", "upper", "fore"):
        text = text.replace(name, f"x{name}")
    other = written(tmp_path, json.loads(text))
    with pytest.raises(ResultError, match="no parameter in common: one is for joints shoulder, e"):
        compare_results(results.wls, other)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("estimate", "interval_level"), 2.0, "interval_level"),
        (("estimate", "parameters", 0, "sigma"), "small", "'sigma' holds 'small'"),
        (("estimate", "parameters", 0, "interval_kind"), "sure", "'interval_kind' is 'sure'"),
        (("standard", "parameters"), 3, "'parameters' must be a list"),
        (("findings", 0), 3, "'findings' 1: is 3; it must be an object"),
        (("validation", "overall"), [], "'overall': is a list; it must be an object"),
        (("model", "columns", 0, "owner"), None, "has no 'owner'"),
    ],
)
def test_damaged_results_are_refused(results, tmp_path, path, value, words):
    """An entry of a wrong type is named, in either of the results."""
    document = copy.deepcopy(dict(results.entropic.document))
    within = document
    for key in path[:-1]:
        within = within[key]
    within[path[-1]] = value
    damaged = written(tmp_path, document)
    for pair in ((damaged, results.entropic), (results.entropic, damaged)):
        with pytest.raises(ResultError) as refusal:
            compare_results(*pair)
        assert words in str(refusal.value)
