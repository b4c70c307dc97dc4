"""Straight-line code: a list of operations on numbers, without loops or branches.

A value is a float or a `Node`, and formulas are written with Python's operators:

    lines = StraightLine()
    q = lines.read("q", 0)
    x = 0.0 * q + 2.0 * sin(q)          # 2.0 * sin(q); the product with zero is left out

Operations between floats are done at once. Operations of a `Node` with 0, 1 or -1 are left out,
signs are moved outward, and an operation that was asked for before is not repeated. A product
with zero is zero, also where the other factor would be infinite: values must be finite.

`statements` writes those operations that the results need, for one of two targets: C or NumPy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

LONGEST_EXPRESSION = 60
"""Characters of an expression above which it is a statement of its own."""
SUM, PRODUCT, NAME = 1, 2, 3
"""How tightly an expression binds: as a sum or a difference, as a product, as a name."""


class StraightLine:
    """The operations of one function, each at most once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[object, ...]], Node] = {}

    def read(self, array: str, index: int) -> Node:
        """One entry of an input array."""
        return self.node("read", array, index)

    def node(self, kind: str, *operands: object) -> Node:
        """The node of an operation: the old one if it has been asked for before."""
        key = (kind, operands)
        if key not in self._known:
            self._known[key] = Node(self, len(self._known), kind, operands)
        return self._known[key]


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """The result of an operation.

    number : position among all operations of ``lines``; operands come before their results.
    kind : "read", "add", "sub", "mul", "div", "neg", "sin", "cos", "exp", "abs", "sign" or "clip".
    operands : values; array name and index of a "read".
    """

    lines: StraightLine
    number: int
    kind: str
    operands: tuple[object, ...]

    def __add__(self, other: Value) -> Value:
        return _add(self, other)

    def __radd__(self, other: Value) -> Value:
        return _add(other, self)

    def __sub__(self, other: Value) -> Value:
        return _add(self, -other)

    def __rsub__(self, other: Value) -> Value:
        return _add(other, -self)

    def __mul__(self, other: Value) -> Value:
        return _multiply(self, other)

    def __rmul__(self, other: Value) -> Value:
        return _multiply(other, self)

    def __truediv__(self, other: Value) -> Value:
        if self.kind == "neg":
            return -(-self / other)
        return self if other == 1.0 else self.lines.node("div", self, other)

    def __rtruediv__(self, other: Value) -> Value:
        return self.lines.node("div", other, self)

    def __pow__(self, power: int) -> Value:
        if power != 2:
            raise TypeError(f"only squares are written, not the power {power}")
        return self * self

    def __abs__(self) -> Node:
        return abs(-self) if self.kind == "neg" else self.lines.node("abs", self)

    def sin(self) -> Value:
        """What `numpy.sin` calls."""
        return sin(self)

    def cos(self) -> Value:
        """What `numpy.cos` calls."""
        return cos(self)

    def exp(self) -> Node:
        """What `numpy.exp` calls."""
        return self.lines.node("exp", self)

    def __neg__(self) -> Node:
        if self.kind == "neg":
            return _node(self.operands[0])
        if self.kind == "sub":
            return self.lines.node("sub", *reversed(self.operands))
        return self.lines.node("neg", self)


Value = Union[float, Node]  # noqa: UP007 - a class cannot be joined with | to its own name above


def _node(operand: object) -> Node:
    assert isinstance(operand, Node)
    return operand


def _negated(value: Value) -> bool:
    """Whether the value is the opposite of a simpler one."""
    return value.kind == "neg" if isinstance(value, Node) else value < 0.0


def _ordered(x: Value, y: Value) -> tuple[Value, Value]:
    """The operands of a sum or product in one order: floats first, then nodes by number."""
    places = [value.number if isinstance(value, Node) else -1 for value in (x, y)]
    return (x, y) if places[0] <= places[1] else (y, x)


def _add(x: Value, y: Value) -> Value:
    lines = x.lines if isinstance(x, Node) else _node(y).lines
    if not isinstance(x, Node) and x == 0.0:
        return y
    if not isinstance(y, Node) and y == 0.0:
        return x
    if _negated(x) and _negated(y):
        return -_add(-x, -y)
    if _negated(x):
        x, y = y, x
    if not _negated(y):
        return lines.node("add", *_ordered(x, y))
    return 0.0 if x is -y else lines.node("sub", x, -y)


def _multiply(x: Value, y: Value) -> Value:
    lines = x.lines if isinstance(x, Node) else _node(y).lines
    if _negated(x) != _negated(y):
        return -_multiply(-x, y) if _negated(x) else -_multiply(x, -y)
    if _negated(x):
        x, y = -x, -y
    x, y = _ordered(x, y)
    if not isinstance(x, Node) and x in (0.0, 1.0):
        return 0.0 if x == 0.0 else y
    return lines.node("mul", x, y)


