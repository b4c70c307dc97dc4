"""Base parameters: list them, see what sensors see of each link, test and correct values."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import Output, progress
from steelyard.cli.robot import add_robot_arguments, robot_from

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from steelyard.conic.blocks import Block
    from steelyard.model.base_map import BaseMap
    from steelyard.model.model import Model
    from steelyard.model.visibility import LinkVisibility

    Array = NDArray[np.float64]

NAME = "base"
HELP = "list, test or correct base parameters; what sensors see of each link"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``base list``, ``base seen``, ``base test`` and ``base correct``."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    listing = actions.add_parser(
        "list",
        help="the base parameters of a robot, as combinations of its parameters",
        description="List the combinations of parameters that joint torques determine, before any "
        "log is recorded.",
        allow_abbrev=False,
    )
    add_robot_arguments(listing)
    listing.add_argument(
        "--order",
        choices=("sousa", "pinocchio"),
        default="sousa",
        help="which columns become base columns: the first independent ones with inertia before "
        "mass (sousa, default: the shortest combinations), or with mass first",
    )
    listing.add_argument(
        "--style",
        choices=("names", "papers"),
        default="names",
        help="how parameters are written: forearm.Ixx (names, default), or L_3xx (papers)",
    )
    add_json(listing)
    seen = actions.add_parser(
        "seen",
        help="what each choice of sensors can see of every link",
        description="Say which parameters of every link joint torques, or the wrench of a floating "
        "base, can determine for any motion.",
        allow_abbrev=False,
    )
    add_robot_arguments(seen)
    seen.add_argument(
        "--without-torque",
        nargs="+",
        default=[],
        metavar="JOINT",
        help="joints whose torque is not measured",
    )
    add_json(seen)
    test = actions.add_parser(
        "test",
        help="feasible, infeasible or undecided, with a certificate",
        description="Decide whether any physical robot can have these base parameters.",
        allow_abbrev=False,
    )
    correct = actions.add_parser(
        "correct",
        help="find the closest feasible base parameters",
        description="Find the closest base parameters that a physical robot can have.",
        allow_abbrev=False,
    )
    for action in (test, correct):
        action.add_argument(
            "file",
            metavar="FILE",
            help="base parameters: CSV of name,value lines, JSON, or result.json",
        )
        add_robot_arguments(action)
        action.add_argument(
            "--consistency",
            choices=("full", "sousa"),
            help="full: pseudo-inertia positive semidefinite (default); "
            "sousa: the weaker 6×6 condition of Sousa and Cortesão (2014)",
        )
        action.add_argument("--certificate", metavar="OUT", help="certificate file to write (JSON)")
        add_json(action)
    test.add_argument(
        "--witness",
        metavar="CERTIFICATE",
        help="certificate of feasible parameters, such as that of base correct: its standard "
        "parameters are tried first, which decides on the boundary, too",
    )
    correct.add_argument(
        "-o", "--out", required=True, metavar="FILE", help="CSV file of name,value lines to write"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option for JSON, after the action as well as before it."""
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print one JSON object on standard output",
    )


def run(arguments: argparse.Namespace) -> int:
    """List, show what is seen, test or correct."""
    if arguments.action == "list":
        return show_list(arguments)
    if arguments.action == "seen":
        return seen(arguments)
    with progress() as shown:
        shown.step("finding the base parameters")
        model, base, beta, blocks, near, stricter, notes = _problem(arguments)
        shown.step("testing them" if arguments.action == "test" else "correcting them")
        if arguments.action == "test":
            code, lines, document = test(arguments, model, base, beta, blocks, near)
        else:
            code, lines, document = correct(arguments, model, base, beta, blocks, stricter)
    output = Output(arguments.json)
    for line in (*lines, *(f"note: {note}" for note in notes)):
        output.line(line)
    output.document({**document, "model_hash": model.hash, "notes": list(notes)})
    return code


