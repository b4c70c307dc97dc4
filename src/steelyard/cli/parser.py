"""The parser of all commands; wrong usage gives one line, like all other bad input."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

import steelyard.cli.base as base
import steelyard.cli.check as check
import steelyard.cli.compare as compare
import steelyard.cli.demo as demo
import steelyard.cli.design as design
import steelyard.cli.diff as diff
import steelyard.cli.export as export
import steelyard.cli.gains as gains
import steelyard.cli.identify as identify
import steelyard.cli.info as info
import steelyard.cli.log_check as log_check
import steelyard.cli.payload as payload
import steelyard.cli.rehearse as rehearse
import steelyard.cli.simulate as simulate
import steelyard.cli.validate as validate
import steelyard.cli.verify as verify
from steelyard.errors import SteelyardError

DESCRIPTION = """\
Identify the dynamic parameters of a robot from logs of its motion and joint torques.

Exit codes: 0 success; 1 negative result, such as "not physical"; 2 bad input.
"""


class CommandLineError(SteelyardError):
    """The command line has a wrong command, option or value."""


NEGATIVE_NUMBER = re.compile(
    r"-(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|inf(?:inity)?|nan)$", re.IGNORECASE
)
"""Arguments that are numbers, not options, such as -9.81, -1e-3 and -inf."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing usage and exiting."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # argparse's own pattern lacks exponents: it takes -1e-3 for an option
        self._negative_number_matcher = NEGATIVE_NUMBER

    def error(self, message: str) -> NoReturn:
        """Raise an error of one line that points to --help."""
        raise CommandLineError(f"{message}; see {self.prog} --help")


def build_parser() -> Parser:
    """Parser of every command; ``run`` of the parsed arguments is the function to call."""
    from steelyard._version import __version__

    parser = Parser(
        prog="steelyard",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"steelyard {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (
        demo,
        check,
        diff,
        design,
        rehearse,
        log_check,
        identify,
        validate,
        compare,
        export,
        simulate,
        gains,
        payload,
        base,
        verify,
        info,
    ):
        command = commands.add_parser(
            module.NAME, help=module.HELP, description=module.__doc__, allow_abbrev=False
        )
        module.add_arguments(command)
        command.add_argument(
            "--json", action="store_true", help="print one JSON object on standard output"
        )
        command.set_defaults(run=module.run)
    return parser
