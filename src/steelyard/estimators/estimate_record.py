"""How an estimate was obtained: what its prior did, which terms were tried, what was selected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from steelyard.estimators.prior_weight import Trial

Stop = Literal["all essential", "fit would be worse"]


@dataclass(frozen=True)
class PriorRecord:
    """What the prior of an estimate was, and how much it counted.

    source : where its values come from. metric : "entropic" or "pullback".
    gamma : its weight. rule : that chose the weight, "given" without one, or "no prior" where it
        states no masses. trials : the weights that were tried.
    divergence : from the prior, by body. iterations : steps of the solver.
    """

    source: str
    metric: str
    gamma: float
    rule: str
    trials: tuple[Trial, ...]
    divergence: Mapping[str, float]
    iterations: int

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
        }


@dataclass(frozen=True)
class TermTrial:
    """One set of terms.

    kinds : of its terms; the model's own set may have others for some joints.
    score : mean squared residual of what was left out, in units of the noise. standard_error :
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
        """The set of the model."""
        return next(trial for trial in self.trials if trial.stated)

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "advised": list(self.advised.kinds),
            "trials": [asdict(trial) for trial in self.trials],
        }


@dataclass(frozen=True)
class Removal:
    """One base parameter that was set to zero.

    relative_sigma : when it went, as a share of its value; infinite where the data left it open.
    smallest : the smallest relative standard deviation then.
    n_left : base parameters that remain after it. relative_error : of the fit without it.
    p_value : of the F-test of the fit without it against the full one; None where the removal
        changes no torque, since the data left the parameter open.
    effective_rows : how many independent torque values the rows are worth in that test.
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
    """How the essential parameters were arrived at.

    essential : indices of the base parameters that remain, ascending; names : theirs.
    removals : in the order in which they happened.
    relative_error : of the full fit, to compare with.
    stopped, reason : why no more were removed, as a word and in words.
    test : "cluster" where the time blocks carry the F-test, "independent" where they could not.
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
