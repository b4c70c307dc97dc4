"""Certificates are bound to results and robots: forged files with honest hashes are rejected."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_second import proves, resealed
from given_signals import FEW
from small_arm import LINK, URDF, arm_log, write_arm

from steelyard._files.result_seal import sealed
from steelyard.certificates.bound import ROUNDING
from steelyard.certificates.document import read_certificate
from steelyard.certificates.verify import verify
from steelyard.cli import main
from steelyard.conic.exact_text import CertificateError, number, number_text
from steelyard.errors import ResultError, SteelyardError
from steelyard.estimators.result_file import read_result
from steelyard.identification.identify import identify
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.knowledge.overlay.toml_file import read_overlay

TOOL = (
    LINK.format(name="tool", mass="0.3")
    + '<joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/>'
    '<origin xyz="0.2 0 0"/></joint></robot>'
)
TEXT = URDF.replace("</robot>", TOOL)
OVERLAY = "[constraints]\ntotal_mass = [0.1, 50.0]\n"
METHODS = ("entropic", "feasible")
BASE_DIGITS = ("name", "predicts_with", "value")


@dataclass(frozen=True)
class Made:
    """What identify wrote, and the robot that it was made with."""

    folder: Path
    robot: Path
    overlay: Path
    certificate: dict
    result: dict

    def copies(self) -> tuple[dict, dict]:
        """Certificate and result, to be changed."""
        return copy.deepcopy(self.certificate), copy.deepcopy(self.result)


def made_by(method: str, folder: Path, text: str = TEXT) -> Made:
    """Identify a small arm and write everything."""
    robot = write_arm(folder, text)
    (folder / "arm.toml").write_text(OVERLAY)
    options = {**FEW, "friction_width": 0.05}
    if method == "feasible":
        del options["gamma"], options["compare_terms"]
    overlay = read_overlay(folder / "arm.toml")
    found = identify(
        read_robot(robot, overlay=overlay),
        arm_log(read_robot(robot), 1),
        overlay=overlay,
        method=method,
        threads=1,
        **options,
    )
    found.save(folder / "out")
    return Made(
        folder / "out",
        robot,
        folder / "arm.toml",
        read_certificate(folder / "out" / "certificate.json"),
        json.loads((folder / "out" / "result.json").read_text()),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, Made]:
    """By method: a gap of fit and prior together, and one of the fit alone."""
    return {method: made_by(method, tmp_path_factory.mktemp(method)) for method in METHODS}


def honest(certificate: dict, result: dict) -> tuple[dict, dict]:
    """Both with hashes that match their content, as a careful forger would compute them."""
    certificate = resealed(certificate)
    numbers = certificate["numbers"]
    summary = {
        "kind": certificate["kind"],
        "conditions": len(certificate["constraints"]),
        **{k: float(number(numbers[k])) if k in numbers else None for k in ("value", "gap")},
        "hashes": certificate["hashes"],
    }
    return certificate, sealed({**result, "certificate": summary})


def bound(it: Made, certificate: dict, result: dict | None = None, *, robot: bool = True):
    """The verdict on a certificate with what is given."""
    robot_files = {"robot": it.robot, "overlay": it.overlay} if robot else {}
    return verify(certificate, result=result, **robot_files)


# --- what is honest ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_honest_files_are_confirmed(made, method):
    """With result and robot everything is compared; without, cautions say what was not."""
    it = made[method]
    both = verify(
        it.folder / "certificate.json",
        result=it.folder / "result.json",
        robot=it.robot,
        overlay=it.overlay,
    )
    assert both.valid, both.words
    said = " / ".join(both.details["confirmed"])
    for words in ("digit for digit", "as its own", "K times", "and no others", "arm.identified"):
        assert words in said
    assert "K is that of the robot" in said
    (caution,) = both.details["cautions"]  # data of a gap are never compared
    assert "not compared with a log" in caution
    alone = bound(it, it.certificate, it.result, robot=False)
    assert alone.valid
    assert "make all 2 bodies physical" in " ".join(alone.details["confirmed"])
    assert "computed anew" in alone.details["cautions"][0]
    without_result = bound(it, it.certificate)
    assert without_result.valid
    assert "digits were not compared" in without_result.details["cautions"][0]
    neither = bound(it, it.certificate, robot=False)
    assert neither.valid
    assert "whether they are those of your result" in neither.details["cautions"][0]


def test_the_command_line(made, capsys):
    """Options of identify are those of verify; what is missing or different is named."""
    it = made["entropic"]
    file, result = it.folder / "certificate.json", it.folder / "result.json"

    def run(*argv: object) -> tuple[int, str]:
        code = main(["verify", str(file), *map(str, argv)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    code, said = run()
    assert code == 0
    assert "caution: the proof is about the numbers in this file" in said
    full = ("--result", it.folder, "--robot", it.robot, "--overlay", it.overlay)
    code, said = run(*full)
    assert code == 0
    assert "digit for digit" in said
    assert said.count("caution") == 1  # data are not compared with a log
    code, said = run("--result", result, "--robot", it.robot)
    assert code == 1
    assert "conditions are not those of the robot" in said  # the overlay's total mass
    assert "overlay" in said
    assert run(*full, "--attached", "lump")[0] == 1
    assert run(*full, "--consistency", "sousa")[0] == 1
    assert run(*full, "--mass", "fore=0.1:9")[0] == 1
    code, said = run("--overlay", it.overlay)
    assert code == 2
    assert "--overlay needs the robot file; give --robot FILE" in said


# --- forged -----------------------------------------------------------------------------------


def every_mass(certificate: dict, result: dict) -> None:
    """All masses of the result, beside an untouched certificate."""
    for one in result["standard"]["parameters"]:
        if one["name"].endswith(".m"):
            one["value"] = -99.0


def every_mass_in_both(certificate: dict, result: dict) -> None:
    """The same with a certificate to match, whose conditions would not hold any more."""
    every_mass(certificate, result)
    for k, one in enumerate(result["standard"]["parameters"]):
        certificate["numbers"]["theta"][k] = number_text(float(one["value"]))
    kept = [
        k
        for k, one in enumerate(certificate["constraints"])
        if one["kind"] != "psd" and "mass" not in one["name"]
    ]
    certificate["constraints"] = [certificate["constraints"][k] for k in kept]
    if "duals" in certificate["numbers"]:
        certificate["numbers"]["duals"] = [certificate["numbers"]["duals"][k] for k in kept]


def no_conditions(certificate: dict, result: dict) -> None:
    """Without any condition every claim is true."""
    certificate["constraints"] = []
    if "duals" in certificate["numbers"]:
        certificate["numbers"]["duals"] = []


def one_body_less(certificate: dict, result: dict) -> None:
    """A body that need not be physical."""
    place = [one["kind"] for one in certificate["constraints"]].index("psd")
    del certificate["constraints"][place]
    if "duals" in certificate["numbers"]:
        del certificate["numbers"]["duals"][place]


def weaker_body(certificate: dict, result: dict) -> None:
    """A pseudo-inertia that may have negative eigenvalues."""
    block = next(one for one in certificate["constraints"] if one["kind"] == "psd")
    for at in (0, 2, 5, 9):
        block["b"][at] = "1e3"


def weaker_friction(certificate: dict, result: dict) -> None:
    """A friction that may be a little negative."""
    block = next(one for one in certificate["constraints"] if ".fv" in one["name"])
    block["b"] = ["1e-9"]


def idle_condition(certificate: dict, result: dict) -> None:
    """A condition that no parameter changes instead of a body."""
    block = next(one for one in certificate["constraints"] if one["kind"] == "psd")
    block["A"] = [["0"] * 10 for _ in block["A"]]
    block["b"] = ["1", "0", "1", "0", "0", "1", "0", "0", "0", "1"]


def no_base_map(certificate: dict, result: dict) -> None:
    """K emptied: every parameter fits."""
    certificate["numbers"]["K"] = []


def no_data(certificate: dict, result: dict) -> None:
    """R = z = 0, and a proof for it."""
    numbers = certificate["numbers"]
    numbers["R"] = [["0"] * len(row) for row in numbers["R"]]
    for key in ("z", "u"):
        numbers[key] = ["0"] * len(numbers[key])
    numbers["duals"] = [["0"] * len(dual) for dual in numbers["duals"]]
    if "value" in numbers:
        for key in ("value", "lower_bound"):
            numbers[key] = number_text(number(numbers["rest"]) / 2)
        numbers["gap"] = "0"
    else:
        numbers["gap"] = "1e9"


def exchanged_links(certificate: dict, result: dict) -> None:
    """The parameters of two bodies exchanged, in both files."""
    theta = certificate["numbers"]["theta"]
    theta[:20] = theta[10:20] + theta[:10]
    for one, text in zip(result["standard"]["parameters"], theta, strict=True):
        one["value"] = float(number(text))


def exchanged_names(certificate: dict, result: dict) -> None:
    """The names of two bodies exchanged in the certificate."""
    names = certificate["parameters"]
    names[:20] = names[10:20] + names[:10]


def other_prediction(certificate: dict, result: dict) -> None:
    """Base parameters with which the result predicts, beside honest standard ones."""
    for one in result["estimate"]["parameters"]:
        one["predicts_with"] *= 1.001


def other_digits(certificate: dict, result: dict) -> None:
    """The certificate written for 1.001 theta."""
    theta = certificate["numbers"]["theta"]
    theta[:] = [number_text(number(text) * Fraction(1001, 1000)) for text in theta]


def other_width(certificate: dict, result: dict) -> None:
    """Another friction curve, and so another model."""
    term = next(one for one in certificate["terms"] if "width" in one)
    term["width"] = "0.5"


FORGERIES: dict[Callable[[dict, dict], None], str] = {
    every_mass: "digits are not those of the result",
    every_mass_in_both: "conditions of the robot",
    no_conditions: "states no condition",
    one_body_less: "conditions of the robot",
    weaker_body: "conditions of the robot",
    weaker_friction: "conditions of the robot",
    idle_condition: "no parameter changes",
    exchanged_links: "not K times",
    exchanged_names: "in another order",
    other_prediction: "not K times",
    other_digits: "digits are not those of the result",
    other_width: "terms of the model are not those of the result",
}
OF_DATA = {no_base_map: "K is empty", no_data: "R is zero"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("forge", FORGERIES)
def test_forged_files_with_honest_hashes_are_rejected(made, method, forge):
    """Each is rejected with result and robot, for the reason that was forged."""
    it = made[method]
    certificate, result = it.copies()
    forge(certificate, result)
    certificate, result = honest(certificate, result)
    verdict = bound(it, certificate, result)
    assert not verdict.valid
    assert FORGERIES[forge] in " / ".join(verdict.details["problems"])
    # what the certificate alone shows is not enough, but the hashes do match
    assert not any("hash" in one for one in verify(certificate).details["problems"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("forge", OF_DATA)
def test_proofs_about_nothing_are_rejected_without_other_files(made, method, forge):
    """An empty K and data of zeros prove a gap for any parameters."""
    certificate, result = made[method].copies()
    forge(certificate, result)
    certificate, _ = honest(certificate, result)
    if method == "feasible" and forge is no_data:
        assert proves(certificate)  # the arithmetic of the proof is right
    verdict = verify(certificate)
    assert not verdict.valid
    assert OF_DATA[forge] in " / ".join(verdict.details["problems"])


@pytest.mark.parametrize("method", METHODS)
def test_a_result_alone_shows_bodies_that_need_not_be_physical(made, method):
    """Without the robot file the bodies and the digits are compared all the same."""
    it = made[method]
    for forge in (every_mass, every_mass_in_both, one_body_less, weaker_body, other_digits):
        certificate, result = it.copies()
        forge(certificate, result)
        verdict = bound(it, *honest(certificate, result), robot=False)
        assert not verdict.valid, forge.__name__
    certificate, result = it.copies()
    weaker_friction(certificate, result)
    verdict = bound(it, *honest(certificate, result), robot=False)
    assert "from being negative" in " ".join(verdict.details["cautions"])


def test_another_robots_certificate(made, tmp_path):
    """One of an arm of other lengths, and one of an arm with other masses in its file."""
    it = made["entropic"]
    longer = made_by("entropic", tmp_path, TEXT.replace('xyz="0.3 0 0"', 'xyz="0.31 0 0"'))
    for certificate, result in ((longer.certificate, it.result), (it.certificate, longer.result)):
        verdict = bound(it, *honest(certificate, result))
        assert not verdict.valid
        assert "another" in verdict.words
    assert "another model than the robot" in bound(it, longer.certificate).words
    assert not bound(longer, it.certificate, it.result).valid
    heavier = write_arm(tmp_path, TEXT.replace('value="2.5"', 'value="9.5"'))
    verdict = verify(it.certificate, robot=heavier, overlay=it.overlay)
    assert not verdict.valid  # bounds of the conditions come from the file's masses
    assert "conditions" in verdict.words


def test_a_robot_file_with_other_parameters(made, tmp_path):
    """A physical file of the same robot, named with its honest hash, has other bodies."""
    import hashlib
    import shutil

    it = made["entropic"]
    shutil.copytree(it.folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "arm.identified.urdf").write_bytes(it.robot.read_bytes())
    certificate, _ = it.copies()
    entry = certificate["files"][0]
    entry["sha256"] = hashlib.sha256(it.robot.read_bytes()).hexdigest()
    certificate = resealed(certificate)
    known = {"robot": it.robot, "overlay": it.overlay}
    assert verify(certificate, folder=tmp_path).valid  # a claim about some physical file
    verdict = verify(certificate, folder=tmp_path, result=it.result, **known)
    assert not verdict.valid
    assert "is not what these parameters and the robot file give" in verdict.words


# --- many random mutations ----------------------------------------------------------------------


def leaves(value, path=()):
    """Paths to all texts and numbers."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    elif value is not None and not isinstance(value, bool):
        yield path


