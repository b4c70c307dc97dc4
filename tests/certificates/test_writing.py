"""Certificates: valid ones verify, damaged ones do not, and hostile files are refused."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from fractions import Fraction
from itertools import islice
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from certificate_cases import honest, mutant, optimal, plain, problem, with_others
from exact_second import coefficients, is_valid, proves, resealed
from experiments import chain_experiment
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_robots import BETA_T1, BETA_T2
from project import DOCS, SOURCES
from seeds import every

from steelyard import Robot
from steelyard.certificates.base_feasibility import (
    base_feasibility,
    correct_base,
    exact_witness,
)
from steelyard.certificates.document import read_certificate
from steelyard.certificates.optimality import prove_gap
from steelyard.certificates.verify import verify
from steelyard.certificates.writing import (
    certificate_of,
    feasible_certificate,
    fit_certificate,
    optimal_certificate,
    provable_base,
    read_schema,
    write_certificate,
)
from steelyard.conic.exact_text import (
    MAX_DIGITS,
    CertificateError,
    number,
    number_text,
    rounded_down,
    rounded_up,
)
from steelyard.conic.problem import conic_problem
from steelyard.conic.settle import holds_exactly, settle
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.feasible import fit_feasible
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints, Ellipsoid
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale
from steelyard.regression.compress import compress
from steelyard.robot.inertia import from_com
from steelyard.testing.random_robots import random_robot

PAGE = DOCS / "certificates.md"
OUTSIDE = ("robot", "steelyard")  # not part of any claim


@pytest.fixture(scope="module")
def samples() -> list[tuple[dict, dict]]:
    """Valid certificates, each with an earlier one."""
    return list(islice(with_others(0), 60))


@pytest.fixture(scope="module")
def one_of_each() -> dict[str, dict]:
    """A certificate of every kind."""
    found: dict[str, dict] = {}
    for document in honest(1):
        found.setdefault(document["kind"], document)
        if len(found) == 3:
            return found
    raise AssertionError


def accepts(document: dict) -> bool:
    """Whether verify calls it valid; an unreadable one is invalid."""
    try:
        return verify(document).valid
    except CertificateError:
        return False


def second_opinion(document: dict) -> bool:
    """Whether the independent implementation calls it valid; malformed numbers are invalid."""
    try:
        return is_valid(document)
    except (ValueError, ZeroDivisionError, IndexError):
        return False


# --- valid and damaged ----------------------------------------------------------------------


def test_valid_certificates_are_accepted_by_both(samples):
    """Every kind occurs, follows the published schema, and both implementations accept it."""
    validator = jsonschema.Draft202012Validator(read_schema())
    for document, _ in samples:
        validator.validate(document)
        verdict = verify(document)
        assert verdict.valid, verdict.words
        assert second_opinion(document)
    assert {document["kind"] for document, _ in samples} == {"feasible", "infeasible", "optimal"}


def test_mutants_are_judged_as_by_the_second_implementation(samples):
    """Perturbed by 1e-9 to 1e-3, swapped, outdated, edited: accepted only if still true."""
    rng = np.random.default_rng(2)
    verdicts = {True: 0, False: 0}
    for k in range(300):
        document, other = samples[k % len(samples)]
        way, damaged = mutant(document, other, rng)
        assert accepts(damaged) == second_opinion(damaged), way
        verdicts[accepts(damaged)] += 1
    assert min(verdicts.values()) > 30  # both verdicts occur


def test_hash_mismatches_are_reported_by_name(samples):
    """A part changed without a new hash is named, even if its claim still holds."""
    rng = np.random.default_rng(3)
    named = {"constraints": 0, "digits": 0}
    for document, _ in samples:
        damaged = copy.deepcopy(document)
        if rng.random() < 0.5:
            damaged["constraints"][0]["name"] += "!"
            wrong = "constraints"
        else:
            damaged["parameters"][0] += "!"
            wrong = "digits"
        verdict = verify(damaged)
        assert not verdict.valid
        assert verdict.details["problems"] == [f"the hash of the {wrong} does not match"]
        assert proves(damaged)
        assert verify(resealed(damaged)).valid
        named[wrong] += 1
    assert min(named.values()) > 0


def test_a_certificate_for_another_model_is_refused(one_of_each):
    """The expected hash of the model or the constraints must be the stated one."""
    for document in one_of_each.values():
        model, constraints = document["hashes"]["model"], document["hashes"]["constraints"]
        assert verify(document, model=model, constraints=constraints).valid
        verdict = verify(document, model="0" * 64)
        assert verdict.details["problems"] == ["the hash of the model is not the expected one"]
        verdict = verify(document, constraints="0" * 64)
        assert "constraints is not the expected one" in verdict.words


def test_invalid_certificates_say_what_is_wrong(one_of_each):
    """The words name the condition, the parameter or the number."""
    document = copy.deepcopy(one_of_each["infeasible"])
    document["numbers"]["y"][0] = number_text(number(document["numbers"]["y"][0]) + 1)
    words = verify(resealed(document)).words
    assert words.startswith("invalid: ")
    assert "the duals do not balance at" in words
    document = copy.deepcopy(one_of_each["optimal"])
    document["numbers"]["lower_bound"] = document["numbers"]["value"]
    assert "below the stated one" in verify(resealed(document)).words
    document = copy.deepcopy(one_of_each["feasible"])
    block = document["constraints"][0]
    block["b"][0] = "-1e9"
    assert f'the condition "{block["name"]}" does not hold' in verify(resealed(document)).words


def test_equality_is_distinguished_from_strict_feasibility():
    """A point mass is physical with equality; with 1e-40 less inertia it is not."""
    model = Model(Robot.from_dh([{}], convention="modified"), ())
    given_blocks = blocks(model, Constraints())
    point = [2, 1, 0, 0, 0, 0, Fraction(1, 2), 0, 0, Fraction(1, 2)]
    verdict = verify(feasible_certificate(model, given_blocks, [Fraction(x) for x in point]))
    assert verdict.valid
    assert verdict.details["strict"] is False
    assert verdict.details["with_equality"] == ["'link_1' is physical"]
    point[6] -= Fraction(1, 10**40)
    with pytest.raises(EstimationError, match="there is no certificate"):
        feasible_certificate(model, given_blocks, [Fraction(x) for x in point])
    ball = np.array([1, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])
    document = feasible_certificate(model, given_blocks, ball)
    assert document["numbers"]["theta"][4] == "0.1"  # the decimals as written are feasible
    assert verify(document).details["strict"] is True


@pytest.mark.parametrize("share", [0, Fraction(1, 2), 1, Fraction(101, 100)])
def test_a_centre_of_mass_inside_on_and_outside_an_ellipsoid(share):
    """Strictly inside, with equality on the surface, and no certificate outside; the place where
    equality holds is stated.
    """
    model = Model(Robot.from_dh([{}], convention="modified"), ())
    region = Ellipsoid((0, 0, 0), (0.5, 0.25, 0.125))
    given_blocks = blocks(model, Constraints(com={"link_1": region}))
    y = Fraction(share) * Fraction(1, 4)
    body = [Fraction(1), Fraction(0), y, Fraction(0)]
    body += [1 + y * y, Fraction(0), Fraction(1), Fraction(0), Fraction(0), 1 + y * y]
    if share > 1:
        with pytest.raises(EstimationError, match="there is no certificate"):
            feasible_certificate(model, given_blocks, body)
        return
    details = verify(feasible_certificate(model, given_blocks, body)).details
    places = [k for k, block in enumerate(given_blocks) if block.kind == "second_order"]
    assert len(places) == 1
    assert details["strict"] is (share < 1)
    assert details["positions_with_equality"] == (places if share == 1 else [])


# --- what is proven -------------------------------------------------------------------------


def three_links() -> Model:
    """The robot of Sousa and Cortesão (2014), Table 1."""
    rows = [{}, {"alpha": -np.pi / 2}, {"a": 1.0}]
    return Model(Robot.from_dh(rows, convention="modified"), ())


@pytest.mark.parametrize(
    ("consistency", "beta", "kind"),
    [
        ("sousa", BETA_T1, "feasible"),
        ("sousa", BETA_T2, "infeasible"),
        ("full", BETA_T1, "infeasible"),
        ("full", BETA_T2, "infeasible"),
    ],
)
def test_table_1_of_sousa_and_cortesao(tmp_path, consistency, beta, kind):
    """The verdicts on Table 1 as files; beta_t1 passes the paper's test and is infeasible."""
    model = three_links()
    base = base_map(model)
    given_blocks = blocks(model, Constraints(consistency=consistency, second_moment=None))
    answer = base_feasibility(base, beta, given_blocks, parameter_scale(model))
    document = certificate_of(model, base, beta, given_blocks, answer)
    write_certificate(tmp_path / "certificate.json", document)
    verdict = verify(tmp_path / "certificate.json", model=model.hash)
    assert verdict.valid
    assert verdict.kind == kind
    assert second_opinion(read_certificate(tmp_path / "certificate.json"))


