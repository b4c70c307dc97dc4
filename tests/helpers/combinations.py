"""Parse the text of a combination of parameters."""

from __future__ import annotations

import re

TERM = re.compile(r"([+-]?)([\d.]+(?:e-?\d+)?)?(?:\(([^)]*)\)|([A-Za-z]+_\d+[a-z]*))")


def parsed(combination: str) -> dict[str, float]:
    """Coefficients by parameter of a combination such as ``a - 0.5 (b + c)``."""
    text = "".join(combination.split())
    out: dict[str, float] = {}
    at = 0
    while at < len(text):
        match = TERM.match(text, at)
        assert match, (text, at)
        sign, factor, inner, single = match.groups()
        value = float(factor or 1.0) * (-1.0 if sign == "-" else 1.0)
        for name in (inner or single).split("+"):
            out[name] = out.get(name, 0.0) + value
        at = match.end()
    return out
