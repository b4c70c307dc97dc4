"""Four real arms: errors on a held-out motion.

    kuka_run3         KUKA LWR4+ (IIT Genova), run 1 to run 3, recorded derivatives, the first 500
                      samples of each left out. Its torque sensors are on the link side, and that
                      is stated (``torque="link"``); ``kuka_run3_unstated`` is without.
    ur10_first        UR10 (Salerno), the last third of a motion to the first two thirds, 10 Hz.
    kinova_testing2   Kinova Gen3 (Chiha), opti_traj_testing1 to 2, torques from currents, 10 Hz.
                      Its file is not physical: ``repair="floor-moments"``.
    tx40_second_half  Stäubli TX-40 (FIGAROH), first to second half, processed as its authors did.

``ur10_last`` is the same the other way round, from the first two thirds to the last, for the plain
command alone. The plain command is `steelyard identify FILE LOG`, with the overlay or the torque
side that the row states: NAME_plain, NAME_plain_all and NAME_plain_unfiltered are its errors
outside the dead band, on all samples, and on all samples with unfiltered torque (`real_plain` says
how), and those that end in _before the same of version 0.1.0.

Everything is decided on the training data. A figure with the name of a row is the error of the
default in percent, on samples outside the dead band; NAME_all_samples is without a dead band, and
NAME_METHOD the error of another method on the same data with the same terms. Of the default,

    NAME_sigma         standard deviation of its error over resampled time blocks of the
                       predicted log (percentage points)
    NAME_gamma         weight of the prior that was chosen
    NAME_over_best     its error over the smallest of the other methods and the prior; ``pullback``,
                       its second-order form, is measured too but not counted
    NAME_behind_best   by how much it is larger, over 10 % of the smallest or NAME_sigma, whichever
                       is more
    NAME_beats_prior   1 if it is smaller than that of the robot file's inertials, otherwise 0
    NAME_uses_TERM     1 if its joints have this term, and NAME_advises_TERM if the comparison
                       of terms on the training data would have them
    NAME_advised_terms its error with the terms that are advised, NAME_advised_terms_gamma its gamma
    NAME_without_open_offsets  its error without the offsets of joints that moved in one direction
                       only in training, where friction and offset cannot be distinguished; the
                       finding ``not-excited`` names them. Absent where there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contender import say
from goals import Goal, ratio
from real_plain import measured_plainly, range_over_constants
from real_rows import ROWS, HeldOutRun, Row

if TYPE_CHECKING:
    from steelyard.estimators.estimate import Estimate
    from steelyard.model.model import Model
    from steelyard.regression.regression import Regression

NAME = "real"
DESCRIPTION = "four recorded arms: error of every method on a held-out motion"
COLUMNS = {
    "ols": "ols",
    "wls": "wls",
    "essential": "essential",
    "svd_cad": "cad",
    "svd_cad_essential": "cad-essential",
    "feasible": "feasible",
    "entropic": "entropic",
    "pullback": "pullback",
}
DEFAULT = "entropic"
TERMS = ("drive_inertia", "viscous", "coulomb", "offset")
WITH_GOALS = ("kuka_run3", "ur10_first", "kinova_testing2", "tx40_second_half")
GOALS = (
    Goal("kuka_run3", "<=", 4.5),
    *(Goal(f"{row}_behind_best", "<=", 1.0) for row in WITH_GOALS),
    *(Goal(f"{row}_beats_prior", ">=", 1.0) for row in WITH_GOALS),
    Goal("kuka_run3_plain", "<=", 3.6),
    Goal("ur10_first_plain", "<=", 5.2),
    Goal("kinova_testing2_plain", "<=", 16.0),
    Goal("tx40_second_half_plain", "<=", 5.8),
    *(Goal(f"{row}_plain_over_before", "<=", 1.0) for row in WITH_GOALS),
    Goal("ur10_last_plain_unfiltered", "<=", 6.8),
    Goal("tx40_second_half_plain_unfiltered", "<=", 22.0),
)
WITHIN = 0.1
QUICK_ROW = "tx40_second_half"
QUICK_GOALS = (
    Goal(QUICK_ROW, "<=", 9.0),
    Goal(f"{QUICK_ROW}_behind_best", "<=", 1.0),
    Goal(f"{QUICK_ROW}_beats_prior", ">=", 1.0),
    Goal(f"{QUICK_ROW}_plain", "<=", 5.2),
    Goal(f"{QUICK_ROW}_plain_all", "<=", 9.7),
    Goal(f"{QUICK_ROW}_plain_unfiltered", "<=", 17.0),
)
"""The figures of the TX-40 that the documentation states; tests hold those of the other arms."""

Figures = dict[str, float | None]


def measure() -> Figures:
    """All rows; those whose recordings are not available are absent."""
    from robot_files import has_dataset
    from threadpoolctl import threadpool_limits

    figures: Figures = {}
    with threadpool_limits(limits=1, user_api="blas"):
        for row in ROWS:
            if has_dataset(row.dataset):
                if row.tuned:
                    figures.update(measured(row))
                say(f"{row.title}, plain")
                figures.update(measured_plainly(row))
                if row.figure == "kinova_testing2":  # the row that depends most on the rules
                    figures.update(range_over_constants(row))
            else:
                say(f"{row.figure}: no recordings '{row.dataset}'")
                figures.update(absent(row))
    return figures


def quick() -> Figures:
    """The row that no test holds."""
    from robot_files import has_dataset
    from threadpoolctl import threadpool_limits

    row = next(row for row in ROWS if row.figure == QUICK_ROW)
    if not has_dataset(row.dataset):
        return dict.fromkeys(goal.figure for goal in QUICK_GOALS)
    with threadpool_limits(limits=1, user_api="blas"):
        return measured(row) | measured_plainly(row)


def absent(row: Row) -> Figures:
    """The figures of a row whose recordings are not available."""
    name = row.figure
    behind = ("all_samples", "sigma", "gamma", "over_best", "behind_best", "beats_prior")
    return dict.fromkeys((name, *(f"{name}_{what}" for what in ("prior", *COLUMNS, *behind))))


def measured(row: Row) -> Figures:
    """Every method on one row, and the default with the terms that the data advise."""
    from steelyard.estimators.parallel.threads import available_threads
    from steelyard.model.kernels import torque
    from steelyard.model.wider import with_default_terms
    from steelyard.regression.fewer_terms import with_fewer_terms
    from steelyard.validation.scores import predict_base

    name, threads = row.figure, available_threads()
    say(f"{row.title}")
    model = row.model()
    wide = with_default_terms(model)
    data = row.compressed(model, wide, threads)
    regression = with_fewer_terms(data, wide, model)
    run = row.held_out(model)
    state = (run.motion.q, run.motion.v, run.motion.a)

    predicted = {"prior": torque(model, model.prior_theta(), *state)}
    gamma = 0.0
    for column in COLUMNS:
        estimate = estimated(row, column, model, regression, threads)
        predicted[column] = predict_base(model, regression.base, estimate.beta, run.motion)
        if column == DEFAULT:
            gamma = estimate.prior.gamma
        say(f"  {column}: {run.error(predicted[column]):.2f} %")

    errors = {column: run.error(torques) for column, torques in predicted.items()}
    figures: Figures = {name: errors[DEFAULT]}
    figures |= {f"{name}_{column}": error for column, error in errors.items()}
    for column, torques in predicted.items():
        figures[f"{name}_{column}_all_samples"] = run.error(torques, all_samples=True)
    figures[f"{name}_all_samples"] = figures[f"{name}_{DEFAULT}_all_samples"]
    figures[f"{name}_gamma"] = gamma
    figures |= compared(name, errors, run.error_sigma(predicted[DEFAULT]))
    figures |= advised(row, model, wide, data, run, gamma, threads)
    figures[f"{name}_without_open_offsets"] = without_open_offsets(
        row, model, regression, run, threads
    )
    return figures


def estimated(
    row: Row, column: str, model: Model, regression: Regression, threads: int
) -> Estimate:
    """The estimate by one method, without intervals."""
    import numpy as np

    from steelyard.estimators.estimator import EstimationOptions
    from steelyard.estimators.registry import estimate_by, estimator_named
    from steelyard.knowledge.prior import Prior

    method = COLUMNS[column]
    use = estimator_named(method).prior
    prior = None
    if use == "bodies":
        prior = row.prior(model)
    elif use == "values":
        prior = Prior(model.prior_theta(), np.ones(len(model.first_column_of_body)), "the file")
    options = EstimationOptions(method, n_resamples=0, ranges=False)
    return estimate_by(options, model, regression, prior=prior, threads=threads)[0]


def compared(name: str, errors: dict[str, float], sigma: float) -> Figures:
    """The default beside the best method and the prior."""
    own = errors[DEFAULT]
    best = min(error for method, error in errors.items() if method != "pullback")
    return {
        f"{name}_sigma": sigma,
        f"{name}_over_best": ratio(own, best),
        f"{name}_behind_best": (own - best) / max(WITHIN * best, sigma),
        f"{name}_beats_prior": float(own < errors["prior"]),
    }


def advised(
    row: Row,
    model: Model,
    wide: Model,
    data: Regression,
    run: HeldOutRun,
    gamma: float,
    threads: int,
) -> Figures:
    """The default with the terms that are advised on the training data, on the same samples."""
    from steelyard.estimators.term_choice import compare_terms, term_findings
    from steelyard.validation.scores import predict_base

    name = row.figure
    found = compare_terms(
        wide,
        data,
        row.prior(wide),
        gamma=gamma,
        stated=[term.name for term in model.terms],
        threads=threads,
    )
    for finding in term_findings(found):
        say(f"  {finding.code}: {finding.words}")
    for trial in found.trials:
        say(
            f"    {', '.join(trial.kinds) or 'none'}: score {trial.score:.3f}, as good as the "
            f"best {trial.as_good}, BIC {trial.bic:.1f}{', stated' if trial.stated else ''}"
        )
    kinds = found.advised.kinds
    other = row.with_terms(term for term in wide.terms if term.kind in kinds)
    regression = row.compressed(other, other, threads)
    estimate = estimated(row, DEFAULT, other, regression, threads)
    error = run.error(predict_base(other, regression.base, estimate.beta, run.motion))
    say(f"  advised terms ({', '.join(kinds) or 'none'}): {error:.2f} %")
    used = {term.kind for term in model.terms}
    return {
        **{f"{name}_uses_{kind}": float(kind in used) for kind in TERMS},
        **{f"{name}_advises_{kind}": float(kind in kinds) for kind in TERMS},
        f"{name}_advised_terms": error,
        f"{name}_advised_terms_gamma": estimate.prior.gamma,
    }


def without_open_offsets(
    row: Row, model: Model, regression: Regression, run: HeldOutRun, threads: int
) -> float | None:
    """The default's error without offsets that cannot be distinguished from Coulomb friction."""
    from steelyard.estimators.least_squares import wls
    from steelyard.validation.scores import predict_base

    told = dict(zip(regression.base.names, wls(regression).determined, strict=True))
    joints = [
        joint
        for joint in model.robot.joint_names
        if not told.get(f"{joint}.fc", True) and not told.get(f"{joint}.fo", True)
    ]
    if not joints:
        return None
    kept = [term for term in model.terms if term.kind != "offset" or term.owner not in joints]
    other = row.with_terms(kept)
    fewer = row.compressed(other, other, threads)
    estimate = estimated(row, DEFAULT, other, fewer, threads)
    error = run.error(predict_base(other, fewer.base, estimate.beta, run.motion))
    say(f"  without the offsets of {', '.join(joints)}: {error:.2f} %")
    return error
