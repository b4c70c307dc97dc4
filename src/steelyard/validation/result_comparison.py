"""Two results side by side: do they agree within their intervals, and how were they made?

Links, joints and parameters are matched by name. What only one of the results has is listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.errors import ResultError, listed
from steelyard.estimators.estimate import StandardEstimate
from steelyard.estimators.result_entries import (
    stored_columns,
    stored_findings,
    stored_object,
    stored_parameters,
    stored_standard,
)
from steelyard.estimators.result_file import Result
from steelyard.findings import Finding
from steelyard.robot.inertia import PARAMETERS
from steelyard.robot.inertial_changes import InertialChange, inertial_change, inertial_of
from steelyard.validation.base_agreement import Agreement, BasePair, agreement, base_pair
from steelyard.validation.result_settings import ErrorPair, SettingPair, error_pairs, setting_pairs


@dataclass(frozen=True, eq=False)
class BodyPair:
    """A body of both results: its masses with their intervals, and what differs."""

    name: str
    mass_a: StandardEstimate
    mass_b: StandardEstimate
    change: InertialChange

    @property
    def ranges_overlap(self) -> bool | None:
        """Whether the intervals of the masses overlap; None where one has none."""
        ends = (self.mass_a.lower, self.mass_a.upper, self.mass_b.lower, self.mass_b.upper)
        if None in ends:
            return None
        lower_a, upper_a, lower_b, upper_b = (float(end) for end in ends if end is not None)
        return lower_a <= upper_b and lower_b <= upper_a


@dataclass(frozen=True)
class TermPair:
    """A term of a joint or coupling, such as ``elbow.fv``, in both results."""

    name: str
    a: StandardEstimate
    b: StandardEstimate


@dataclass(frozen=True, eq=False)
class ResultComparison:
    """Two results, a and b, side by side.

    same_model : whether geometry, gravity and terms are the same.
    base, bodies, terms : what both have; bodies and terms are empty where one of the results has
        no standard parameters. base_only_in_a, ... : names that one of them has.
    errors : on the logs that were used, and on held-out ones. same_held_out : whether these are
        the same logs; None where one of the results has none.
    settings : that differ. findings_only_in_a, ... : those whose code the other does not have.
    shared_logs : number of logs that both were made from.
    """

    same_model: bool
    agreement: Agreement
    base: tuple[BasePair, ...]
    base_only_in_a: tuple[str, ...]
    base_only_in_b: tuple[str, ...]
    bodies: tuple[BodyPair, ...]
    bodies_only_in_a: tuple[str, ...]
    bodies_only_in_b: tuple[str, ...]
    terms: tuple[TermPair, ...]
    terms_only_in_a: tuple[str, ...]
    terms_only_in_b: tuple[str, ...]
    errors: tuple[ErrorPair, ...]
    same_held_out: bool | None
    settings: tuple[SettingPair, ...]
    findings_only_in_a: tuple[Finding, ...]
    findings_only_in_b: tuple[Finding, ...]
    shared_logs: int

    @property
    def other_combinations(self) -> tuple[str, ...]:
        """Base parameters of the same name that stand for other combinations."""
        return tuple(pair.name for pair in self.base if not pair.same_combination)

    @property
    def notes(self) -> tuple[str, ...]:
        """What cannot be compared, and what limits the comparison."""
        notes = []
        if not self.same_model:
            notes.append("the models differ in geometry, gravity or terms")
        for what, only_a, only_b in (
            ("base parameters", self.base_only_in_a, self.base_only_in_b),
            ("links", self.bodies_only_in_a, self.bodies_only_in_b),
            ("terms", self.terms_only_in_a, self.terms_only_in_b),
        ):
            for letter, names in (("A", only_a), ("B", only_b)):
                if names:
                    notes.append(f"{what} only in {letter}, not compared: {listed(names)}")
        if self.other_combinations:
            notes.append(
                "base parameters of the same name that stand for other combinations, not compared: "
                f"{listed(self.other_combinations)}"
            )
        if not self.bodies and not self.terms:
            notes.append("at least one method gives no standard parameters: links are not compared")
        if self.shared_logs:
            count = f"{self.shared_logs} {'log' if self.shared_logs == 1 else 'logs'}"
            notes.append(
                f"both were made from {count} of the same content: their errors are not "
                "independent, and joint standard deviations are only a scale"
            )
        if self.same_held_out is False:
            notes.append("the held-out logs differ: so may their errors, for any result")
        return tuple(notes)


def compare_results(a: Result, b: Result) -> ResultComparison:
    """Compare two results by the names of their parameters; refuses if they share none."""
    base_a, base_b = (
        {parameter.name: parameter for parameter in stored_parameters(result)} for result in (a, b)
    )
    standard_a, standard_b = _standard(a), _standard(b)
    bodies_a, bodies_b = standard_a.bodies, standard_b.bodies
    terms_a, terms_b = standard_a.terms, standard_b.terms
    base = tuple(base_pair(own, base_b[name]) for name, own in base_a.items() if name in base_b)
    if not (base or bodies_a.keys() & bodies_b.keys() or terms_a.keys() & terms_b.keys()):
        raise ResultError(
            "the results have no parameter in common: one is for joints "
            f"{listed(a.joints)}, the other for {listed(b.joints)}"
        )
    both = standard_a.known and standard_b.known
    findings_a, findings_b = stored_findings(a), stored_findings(b)
    errors, same_held_out = error_pairs(a, b)
    return ResultComparison(
        same_model=a.model_hash == b.model_hash,
        agreement=agreement(base, min(_level(a), _level(b))),
        base=base,
        base_only_in_a=_missing(base_a, base_b),
        base_only_in_b=_missing(base_b, base_a),
        bodies=tuple(
            _body_pair(name, bodies_a[name], bodies_b[name])
            for name in bodies_a
            if name in bodies_b
        ),
        bodies_only_in_a=_missing(bodies_a, bodies_b) if both else (),
        bodies_only_in_b=_missing(bodies_b, bodies_a) if both else (),
        terms=tuple(
            TermPair(name, own, terms_b[name]) for name, own in terms_a.items() if name in terms_b
        ),
        terms_only_in_a=_missing(terms_a, terms_b) if both else (),
        terms_only_in_b=_missing(terms_b, terms_a) if both else (),
        errors=errors,
        same_held_out=same_held_out,
        settings=setting_pairs(a, b),
        findings_only_in_a=_own(findings_a, findings_b),
        findings_only_in_b=_own(findings_b, findings_a),
        shared_logs=len(a.log_hashes & b.log_hashes),
    )


def _level(result: Result) -> float:
    """Confidence level of the result's intervals."""
    estimate = stored_object(result, "estimate")
    level = math.nan if estimate is None else estimate.number("interval_level")
    if not 0.0 < level < 1.0:
        raise ResultError(
            f"the result has an 'interval_level' of {level:g}; it must be between 0 and 1"
        )
    return level


