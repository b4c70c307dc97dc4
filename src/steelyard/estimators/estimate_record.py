"""How an estimate was obtained: its prior, the terms that were tried, the selected parameters, and
how bodies of several links are spread over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from steelyard.errors import quoted_list
from steelyard.estimators.prior_weight import Rival, Trial
from steelyard.model.attached_links import AttachedRule

Stop = Literal["all essential", "fit would be worse"]


@dataclass(frozen=True)
class PriorRecord:
    """The prior of an estimate, and its weight.

    source : where its values come from. metric : "entropic" or "pullback".
    gamma : its weight. rule : that chose the weight; "given" if the user did, or "no prior" if it
        states no masses. trials : the weights that were tried.
    divergence : from the prior, by body. iterations : steps of the solver.
    terms : weight with which friction, drive inertia and offsets are drawn to zero.
    term_trials : the weights of terms that were tried. score : squared error of a typical
    left-out group with the weights that were chosen, as in `Trial`; None if nothing was compared.
    rivals : simpler fits, and how well they predict the same blocks.
    strained : bodies that the data move further from the prior than its weight explains.
    """

    source: str
    metric: str
    gamma: float
    rule: str
    trials: tuple[Trial, ...]
    divergence: Mapping[str, float]
    iterations: int
    terms: float = 0.0
    term_trials: tuple[Trial, ...] = ()
    score: float | None = None
    rivals: tuple[Rival, ...] = ()
    strained: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "source": self.source,
            "metric": self.metric,
            "gamma": self.gamma,
            "rule": self.rule,
            "trials": [asdict(trial) for trial in self.trials],
            "divergence": dict(self.divergence),
            "iterations": self.iterations,
            "terms": self.terms,
            "term_trials": [asdict(trial) for trial in self.term_trials],
            "score": self.score,
            "rivals": [asdict(rival) for rival in self.rivals],
            "strained": list(self.strained),
        }


@dataclass(frozen=True)
class TermTrial:
    """One set of terms.

    kinds : of its terms; the model's own set may have different kinds for some joints.
    stated : whether it is the model's own set.
    score : mean squared residual of left-out blocks, in units of the noise. standard_error :
        of its difference from the best score. as_good : whether it predicts as well as the best.
    """

    kinds: tuple[str, ...]
    stated: bool
    n_terms: int
    score: float
    standard_error: float
    as_good: bool
    bic: float


@dataclass(frozen=True)
class TermComparison:
    """All sets that were tried, the model's own first, and the one that is advised."""

    trials: tuple[TermTrial, ...]
    advised: TermTrial

    @property
    def stated(self) -> TermTrial:
        """The model's own set of terms."""
        return next(trial for trial in self.trials if trial.stated)

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "advised": list(self.advised.kinds),
            "trials": [asdict(trial) for trial in self.trials],
        }


@dataclass(frozen=True)
class Removal:
    """One base parameter that was removed.

    relative_sigma : when it was removed, as a share of its value; infinite if undetermined.
    smallest : the smallest relative standard deviation then.
    n_left : base parameters that remain after it. relative_error : of the fit without it.
    p_value : of the F-test of the fit without it against the full one; None where the data did
        not determine it, so that the removal changes no torque.
    effective_rows : effective number of independent torque values in that test.
    """

    name: str
    relative_sigma: float
    smallest: float
    n_left: int
    relative_error: float
    p_value: float | None
    effective_rows: float | None


@dataclass(frozen=True)
class EssentialPath:
    """How the essential parameters were selected.

    essential : indices of the base parameters that remain, ascending; names : theirs.
    removals : in the order in which they happened.
    relative_error : of the full fit, to compare with.
    stopped, reason : why no more were removed, as a word and in words.
    test : "cluster" if the F-test uses the time blocks, "independent" if it assumes independent
        residuals.
    """

    essential: tuple[int, ...]
    names: tuple[str, ...]
    removals: tuple[Removal, ...]
    relative_error: float
    stopped: Stop
    reason: str
    test: Literal["cluster", "independent"]

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "essential": list(self.names),
            "removals": [asdict(step) for step in self.removals],
            "relative_error_of_all": self.relative_error,
            "stopped": self.stopped,
            "reason": self.reason,
            "test": self.test,
        }

    def text(self) -> str:
        """The path as a table, one removal a line, and why it ended."""
        width = max((len(step.name) for step in self.removals), default=9)
        lines = [
            f"{'removed':<{width}}  {'sigma %':>8}  {'left':>4}  {'error %':>8}  {'p':>6}",
            f"{'':<{width}}  {'':>8}  {len(self.essential) + len(self.removals):>4}"
            f"  {100 * self.relative_error:>8.3f}  {'':>6}",
        ]
        for step in self.removals:
            p = "" if step.p_value is None else f"{step.p_value:.3f}"
            lines.append(
                f"{step.name:<{width}}  {100 * step.relative_sigma:>8.3g}  {step.n_left:>4}"
                f"  {100 * step.relative_error:>8.3f}  {p:>6}"
            )
        return "\n".join([*lines, self.reason])


@dataclass(frozen=True)
class MergedBody:
    """One body of several links with inertials, as estimated.

    receiver : the link that gets what the others do not keep. kept : links that keep the inertial
    of the robot file. emptied : links that lose theirs. mass : of the body (kg). kept_mass : of
    the links that keep their inertials, in the file (kg).
    """

    body: str
    receiver: str
    kept: tuple[str, ...]
    emptied: tuple[str, ...]
    mass: float
    kept_mass: float

    @property
    def words(self) -> str:
        """How the body is spread over its links, in one line."""
        parts = []
        if self.kept:
            parts.append(
                f"{quoted_list(self.kept)} {verb(self.kept, 'keeps', 'keep')} the robot file's "
                f"{self.kept_mass:.4g} kg, and '{self.receiver}' gets the rest, "
                f"{self.mass - self.kept_mass:.4g} kg"
            )
        else:
            parts.append(f"'{self.receiver}' gets all of it, {self.mass:.4g} kg")
        if self.emptied:
            parts.append(f"{quoted_list(self.emptied)} {verb(self.emptied, 'is', 'are')} emptied")
        return f"body '{self.body}': {'; '.join(parts)}"


@dataclass(frozen=True)
class MergedBodies:
    """All bodies of several links, and the rule by which they are spread over their links."""

    rule: AttachedRule
    bodies: tuple[MergedBody, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "rule": self.rule,
            "bodies": [
                {
                    "body": one.body,
                    "receiver": one.receiver,
                    "kept": list(one.kept),
                    "emptied": list(one.emptied),
                    "mass": one.mass,
                    "kept_mass": one.kept_mass,
                }
                for one in self.bodies
            ],
        }


def verb(names: Sequence[str], one: str, several: str) -> str:
    """The form of a word for one name, or for several."""
    return one if len(names) == 1 else several