@every("seed", range(6))
def test_duals_of_infeasibility_are_no_proof_for_a_feasible_robot(seed):
    """Duals that exclude a negative friction do not exclude feasible base parameters."""
    it = problem(seed)
    broken = it.inner.copy()
    viscous = next(k for k, column in enumerate(it.model.columns) if column.kind == "viscous")
    broken[viscous] = -it.scale[viscous]
    beta = it.base.K @ broken
    answer = base_feasibility(it.base, beta, it.blocks, it.scale)
    document = certificate_of(it.model, it.base, beta, it.blocks, answer)
    assert document["kind"] == "infeasible"
    numbers = document["numbers"] | {"beta": [number_text(x) for x in it.base.K @ it.inner]}
    verdict = verify(resealed({**document, "numbers": numbers}))
    assert not verdict.valid
    assert "the duals are no proof" in verdict.words


def test_corrected_base_parameters_are_feasible_as_written():
    """On the boundary, the written decimals are feasible and near the closest point."""
    model = three_links()
    base = base_map(model)
    given_blocks = blocks(model, Constraints(second_moment=None))
    scale = parameter_scale(model)
    closest = correct_base(base, BETA_T1, given_blocks, scale)
    beta, witness = provable_base(base, closest.theta, given_blocks, scale)
    assert np.linalg.norm(beta - closest.beta) < 1e-6
    document = feasible_certificate(model, given_blocks, witness, base=base, beta=beta)
    assert verify(document).valid
    assert [float(number(x)) for x in document["numbers"]["beta"]] == beta.tolist()