def sin(x: Value) -> Value:
    """Sine of an angle in rad."""
    if not isinstance(x, Node):
        return math.sin(x)
    return -sin(-x) if x.kind == "neg" else x.lines.node("sin", x)


def cos(x: Value) -> Value:
    """Cosine of an angle in rad."""
    if not isinstance(x, Node):
        return math.cos(x)
    return cos(-x) if x.kind == "neg" else x.lines.node("cos", x)


def sign(x: Value) -> Value:
    """1, 0 or -1."""
    if not isinstance(x, Node):
        return math.copysign(1.0, x) if x else 0.0
    return -sign(-x) if x.kind == "neg" else x.lines.node("sign", x)


def clip(x: Value) -> Value:
    """x, but not below -1 and not above 1."""
    if not isinstance(x, Node):
        return min(max(x, -1.0), 1.0)
    return -clip(-x) if x.kind == "neg" else x.lines.node("clip", x)


@dataclass(frozen=True)
class Target:
    """How a language writes statements.

    entry : of an array, with ``{array}`` and ``{index}``. assign, store : statements that give a
    new name, or an entry, a value, with ``{name}`` and ``{text}``. sin, cos, sign, clip, exp, abs :
    names of functions.
    """

    entry: str
    assign: str
    store: str
    sin: str
    cos: str
    sign: str
    clip: str
    exp: str
    abs: str


@dataclass(frozen=True)
class Statements:
    """The statements of a function.

    inputs : names of the arrays that they read. kinds : of the operations. n_operations : how many
    operations they have; changes of sign do not count.
    """

    texts: tuple[str, ...]
    inputs: frozenset[str]
    kinds: frozenset[str]
    n_operations: int


def needed(results: Sequence[Value]) -> list[Node]:
    """The nodes that the results depend on, operands before their results."""
    found: dict[int, Node] = {}
    waiting = [value for value in results if isinstance(value, Node)]
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting += [operand for operand in node.operands if isinstance(operand, Node)]
    return [found[number] for number in sorted(found)]


def statements(target: Target, results: Sequence[Value], output: str) -> Statements:
    """Write what ``results`` need, and store them in the array ``output``.

    Inputs are read first and results are stored last, so that the output may be an input array.
    """
    nodes = needed(results)
    uses = Counter(operand for node in nodes for operand in node.operands)
    uses.update(results)
    reads: list[str] = []
    steps: list[str] = []
    # of each node its text, and how tightly its operation binds
    written: dict[Node, tuple[str, int]] = {}
    for node in nodes:
        text, binding = _expression(target, node, written)
        if node.kind == "read":
            name = f"{node.operands[0]}{node.operands[1]}"
            reads.append(target.assign.format(name=name, text=text))
            text, binding = name, NAME
        elif uses[node] > 1 or len(text) > LONGEST_EXPRESSION:
            name = f"t{len(steps)}"
            steps.append(target.assign.format(name=name, text=text))
            text, binding = name, NAME
        written[node] = text, binding
    stores = [
        target.store.format(
            name=target.entry.format(array=output, index=index),
            text=_operand(value, SUM, written),
        )
        for index, value in enumerate(results)
    ]
    return Statements(
        (*reads, *steps, *stores),
        frozenset(str(node.operands[0]) for node in nodes if node.kind == "read"),
        frozenset(node.kind for node in nodes),
        sum(node.kind not in ("read", "neg") for node in nodes),
    )


def _expression(
    target: Target, node: Node, written: Mapping[Node, tuple[str, int]]
) -> tuple[str, int]:
    """An operation as text, and how tightly it binds."""
    if node.kind == "read":
        array, index = node.operands
        return target.entry.format(array=array, index=index), NAME
    if node.kind in ("sin", "cos", "sign", "clip", "exp", "abs"):
        inner = _operand(node.operands[0], SUM, written)
        return f"{getattr(target, node.kind)}({inner})", NAME
    if node.kind == "neg":
        return f"-{_operand(node.operands[0], PRODUCT, written)}", SUM
    symbol, binding = {
        "add": ("+", SUM),
        "sub": ("-", SUM),
        "mul": ("*", PRODUCT),
        "div": ("/", PRODUCT),
    }[node.kind]
    left, right = node.operands
    # languages group from the left: an equal operation on the right needs parentheses
    first, second = _operand(left, binding, written), _operand(right, binding + 1, written)
    return f"{first} {symbol} {second}", binding


def _operand(value: object, above: int, written: Mapping[Node, tuple[str, int]]) -> str:
    """A value as text, in parentheses if the operation around it binds more tightly."""
    if isinstance(value, Node):
        text, binding = written[value]
    else:
        # the fewest digits, at most 17, that read back to the same double
        text = repr(value)
        binding = SUM if text.startswith("-") else NAME
    return text if binding >= above else f"({text})"