def bound_leaves(it: Made) -> tuple[list[tuple[str, tuple]], ...]:
    """Entries of the certificate, and of the result, that the comparison is about."""
    certificate = [
        ("certificate", path)
        for path in leaves(it.certificate)
        if path[0] in ("parameters", "terms", "base_parameters", "kind")
        or (path[0] == "constraints" and path[2] in ("kind", "columns", "A", "b"))
        or path[:2] in (("numbers", "theta"), ("numbers", "K"))
    ]
    result = [
        ("result", path)
        for path in leaves(it.result)
        if (path[:2] == ("standard", "parameters") and path[3] in ("name", "value"))
        or (path[:2] == ("estimate", "parameters") and path[3] in BASE_DIGITS)
        or path[:2] in (("model", "terms"), ("model", "hash"))
        or (path[:2] == ("model", "columns") and path[3] == "name")
        or path[:2] == ("robot", "joints")
    ]  # fmt: skip
    digits = [one for one in certificate if one[1][0] != "constraints"]
    return digits, [one for one in certificate if one not in digits], result


def changed(value, rng: np.random.Generator):
    """Another name, or another number: by a digit, a sign, a factor, to zero."""
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1, 2]))
    try:
        exact = number(value) if isinstance(value, str) else Fraction(value)
    except CertificateError:
        return value + "x" if rng.random() < 0.5 else value[::-1] + "_"
    # beyond what rounding on another processor may change
    least = float(ROUNDING) * 10
    share = Fraction(10.0 ** rng.uniform(np.log10(least), 1) * rng.choice([-1, 1]))
    choices = [exact * (1 + share), -exact, Fraction(0), exact + 1]
    other = choices[int(rng.integers(len(choices)))]
    if other == exact:
        other = exact + 1
    return number_text(other) if isinstance(value, str) else float(other)


