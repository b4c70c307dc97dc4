"""Small wrong changes of a source text: each is one mutant.

The operators are those that stand for mistakes people make in numerical code:

    negated      a condition, or an order comparison, the wrong way round
    boundary     < for <= and the like, where a count is compared (floats are rarely equal)
    arithmetic   + for -, * for /, a power left out, a sign left out, .T left out
    logic        and for or, any for all, max for min
    constant     another number: an integer one larger, a float twice (a small one 100 times)
    call         abs or sqrt left out
    removed      a statement that has an effect, or a refusal, left out
    kept         the condition of a comprehension left out

Nothing that only makes words is changed: f-strings, errors, findings; nor types and decorators.
Compiled functions are left alone as well: Numba would use what it compiled before.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from hashlib import sha256

COMPILED = {"jit", "inner", "outer"}
WORDS = {"Finding", "shown", "listed", "did_you_mean", "shown_path"}
SILENT_FUNCTIONS = {"__repr__", "words", "text"}
SWAPPED_NAMES = {
    "max": "min", "min": "max", "any": "all", "all": "any",
    "maximum": "minimum", "minimum": "maximum", "argmax": "argmin", "argmin": "argmax",
    "nanargmin": "nanargmax", "nanargmax": "nanargmin",
}  # fmt: skip
LEFT_OUT = {"abs", "sqrt"}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Lt: ast.GtE, ast.LtE: ast.Gt,
    ast.Gt: ast.LtE, ast.GtE: ast.Lt,
}  # fmt: skip
BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One mutant of a source text.

    function : name with its class; empty at the level of the module. line : where it starts.
    statement : first and last line of the statement that it is in, or of its head.
    before, after : the changed line, without its indentation. start, end, new : what is replaced,
    as places in the encoded text.
    """

    operator: str
    function: str
    line: int
    statement: tuple[int, int]
    before: str
    after: str
    start: int
    end: int
    new: str

    @property
    def key(self) -> str:
        """Short name that stays when the lines around it change."""
        text = "\n".join((self.operator, self.function, self.before, self.after))
        return sha256(text.encode()).hexdigest()[:12]

    def applied(self, source: str) -> str:
        """The source with the change."""
        raw = source.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()