def test_base_parameters_are_claimed_only_where_their_values_are_given():
    """A map without values claims nothing about K theta, and neither do values without a map."""
    it = problem(0)
    beta = it.base.K @ it.inner
    witness = exact_witness(it.base, beta, it.inner, it.blocks)
    for part in ({"base": it.base}, {"beta": beta}):
        document = feasible_certificate(it.model, it.blocks, it.inner, **part)
        assert set(document["numbers"]) == {"theta"}
        assert document["base_parameters"] is None
    both = feasible_certificate(it.model, it.blocks, witness, base=it.base, beta=beta)
    assert set(both["numbers"]) == {"theta", "K", "beta"}
    assert both["base_parameters"] == list(it.base.names)


def test_a_base_on_the_boundary_is_moved_as_little_as_decimals_need():
    """Point masses have singular pseudo-inertias: K theta as decimals is outside about as often as
    inside. What is returned has a witness, and is near.
    """
    rng = np.random.default_rng(4)
    moved = 0
    for seed in range(6):
        model = Model(random_robot(np.random.default_rng(seed), 2))
        base, scale = base_map(model), parameter_scale(model)
        conditions = blocks(model, Constraints())
        theta = np.zeros(len(scale))
        for first in model.first_column_of_body:
            theta[first : first + 10] = from_com(
                rng.uniform(1, 3), rng.normal(size=3) * 0.1, np.zeros((3, 3))
            )
        beta, witness = provable_base(base, theta, conditions, scale)
        size = np.max(np.abs(base.K * scale), axis=1)
        away = np.max(np.abs(beta - base.K @ theta) / size)
        assert away < 1e-6
        moved += any(float(f"{x:.15g}") != y for x, y in zip(base.K @ theta, beta, strict=True))
        document = feasible_certificate(model, conditions, witness, base=base, beta=beta)
        assert verify(document).valid
    assert moved


