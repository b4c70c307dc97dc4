"""Write proofs as certificates, which anybody can verify without a solver.

A certificate is one JSON object: conditions and numbers as exact texts, with hashes of the model,
the conditions and the digits. Every certificate that the functions here return has been checked
with `steelyard.certificates.verify`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import write_text
from steelyard.certificates.base_feasibility import BaseFeasibility, exact_witness
from steelyard.certificates.block_texts import block_document, sparse_texts, term_texts
from steelyard.certificates.document import SCHEMA, hashes_of, parse
from steelyard.certificates.drawn_proof import prove_drawn
from steelyard.certificates.infeasibility import Infeasibility
from steelyard.certificates.optimality import Optimality, prove_gap
from steelyard.certificates.verify import proven_gap, verify
from steelyard.conic.blocks import Block
from steelyard.conic.exact_text import (
    Number,
    number_text,
    rounded_down,
    rounded_up,
    shortest_decimal,
    texts,
)
from steelyard.conic.settle import inner_point
from steelyard.errors import EstimationError
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.regression.regression import Regression

Array = NDArray[np.float64]


def feasible_certificate(
    model: Model,
    blocks: Sequence[Block],
    theta: Sequence[Number] | Array,
    *,
    base: BaseMap | None = None,
    beta: Array | None = None,
) -> dict[str, Any]:
    """Proves that theta meets every condition; with ``base`` and ``beta``, also K theta = beta.

    theta : (n_columns,) floats or rationals. Floats are written as their shortest decimals if
    these meet the conditions too, otherwise as their exact values.
    """
    numbers: dict[str, Any] = {}
    if base is not None and beta is not None:
        numbers |= {"K": sparse_texts(base.K), "beta": texts(beta)}
    exactly = texts(theta)
    decimals = [shortest_decimal(x) for x in theta]
    for candidate in (decimals, exactly):
        document = _with_hashes("feasible", model, base, blocks, {**numbers, "theta": candidate})
        verdict = verify(document)
        if verdict.valid:
            return document
    raise EstimationError(f"there is no certificate for these parameters: {verdict.words}")


def infeasible_certificate(
    model: Model, base: BaseMap, beta: Array, blocks: Sequence[Block], proof: Infeasibility
) -> dict[str, Any]:
    """Proves that no parameters with these base parameters meet every condition."""
    numbers = {
        "K": sparse_texts(base.K),
        "beta": texts(beta),
        "y": texts(proof.y),
        "duals": [texts(dual) for dual in proof.duals],
        "value": number_text(proof.value),
    }
    return _checked(_with_hashes("infeasible", model, base, blocks, numbers))


def optimal_certificate(
    model: Model, base: BaseMap, R: Array, z: Array, blocks: Sequence[Block], proof: Optimality
) -> dict[str, Any]:
    """Proves that the parameters meet every condition and are within a gap of the optimum.

    The stated value, bound and gap are rounded to the safe side, for readability.
    """
    value = rounded_up(proof.value)
    lower = rounded_down(proof.lower_bound)
    numbers = {
        "K": sparse_texts(base.K),
        "R": [texts(row[i:]) for i, row in enumerate(np.asarray(R))],
        "z": texts(z),
        "rest": number_text(proof.rest),
        "theta": [_short(x) for x in proof.theta],
        "u": texts(proof.u),
        "duals": [texts(dual) for dual in proof.duals],
        "value": value,
        "lower_bound": lower,
        "gap": rounded_up(Fraction(value) - Fraction(lower)),
    }
    return _checked(_with_hashes("optimal", model, base, blocks, numbers))


def fit_certificate(
    model: Model, regression: Regression, fit: ConstrainedFit
) -> dict[str, Any] | None:
    """Proves that the parameters of a constrained fit are within a gap of the optimum.

    Values are half the sum of all squared residuals, in units of the noise. None if no exact bound
    was found, and for a fit that is drawn to a prior, away from that optimum.
    """
    if fit.pull is not None:
        return None
    factor = regression.system(fit.weights) / fit.sigma
    R, z = factor[:-1, :-1], factor[:-1, -1]
    proof = prove_gap(
        regression.base,
        R,
        z,
        fit.theta,
        fit.blocks,
        None if fit.solution is None else fit.solution.duals,
        parameter_scale(model),
        rest=float(factor[-1, -1] ** 2),
    )
    if proof is None:
        return None
    return optimal_certificate(model, regression.base, R, z, fit.blocks, proof)


def drawn_certificate(
    model: Model, regression: Regression, fit: ConstrainedFit
) -> dict[str, Any] | None:
    """Proves how far a fit that is drawn to a prior is from its optimum, fit and prior together.

    None where that objective has no bound of this form, see `steelyard.certificates.drawn_proof`.
    """
    factor = regression.system(fit.weights) / fit.sigma
    R, z = factor[:-1, :-1], factor[:-1, -1]
    proof = prove_drawn(model, regression, fit, R, z)
    if proof is None:
        return None
    numbers: dict[str, Any] = {
        "K": sparse_texts(regression.base.K),
        "R": [texts(row[i:]) for i, row in enumerate(np.asarray(R))],
        "z": texts(z),
        "theta": [_short(x) for x in proof.theta],
        "u": texts(proof.u),
        "duals": [texts(dual) for dual in proof.duals],
        "bodies": [
            {"first": int(one.first), "weight": _short(one.weight), "prior": texts(one.prior)}
            for one in proof.bodies
        ],
        "pulls": texts(proof.pulls),
    }
    return _with_proven_gap(model, regression.base, fit.blocks, numbers)


def _with_proven_gap(
    model: Model, base: BaseMap, blocks: Sequence[Block], numbers: Mapping[str, Any]
) -> dict[str, Any]:
    """The certificate with the gap that its numbers prove, rounded up."""
    stated = _with_hashes("drawn", model, base, blocks, {**numbers, "gap": "0"})
    gap = proven_gap(parse(stated))
    if gap is None:
        raise EstimationError("the duals prove no bound of the objective")
    return _checked(_with_hashes("drawn", model, base, blocks, {**numbers, "gap": rounded_up(gap)}))


def certificate_of(
    model: Model, base: BaseMap, beta: Array, blocks: Sequence[Block], answer: BaseFeasibility
) -> dict[str, Any] | None:
    """The certificate of a result of `base_feasibility`; None if that is undecided."""
    if answer.witness is not None:
        return feasible_certificate(model, blocks, answer.witness, base=base, beta=beta)
    if answer.proof is not None:
        return infeasible_certificate(model, base, beta, blocks, answer.proof)
    return None


def provable_base(
    base: BaseMap, theta: Array, blocks: Sequence[Block], scale: Array
) -> tuple[Array, tuple[Fraction, ...]]:
    """Base parameters (n_base,) close to K theta that are feasible as written, and a witness.

    On the boundary, rounding K theta to decimals may make it infeasible. Then theta is moved
    towards an inner point until a witness is found, by as little as possible.
    """
    inner: Array | None = None
    share = 0.0
    while share <= 1.0:
        near = theta if inner is None else (1.0 - share) * theta + share * inner
        beta = np.array([float(f"{x:.15g}") for x in base.K @ near])
        witness = exact_witness(base, beta, near, blocks)
        if witness is not None:
            return beta, witness
        if inner is None:
            inner, _ = inner_point(blocks, scale)
        share = max(4.0 * share, 1e-14)
    raise EstimationError("no decimals close to these base parameters are feasible")


def write_certificate(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write a certificate to a file, atomically."""
    write_text(path, certificate_text(document), EstimationError)