def show_list(arguments: argparse.Namespace) -> int:
    """Print every base parameter with its unit, and the parameters without effect."""
    from steelyard.errors import listed
    from steelyard.knowledge.overlay.terms import terms_to_identify
    from steelyard.model.base_map import base_map
    from steelyard.model.model import Model

    with progress() as shown:
        shown.step("finding the base parameters")
        robot, overlay = robot_from(arguments)
        model = Model(robot, terms_to_identify(robot, overlay))
        base = base_map(model, arguments.order)
    combinations = base.combinations(arguments.style)
    without = [fate.name for fate in base.fates() if fate.kind == "never"]
    output = Output(arguments.json)
    output.table(
        ("", "base parameter", "unit"),
        [
            (str(k), words, unit)
            for k, (words, unit) in enumerate(zip(combinations, base.units, strict=True), 1)
        ],
        left=("base parameter", "unit"),
    )
    output.line(
        f"{base.rank} base parameters of {len(base.columns)} parameters of robot '{robot.name}'"
    )
    if without:
        output.line(f"without effect on any torque: {listed(without)}")
    output.line(SYMBOLS + _terms(model))
    output.document(
        {
            "robot": robot.name,
            "model_hash": model.hash,
            "n_base": base.rank,
            "n_parameters": len(base.columns),
            "base_parameters": [
                {"name": name, "unit": unit, "combination": words}
                for name, unit, words in zip(base.names, base.units, combinations, strict=True)
            ],
            "without_effect": without,
        }
    )
    return 0


def seen(arguments: argparse.Namespace) -> int:
    """Print what every choice of sensors sees of each link and joint."""
    from steelyard.errors import ModelError, listed
    from steelyard.knowledge.overlay.terms import terms_to_identify
    from steelyard.model.model import Model
    from steelyard.model.visibility import sensing_choices, visibility

    with progress() as shown:
        shown.step("finding what the sensors see")
        robot, overlay = robot_from(arguments)
        model = Model(robot, terms_to_identify(robot, overlay))
        unknown = [name for name in arguments.without_torque if name not in robot.joint_names]
        if unknown:
            raise ModelError(
                f"--without-torque: robot '{robot.name}' has no joint {listed(unknown)}; its "
                f"joints are {listed(robot.joint_names)}"
            )
        found = {
            name: visibility(model, [c for c in rows if c not in arguments.without_torque])
            for name, rows in sensing_choices(model).items()
        }
    output = Output(arguments.json)
    for name, one in found.items():
        output.line(f"{name}: {one.rank} of {one.whole_rank} combinations")
        for words, names in _alike((*one.links, *one.joints)).items():
            output.indented(f"{listed(names)}: {words}")
    output.line(SYMBOLS + _terms(model))
    output.document({"robot": robot.name, "choices": {k: asdict(one) for k, one in found.items()}})
    return 0


SYMBOLS = (
    "m: mass; mx, my, mz: mass times centre of mass; Ixx to Izz: inertia about the origin of the "
    "link's frame"
)


def _alike(parts: Iterable[LinkVisibility]) -> dict[str, list[str]]:
    """Names of links and joints by what is seen of them, in order."""
    found: dict[str, list[str]] = {}
    for part in parts:
        found.setdefault(part.words or "nothing", []).append(part.name)
    return found


def _terms(model: Model) -> str:
    """What the symbols of the joints' terms mean."""
    kinds = {
        column.symbol: column.term_kind.description
        for column in model.columns
        if column.term_kind is not None
    }
    return "".join(f"; {symbol}: {words}" for symbol, words in kinds.items())


def _problem(
    arguments: argparse.Namespace,
) -> tuple[
    Model,
    BaseMap,
    Array,
    tuple[Block, ...],
    Array | None,
    Iterator[tuple[Block, ...]],
    tuple[str, ...],
]:
    """The model, its base parameters and their values, the conditions, a possible witness, and the
    conditions with larger margins.
    """
    from dataclasses import replace

    from steelyard.estimators.result_file import read_result
    from steelyard.knowledge.base_values import is_result, read_base_values
    from steelyard.knowledge.constraint_blocks import blocks
    from steelyard.knowledge.overlay.constraints import constraints_from_overlay
    from steelyard.knowledge.overlay.terms import terms_to_identify
    from steelyard.model.base_map import base_map
    from steelyard.model.model import Model
    from steelyard.robot.file_changes import change_findings

    from_result = is_result(arguments.file)
    robot, overlay = robot_from(arguments, for_result=from_result)
    near: Array | None = None
    if from_result:
        result = read_result(arguments.file)
        model, near = result.model_for(robot), result.theta
    else:
        model = Model(robot, terms_to_identify(robot, overlay))
    base = base_map(model)
    beta = read_base_values(arguments.file, base)
    constraints, notes = constraints_from_overlay(model, overlay)
    if constraints.second_moment == "auto":  # the question is about any robot, not a likely one
        constraints = replace(constraints, second_moment=None)
    if getattr(arguments, "witness", None) is not None:
        near = _witness(arguments.witness, model)
    if arguments.consistency is not None:
        constraints = replace(constraints, consistency=arguments.consistency)
    notes = (*(finding.words for finding in change_findings(model.robot)), *notes)
    stricter = (
        blocks(model, replace(constraints, margin=margin))
        for margin in MARGINS
        if margin > constraints.margin
    )
    return model, base, beta, blocks(model, constraints), near, stricter, notes