def fitted(seed: int, n_joints: int, noise: float, pull: float, consistency: str):
    """A constrained fit and its data: R, z and the rest of the squared residuals."""
    world = chain_experiment(seed, n_joints, n_samples=500)
    rng = np.random.default_rng(seed)
    measured = world.measured(noise * rng.normal(size=world.tau.shape))
    regression = compress(world.model, world.motion, measured)
    known = Constraints(consistency=consistency)
    fit = fit_feasible(world.model, regression, known, pull=pull)
    factor = regression.system(fit.weights) / fit.sigma
    return world.model, regression.base, factor[:-1, :-1], factor[:-1, -1], factor[-1, -1] ** 2, fit


@pytest.mark.parametrize("consistency", ["full", "sousa"])
@pytest.mark.parametrize(("pull", "largest"), [(1e-2, 1e-3), (1e-9, 1e-6)])
@pytest.mark.parametrize(("seed", "n_joints", "noise"), [(0, 2, 0.5), (1, 3, 20.0), (2, 3, 40.0)])
def test_the_gap_of_a_fit_is_small_and_true(seed, n_joints, noise, pull, largest, consistency):
    """The proven gap is small, and at least the true one, found by a solver without pull."""
    model, base, R, z, rest, fit = fitted(seed, n_joints, noise, pull, consistency)
    scale = parameter_scale(model)
    duals = fit.solution.duals
    proof = prove_gap(base, R, z, fit.theta, fit.blocks, duals, scale, rest=rest)
    best = solve(conic_problem(len(scale), fit.blocks, scale, F=R @ base.K, g=z))
    value = 0.5 * (np.sum((z - R @ base.K @ fit.theta) ** 2) + rest)
    # the solver's answer may be slightly infeasible, where the sum of squares can be smaller
    inside = settle(best.theta, fit.blocks, scale).theta
    least = 0.5 * (np.sum((z - R @ base.K @ inside) ** 2) + rest)
    assert float(proof.value) == pytest.approx(value, rel=1e-12)
    assert float(proof.lower_bound) <= least * (1 + 1e-12)
    assert 0 <= proof.relative_gap <= largest
    document = optimal_certificate(model, base, R, z, fit.blocks, proof)
    assert verify(document).valid
    assert second_opinion(document)


def test_of_two_bounds_on_a_parameter_the_tighter_one_proves_the_gap():
    """Friction that is held at the smaller of two upper limits, and at the larger of two lower
    ones, has a gap as small as with one limit.
    """
    world = chain_experiment(6, 2, n_samples=500)
    noise = 0.5 * np.random.default_rng(6).normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, world.measured(noise))
    ranges = {"joint_1.fv": (None, 0.1), "joint_2.fv": (3.0, None)}
    known = Constraints(bounds={**ranges, "viscous": (0.01, 5.0)})
    fit = fit_feasible(world.model, regression, known, pull=1e-9)
    value = dict(zip(world.model.column_names, fit.theta, strict=True))
    assert value["joint_1.fv"] == pytest.approx(0.1, abs=1e-6)
    assert value["joint_2.fv"] == pytest.approx(3.0, abs=1e-6)
    document = fit_certificate(world.model, regression, fit)
    assert document is not None
    assert verify(document).valid
    gap, whole = (number(document["numbers"][key]) for key in ("gap", "value"))
    assert 0 <= gap / whole < 1e-6


def test_random_feasible_points_are_never_below_the_bound():
    """None of 200 random feasible parameters has a value below the proven bound."""
    model, base, R, z, rest, fit = fitted(4, 2, 50.0, 1e-9, "full")
    scale = parameter_scale(model)
    proof = prove_gap(base, R, z, fit.theta, fit.blocks, None, scale, rest=rest)
    assert proof.lower_bound > rest / 2 * (1 + 1e-9)  # the conditions are active here
    rng = np.random.default_rng(0)
    terms = [column.kind != "rigid_body" for column in model.columns]
    n_inside = 0
    for _ in range(200):
        robot = model.prior_theta() * rng.uniform(0.5, 2.0)
        robot[terms] = rng.uniform(0.0, 2.0, size=sum(terms))
        share = 10.0 ** rng.uniform(-6, 0)
        theta = (1.0 - share) * fit.theta + share * robot
        if all(holds_exactly(block, theta) for block in fit.blocks):
            n_inside += 1
            value = 0.5 * (np.sum((z - R @ base.K @ theta) ** 2) + rest)
            assert value >= float(proof.lower_bound) * (1 - 1e-12)
    assert n_inside > 100