@dataclass(frozen=True)
class _Standard:
    """Standard parameters of a result: the ten of each body, and those of terms, by name."""

    bodies: dict[str, tuple[StandardEstimate, ...]]
    terms: dict[str, StandardEstimate]

    @property
    def known(self) -> bool:
        """Whether the method gives standard parameters."""
        return bool(self.bodies or self.terms)


def _standard(result: Result) -> _Standard:
    columns = {column.name: column for column in stored_columns(result)}
    by_owner: dict[str, dict[str, StandardEstimate]] = {}
    terms = {}
    for parameter in stored_standard(result):
        column = columns.get(parameter.name)
        if column is not None and column.kind == "rigid_body":
            by_owner.setdefault(column.owner, {})[column.symbol] = parameter
        else:
            terms[parameter.name] = parameter
    bodies = {
        owner: tuple(ten[symbol] for symbol in PARAMETERS)
        for owner, ten in by_owner.items()
        if ten.keys() == set(PARAMETERS)
    }
    return _Standard(bodies, terms)


def _body_pair(
    name: str, a: tuple[StandardEstimate, ...], b: tuple[StandardEstimate, ...]
) -> BodyPair:
    before, after = (
        inertial_of(np.array([parameter.value for parameter in ten])) for ten in (a, b)
    )
    return BodyPair(name, a[0], b[0], inertial_change(name, before, after))


def _missing(names: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    known = set(other)
    return tuple(name for name in names if name not in known)


def _own(findings: tuple[Finding, ...], other: tuple[Finding, ...]) -> tuple[Finding, ...]:
    codes = {finding.code for finding in other}
    return tuple(finding for finding in findings if finding.code not in codes)
