"""How well a model predicts torques that it was not fitted to.

A useful estimate predicts better than two baselines: the inertials that the robot's file states,
without friction and drive inertia, and the zero model, which predicts no torque.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ResultError, SignalError
from steelyard.model.base_map import BaseMap
from steelyard.model.kernels import torque
from steelyard.model.mechanism import row_words
from steelyard.model.model import Model, check_joint_names
from steelyard.model.row_groups import balanced_error, errors_by_group, group_words
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.term_speeds import with_history

Array = NDArray[np.float64]

BASELINE = "file's inertials, no friction"
"""The baseline that a prediction is compared with, as users see it."""


@dataclass(frozen=True)
class ChannelScore:
    """How well one torque channel is predicted, over its rows that were measured.

    rms, torque_rms : root mean square of the error and of the torque, N m (N).
    relative_error : |tau - tau_hat| / |tau| (Sousa and Cortesão 2014, eq 84); 0 is perfect.
    fit_percent : 100 (1 - |tau - tau_hat| / |tau - mean(tau)|); 100 is perfect.

    NaN where nothing was measured, or where the divisor is zero.
    """

    name: str
    n_rows: int
    rms: float
    torque_rms: float
    relative_error: float
    fit_percent: float


@dataclass(frozen=True)
class Score:
    """The errors of one predictor.

    relative_error : over all channels together, without torques near standstill, as the channels'.
    relative_error_all : on all samples. relative_error_unfiltered : on all samples, compared with
        the torque as it was measured. NaN where they are not known.
    """

    predictor: str
    channels: tuple[ChannelScore, ...]
    n_rows: int
    rms: float
    relative_error: float
    relative_error_all: float = math.nan
    relative_error_unfiltered: float = math.nan

    @property
    def errors(self) -> tuple[tuple[str, float], ...]:
        """The errors that are known, each after the samples that it is of.

        Without a dead band, the first is of speeds above a tenth of the joint's (rms).
        """
        further = (
            ("on all samples", self.relative_error_all),
            ("on all with unfiltered torque", self.relative_error_unfiltered),
        )
        known = tuple((where, error) for where, error in further if not math.isnan(error))
        return (("outside the dead band" if known else "", self.relative_error), *known)

    @property
    def balanced_error(self) -> float:
        """Relative error in which base force, base torque and joint torques count alike; on a fixed
        base it is ``relative_error``.
        """
        return balanced_error(self.channels)

    @property
    def words(self) -> str:
        """The errors in words; of a floating base, the first one is also told group by group."""
        first, *further = [f"{error:.2%} {where}".strip() for where, error in self.errors]
        groups = group_words(self.channels)
        return ", ".join([f"{first} ({groups})" if groups else first, *further])


@dataclass(frozen=True)
class Validation:
    """Errors of a prediction, of the robot file's inertials and of the zero model.

    file_with_terms : of the file's links with friction, drive inertia and offsets that were fitted
        to other logs; None where there are none.
    """

    run: str
    prediction: Score
    prior: Score
    zero: Score
    file_with_terms: Score | None = None

    @property
    def beats_prior(self) -> bool:
        """Whether the error is below that of the file's inertials; see `Score.balanced_error`."""
        return self.prediction.balanced_error < self.prior.balanced_error

    @property
    def beats_zero(self) -> bool:
        """Whether the error is below that of the zero model."""
        return self.prediction.balanced_error < self.zero.balanced_error

    @property
    def worse_channels(self) -> tuple[str, ...]:
        """Channels in which the file's inertials predict better."""
        pairs = zip(self.prediction.channels, self.prior.channels, strict=True)
        return tuple(ours.name for ours, prior in pairs if ours.rms > prior.rms)

    @property
    def verdict(self) -> str:
        """The comparison in one sentence."""
        errors = f"relative error {self.prediction.words}, against {self.prior.words}"
        if not self.beats_prior:
            return f"does not beat the baseline ({BASELINE}): {errors}"
        exceptions = (
            f", except in {', '.join(map(row_words, self.worse_channels))}"
            if self.worse_channels
            else ""
        )
        return f"beats the baseline ({BASELINE}): {errors}{exceptions}"

    @property
    def _fitted(self) -> tuple[tuple[str, Score], ...]:
        fitted = self.file_with_terms
        return () if fitted is None else (("file_with_terms", fitted),)

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain values that JSON can hold; None for NaN."""
        return {
            "run": self.run,
            "verdict": self.verdict,
            "beats_prior": self.beats_prior,
            "beats_zero": self.beats_zero,
            "worse_channels": list(self.worse_channels),
            **{
                name: {
                    "n_rows": score.n_rows,
                    "rms": _plain(score.rms),
                    "relative_error": _plain(score.relative_error),
                    "relative_error_all": _plain(score.relative_error_all),
                    "relative_error_unfiltered": _plain(score.relative_error_unfiltered),
                    "relative_error_of": {
                        name: _plain(error)
                        for name, error in errors_by_group(score.channels).items()
                    },
                    "channels": [
                        {key: _plain(value) for key, value in vars(channel).items()}
                        for channel in score.channels
                    ],
                }
                for name, score in (
                    ("prediction", self.prediction),
                    ("prior", self.prior),
                    ("zero", self.zero),
                    *self._fitted,
                )
            },
        }


def validate(
    model: Model, predicted: ArrayLike, motion: Motion, measurements: Measurements
) -> Validation:
    """Compare predicted torques (n_samples, nv), columns as ``model.channels``, with measured.

    Torque samples that are NaN are skipped. Channels that were not measured are left out.
    """
    predicted = np.asarray(predicted, dtype=float)
    if predicted.shape != (len(motion), model.nv):
        raise SignalError(
            f"predicted torques have shape {predicted.shape}; ({len(motion)}, {model.nv}) is "
            f"needed for {', '.join(model.channels)}"
        )
    if len(measurements) != len(motion):
        raise SignalError(
            f"run '{motion.run}': {len(measurements)} samples of torque for {len(motion)} of motion"
        )
    check_joint_names(model, measurements.channels, f"run '{motion.run}'")
    tau = measurements.tau
    if not np.isfinite(tau).any():
        raise SignalError(f"run '{motion.run}': there is no torque to compare with")
    columns = [model.channels.index(name) for name in measurements.channels]
    predicted = predicted[:, columns]
    bad = np.argwhere(np.isfinite(tau) & ~np.isfinite(predicted))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        raise SignalError(
            f"run '{motion.run}': the torque predicted for '{measurements.channels[column]}' is "
            f"not finite in {len(bad)} places, first at {float(motion.time[row]):.6g} s"
        )
    prior = torque(model, model.prior_theta(), motion.q, motion.v, motion.a)[:, columns]
    names = measurements.channels
    return Validation(
        motion.run,
        prediction=score("prediction", names, tau, predicted),
        prior=score("prior", names, tau, prior),
        zero=score("zero", names, tau, np.zeros_like(tau)),
    )


def predict_base(model: Model, base: BaseMap, beta: ArrayLike, motion: Motion) -> Array:
    """Torques (n_samples, nv) of base parameters beta (n_base,): W_b beta.

    Friction that builds up over a travel follows the motion, whose samples are in the order of
    time. Base columns are columns of the model, so this is the torque of standard parameters equal
    to beta in these columns and zero elsewhere; the regressor is not computed.
    """
    if base.model_hash != model.hash:
        raise ResultError(
            f"the base parameters belong to a different model than '{model.robot.name}': "
            "its geometry, gravity or terms differ"
        )
    beta = np.asarray(beta, dtype=float)
    if beta.shape != (base.rank,):
        raise ResultError(f"beta has shape {beta.shape}, but there are {base.rank} base parameters")
    theta = np.zeros(len(model.columns))
    theta[list(base.independent)] = beta
    motion = with_history(model, motion)
    return torque(model, theta, motion.q, motion.v, motion.a, motion.friction)


def score(predictor: str, names: tuple[str, ...], tau: Array, predicted: Array) -> Score:
    """Errors of a prediction (n_samples, n_channels), where tau is finite."""
    channels = []
    for i, name in enumerate(names):
        rows = np.isfinite(tau[:, i])
        measured = tau[rows, i]
        error = norm(measured - predicted[rows, i])
        n_rows = len(measured)
        spread = norm(measured - measured.mean()) if n_rows else 0.0
        channels.append(
            ChannelScore(
                name=name,
                n_rows=n_rows,
                rms=ratio(error, math.sqrt(n_rows)),
                torque_rms=ratio(norm(measured), math.sqrt(n_rows)),
                relative_error=ratio(error, norm(measured)),
                fit_percent=100.0 * (1.0 - ratio(error, spread)),
            )
        )
    used = np.isfinite(tau)
    error = norm(tau[used] - predicted[used])
    n_rows = int(used.sum())
    return Score(
        predictor,
        tuple(channels),
        n_rows,
        ratio(error, math.sqrt(n_rows)),
        ratio(error, norm(tau[used])),
    )


@dataclass(frozen=True, eq=False)
class Sums:
    """What a score is made of, for each channel: of parts of a run that are not kept.

    counts : (n_channels,) measured rows. errors, squares, torques : (n_channels,) sums of squared
    errors, of squared torques and of torques.
    """

    counts: Array
    errors: Array
    squares: Array
    torques: Array

    @staticmethod
    def of(tau: Array, predicted: Array) -> Sums:
        """Of measured torques (n_samples, n_channels), where they are finite."""
        known = np.isfinite(tau)
        measured = np.where(known, tau, 0.0)
        error = np.where(known, tau - predicted, 0.0)
        return Sums(
            known.sum(axis=0).astype(float),
            np.sum(error**2, axis=0),
            np.sum(measured**2, axis=0),
            measured.sum(axis=0),
        )

    def __add__(self, other: Sums) -> Sums:
        """Of both parts together."""
        return Sums(
            self.counts + other.counts,
            self.errors + other.errors,
            self.squares + other.squares,
            self.torques + other.torques,
        )

    def score(self, predictor: str, names: tuple[str, ...]) -> Score:
        """The score of all parts; see :func:`score`."""
        spread = self.squares - self.torques**2 / np.maximum(self.counts, 1.0)
        channels = []
        for k, name in enumerate(names):
            n, error, size = self.counts[k], self.errors[k], self.squares[k]
            about_mean = math.sqrt(max(float(spread[k]), 0.0))
            channels.append(
                ChannelScore(
                    name=name,
                    n_rows=int(n),
                    rms=ratio(math.sqrt(error), math.sqrt(n)),
                    torque_rms=ratio(math.sqrt(size), math.sqrt(n)),
                    relative_error=ratio(math.sqrt(error), math.sqrt(size)),
                    fit_percent=100.0 * (1.0 - ratio(math.sqrt(error), about_mean)),
                )
            )
        n_rows, error = int(self.counts.sum()), math.sqrt(float(self.errors.sum()))
        return Score(
            predictor,
            tuple(channels),
            n_rows,
            ratio(error, math.sqrt(n_rows)),
            ratio(error, math.sqrt(float(self.squares.sum()))),
        )


def norm(values: Array) -> float:
    """Euclidean norm."""
    return float(np.linalg.norm(values))


def ratio(above: float, below: float) -> float:
    """Quotient, NaN where the divisor is zero."""
    return above / below if below > 0.0 else math.nan


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
