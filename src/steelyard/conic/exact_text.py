"""Exact numbers as text: integers, decimals, ratios ``p/q``, and floats in hex.

Uses Python's standard library only, like everything that verifies certificates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from steelyard.errors import SteelyardError

MAX_DIGITS = 10_000  # of one number

Number = Fraction | float | int


class CertificateError(SteelyardError):
    """A certificate cannot be read or written, or is too large to verify."""


_DECIMAL = re.compile(r"([+-]?)([0-9]+)(?:/([0-9]+)|(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,5}))?)")
_POWER = re.compile(r"[+-]?[0-9]{1,5}")
_HEX = re.compile(r"([+-]?)0x([0-9a-f]+)(?:\.([0-9a-f]+))?p([+-]?[0-9]{1,5})")


def number(text: Any, where: str = "a number") -> Fraction:
    """The rational number in a text: 3, -0.25, 1.5e-7, 22/7 or 0x1.8p-3."""
    if not isinstance(text, str):
        raise CertificateError(f"{where} has {shown_value(text)} instead of a number in quotes")
    if len(text) > MAX_DIGITS:
        raise CertificateError(f"{where} has a number of more than {MAX_DIGITS} digits")
    found = _DECIMAL.fullmatch(text)
    if found is not None:
        sign, head, denominator, tail, power = found.groups()
        if denominator is not None:
            below = whole(denominator)
            if below == 0:
                raise CertificateError(f"{where} has {shown_value(text)}, which divides by zero")
            value = Fraction(whole(head), below)
        else:
            shift = int(power or 0) - len(tail or "")
            if abs(shift) > MAX_DIGITS:
                raise CertificateError(f"{where} has a number of more than {MAX_DIGITS} digits")
            digits = whole(head + (tail or ""))
            value = Fraction(digits * 10 ** max(shift, 0), 10 ** max(-shift, 0))
        return -value if sign == "-" else value
    found = _HEX.fullmatch(text)
    if found is None:
        raise CertificateError(f"{where} has {shown_value(text)}, which is not a number")
    sign, head, tail, power = found.groups()
    shift = int(power) - 4 * len(tail or "")
    if abs(shift) > 3 * MAX_DIGITS:
        raise CertificateError(f"{where} has a number of more than {MAX_DIGITS} digits")
    value = Fraction(int(head + (tail or ""), 16) << max(shift, 0), 1 << max(-shift, 0))
    return -value if sign == "-" else value


def digits_of(text: Any, where: str) -> int:
    """How many digits a number's text stands for, exponent included, without making the number."""
    if not isinstance(text, str):
        raise CertificateError(f"{where} has {shown_value(text)} instead of a number in quotes")
    _, mark, power = text.lower().rpartition("p" if "x" in text else "e")
    shift = abs(int(power)) if mark and _POWER.fullmatch(power) else 0
    return len(text) + min(shift, 3 * MAX_DIGITS)


def whole(digits: str) -> int:
    """A non-negative integer of any length; Python's int() stops at 4,300 digits."""
    if len(digits) <= 4000:
        return int(digits)
    return whole(digits[:-4000]) * 10**4000 + int(digits[-4000:])


def quoted(text: str, mark: str = '"') -> str:
    """A text in quotes, cut and on one line."""
    cut = text[:100] + "..." if len(text) > 100 else text
    return f"{mark}{cut}{mark}" if cut.isprintable() else repr(cut)


def shown_value(value: Any) -> str:
    """A wrong value, for a message."""
    if isinstance(value, str):
        return quoted(value, "'")
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) < 10**12:
        return str(value)
    return type(value).__name__


def texts(values: Iterable[Number]) -> list[str]:
    """Exact texts of numbers."""
    return [number_text(x) for x in values]


def number_text(x: Number) -> str:
    """The exact text of a number: a float as its shortest decimal if that is exact, else in hex."""
    if isinstance(x, int | Fraction):
        value = Fraction(x)
        below = "" if value.denominator == 1 else f"/{_digits(value.denominator)}"
        sign = "-" if value < 0 else ""
        return f"{sign}{_digits(abs(value.numerator))}{below}"
    x = float(x)
    if not math.isfinite(x):
        raise CertificateError("a number of the certificate is not finite")
    short = shortest_decimal(x)
    return short if Fraction(short) == Fraction(x) else x.hex()


def shortest_decimal(x: Number) -> str:
    """The shortest decimal that reads back as this float; the exact text of a rational."""
    if isinstance(x, int | Fraction):
        return number_text(x)
    return repr(float(x) + 0.0).removesuffix(".0")


def _digits(n: int) -> str:
    """Decimal digits of a non-negative integer; Python's str() stops at 4,300 digits."""
    if n.bit_length() > 3 * MAX_DIGITS:
        raise CertificateError(f"a number of the certificate has more than {MAX_DIGITS} digits")
    if n < 10**4000:
        return str(n)
    head, tail = divmod(n, 10**4000)
    return _digits(head) + str(tail).zfill(4000)


def rounded_down(x: Fraction, digits: int = 20) -> str:
    """The largest decimal of about this many digits that is not above x."""
    if x == 0:
        return "0"
    # digits before the point, from the lengths in bits: log10 2 is about 3/10
    size = 3 * (x.numerator.bit_length() - x.denominator.bit_length()) // 10
    shift = digits - size
    scaled = x * Fraction(10) ** shift
    return f"{math.floor(scaled)}e{-shift}"


def rounded_up(x: Fraction, digits: int = 20) -> str:
    """The smallest decimal of about this many digits that is not below x."""
    text = rounded_down(-x, digits)
    return text.removeprefix("-") if text.startswith("-") else f"-{text}" if x else "0"