def _witness(path: str, model: Model) -> Array:
    """The standard parameters of a certificate, which must be about parameters of this model."""
    import numpy as np

    from steelyard.certificates.document import parse, read_certificate
    from steelyard.errors import EstimationError, shown

    found = parse(read_certificate(path))
    if found.parameters != model.column_names or "theta" not in found.vectors:
        raise EstimationError(
            f"{shown(path)} has no standard parameters of robot '{model.robot.name}'; give the "
            "certificate that base correct wrote for this robot, with the same overlay"
        )
    return np.array([float(x) for x in found.vectors["theta"]])


MARGINS = tuple(10.0**k for k in range(-9, -2))
"""Margins whose closest parameters are looked at, too, where bodies grow without limit."""
WORDS = {
    "feasible": "feasible: a physical robot can have these base parameters",
    "infeasible": "infeasible: no physical robot can have these base parameters",
    "undecided": "undecided: too close to the boundary to find a witness or a dual",
}


def test(
    arguments: argparse.Namespace,
    model: Model,
    base: BaseMap,
    beta: Array,
    blocks: tuple[Block, ...],
    near: Array | None,
) -> tuple[int, list[str], dict[str, Any]]:
    """Test, and write a certificate if asked; exit code 0 only if feasible."""
    from steelyard.certificates.base_feasibility import base_feasibility
    from steelyard.certificates.writing import certificate_of
    from steelyard.model.typical_sizes import parameter_scale

    answer = base_feasibility(base, beta, blocks, parameter_scale(model), near=near)
    lines = [
        f"{arguments.file}: {WORDS[answer.verdict]}",
        f"largest margin by which all {len(blocks)} conditions can hold: {answer.margin:.4g} of "
        "typical parameters",
    ]
    certificate = certificate_of(model, base, beta, blocks, answer)
    lines += _write(arguments.certificate, certificate)
    document = {
        "verdict": answer.verdict,
        "margin": answer.margin,
        "n_base": base.rank,
        "n_conditions": len(blocks),
        "certificate": arguments.certificate if certificate is not None else None,
    }
    return 0 if answer.verdict == "feasible" else 1, lines, document


def correct(
    arguments: argparse.Namespace,
    model: Model,
    base: BaseMap,
    beta: Array,
    blocks: tuple[Block, ...],
    stricter: Iterator[tuple[Block, ...]],
) -> tuple[int, list[str], dict[str, Any]]:
    """Find the closest base parameters that are feasible exactly, in the digits written."""
    import numpy as np

    from steelyard.certificates.base_correction import proven_correction
    from steelyard.certificates.writing import feasible_certificate
    from steelyard.knowledge.base_values import write_base_values
    from steelyard.model.typical_sizes import parameter_scale

    found = proven_correction(base, beta, blocks, parameter_scale(model), stricter=stricter)
    before, corrected, distance = found.before, found.beta, found.distance
    write_base_values(arguments.out, base.names, corrected)
    certificate = feasible_certificate(model, blocks, found.witness, base=base, beta=corrected)
    lines = [f"{arguments.file}: {WORDS[before.verdict]}"]
    lines.append(f"distance to the closest feasible base parameters: {distance:.4g}")
    changes = np.argsort(-np.abs(corrected - beta), kind="stable")
    for k in changes[:5]:
        if corrected[k] != beta[k]:
            lines.append(f"  {base.names[k]}: {beta[k]:.6g} -> {corrected[k]:.6g} {base.units[k]}")
    lines.append(f"wrote {arguments.out}")
    lines += _write(arguments.certificate, certificate)
    if arguments.certificate is not None:
        lines.append(
            "They lie on the boundary of what is feasible, where a search may find no witness; "
            f"the certificate has one: steelyard base test {arguments.out} {arguments.robot} "
            f"--witness {arguments.certificate}, with the overlay and options of this command"
        )
    document = {
        "verdict": before.verdict,
        "margin": before.margin,
        "distance": distance,
        "parameters": [
            {"name": name, "unit": unit, "given": float(given), "value": float(value)}
            for name, unit, given, value in zip(
                base.names, base.units, beta, corrected, strict=True
            )
        ],
        "out": arguments.out,
        "certificate": arguments.certificate,
    }
    return 0, lines, document


def _write(path: str | None, certificate: dict[str, Any] | None) -> list[str]:
    from steelyard.certificates.writing import write_certificate

    if path is None:
        return []
    if certificate is None:
        return ["no certificate was written: neither a witness nor a dual was found"]
    write_certificate(path, certificate)
    return [f"wrote {path}"]