def certificate_text(document: Mapping[str, Any]) -> str:
    """The text of a certificate."""
    return json.dumps(document, ensure_ascii=False) + "\n"


def read_schema() -> dict[str, Any]:
    """The published JSON schema of certificates."""
    from importlib.resources import files

    text = files("steelyard").joinpath("certificates/certificate-1.schema.json").read_text("utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def _with_hashes(
    kind: str,
    model: Model,
    base: BaseMap | None,
    blocks: Sequence[Block],
    numbers: Mapping[str, Any],
) -> dict[str, Any]:
    """The document of a certificate, with its hashes."""
    from steelyard._version import __version__

    if base is not None and base.model_hash != model.hash:
        raise EstimationError("the base parameters belong to another model")
    document = {
        "schema": SCHEMA,
        "steelyard": __version__,
        "kind": kind,
        "robot": model.robot.name,
        "parameters": list(model.column_names),
        "terms": [term_texts(term) for term in model.terms],
        "base_parameters": None if "K" not in numbers or base is None else list(base.names),
        "constraints": [block_document(block) for block in blocks],
        "numbers": dict(numbers),
    }
    return {**document, "hashes": {"model": model.hash, **hashes_of(document)}}


def _short(x: Fraction) -> str:
    """A number as the shortest decimal of its float if that is exact, else as its exact text."""
    short = shortest_decimal(float(x))
    return short if Fraction(short) == x else number_text(float(x) if float(x) == x else x)


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    verdict = verify(document)
    if not verdict.valid:
        raise EstimationError(f"the proof does not hold: {verdict.words}")
    return document
