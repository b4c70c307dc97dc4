"""The mutants of `make mutants`: what is changed, what is left alone, and which tests are asked."""

from __future__ import annotations

import sys

import pytest
from project import ROOT

TOOL = ROOT / "tools" / "mutants"


@pytest.fixture(scope="module", autouse=True)
def tool():
    """The scripts of the tool, which import each other by their plain names."""
    names = ("changes", "targets", "sessions", "touched", "run")
    kept = {name: sys.modules.pop(name, None) for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOL))
        yield
    for name in names:
        sys.modules.pop(name, None)
        if kept[name] is not None:
            sys.modules[name] = kept[name]


SOURCE = '''
"""Words."""
LIMIT = 0.5

class Body:
    def heavy(self, mass: float = 1.0) -> bool:
        """Whether it is."""
        if mass > LIMIT and not self.hollow:
            raise ValueError(f"too heavy: {mass + 1}")
        parts[0] = max(mass, -mass) * A.T
        return len(parts) >= 3 or [x for x in parts if x]
'''


def test_each_operator_makes_its_change():
    """One line of each kind, and nothing in words, errors and types."""
    from changes import changes_of

    found = changes_of(SOURCE)
    by = {(one.operator, one.after) for one in found}
    assert by == {
        ("constant", "LIMIT = 1.0"),
        ("constant", "def heavy(self, mass: float = 2.0) -> bool:"),
        ("negated", "if (mass <= LIMIT) and not self.hollow:"),
        ("negated", "if mass > LIMIT and (self.hollow):"),
        ("logic", "if (mass > LIMIT or not self.hollow):"),
        ("removed", "pass"),
        ("constant", "parts[1] = max(mass, -mass) * A.T"),
        ("logic", "parts[0] = (min(mass, -mass)) * A.T"),
        ("arithmetic", "parts[0] = max(mass, (mass)) * A.T"),
        ("arithmetic", "parts[0] = (max(mass, -mass) / A.T)"),
        ("arithmetic", "parts[0] = max(mass, -mass) * (A)"),
        ("boundary", "return (len(parts) > 3) or [x for x in parts if x]"),
        ("negated", "return (len(parts) < 3) or [x for x in parts if x]"),
        ("constant", "return len(parts) >= 4 or [x for x in parts if x]"),
        ("logic", "return (len(parts) >= 3 and [x for x in parts if x])"),
        ("kept", "return len(parts) >= 3 or [x for x in parts if True]"),
    }
    assert {one.function for one in found} == {"", "Body.heavy"}
    removed = [one for one in found if one.operator == "removed"]
    assert [one.before.partition("(")[0] for one in removed] == [
        "raise ValueError",
        "parts[0] = max",
    ]
    for one in found:
        changed = one.applied(SOURCE)
        compile(changed, "mutant", "exec")
        assert changed != SOURCE


def test_a_mutant_keeps_its_name_when_lines_move():
    """Results of earlier runs stay valid, and so do entries of equivalent.toml."""
    from changes import changes_of

    names = [one.key for one in changes_of(SOURCE)]
    assert len(set(names)) == len(names)
    assert [one.key for one in changes_of("import os\n\n" + SOURCE)] == names


def test_compiled_functions_and_words_are_left_alone():
    """Numba would go on with what it has compiled; a message is no arithmetic."""
    from changes import changes_of

    assert changes_of("@jit\ndef f(x):\n    return x + 1\n") == []
    assert changes_of("words = 'a' + f'{x + 1}' + ('b' if n > 1 else 'c')\n") == []
    assert [one.operator for one in changes_of("zip(a, b, strict=True)\n")] == ["removed"]


def test_every_target_has_mutants_and_every_named_case_its_line():
    """A case whose text has changed must be corrected, or it would plant nothing."""
    from changes import changes_of
    from run import named_cases
    from targets import PACKAGE, TARGETS, modules, test_files

    assert set(modules()) == {path for paths in TARGETS.values() for path in paths}
    for paths in TARGETS.values():
        sources = [(PACKAGE / path).read_text(encoding="utf-8") for path in paths]
        assert sum(len(changes_of(source)) for source in sources) > 20
    cases = named_cases()
    assert len({case.name for case in cases}) == len(cases) >= 8
    for case in cases:
        assert case.source() != (PACKAGE / case.path).read_text(encoding="utf-8")
        assert all((ROOT / test).exists() for test in case.tests)
    assert all((ROOT / file).exists() for file in test_files())


def test_tests_that_touch_the_line_are_asked_first_and_quick_ones_before_slow():
    """Then the others of the same files, within the budget; for a line that runs on import, all
    that touch the module; files that do not touch it, never.
    """
    from touched import BUDGET_S, SETUP, Touched, tests_for

    known = [
        Touched(
            "a.py",
            {"a::slow": 5.0, "a::quick": 0.1, "a::other": 1.0, "a::huge": 2 * BUDGET_S},
            {"m.py": {3: [""], 7: ["a::slow", "a::quick"], 9: ["a::other" + SETUP]}},
        ),
        Touched("b.py", {"b::far": 0.1}, {"m.py": {9: ["b::far"]}}),
        Touched("c.py", {"c::away": 0.1}, {"n.py": {7: ["c::away"]}}),
    ]
    assert tests_for("m.py", (7, 7), known) == ["a::quick", "a::slow", "a::other"]
    assert tests_for("m.py", (9, 9), known) == ["b::far", "a::other", "a::quick", "a::slow"]
    assert tests_for("m.py", (2, 4), known) == ["a::quick", "b::far", "a::other", "a::slow"]
    assert tests_for("m.py", (6, 8), known) == tests_for("m.py", (7, 7), known)
    assert tests_for("o.py", (3, 3), known) == []
