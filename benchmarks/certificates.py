"""Is `verify` right? 5,000 valid certificates and 5,000 damaged ones.

Valid certificates of every kind, on random robots of one to three links, must be accepted. Damaged
ones (pushed out of a cone by 1e-3 to 1e-9, or left just inside; blocks exchanged; stale duals;
digits edited) must be accepted if and only if a second, independent exact implementation, kept in
the tests, still accepts them; where the hashes were not updated, `verify` must report the
mismatch.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from contender import say
from goals import Goal

NAME = "certificates"
DESCRIPTION = "5,000 valid and 5,000 damaged certificates against a second exact implementation"
N = 5000
GOALS = (
    Goal("honest_accepted", ">=", N),
    Goal("mutants_agree", ">=", N),
    Goal("hash_mismatches_unreported", "<=", 0),
    Goal("mutants_invalid", ">=", N // 4),
    Goal("mutants_still_valid", ">=", N // 20),
)


def measure() -> dict[str, float | None]:
    """Numbers of correct and wrong verdicts."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    import numpy as np
    from certificate_cases import mutant, with_others

    from steelyard.certificates.verify import verify

    rng = np.random.default_rng(0)
    count: Counter[str] = Counter()
    refusals: list[str] = []
    for k, (document, other) in enumerate(with_others(0, refusals)):
        if k == N:
            break
        if k % 500 == 0:
            say(f"{k} of {N}")
        count["honest_accepted"] += verify(document).valid and second_opinion(document)
        count[f"honest_{document['kind']}"] += 1
        way, damaged = mutant(document, other, rng)
        first, second = opinion(damaged), second_opinion(damaged)
        count["mutants_agree"] += first == second
        count["mutants_still_valid" if second else "mutants_invalid"] += 1
        count[f"mutants_{way}"] += 1
        count["hash_mismatches_unreported"] += unreported(damaged)
    count["solver_refusals"] = len(refusals)  # problems for which there is nothing to check
    names = ("honest_accepted", "mutants_agree", "mutants_invalid", "mutants_still_valid",
             "hash_mismatches_unreported", "solver_refusals")  # fmt: skip
    return {name: count[name] for name in (*names, *sorted(set(count) - set(names)))}


def opinion(document: dict[str, Any]) -> bool:
    """Whether `verify` accepts; a document that it cannot read counts as rejected."""
    from steelyard.certificates.verify import verify
    from steelyard.conic.exact_text import CertificateError

    try:
        return verify(document).valid
    except CertificateError:
        return False


def second_opinion(document: dict[str, Any]) -> bool:
    """Whether the second implementation accepts; invalid numbers count as rejected."""
    from exact_second import is_valid

    try:
        return bool(is_valid(document))
    except (ValueError, ZeroDivisionError, IndexError):
        return False


def unreported(document: dict[str, Any]) -> int:
    """Number of hashes that differ from the content without `verify` reporting it."""
    from exact_second import seals

    from steelyard.certificates.verify import verify
    from steelyard.conic.exact_text import CertificateError

    wrong = [name for name, value in seals(document).items() if document["hashes"][name] != value]
    try:
        problems = verify(document).details["problems"]
    except CertificateError:
        return 0  # what cannot be read has no verdict to name hashes in
    return sum(f"the hash of the {name} does not match" not in problems for name in wrong)