def test_a_fit_has_a_certificate():
    """A fit and its factors give a valid certificate of optimality."""
    world = chain_experiment(5, 2, n_samples=300)
    noise = 5.0 * np.random.default_rng(5).normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, world.measured(noise))
    document = fit_certificate(world.model, regression, fit_feasible(world.model, regression))
    verdict = verify(document, model=world.model.hash)
    assert verdict.valid
    gap, value = (number(document["numbers"][key]) for key in ("gap", "value"))
    assert 0 <= gap / value < 1e-3
    assert float(value) == pytest.approx(0.5 * (regression.n_rows - regression.base.rank), rel=0.05)


def test_no_gap_is_proven_for_parameters_outside():
    """Parameters that do not meet the conditions have no certificate."""
    model, base, R, z, rest, fit = fitted(0, 2, 0.5, 1e-2, "full")
    theta = fit.theta.copy()
    theta[list(model.column_names).index("joint_1.fv")] = -1e-9
    scale = parameter_scale(model)
    assert prove_gap(base, R, z, theta, fit.blocks, None, scale, rest=rest) is None


# --- numbers --------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300)
def test_floats_are_written_exactly(x):
    """A float's text reads back as exactly that float."""
    assert number(number_text(x)) == Fraction(x)


@given(st.fractions())
@settings(max_examples=200)
def test_fractions_are_written_exactly_and_rounded_to_the_safe_side(x):
    """Rational texts are exact; rounded ones are close and on the safe side."""
    assert number(number_text(x)) == x
    down, up = number(rounded_down(x)), number(rounded_up(x))
    assert down <= x <= up
    assert up - down <= abs(x) * Fraction(1, 10**15)


def test_long_numbers_are_read_and_written():
    """Numbers beyond Python's 4,300 digits are read and written, up to our limit."""
    x = Fraction(7 ** (MAX_DIGITS), 1)
    assert number(number_text(x / 11**400)) == x / 11**400
    with pytest.raises(CertificateError, match="more than 10000 digits"):
        number("1" * (MAX_DIGITS + 1))
    with pytest.raises(CertificateError, match="more than 10000 digits"):
        number_text(Fraction(10) ** (MAX_DIGITS + 1))


@pytest.mark.parametrize("text", ["", "x", "1.", ".5", "1e", "1/0", "0/0", "nan", "inf", "1_0",
                                  "1/2/3", " 1", "1\n", "٣", "0x", "0x1", "--1", "1e999999",
                                  "1e99999", "0x1p99999", None, 1, 1.5, True, []])  # fmt: skip
def test_what_is_no_number_is_refused(text):
    """Only exact numbers in quotes are accepted."""
    with pytest.raises(CertificateError):
        number(text)


