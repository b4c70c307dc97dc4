"""Validation on logs; those that the estimate was made from are recognised and reported."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError, SignalError, listed
from steelyard.findings import Finding, not_yet_told
from steelyard.logs.any_log import LogsLike
from steelyard.logs.log import Log
from steelyard.logs.several import any_logs_with_unique_names
from steelyard.logs.stored_log import AnyLog, StoredLog, selected
from steelyard.model.base_map import BaseMap
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.signals.long_run import LongRun
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord
from steelyard.signals.torque_noise import ChannelNoise, channel_noise, over_all
from steelyard.validation.changed_zero import changed_zero
from steelyard.validation.scores import Score, Sums, Validation, predict_base, validate

Array = NDArray[np.float64]

OWN = 1.5
"""A log is read with a cutoff of its own if its spectrum proposes one that differs by this factor
from that of the estimate's log: another motion of the same robot may well propose less."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors on held-out runs.

    runs : one validation per run. overall : of all runs together, as if they were one.
    first, predicted : the first run, and the torques (n_samples, nv) predicted for it; NaN where
        they are not compared with measured ones.
    records : how the log of each run was processed.
    used : names of runs that were used for the estimate, and are thus not held out.
    findings : warnings about the runs.
    noise : (n_channels,) of the torques, N m or N; NaN where it is not known.
    file_has_masses : whether the robot file states any, so that its prediction means something.
    checked : what a check of the logs found, where they were checked; part of ``findings``.
    """

    runs: tuple[Validation, ...]
    overall: Validation
    first: Prepared
    predicted: Array
    records: tuple[RunRecord, ...]
    used: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    noise: Array | None = None
    file_has_masses: bool = True
    checked: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        names = listed(run.run for run in self.runs)
        return f"<HeldOut: {names}; relative error {self.overall.prediction.words}>"

    @property
    def data(self) -> str:
        """The data that the errors are about, in words."""
        if not self.used:
            return "data that was not used"
        if len(self.used) == len(self.runs):
            return "the data that was used for the estimate: a fit, not a test"
        return f"{len(self.runs)} logs, {len(self.used)} of which were used for the estimate"

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "overall": self.overall.to_dict(),
            "runs": [
                {
                    **run.to_dict(),
                    "used_for_the_estimate": run.run in self.used,
                    "record": record.as_json(),
                }
                for run, record in zip(self.runs, self.records, strict=True)
            ],
            "findings": [finding.as_json() for finding in self.findings],
        }


def validate_logs(
    model: Model,
    base: BaseMap,
    beta: ArrayLike,
    logs: LogsLike,
    processing: Processing,
    used: Collection[str] = (),
    *,
    cutoff_is_automatic: bool = False,
    proposed_hz: float | None = None,
    file_with_terms: ArrayLike | None = None,
    check: Callable[[AnyLog], tuple[Finding, ...]] | None = None,
) -> HeldOut:
    """Predict the torques of each log from base parameters beta (n_base,), and compare.

    used : content hashes of the logs that the estimate was made from: its ``log_hashes``.
    cutoff_is_automatic : whether the cutoff was chosen on a log of the estimate; it is then
        lowered for logs that are sampled too slowly for it.
    proposed_hz : what the spectrum of that log had proposed, where it is known. A log whose own
        spectrum proposes a clearly different one, since its motion has another bandwidth or its
        rate is another, is read with a cutoff of its own, in proportion; a finding says so.
    file_with_terms : base parameters (n_base,) of the file's links with fitted terms, to compare
        with.
    check : what is wrong with a log, for the findings; not asked of logs that were used. Zeros of
        joints are then compared with those of the estimate too.

    A log in which a joint never moves is accepted: its torque can be predicted.
    """
    keeping = replace(processing, still_joints="keep")
    tested: list[_Tested] = []
    noise: list[ChannelNoise] = []
    checked: list[Finding] = []
    others: list[Finding] = []
    for log in any_logs_with_unique_names(logs):
        predictors = _Predictors(model, base, beta, file_with_terms)
        windows, own = _prepared(selected(log), model, keeping, cutoff_is_automatic, proposed_hz)
        others += own
        if isinstance(log, StoredLog):
            as_used = replace(keeping, cutoff_hz=windows.record.cutoff_hz) if own else keeping
            run = LongRun(log, model, as_used, cutoff_of_another_log=cutoff_is_automatic)
            one = _tested_in_parts(predictors, run, noise)
            found = run.findings
        else:
            one, found = _Tested(windows, predictors.torques(windows)), windows.findings
            noise.append(channel_noise(windows))
        tested.append(one)
        told: tuple[Finding, ...] = ()
        if check is not None and one.run.record.content_sha256 not in used:
            zero = changed_zero(model, base, beta, windows)
            told = (*check(log), *(() if zero is None else (zero,)))
        checked += told
        others += not_yet_told(found, told)
        del log, windows
    if not tested:
        raise LogError("there is no log to validate on; give at least one")
    runs = tuple(_validated(predictors, [one]) for one in tested)
    overall = runs[0] if len(runs) == 1 else _validated(predictors, tested)
    if file_with_terms is not None:
        overall = replace(overall, file_with_terms=_of_file(predictors, tested))
        if len(runs) == 1:
            runs = (overall,)
    prepared = [one.run for one in tested]
    seen = tuple(run.motion.run for run in prepared if run.record.content_sha256 in used)
    return HeldOut(
        runs,
        overall,
        prepared[0],
        where_used(prepared[0], tested[0].predicted.filtered),
        tuple(run.record for run in prepared),
        seen,
        (
            *(_used_finding(name) for name in seen),
            *checked,
            *others,
        ),
        over_all(noise),
        bool(model.prior_theta().any()),
        tuple(checked),
    )


def _prepared(
    log: Log, model: Model, processing: Processing, automatic: bool, proposed_hz: float | None
) -> tuple[Prepared, tuple[Finding, ...]]:
    """A log with the cutoff of the estimate, or with one of its own; see `validate_logs`."""
    shared = prepare(log, model, processing, cutoff_of_another_log=automatic)
    given = processing.cutoff_hz
    if not automatic or proposed_hz is None or not isinstance(given, float):
        return shared, ()
    by_spectrum = prepare(log, model, replace(processing, cutoff_hz="auto")).record.cutoff_hz
    if by_spectrum is None or 1.0 / OWN < by_spectrum / proposed_hz < OWN:
        return shared, ()
    cutoff = given * by_spectrum / proposed_hz
    own = prepare(
        log, model, replace(processing, cutoff_hz=cutoff), cutoff_of_another_log=automatic
    )
    words = (
        f"log '{log.name}' is read with a cutoff of its own, {own.record.cutoff_hz:.4g} Hz instead "
        f"of {given:.4g} Hz as the log of the estimate, since its motion has another bandwidth: "
        "its errors are those of torques that are filtered so. To filter all logs alike, give "
        "--cutoff-hz (cutoff_hz)"
    )
    return own, (Finding("info", "own-cutoff", words),)


@dataclass(frozen=True, eq=False)
class PredictedTorques:
    """Torques (n_samples, nv) predicted for a run: filtered as the measured one, and unfiltered."""

    filtered: Array
    unfiltered: Array


@dataclass(frozen=True, eq=False)
class _Tested:
    """A run and its prediction; of a long one the first part, and the sums of all.

    sums : by samples ("outside", "all", "unfiltered") and predictor.
    """

    run: Prepared
    predicted: PredictedTorques
    sums: Mapping[tuple[str, str], Sums] | None = None


@dataclass(frozen=True, eq=False)
class _Predictors:
    """What is compared: base parameters beta (n_base,) of the estimate, and of the file's links
    with fitted terms.
    """

    model: Model
    base: BaseMap
    beta: ArrayLike
    file_with_terms: ArrayLike | None

    def torques(self, run: Prepared) -> PredictedTorques:
        """Those of the estimate."""
        filtered = predict_base(self.model, self.base, self.beta, run.motion)
        if run.motion.friction is None:
            return PredictedTorques(filtered, filtered)
        unfiltered = predict_base(self.model, self.base, self.beta, run.unfiltered_motion)
        return PredictedTorques(filtered, unfiltered)

    def of_file(self, run: Prepared) -> Array:
        """Those (n_samples, nv) of the file's links with fitted terms."""
        assert self.file_with_terms is not None
        return predict_base(self.model, self.base, self.file_with_terms, run.motion)

    def sums(self, run: Prepared, torques: PredictedTorques) -> dict[tuple[str, str], Sums]:
        """The sums of one part of a run, as `_Tested.sums`."""
        motion = run.motion
        prior = torque(self.model, self.model.prior_theta(), motion.q, motion.v, motion.a)
        measured = {
            "outside": (run.outside_band.tau, torques.filtered),
            "all": (run.all_measurements.tau, torques.filtered),
            "unfiltered": (run.unfiltered.tau, torques.unfiltered),
        }
        found = {}
        for samples, (tau, predicted) in measured.items():
            found[samples, "prediction"] = Sums.of(tau, predicted)
            found[samples, "prior"] = Sums.of(tau, prior)
            found[samples, "zero"] = Sums.of(tau, np.zeros_like(tau))
        if self.file_with_terms is not None:
            found["outside", FILE_WITH_TERMS] = Sums.of(run.outside_band.tau, self.of_file(run))
        return found


