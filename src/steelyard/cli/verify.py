"""Check a certificate with nothing but integers and fractions."""

from __future__ import annotations

import argparse

from steelyard.cli.output import Output

NAME = "verify"
HELP = "check a proof with nothing but integers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("certificate", metavar="CERTIFICATE", help="JSON file of a certificate")
    parser.add_argument(
        "--model", metavar="HASH", help="hash of the model that it must have been made for"
    )
    parser.add_argument(
        "--constraints", metavar="HASH", help="hash of the constraints that it must be about"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check; 1 if a claim or a hash does not hold."""
    from steelyard.certificates.document import read_certificate
    from steelyard.certificates.verify import verify

    document = read_certificate(arguments.certificate)
    verdict = verify(document, model=arguments.model, constraints=arguments.constraints)
    output = Output(arguments.json)
    output.line(
        f"{arguments.certificate}: {verdict.kind}, {'valid' if verdict.valid else 'INVALID'}",
        None if verdict.valid else "bold red",
    )
    if verdict.valid:
        output.line(f"  {verdict.words}")
    for problem in verdict.details["problems"][:20]:
        output.line(f"  {problem}")
    output.document(
        {
            "valid": verdict.valid,
            "kind": verdict.kind,
            "words": verdict.words,
            "details": dict(verdict.details),
            "hashes": document["hashes"],
        }
    )
    return 0 if verdict.valid else 1
