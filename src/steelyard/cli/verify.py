"""Verify a certificate in exact integer and rational arithmetic."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.cli.output import Output

NAME = "verify"
HELP = "verify a certificate in exact arithmetic"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("certificate", metavar="CERTIFICATE", help="JSON file of a certificate")
    parser.add_argument(
        "--model", metavar="HASH", help="hash of the model that the certificate must be for"
    )
    parser.add_argument(
        "--constraints",
        metavar="HASH",
        help="hash of the constraints that the certificate must be for",
    )


def run(arguments: argparse.Namespace) -> int:
    """Verify; exit code 1 if a claim is wrong or a hash does not match."""
    from steelyard.certificates.document import read_certificate
    from steelyard.certificates.verify import verify

    document = read_certificate(arguments.certificate)
    verdict = verify(
        document,
        model=arguments.model,
        constraints=arguments.constraints,
        folder=Path(arguments.certificate).parent,
    )
    output = Output(arguments.json)
    output.line(
        f"{arguments.certificate}: {verdict.kind}, {'valid' if verdict.valid else 'INVALID'}",
        None if verdict.valid else "bold red",
    )
    if verdict.valid:
        output.line(f"  {verdict.words}")
        for file in verdict.details.get("files", ()):
            output.line(f"  {file['name']}: {file['words']}")
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