FILE_WITH_TERMS = "file_with_terms"


def _tested_in_parts(predictors: _Predictors, run: LongRun, noise: list[ChannelNoise]) -> _Tested:
    """A long run, part by part; adds the noise of each."""
    first: _Tested | None = None
    total: dict[tuple[str, str], Sums] = {}
    for part in run.parts():
        torques = predictors.torques(part.prepared)
        for key, sums in predictors.sums(part.prepared, torques).items():
            total[key] = total[key] + sums if key in total else sums
        noise.append(channel_noise(part.prepared))
        first = first or _Tested(part.prepared, torques)
    if first is None or not total["outside", "zero"].counts.any():
        raise SignalError(f"run '{run.log.name}': there is no torque to compare with")
    if not all(np.isfinite(sums.errors).all() for sums in total.values()):
        raise SignalError(f"run '{run.log.name}': a predicted torque is not finite")
    whole = replace(first.run, record=run.record())
    return _Tested(whole, first.predicted, total)


def _validated(predictors: _Predictors, tested: Sequence[_Tested]) -> Validation:
    """Errors on several runs together; see `validate_runs`."""
    if all(one.sums is None for one in tested):
        runs = [one.run for one in tested]
        return validate_runs(predictors.model, runs, [one.predicted for one in tested])
    total = _total(predictors, tested)
    names = tested[0].run.measurements.channels

    def with_all(name: Literal["prediction", "prior", "zero"]) -> Score:
        every, raw = (
            total[samples, name].score(name, names).relative_error
            for samples in ("all", "unfiltered")
        )
        outside = total["outside", name].score(name, names)
        return replace(outside, relative_error_all=every, relative_error_unfiltered=raw)

    run = ", ".join(one.run.motion.run for one in tested)
    return Validation(run, with_all("prediction"), with_all("prior"), with_all("zero"))