def test_the_second_implementation_is_right_about_eigenvalues():
    """The independent implementation's characteristic polynomial agrees with NumPy's."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(1, 7))
        M = rng.integers(-9, 10, size=(n, n))
        M = M + M.T
        expected = np.poly(-M.astype(float))[1:]
        assert np.allclose(coefficients(M.tolist()), expected, rtol=1e-9, atol=1e-6)


# --- hostile files --------------------------------------------------------------------------


def refusal(tmp_path: Path, content: bytes) -> str:
    """The message with which a file is refused."""
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(CertificateError) as refused:
        verify(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 700
    return str(refused.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "holds a list, not a certificate"),
        (b"{}", "its schema is nothing"),
        (b'{"schema": "steelyard.result/1"}', "is a result, not a certificate"),
        (b'{"schema": "steelyard.result/1", "level": 0.95}', "is a result, not a certificate"),
        (b'{"a": 1, "a": 2}', "names the key 'a' twice"),
        (b'{"a": 1.5}', "is not in quotes"),
        (b'{"a": NaN}', "is not in quotes"),
        (b'{"schema": "steelyard.certificate/1", "kind": "magic"}', "the kind is 'magic'"),
        (b'{"schema": "steelyard.certificate/1", "kind": []}', "the kind is list"),
        (b'{"schema": "steelyard.certificate/1", "kind": "feasible"}', "has no parameters"),
    ],
)
def test_files_that_are_no_certificates(tmp_path, content, words):
    """Each is refused with a one-line message."""
    assert words in refusal(tmp_path, content)


def test_missing_files_and_folders(tmp_path):
    """Each is refused with a one-line message."""
    with pytest.raises(CertificateError, match="there is no such file"):
        verify(tmp_path / "none.json")
    with pytest.raises(CertificateError, match="is a folder"):
        verify(tmp_path)


def test_large_files_are_refused(tmp_path, monkeypatch):
    """A file above the size limit is refused before it is parsed."""
    monkeypatch.setattr("steelyard.certificates.document.MAX_BYTES", 1000)
    assert "larger than" in refusal(tmp_path, b" " * 1001)


def test_junk_in_any_place_never_raises_other_errors(one_of_each):
    """Any entry replaced by junk gives a verdict or a CertificateError."""
    junk = [None, True, 3, -1, 10**30, "x", "1", "", [], [[]], ["1"], {}, {"a": 1}, "9" * 20_000]
    rng = np.random.default_rng(0)
    for document in one_of_each.values():
        for _ in range(150):
            damaged = copy.deepcopy(document)
            holder, key = damaged, str(rng.choice(list(damaged)))
            for _ in range(int(rng.integers(1, 5))):
                inner = holder[key]
                if isinstance(inner, dict) and inner:
                    holder, key = inner, str(rng.choice(list(inner)))
                elif isinstance(inner, list) and inner:
                    holder, key = inner, int(rng.integers(len(inner)))
            holder[key] = junk[int(rng.integers(len(junk)))]
            same = all(damaged[k] == v for k, v in document.items() if k not in OUTSIDE)
            assert accepts(damaged) == same
            if isinstance(damaged["hashes"], dict):
                accepts(resealed(damaged))


@pytest.mark.parametrize("size", [4, 20])
def test_numbers_that_take_too_long_are_refused(one_of_each, size):
    """Numbers of thousands of digits with different denominators are refused early."""
    document = copy.deepcopy(one_of_each["feasible"])
    document["constraints"] = []
    n = len(document["parameters"])
    primes = iter(range(10**9 + 1, 10**9 + 10**7, 2))

    def long() -> str:
        return "1" * 4_900 + "/" + str(next(primes)) * 500

    n_entries = size * (size + 1) // 2
    block = {"name": "long", "kind": "psd", "columns": [0]}
    block |= {"A": [[long()] for _ in range(n_entries)], "b": [long() for _ in range(n_entries)]}
    document["constraints"] = [block] * 20
    document["numbers"] = {"theta": [long() for _ in range(n)]}
    with pytest.raises(CertificateError, match="would take too long"):
        verify(resealed(document))


def test_verifying_needs_only_the_standard_library(one_of_each, tmp_path):
    """Verifying a certificate imports neither NumPy nor any other library."""
    path = tmp_path / "certificate.json"
    write_certificate(path, one_of_each["optimal"])
    code = (
        "import sys\nfrom steelyard.certificates.verify import verify\n"
        f"assert verify({str(path)!r}).valid\n"
        "names = {n.split('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)\n"
        "ours = {n for n in sys.modules if n.startswith('steelyard.')}\n"
        "print(sorted(names - {'__main__'}), sorted(ours))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(SOURCES)!r})\n{code}"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours = (
        *("_files", "_files.access", "_files.json_text", "_files.limits", "_version"),
        *("certificates", "certificates.bound", "certificates.document", "certificates.drawn"),
        *("certificates.verify", "conic", "conic.exact", "conic.exact_text", "errors"),
    )
    assert done.stdout.strip() == f"['steelyard'] {[f'steelyard.{name}' for name in ours]}"


def test_the_verifier_in_the_docs_works(one_of_each, tmp_path, capsys):
    """The page's verifier accepts a certificate of infeasibility and rejects a damaged one."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL).group(1)
    document = one_of_each["infeasible"]
    damaged = copy.deepcopy(document)
    damaged["numbers"]["y"][0] = number_text(number(damaged["numbers"]["y"][0]) + 1)
    for content, valid in ((document, True), (damaged, False)):
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(content))
        exec(code.replace("certificate.json", str(path)), {})
        assert capsys.readouterr().out.strip() == str(valid)


def test_case_makers_return_their_kind():
    """The helpers `plain` and `optimal` make certificates of their kind."""
    rng = np.random.default_rng(0)
    assert plain(problem(0), rng)["kind"] == "feasible"
    assert optimal(problem(0), rng)["kind"] == "optimal"
