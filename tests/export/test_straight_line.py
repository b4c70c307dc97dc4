"""Straight-line code leaves out what has no effect, and changes no result."""

from __future__ import annotations

import math

import numpy as np
import pytest
from seeds import every

from steelyard.export._straight_line import (
    Node,
    StraightLine,
    Target,
    clip,
    cos,
    needed,
    sign,
    sin,
    statements,
)

PYTHON = Target(
    entry="{array}[{index}]",
    assign="{name} = {text}",
    store="{name} = {text}",
    sin="sin",
    cos="cos",
    sign="sign",
    clip="clip",
    exp="exp",
    abs="abs",
)
NUMBERS = (0.0, 1.0, -1.0, 2.5, -0.3, 1e-9)


def written(*results) -> str:
    return "\n".join(statements(PYTHON, results, "out").texts)


def evaluated(text: str, inputs: list[float], n: int) -> list[float]:
    scope = {"x": inputs, "out": [0.0] * n, "sin": sin, "cos": cos, "sign": sign, "clip": clip}
    scope |= {"exp": math.exp}
    exec(text, scope)
    return scope["out"]


def random_values(rng: np.random.Generator, inputs: list, n: int) -> list:
    """n formulas of the inputs, each of earlier ones; the same formulas for the same generator."""
    values = [*inputs, *NUMBERS]
    for _ in range(n):
        x, y = (values[int(k)] for k in rng.integers(len(values), size=2))
        values.append(
            [
                lambda x=x, y=y: x + y,
                lambda x=x, y=y: x - y,
                lambda x=x, y=y: x * y,
                lambda x=x: -x,
                lambda x=x: x / 0.7,
                lambda x=x: sin(x),
                lambda x=x: cos(x),
                lambda x=x: sign(x),
                lambda x=x: clip(x),
                lambda x=x: abs(x),
                lambda x=x: np.exp(-clip(x)),
            ][int(rng.choice(9, p=[0.2, 0.2, 0.2, 0.15, 0.05, 0.05, 0.05, 0.05, 0.05]))]()
        )
    return values


@every("seed", range(100))
def test_results_do_not_change(seed):
    """Random formulas of nodes, written and evaluated, are equal to those of numbers.

    Not a digit differs: signs and the order of two operands have no effect on rounding.
    """
    numbers = np.random.default_rng(seed).normal(size=3).tolist()
    expected = random_values(np.random.default_rng(seed), numbers, 60)
    lines = StraightLine()
    nodes = [lines.read("x", k) for k in range(3)]
    values = random_values(np.random.default_rng(seed), nodes, 60)
    code = statements(PYTHON, values, "out")
    assert evaluated("\n".join(code.texts), numbers, len(values)) == expected
    assert code.inputs == {"x"}


def test_what_has_no_effect_is_left_out():
    """Products with 0, 1 and -1, sums with 0, and signs of signs leave no operation."""
    lines = StraightLine()
    x, y = lines.read("x", 0), lines.read("x", 1)
    assert 0.0 * x == 0.0
    assert x - x == 0.0
    for same in (
        x + 0.0,
        0.0 + x,
        1.0 * x,
        x * 1.0,
        x.__neg__().__neg__(),
        -1.0 * -x,
        x / 1.0,
        0.0 - (-x),
    ):
        assert same is x
    assert x + -y is x - y
    assert -(x - y) is y - x
    assert -x * y is -(x * y)
    assert x * y is y * x
    assert x + y is y + x
    assert cos(-x) is cos(x)
    assert sin(-x) is -sin(x)
    assert sin(0.5) == math.sin(0.5)
    assert (sign(-2.0), sign(0.0), clip(-2.0), clip(0.5)) == (-1.0, 0.0, -1.0, 0.5)


def test_only_what_results_need_is_written():
    """Operations without effect on the results are not written; shared ones once."""
    lines = StraightLine()
    x, y = lines.read("x", 0), lines.read("x", 1)
    _ = sin(y)
    once = sin(x)
    text = written(once * once, 2.0 * once - 3.0, 4.0)
    assert text == (
        "x0 = x[0]\nt0 = sin(x0)\nout[0] = t0 * t0\nout[1] = 2.0 * t0 - 3.0\nout[2] = 4.0"
    )
    assert all(isinstance(node, Node) for node in needed([once, 4.0]))


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda x, y, z: x - (y - z), "x0 + (x2 - x1)"),
        (lambda x, y, z: (x - y) - z, "x0 - x1 - x2"),
        (lambda x, y, z: (x + y) * z, "x2 * (x0 + x1)"),
        (lambda x, y, z: x - (y + z), "x0 - (x1 + x2)"),
        (lambda x, y, z: x * y - z, "x0 * x1 - x2"),
        (lambda x, y, z: x / (y * z), "x0 / (x1 * x2)"),
        (lambda x, y, z: -(x * y), "-x0 * x1"),
        (lambda x, y, z: 2.0 / (x + y), "2.0 / (x0 + x1)"),
        (lambda x, y, z: x / -0.5, "x0 / (-0.5)"),
        (lambda x, y, z: -0.5 * x, "-0.5 * x0"),
        (lambda x, y, z: sin(x + y), "sin(x0 + x1)"),
        (lambda x, y, z: 0.1 + 0.2 - x, "0.30000000000000004 - x0"),
    ],
)
def test_parentheses(build, text):
    """Parentheses keep the order of operations; numbers read back to the same double."""
    lines = StraightLine()
    found = written(build(*(lines.read("x", k) for k in range(3)))).splitlines()[-1]
    assert found == f"out[0] = {text}"


def test_long_expressions_are_split():
    """No statement grows without limit."""
    lines = StraightLine()
    total = sum((0.1 * lines.read("x", k) for k in range(500)), 0.0)
    assert max(map(len, written(total).splitlines())) < 150