def _total(predictors: _Predictors, tested: Sequence[_Tested]) -> dict[tuple[str, str], Sums]:
    """The sums of several runs."""
    total: dict[tuple[str, str], Sums] = {}
    for one in tested:
        of_run = one.sums or predictors.sums(one.run, one.predicted)
        for key, sums in of_run.items():
            total[key] = total[key] + sums if key in total else sums
    return total


def _of_file(predictors: _Predictors, tested: Sequence[_Tested]) -> Score:
    """Errors of the file's links with fitted terms."""
    if any(one.sums is not None for one in tested):
        names = tested[0].run.measurements.channels
        sums = _total(predictors, tested)["outside", FILE_WITH_TERMS]
        return sums.score(FILE_WITH_TERMS, names)
    runs = [one.run for one in tested]
    return _outside_score(predictors.model, runs, [predictors.of_file(run) for run in runs])


def _outside_score(model: Model, runs: Sequence[Prepared], predicted: Sequence[Array]) -> Score:
    """Errors of predicted torques without those near standstill."""
    motion, measured = one_run(runs, [run.outside_band for run in runs])
    found = validate(model, np.concatenate(predicted), motion, measured).prediction
    return replace(found, predictor="file_with_terms")


def validate_runs(
    model: Model, runs: Sequence[Prepared], predicted: Sequence[PredictedTorques]
) -> Validation:
    """Errors on several runs together: without torques near standstill, on all samples, and on
    all samples with unfiltered torque.
    """
    filtered = np.concatenate([torques.filtered for torques in predicted])
    unfiltered = np.concatenate([torques.unfiltered for torques in predicted])
    outside = validate(model, filtered, *one_run(runs, [run.outside_band for run in runs]))
    further = [
        validate(model, torques, *one_run(runs, measurements))
        for torques, measurements in (
            (filtered, [run.all_measurements for run in runs]),
            (unfiltered, [run.unfiltered for run in runs]),
        )
    ]

    def with_all(name: Literal["prediction", "prior", "zero"]) -> Score:
        every, raw = (getattr(other, name).relative_error for other in further)
        score: Score = getattr(outside, name)
        return replace(score, relative_error_all=every, relative_error_unfiltered=raw)

    return Validation(outside.run, with_all("prediction"), with_all("prior"), with_all("zero"))


def _used_finding(name: str) -> Finding:
    return Finding(
        "warning",
        "used-for-the-estimate",
        f"log '{name}' was used for the estimate: its error is a fit, not a test",
    )


def where_used(run: Prepared, predicted: Array) -> Array:
    """Predicted torques (n_samples, nv), NaN where the run's are missing or left out."""
    return np.where(np.isnan(run.measurements.tau), np.nan, predicted)


def one_run(
    prepared: Sequence[Prepared], measurements: Sequence[Measurements]
) -> tuple[Motion, Measurements]:
    """The samples of several runs, concatenated; time starts again at each run."""
    motions = [run.motion for run in prepared]
    time, q, v, a = (
        np.concatenate([getattr(motion, name) for motion in motions])
        for name in ("time", "q", "v", "a")
    )
    tau = np.concatenate([one.tau for one in measurements])
    name = ", ".join(motion.run for motion in motions)
    return Motion(time, q, v, a, name), Measurements(prepared[0].measurements.channels, tau)