def changes_of(source: str) -> list[Change]:
    """All mutants of a source text, in its order."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    found: dict[tuple[int, str], Change] = {}
    for change in finder.found:
        if change.before != change.after:
            found.setdefault((change.start, change.after), change)
    return sorted(found.values(), key=lambda change: (change.start, change.end, change.after))


class _Finder(ast.NodeVisitor):
    """Walks a module and collects its changes."""

    def __init__(self, source: str) -> None:
        self.raw = source.encode()
        self.lines = self.raw.splitlines(keepends=True)
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line))
        self.found: list[Change] = []
        self.inside: list[str] = []
        self.statement = (1, 1)

    def visit(self, node: ast.AST) -> None:
        """Remember the statement, then visit."""
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            self.statement = (node.lineno, max(node.lineno, last or 0))
        super().visit(node)

    def place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.offsets[node.lineno - 1] + node.col_offset
        return start, self.offsets[node.end_lineno - 1] + node.end_col_offset

    def add(self, operator: str, node: ast.expr | ast.stmt, new: str) -> None:
        start, end = self.place(node)
        assert node.end_lineno is not None
        whole = slice(self.offsets[node.lineno - 1], self.offsets[node.end_lineno])
        changed = self.raw[whole.start : start] + new.encode() + self.raw[end : whole.stop]
        before, after = (" ".join(text.decode().split()) for text in (self.raw[whole], changed))
        self.found.append(
            Change(
                operator,
                ".".join(self.inside),
                node.lineno,
                self.statement,
                before,
                after,
                start,
                end,
                new,
            )
        )

    def expression(self, operator: str, node: ast.expr, new: ast.expr) -> None:
        self.add(operator, node, f"({ast.unparse(new)})")

    # what is left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        names = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
        if names & COMPILED or node.name in SILENT_FUNCTIONS:
            return
        self.inside.append(node.name)
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.inside.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.inside.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.inside.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.add("removed", node, "pass")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Words."""

    def visit_Import(self, node: ast.Import) -> None:
        """Nothing to change."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Nothing to change."""

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":
            self.visit(node.value)

    # what is changed

    def visit_Compare(self, node: ast.Compare) -> None:
        for k, operator in enumerate(node.ops):
            sides = ([node.left, *node.comparators][k], node.comparators[k])
            for name, table in (("negated", NEGATED), ("boundary", BOUNDARY)):
                if name == "boundary" and not any(_counts(side) for side in sides):
                    continue
                if type(operator) in table:
                    ops = [*node.ops[:k], table[type(operator)](), *node.ops[k + 1 :]]
                    self.expression(name, node, ast.Compare(node.left, ops, node.comparators))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if _is_words(node):
            return
        if type(node.op) in ARITHMETIC and not _is_list(node):
            new = ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
            self.expression("arithmetic", node, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub):
            self.expression("arithmetic", node, node.operand)
            if not isinstance(node.operand, ast.Constant):
                self.visit(node.operand)
        else:
            if isinstance(node.op, ast.Not | ast.Invert):
                self.expression("negated", node, node.operand)
            self.visit(node.operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self.expression("logic", node, ast.BoolOp(other, node.values))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add("constant", node, str(not value))
        elif isinstance(value, int):
            self.add("constant", node, str(value + 1))
        elif isinstance(value, float):
            self.add("constant", node, _other_number(value))

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        name = (
            function.id
            if isinstance(function, ast.Name)
            else function.attr
            if isinstance(function, ast.Attribute)
            else ""
        )
        if name in WORDS:
            return
        if name in LEFT_OUT and len(node.args) == 1:
            self.expression("call", node, node.args[0])
        if name in SWAPPED_NAMES:
            other = SWAPPED_NAMES[name]
            new = (
                ast.Name(other)
                if isinstance(function, ast.Name)
                else ast.Attribute(function.value, other)  # type: ignore[attr-defined]
            )
            self.expression("logic", node, ast.Call(new, node.args, node.keywords))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr == "T":
            self.expression("arithmetic", node, node.value)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self.test(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.test(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        if _is_words(node.body) or _is_words(node.orelse):
            return
        self.test(node.test)
        self.generic_visit(node)

    def test(self, node: ast.expr) -> None:
        """Negate a condition that has no operator of its own, such as a name or a call."""
        if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
            self.expression("negated", node, ast.UnaryOp(ast.Not(), node))

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self.add("kept", condition, "True")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # a docstring
            return
        if isinstance(node.value, ast.Call):
            self.add("removed", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, ast.Subscript) for target in node.targets):
            self.add("removed", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if _is_words(node.value):
            return
        self.add("removed", node, "pass")
        if type(node.op) in ARITHMETIC and not _is_list(node):
            new = ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
            self.add("arithmetic", node, ast.unparse(new))
        self.generic_visit(node)


def _counts(node: ast.expr) -> bool:
    """Whether an expression is evidently a whole number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _is_words(node: ast.AST) -> bool:
    """Whether an expression evidently is a text."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp):
        return _is_words(node.left) or _is_words(node.right)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.IfExp) and (_is_words(node.body) or _is_words(node.orelse))
    )


def _is_list(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether a sum joins lists, or an operator of sets."""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    kinds = ast.List | ast.Tuple | ast.ListComp | ast.Set | ast.SetComp
    return any(isinstance(side, kinds) for side in sides)


def _other_number(value: float) -> str:
    if value == 0.0:
        return "1.0"
    return repr(2.0 * value if abs(value) >= 1e-2 else 100.0 * value)
