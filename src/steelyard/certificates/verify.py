"""Verify a certificate with integers and fractions only.

It needs no solver, no floating point and only Python's standard library: the file is read as
rational numbers, and every claim is recomputed from them (``docs/certificates.md`` has the
mathematics). Three kinds of claim can be proven:

``feasible``    parameters theta meet every condition (and, if stated, K theta = beta);
``infeasible``  no theta with K theta = beta meets them all;
``optimal``     theta meets them all, and no such theta fits the data better by more than a gap;
``drawn``       the same for an objective of fit and prior together.

Untrusted files give a verdict or a one-line error: sizes, digits and the amount of arithmetic are
limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.certificates.bound import Bound, several
from steelyard.certificates.document import (
    ParsedCertificate,
    Vector,
    hash_problems,
    matrix_rows,
    parse,
    read_certificate,
)
from steelyard.certificates.drawn import bits, distance_bound
from steelyard.conic import exact
from steelyard.conic.exact_text import CertificateError, quoted, shown_value

if TYPE_CHECKING:
    from steelyard.certificates.files import FileVerdict
    from steelyard.certificates.robot_binding import ClaimedRobot
    from steelyard.knowledge.overlay.overlay import Overlay
    from steelyard.robot.robot import Robot

MAX_WORK = 2 * 10**9  # operations on 64-bit words: about ten seconds for long numbers


@dataclass(frozen=True)
class Verification:
    """The verdict on a certificate.

    valid : whether every claim holds and every hash matches. words : the verdict in one sentence.
    details : what was computed, as plain data; ``problems`` lists what does not hold.
    """

    valid: bool
    kind: str
    words: str
    details: Mapping[str, Any] = field(default_factory=dict)


def verify(
    source: str | Path | Mapping[str, Any],
    *,
    model: str | None = None,
    constraints: str | None = None,
    folder: str | Path | None = None,
    result: str | Path | Mapping[str, Any] | None = None,
    robot: str | Path | Robot | ClaimedRobot | None = None,
    overlay: str | Path | Overlay | None = None,
) -> Verification:
    """Verify a certificate, given as a path or as the object in the file.

    model, constraints : expected hashes; None accepts any.
    folder : where the files that the certificate names are; by default that of ``source`` if it is
        a path. A file that is not there is not checked, which is no problem.
    result : the result that the certificate should be about, as a path or as the object in its
        file: its digits are compared with those of the certificate.
    robot, overlay : the robot that it should be about: K and the conditions are computed anew and
        compared. Options of the command line are part of a
        :class:`steelyard.certificates.robot_binding.ClaimedRobot`.

    Without ``result`` or ``robot`` only the proof itself is verified, for the numbers in the file;
    ``details["cautions"]`` says what was not compared.
    """
    if not isinstance(source, Mapping) and folder is None:
        folder = Path(source).parent
    document = source if isinstance(source, Mapping) else read_certificate(source)
    certificate = parse(document)
    problems = hash_problems(document, model, constraints)
    files: Sequence[FileVerdict] = ()
    if "files" in document:
        from steelyard.certificates.files import check_files, stated_files

        files = check_files(stated_files(document), None if folder is None else Path(folder))
    problems += [file.problem for file in files if file.problem is not None]
    work = Work()
    found = _CHECKS[certificate.kind](certificate, work)
    problems += found.problems + empty_claims(certificate)
    compared = _compared(document, certificate, result, robot, overlay, folder)
    problems += compared.problems
    details = {
        "parameters": len(certificate.parameters),
        "conditions": len(certificate.blocks),
        **found.details,
        **({"files": [file.as_json() for file in files]} if files else {}),
        "confirmed": list(compared.confirmed),
        "cautions": list(compared.cautions),
        "problems": problems,
    }
    words = found.words if not problems else f"invalid: {'; '.join(problems[:5])}"
    if len(problems) > 5:
        words += f"; and {len(problems) - 5} more"
    return Verification(not problems, certificate.kind, words, details)


def empty_claims(certificate: ParsedCertificate) -> list[str]:
    """Problems: what makes a claim true without saying anything about a robot."""
    problems = []
    if not certificate.blocks:
        problems.append("it states no condition, so that it says nothing about a robot")
    idle = [one.name for one in certificate.blocks if not any(any(row) for row in one.A)]
    if idle:
        problems.append(f"conditions that no parameter changes: {several(idle)}")
    if certificate.K is not None:
        rows = {row for row, _, value in certificate.K if value}
        n_base = max(len(certificate.vectors.get(key, ())) for key in ("beta", "z"))
        empty = n_base - len(rows)
        if empty or not n_base:
            problems.append(f"K is empty in {empty} of its {n_base} rows")
    if certificate.kind in ("optimal", "drawn") and not any(any(row) for row in certificate.R):
        problems.append("R is zero: there are no data that the parameters could fit")
    return problems


def _compared(
    document: Mapping[str, Any],
    certificate: ParsedCertificate,
    result: str | Path | Mapping[str, Any] | None,
    robot: str | Path | Robot | ClaimedRobot | None,
    overlay: str | Path | Overlay | None,
    folder: str | Path | None,
) -> Bound:
    """What a result and a robot say about the certificate."""
    if result is None and robot is None:
        found = Bound()
    else:
        from steelyard.certificates.comparison import compared

        place = None if folder is None else Path(folder)
        found = compared(document, certificate, result, robot, overlay, place)
    cautions = unchecked(certificate, result is not None, robot is not None)
    return found + Bound(cautions=(*unlisted(document, certificate), *cautions))


def unlisted(document: Mapping[str, Any], certificate: ParsedCertificate) -> tuple[str, ...]:
    """What is not said of robot files, in words; a claim about base parameters has none."""
    if "theta" not in certificate.vectors or "beta" in certificate.vectors:
        return ()
    if not document.get("files"):
        return ("it lists no robot file: it is no proof about any file beside it",)
    if "files" not in document["hashes"]:
        words = "its list of files is covered by no hash, as in earlier versions"
        return (words,)
    return ()


def unchecked(
    certificate: ParsedCertificate, with_result: bool, with_robot: bool
) -> tuple[str, ...]:
    """What was not compared, in words."""
    said = []
    if not with_result and not with_robot:
        said.append(
            "the proof is about the numbers in this file: whether they are those of your result "
            "and your robot was not checked; give the result and the robot file, with its overlay"
        )
    elif not with_result:
        said.append("the digits were not compared with those of a result; give the result, too")
    elif not with_robot:
        said.append(
            "K and the conditions were not computed anew from a robot; give the robot file, too, "
            "with its overlay"
        )
    rest = ""
    if with_result:
        rest = (
            "; nor were the verdict, errors, intervals and findings of the result, and its report, "
            "of which only the hashes were compared"
        )
    if certificate.kind == "optimal":
        said.append(
            f"the data, R and z, are those in the file: they were not compared with a log{rest}"
        )
    if certificate.kind == "drawn":
        said.append(
            "the data, R and z, and the weights of the prior are those in the file: they were not "
            f"compared with a log{rest}"
        )
    if certificate.kind == "feasible" and "beta" not in certificate.vectors and with_result:
        said.append(
            "it says that the parameters meet the conditions, not that they fit any data: they "
            f"were not compared with a log{rest}"
        )
    return tuple(said)


class Work:
    """Counts arithmetic, to refuse a certificate that would take too long to verify."""

    def __init__(self, limit: int = MAX_WORK) -> None:
        self.left = limit

    def spend(self, times: int, bits: int) -> None:
        """Account for ``times`` operations on numbers of this length."""
        self.left -= times * ((bits >> 6) + 1) ** 2
        if self.left < 0:
            raise CertificateError("verifying numbers this long would take too long")

    def total(self, start: Fraction, pairs: Iterable[tuple[Fraction, Fraction]]) -> Fraction:
        """start + the sum of the products, exactly."""
        for a, b in pairs:
            if a and b:
                start += a * b
                self.spend(1, bits(a) + bits(b) + bits(start))
        return start

    def membership(self, kind: str, entries: Sequence[Fraction]) -> tuple[bool, bool]:
        """Whether entries lie in a cone, and whether strictly inside (equations: if they hold)."""
        common = 1
        for x in entries:
            common = lcm(common, x.denominator)
            self.spend(1, common.bit_length())
        whole_entries = [x * common for x in entries]
        longest = max(bits(x) for x in whole_entries)
        if kind != "psd":
            self.spend(4 * len(entries), longest)
            inside = exact.in_cone(kind, whole_entries)
            return inside, inside and _strictly(kind, whole_entries)
        n = matrix_rows(len(entries))
        self.spend(2 * n**3, 2 * n * longest)  # a pivot is a ratio of determinants
        M = exact.symmetric(whole_entries)
        strict = exact.is_positive_definite(M)
        return strict or exact.is_psd(M), strict


def _strictly(kind: str, entries: Sequence[Fraction]) -> bool:
    if kind == "second_order":
        rest = sum((x * x for x in entries[1:]), Fraction(0))
        return entries[0] > 0 and entries[0] ** 2 > rest
    return kind == "zero" or all(x > 0 for x in entries)


@dataclass(frozen=True)
class _Found:
    words: str
    problems: list[str]
    details: dict[str, Any]


def _conditions(certificate: ParsedCertificate, work: Work) -> _Found:
    """Whether theta meets every condition."""
    theta = certificate.vectors["theta"]
    outside, edge = [], []
    for k, block in enumerate(certificate.blocks):
        x = [theta[c] for c in block.columns]
        entries = [
            work.total(b, zip(row, x, strict=True)) for row, b in zip(block.A, block.b, strict=True)
        ]
        inside, strict = work.membership(block.kind, entries)
        if not inside:
            outside.append(block.name)
        elif not strict:
            edge.append(k)
    problems = [f"the condition {quoted(name)} does not hold" for name in outside]
    how = "every condition strictly" if not edge else f"every condition, {len(edge)} with equality"
    details = {
        "strict": not edge,
        "with_equality": [certificate.blocks[k].name for k in edge[:100]],
        "positions_with_equality": edge,
    }
    return _Found(f"the parameters meet {how}", problems, details)


def _feasible(certificate: ParsedCertificate, work: Work) -> _Found:
    found = _conditions(certificate, work)
    if certificate.K is None:
        return found
    if "beta" not in certificate.vectors:
        raise CertificateError("a feasible certificate with K needs beta")
    image = _image(certificate, work)
    wrong = [k for k, b in enumerate(certificate.vectors["beta"]) if image[k] != b]
    problems = [f"base parameter {k + 1} is not K theta" for k in wrong]
    return _Found(
        f"{found.words}, and have these base parameters exactly",
        found.problems + problems,
        found.details | {"base_parameters": len(image)},
    )


def _image(certificate: ParsedCertificate, work: Work) -> Vector:
    """K theta."""
    out = [Fraction(0)] * max(len(certificate.vectors.get(k, ())) for k in ("beta", "z"))
    theta = certificate.vectors["theta"]
    for row, column, value in certificate.K or ():
        out[row] = work.total(out[row], [(value, theta[column])])
    return out


def _balance(certificate: ParsedCertificate, y: Vector, work: Work) -> tuple[list[str], Fraction]:
    """Problems with Kᵀ y = sum A_kᵀ z_k and z_k in the cones; and sum z_k · b_k."""
    problems, sums, paired = _dual_sums(certificate, work)
    left = _pulled_back(certificate, y, work)
    names = zip(certificate.parameters, left, sums, strict=True)
    problems += [
        f"the duals do not balance at {shown_value(name)}" for name, x, s in names if x != s
    ]
    return problems, paired


def _pulled_back(certificate: ParsedCertificate, y: Vector, work: Work) -> Vector:
    """Kᵀ y."""
    out = [Fraction(0)] * len(certificate.parameters)
    for row, column, value in certificate.K or ():
        out[column] = work.total(out[column], [(value, y[row])])
    return out


def _dual_sums(certificate: ParsedCertificate, work: Work) -> tuple[list[str], Vector, Fraction]:
    """Problems with z_k in the cones; sum A_kᵀ z_k; and sum z_k · b_k."""
    problems = []
    paired = Fraction(0)
    left = [Fraction(0)] * len(certificate.parameters)
    for block, dual in zip(certificate.blocks, certificate.duals, strict=True):
        if block.kind != "zero" and not work.membership(block.kind, dual)[0]:
            problems.append(f"the dual of the condition {quoted(block.name)} is outside its cone")
        weighted = [weight * x for weight, x in zip(block.weights, dual, strict=True)]
        for place, column in enumerate(block.columns):
            pairs = ((row[place], x) for row, x in zip(block.A, weighted, strict=True))
            left[column] = work.total(left[column], pairs)
        paired = work.total(paired, zip(weighted, block.b, strict=True))
    return problems, left, paired


def _infeasible(certificate: ParsedCertificate, work: Work) -> _Found:
    y, beta = certificate.vectors["y"], certificate.vectors["beta"]
    problems, paired = _balance(certificate, y, work)
    value = work.total(paired, zip(y, beta, strict=True))
    if value >= 0:
        problems.append(f"the duals are no proof: their value is {about(value)}, not negative")
    if value != certificate.stated["value"]:
        problems.append("the stated value is not the value of the duals")
    words = "no parameters with these base parameters meet all conditions"
    return _Found(words, problems, {"value": about(value), "base_parameters": len(y)})


def _optimal(certificate: ParsedCertificate, work: Work) -> _Found:
    """½|r|² >= uᵀ r - ½|u|² with r = z - R K theta, for every theta and any u."""
    found = _conditions(certificate, work)
    R, z, u = certificate.R, certificate.vectors["z"], certificate.vectors["u"]
    stated, half = certificate.stated, Fraction(1, 2)
    beta = _image(certificate, work)
    value = lower = half * stated["rest"]
    for i, row in enumerate(R):
        r = work.total(z[i], ((-x, b) for x, b in zip(row, beta[i:], strict=True)))
        value = work.total(value, [(half * r, r)])
    g = [Fraction(0)] * len(u)
    for i, row in enumerate(R):
        for j, x in enumerate(row, start=i):
            g[j] = work.total(g[j], [(-x, u[i])])
    problems, paired = _balance(certificate, g, work)
    lower = work.total(lower - paired, zip(u, z, strict=True))
    lower = work.total(lower, ((-half * x, x) for x in u))
    if value > stated["value"]:
        problems.append(f"the value of the parameters is {about(value)}, above the stated one")
    if lower < stated["lower_bound"]:
        problems.append(f"the duals prove a bound of {about(lower)}, below the stated one")
    if stated["gap"] < stated["value"] - stated["lower_bound"]:
        problems.append("the stated gap is smaller than value - lower bound")
    words = (
        f"{found.words}, and their objective value of {about(stated['value'])} is at most "
        f"{about(stated['gap'])} above the optimum"
    )
    details = {key: about(stated[key]) for key in ("value", "lower_bound", "gap")}
    return _Found(words, found.problems + problems, found.details | details)


def _drawn(certificate: ParsedCertificate, work: Work) -> _Found:
    """The distance from a lower bound of fit and prior together."""
    found = _conditions(certificate, work)
    problems, gap = _drawn_gap(certificate, work)
    stated = certificate.stated["gap"]
    if not certificate.bodies:
        problems.append("it has no body with a prior")
    if gap is None:
        problems.append("the duals prove no bound of the objective")
    elif gap > stated:
        problems.append(f"the duals prove a gap of {about(gap)}, above the stated one")
    words = (
        f"{found.words}, and their objective, of fit and prior together, is at most "
        f"{about(stated)} above the optimum"
    )
    return _Found(words, found.problems + problems, found.details | {"gap": about(stated)})


def proven_gap(certificate: ParsedCertificate) -> Fraction | None:
    """The gap that the numbers of a drawn certificate prove; None if they prove none."""
    problems, gap = _drawn_gap(certificate, Work())
    return None if problems else gap


def _drawn_gap(certificate: ParsedCertificate, work: Work) -> tuple[list[str], Fraction | None]:
    """Problems with the duals, and the gap; see `steelyard.certificates.drawn`."""
    R, z, u = certificate.R, certificate.vectors["z"], certificate.vectors["u"]
    theta, half = certificate.vectors["theta"], Fraction(1, 2)
    beta = _image(certificate, work)
    gap, back = Fraction(0), [Fraction(0)] * len(u)
    for i, row in enumerate(R):
        r = work.total(z[i] - u[i], ((-x, b) for x, b in zip(row, beta[i:], strict=True)))
        gap = work.total(gap, [(half * r, r)])
        for j, x in enumerate(row, start=i):
            back[j] = work.total(back[j], [(x, u[i])])
    problems, sums, paired = _dual_sums(certificate, work)
    gap = work.total(gap + paired, zip(sums, theta, strict=True))
    e = [a + b for a, b in zip(sums, _pulled_back(certificate, back, work), strict=True)]
    part = distance_bound(certificate.bodies, certificate.vectors["pulls"], theta, e, work.spend)
    return problems, None if part is None else gap + part


def about(x: Fraction) -> str:
    """A rational number as a text of six digits."""
    try:
        near = float(x)
    except OverflowError:
        return "beyond 1e308" if x > 0 else "below -1e308"
    if near == 0.0 and x != 0:
        return "above 0 by less than 1e-300" if x > 0 else "below 0 by less than 1e-300"
    return f"{near:.6g}"


_CHECKS: dict[str, Callable[[ParsedCertificate, Work], _Found]] = {
    "feasible": _feasible,
    "infeasible": _infeasible,
    "optimal": _optimal,
    "drawn": _drawn,
}