@pytest.mark.parametrize("method", METHODS)
def test_no_random_mutation_is_accepted(made, method):
    """Of one to three changes with honest hashes none is accepted for this result and robot."""
    it = made[method]
    rng = np.random.default_rng(7)
    kinds = bound_leaves(it)
    accepted = []
    for _ in range(100):
        files = dict(zip(("certificate", "result"), it.copies(), strict=True))
        done = []
        for _ in range(int(rng.integers(1, 4))):
            part = kinds[int(rng.integers(len(kinds)))]
            which, path = part[int(rng.integers(len(part)))]
            holder = files[which]
            for key in path[:-1]:
                holder = holder[key]
            if (which, path) in done:
                continue
            holder[path[-1]] = changed(holder[path[-1]], rng)
            done.append((which, path))
        certificate, result = honest(files["certificate"], files["result"])
        try:
            verdict = bound(it, certificate, result)
        except SteelyardError:  # what cannot be read is not accepted
            continue
        if verdict.valid:
            accepted.append(done)
    assert accepted == []


# --- results that were changed ------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        ("standard", "parameters", 0, "value"),
        ("estimate", "parameters", 1, "predicts_with"),
        ("estimate", "parameters", 1, "sigma"),
        ("model", "terms", 0, "owner"),
        ("robot", "gravity", 2),
    ],
)
def test_a_changed_result_is_refused_by_every_reader(made, tmp_path, path, capsys):
    """One number or name changed: read_result, validate, export, compare, prior and base say so."""
    it = made["entropic"]
    _, result = it.copies()
    holder = result
    for key in path[:-1]:
        holder = holder[key]
    value = holder[path[-1]]
    holder[path[-1]] = value + "x" if isinstance(value, str) else value + 1.0
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(result))
    with pytest.raises(ResultError, match="was changed after it was written"):
        read_result(file)
    log = tmp_path / "no.csv"
    for argv in (
        ("validate", it.robot, file, log),
        ("export", file, "--to", "csv", "-o", tmp_path / "x.csv"),
        ("compare", file, it.folder),
        ("base", "test", file, it.robot),
    ):
        assert main([str(part) for part in argv]) == 2
        assert "was changed after it was written" in capsys.readouterr().err
    verdict = verify(it.certificate, result=file)
    assert not verdict.valid
    assert "do not match their hash" in verdict.words


def test_the_style_of_the_json_does_not_matter(made, tmp_path):
    """Other spaces, order and texts of the same numbers are the same result; old ones are read."""
    it = made["entropic"]
    _, result = it.copies()
    text = json.dumps(dict(reversed(result.items())), indent=3, sort_keys=True)
    (tmp_path / "other.json").write_text(text.replace(": 0.0,", ": 0,"))
    assert read_result(tmp_path / "other.json").model_hash == result["model"]["hash"]
    del result["hashes"]
    (tmp_path / "old.json").write_text(json.dumps(result))
    read_result(tmp_path / "old.json")
    verdict = verify(it.certificate, result=tmp_path / "old.json")
    assert verdict.valid
    assert "no hash of its digits" in " ".join(verdict.details["cautions"])
