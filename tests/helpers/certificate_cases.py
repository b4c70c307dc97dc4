"""Certificates to test `verify` with: valid ones of every kind, and damaged ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from exact_second import resealed

from steelyard.certificates.base_feasibility import base_feasibility, exact_witness
from steelyard.certificates.optimality import prove_gap
from steelyard.certificates.writing import certificate_of, feasible_certificate, optimal_certificate
from steelyard.conic.blocks import Block, matrix_of
from steelyard.conic.exact_text import number, number_text
from steelyard.conic.problem import conic_problem
from steelyard.conic.settle import failing, inner_point, settle
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Box, Constraints, Ellipsoid, MassSum
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale, typical_parameters
from steelyard.testing.random_robots import random_robot

N_PROBLEMS = 24


@dataclass(frozen=True, eq=False)
class Problem:
    """A model with conditions, and parameters well inside them."""

    model: Model
    base: BaseMap
    blocks: tuple[Block, ...]
    scale: np.ndarray
    inner: np.ndarray


@lru_cache(maxsize=N_PROBLEMS)
def problem(seed: int) -> Problem:
    """A random robot of one to three links with random conditions."""
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, int(rng.integers(1, 4))))
    bodies = [body.name for body in model.mechanism.bodies]
    kinds = rng.random(5) < 0.3
    known = Constraints(
        consistency="sousa" if kinds[0] else "full",
        margin=1e-6 if kinds[1] else 0.0,
        com={bodies[0]: Box((-1, -1, -1), (1, 1, 1))} if kinds[2] else {},
        mass_sums=(MassSum(tuple(bodies), (0.01, 500.0)),) if kinds[3] else (),
        fixed={"joint_1.fo": 0.25} if kinds[4] and "joint_1.fo" in model.column_names else {},
    )
    if rng.random() < 0.3:
        ball = {bodies[-1]: Ellipsoid((0, 0, 0), (1.0, 2.0, 1.5))}
        known = Constraints(consistency=known.consistency, margin=known.margin, com=ball)
    given = blocks(model, known)
    scale = parameter_scale(model)
    usual = typical_parameters(model)
    usual[[column.kind != "rigid_body" for column in model.columns]] = 0.3
    inner = settle(usual, given, scale, inner_point(given, scale)[0]).theta
    return Problem(model, base_map(model), given, scale, inner)


def honest(seed: int, refusals: list[str] | None = None) -> Iterator[dict]:
    """An endless stream of valid certificates of every kind.

    refusals : collects what the solver said where it gave no answer, and so no certificate.
    """
    rng = np.random.default_rng(seed)
    makers = (plain, plain, plain, on_the_edge, with_base, infeasible, infeasible, optimal)
    while True:
        make = makers[int(rng.integers(len(makers)))]
        it = problem(int(rng.integers(N_PROBLEMS)))
        try:
            found = make(it, rng)
        except EstimationError as error:
            if refusals is None or "solver refused" not in str(error):
                raise
            refusals.append(str(error))
            continue
        if found is not None:
            yield found
            if found["kind"] == "infeasible":
                yield rescaled(found, rng)


def inside(it: Problem, rng: np.random.Generator) -> np.ndarray:
    """Random parameters that meet all conditions."""
    target = it.inner + it.scale * rng.normal(size=len(it.scale)) * 10.0 ** rng.uniform(-2, 1)
    share = 1.0
    while share > 1e-3:
        theta = (1 - share) * it.inner + share * target
        for block in it.blocks:
            if block.kind == "zero":
                theta[list(block.columns)] = it.inner[list(block.columns)]
        if not failing(it.blocks, theta):
            return theta
        share /= 2
    return it.inner.copy()


def plain(it: Problem, rng: np.random.Generator) -> dict:
    """Parameters inside."""
    return feasible_certificate(it.model, it.blocks, inside(it, rng))


def on_the_edge(it: Problem, rng: np.random.Generator) -> dict | None:
    """Bodies made of one to three points of mass: singular pseudo-inertias, exactly."""
    theta = [Fraction(0)] * len(it.scale)
    for first in it.model.first_column_of_body:
        for _ in range(int(rng.integers(1, 4))):
            m = Fraction(int(rng.integers(1, 50)), int(rng.integers(1, 9)))
            x, y, z = (
                Fraction(int(rng.integers(-20, 20)), int(rng.integers(7, 90))) for _ in "xyz"
            )
            point = (
                1,
                x,
                y,
                z,
                y * y + z * z,
                -x * y,
                x * x + z * z,
                -x * z,
                -y * z,
                x * x + y * y,
            )
            for k, value in enumerate(point):
                theta[first + k] += m * value
    try:
        return feasible_certificate(it.model, it.blocks, theta)
    except EstimationError:  # these bodies do not meet the other conditions
        return None


def with_base(it: Problem, rng: np.random.Generator) -> dict | None:
    """Base parameters with a witness."""
    theta = inside(it, rng)
    beta = it.base.K @ theta
    witness = exact_witness(it.base, beta, theta, it.blocks)
    if witness is None:
        return None
    return feasible_certificate(it.model, it.blocks, witness, base=it.base, beta=beta)


def infeasible(it: Problem, rng: np.random.Generator) -> dict | None:
    """Base parameters of a robot with something negative."""
    theta = inside(it, rng)
    stated = {c for block in it.blocks if block.kind == "zero" for c in block.columns}
    broken = int(rng.choice([c for c in range(len(theta)) if c not in stated]))
    theta[broken] -= 10.0 ** rng.uniform(0, 2) * it.scale[broken]
    beta = it.base.K @ theta
    answer = base_feasibility(it.base, beta, it.blocks, it.scale)
    return certificate_of(it.model, it.base, beta, it.blocks, answer)


def rescaled(document: dict, rng: np.random.Generator) -> dict:
    """The same proof, every dual times the same positive number."""
    factor = Fraction(int(rng.integers(1, 10**6)), int(rng.integers(1, 10**6)))
    numbers = document["numbers"]

    def times(texts: list[str]) -> list[str]:
        return [number_text(factor * number(text)) for text in texts]

    changed = {
        "y": times(numbers["y"]),
        "duals": [times(dual) for dual in numbers["duals"]],
        "value": times([numbers["value"]])[0],
    }
    return resealed({**document, "numbers": numbers | changed})


def optimal(it: Problem, rng: np.random.Generator) -> dict | None:
    """A random fit, moved to an exactly feasible point."""
    n = it.base.rank
    K = it.base.K * it.scale
    R = np.triu(rng.normal(size=(n, n))) / np.max(np.abs(K), axis=1)
    z = R @ it.base.K @ inside(it, rng) + rng.normal(size=n) * 10.0 ** rng.uniform(-2, 1)
    fit = conic_problem(
        len(it.scale), it.blocks, it.scale, F=R @ it.base.K, g=z,
        pull=1e-6 / it.scale**2, towards=it.inner,
    )  # fmt: skip
    solution = solve(fit)
    theta = settle(solution.theta, it.blocks, it.scale, it.inner).theta
    proof = prove_gap(it.base, R, z, theta, it.blocks, solution.duals, it.scale, rest=1.0)
    if proof is None:
        return None
    return optimal_certificate(it.model, it.base, R, z, it.blocks, proof)


def with_others(seed: int, refusals: list[str] | None = None) -> Iterator[tuple[dict, dict]]:
    """Valid certificates, each with an earlier one, of the same kind and shape if there is one."""
    earlier: dict[tuple, dict] = {}
    before: dict | None = None
    for document in honest(seed, refusals):
        shape = (document["kind"], *(len(document[k]) for k in ("parameters", "constraints")))
        if before is not None:
            yield document, earlier.get(shape, before)
        earlier[shape] = before = document


# --- damage ---------------------------------------------------------------------------------


def mutant(document: dict, other: dict, rng: np.random.Generator) -> tuple[str, dict]:
    """The kind of damage and a damaged copy, whose hashes are recomputed in most cases.

    other : another certificate, to take stale numbers from.
    """
    ways = (push_condition, push_condition, push_dual, push_dual, push_theta, swap, stale,
            edit_digit, edit_digit, claim_more, edit_hash)  # fmt: skip
    while True:
        way = ways[int(rng.integers(len(ways)))]
        damaged = copy.deepcopy(document)
        if not way(damaged, other, rng):
            continue
        if way is not edit_hash and rng.random() < 0.75:
            damaged = resealed(damaged)
        return way.__name__, damaged


def amount(rng: np.random.Generator) -> float:
    """1e-9 to 1e-3, of either sign: half of the pushes end just inside."""
    return float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-9, -3))


def push_condition(document: dict, other: dict, rng: np.random.Generator) -> bool:
    """Move a condition so that theta is barely inside or outside."""
    if "theta" not in document["numbers"]:
        return False
    block = document["constraints"][int(rng.integers(len(document["constraints"])))]
    theta = [number(t) for t in document["numbers"]["theta"]]
    entries = [
        number(b) + sum(number(a) * theta[c] for a, c in zip(row, block["columns"], strict=True))
        for row, b in zip(block["A"], block["b"], strict=True)
    ]
    push(block["kind"], block["b"], entries, amount(rng))
    return True


def push_dual(document: dict, other: dict, rng: np.random.Generator) -> bool:
    """Move a dual so that it is barely inside or outside; the balance follows for its block."""
    if "duals" not in document["numbers"]:
        return False
    k = int(rng.integers(len(document["constraints"])))
    dual = document["numbers"]["duals"][k]
    block = document["constraints"][k]
    before = [number(t) for t in dual]
    push(block["kind"], dual, before, amount(rng))
    if document["kind"] == "infeasible" and rng.random() < 0.7:
        balance(document, k, before)
    return True


def push(kind: str, texts: list[str], entries: list[Fraction], by: float) -> None:
    """Take margin + ``by`` off the texts, in the direction of the cone's unit element."""
    near = np.array(entries, dtype=float)
    if kind == "psd":
        margin = np.linalg.eigvalsh(matrix_of(near))[0]
        n = len(matrix_of(near))
        places = [j * (j + 3) // 2 for j in range(n)]
    elif kind == "second_order":
        margin, places = near[0] - np.linalg.norm(near[1:]), [0]
    elif kind == "zero":
        margin, places = 0.0, [0]
    else:
        places = [int(np.argmin(near))]
        margin = near[places[0]]
    shift = Fraction(float(margin)) + Fraction(by)
    for place in places:
        texts[place] = number_text(number(texts[place]) - shift)


def balance(document: dict, k: int, before: list[Fraction]) -> None:
    """Add a condition whose free dual makes up for a changed dual, so that only the cone fails."""
    block = document["constraints"][k]
    weights = [1] * len(before)
    if block["kind"] == "psd":
        diagonal = {j * (j + 3) // 2 for j in range(len(before))}
        weights = [1 if at in diagonal else 2 for at in range(len(before))]
    n = len(block["columns"])
    lost = [
        sum(
            weight * number(row[place]) * (old - number(new))
            for weight, row, old, new in zip(
                weights, block["A"], before, document["numbers"]["duals"][k], strict=True
            )
        )
        for place in range(n)
    ]
    document["constraints"].append(
        {
            "name": "made up",
            "kind": "zero",
            "columns": list(block["columns"]),
            "A": [["1" if i == j else "0" for j in range(n)] for i in range(n)],
            "b": ["0"] * n,
        }
    )
    document["numbers"]["duals"].append([number_text(Fraction(x)) for x in lost])
    change = sum(
        weight * number(b) * (number(new) - old)
        for weight, b, old, new in zip(
            weights, block["b"], before, document["numbers"]["duals"][k], strict=True
        )
    )
    document["numbers"]["value"] = number_text(number(document["numbers"]["value"]) + change)


def push_theta(document: dict, other: dict, rng: np.random.Generator) -> bool:
    """Change one parameter a little."""
    theta = document["numbers"].get("theta")
    if theta is None:
        return False
    place = int(rng.integers(len(theta)))
    theta[place] = number_text(number(theta[place]) * (1 + Fraction(amount(rng))))
    return True


def swap(document: dict, other: dict, rng: np.random.Generator) -> bool:
    """Exchange two conditions, their constants, or their duals."""
    conditions = document["constraints"]
    i, j = rng.choice(len(conditions), 2) if len(conditions) > 1 else (0, 0)
    if i == j:
        return False
    lists = [conditions, document["numbers"].get("duals", conditions)]
    what = lists[int(rng.integers(2))]
    if rng.random() < 0.3:
        one, two = conditions[i], conditions[j]
        one["b"], two["b"] = two["b"], one["b"]
    else:
        what[i], what[j] = what[j], what[i]
    return True


def stale(document: dict, other: dict, rng: np.random.Generator) -> bool:
    """Replace numbers by those of another certificate."""
    shared = [
        key
        for key in ("theta", "beta", "y", "duals", "u", "z", "K", "value")
        if key in document["numbers"] and key in other["numbers"]
    ]
    if not shared:
        return False
    key = shared[int(rng.integers(len(shared)))]
    document["numbers"][key] = copy.deepcopy(other["numbers"][key])
    return True


def edit_digit(document: dict, other: dict, rng: np.random.Generator) -> bool:
    """Change one digit of one number."""
    holders: list[tuple[list, int]] = []

    def collect(value: object) -> None:
        if isinstance(value, dict):
            for key, entry in value.items():
                if key not in ("name", "kind"):
                    holders.append((value, key)) if isinstance(entry, str) else collect(entry)
        elif isinstance(value, list):
            for at, entry in enumerate(value):
                holders.append((value, at)) if isinstance(entry, str) else collect(entry)

    collect(document["numbers"])
    if rng.random() < 0.3:
        collect(document["constraints"])
    where, at = holders[int(rng.integers(len(holders)))]
    text = where[at]
    places = [k for k, c in enumerate(text) if c.isdigit() and text[k : k + 2] != "0x"]
    place = places[int(rng.integers(len(places)))]
    where[at] = text[:place] + str(int(rng.integers(10))) + text[place + 1 :]
    return where[at] != text


def claim_more(document: dict, other: dict, rng: np.random.Generator) -> bool:
    """State a value, bound or gap that is a little different."""
    keys = [key for key in ("value", "lower_bound", "gap") if key in document["numbers"]]
    if not keys:
        return False
    key = keys[int(rng.integers(len(keys)))]
    now = number(document["numbers"][key])
    document["numbers"][key] = number_text(now + Fraction(amount(rng)))
    return True


def edit_hash(document: dict, other: dict, rng: np.random.Generator) -> bool:
    """A hash that does not match the content."""
    name = ("constraints", "digits")[int(rng.integers(2))]
    document["hashes"][name] = other["hashes"][name]
    return document["hashes"][name] != resealed(document)["hashes"][name]
