"""How the signals of each run were processed, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.model.terms import Term
from steelyard.report.numbers import significant
from steelyard.signals.run_record import DeadBandRecord, RunRecord, TimeBaseRecord

if TYPE_CHECKING:
    from steelyard.diagnosis.signal_ways import SignalChoice

BY_PREDICTION = "chosen by prediction of left-out parts"


def processing_rows(
    run: RunRecord, terms: Sequence[Term] = (), signals: SignalChoice | None = None
) -> list[tuple[str, str]]:
    """How the signals of one run were processed, as (step, description) pairs.

    terms : of the model, whose Coulomb friction may have widths. signals : how filters and widths
    were chosen; None where a record does not say.
    """
    torque = "filtered like the positions" if run.torque_is_filtered else "not filtered"
    return [
        ("log", run.source or "not from a file"),
        ("samples", f"{run.samples_in} in, {run.samples_out} used, over "
                    f"{significant(run.duration_s)} s"),
        ("time base", "not recorded" if run.time is None else _time_base(run.time)),
        ("low-pass", _low_pass(run, signals)),
        ("torque", f"{torque}{_how(signals, 'torque_filter')}{_delay(run)}"),
        ("friction", _friction(terms, signals, run.processing.friction_smear)),
        ("derivative", run.processing.derivative),
        ("velocity", _shared(run.velocity_from)),
        ("acceleration", _shared(run.acceleration_from)),
        ("cut at the ends", " and ".join(f"{significant(x, 3)} s" for x in run.trimmed_s)),
        ("kept", f"one sample in {run.decimation}, {significant(run.rate_out_hz)} Hz"),
        ("dead band", _dead_band(run.dead_band, signals)),
        ("missing torques", _missing(run)),
        ("bridged samples", _listed(run.samples_bridged)),
        ("outliers left out", _listed(run.outliers)),
        ("stuck samples left out", _listed(run.stuck)),
        ("slips taken back", _listed(run.slips_taken_back)),
        ("interpolated between updates", ", ".join(run.interpolated_between_updates) or "nothing"),
        ("unwrapped jumps", _listed(run.unwrapped_jumps)),
        ("ignored", ", ".join([*run.ignored_columns, *run.ignored_joints]) or "nothing"),
    ]  # fmt: skip


def _delay(run: RunRecord) -> str:
    """By how much late torques were read earlier."""
    delay = run.processing.torque_delay
    if delay is None or delay == "auto" or delay == 0.0:
        return ""
    if not isinstance(delay, Mapping):
        return f"; read {significant(1e3 * delay, 3)} ms earlier than recorded"
    each = ", ".join(f"{name} {significant(1e3 * one, 3)} ms" for name, one in delay.items())
    return f"; read earlier than recorded: {each}"


def covered(runs: Sequence[RunRecord]) -> str:
    """How the torques behind an error over these runs were filtered, and how many the dead band
    left out.
    """
    words = list(dict.fromkeys(_torque_filter(run) for run in runs))
    cutoffs = [
        run.cutoff_hz for run in runs if run.torque_is_low_passed and run.cutoff_hz is not None
    ]
    if len(words) > 1 and len(cutoffs) == len(runs):
        low, high = (significant(x, 2) for x in (min(cutoffs), max(cutoffs)))
        words = [f"torque low-passed at {low} to {high} Hz"]
    left_out = sum(run.dead_band.n_left_out for run in runs)
    total = sum(len(run.dead_band.samples) * run.samples_out for run in runs)
    if left_out and total:
        words.append(f"{100 * left_out / total:.2g} % of torques left out by the dead band")
    return "; ".join(words)


def _torque_filter(run: RunRecord) -> str:
    if run.torque_is_low_passed:
        return f"torque low-passed at {significant(run.cutoff_hz, 2)} Hz"
    if run.torque_is_filtered:
        return f"torque smoothed over {run.processing.savgol_window} samples"
    return "torque not filtered"


def _how(signals: SignalChoice | None, option: str) -> str:
    """In brackets, where an option was chosen by comparison."""
    return f" ({BY_PREDICTION})" if signals is not None and signals.compared(option) else ""


def _low_pass(run: RunRecord, signals: SignalChoice | None) -> str:
    if run.cutoff_hz is None:
        return "none"
    automatic = signals is not None and signals.asked.cutoff_hz == "auto"
    chosen = "chosen from the positions" if automatic or run.cutoff_choice else "as given"
    if signals is not None and signals.compared("cutoff_hz"):
        chosen = BY_PREDICTION
    asked = run.processing.cutoff_hz
    if isinstance(asked, float) and run.cutoff_hz < asked:
        chosen = f"lowered from {significant(asked)} Hz for the sample rate of this log"
    return (
        f"zero-phase Butterworth of order {run.processing.filter_order}, "
        f"{significant(run.cutoff_hz)} Hz ({chosen})"
    )


def _time_base(time: TimeBaseRecord) -> str:
    if not time.resampled:
        words = f"uniform, {significant(time.rate_hz)} Hz"
    else:
        words = (
            f"resampled to {significant(time.rate_hz)} Hz; the recorded time stamps, "
            f"{significant(time.recorded_rate_hz)} Hz, deviate by up to "
            f"{significant(time.largest_deviation_periods, 2)} periods"
        )
    words = f"{words}; {time.holes} gaps" if time.holes else words
    if len(time.starts_s) < 2:
        return words
    pieces = [
        f"{significant(start)} to {significant(end)} s"
        for start, end in zip(time.starts_s, time.ends_s, strict=False)
    ]
    return f"{words}; used in {len(pieces)} pieces: {', '.join(pieces)}"


def _friction(
    terms: Sequence[Term], signals: SignalChoice | None, smeared: Mapping[str, float] | None
) -> str:
    """Up to which speed Coulomb friction grows, and how far it is smeared."""
    coulomb = [term for term in terms if term.term_kind.jumps_at_zero_speed]
    if not coulomb:
        return "no Coulomb friction"
    how = f" ({BY_PREDICTION})" if signals is not None and signals.shares is not None else ""
    widths = {term.owner: term.width for term in coulomb if term.width}
    law = (
        f"grows linearly up to {_listed(widths)} rad/s or m/s" if widths else "jumps at zero speed"
    )
    travels = {term.owner: term.travel for term in coulomb if term.travel}
    if travels:
        law = f"{law}; builds up over a travel of {_listed(travels)} rad or m"
    unsure = {
        name: speed for name, speed in (smeared or {}).items() if speed > widths.get(name, 0.0)
    }
    if not unsure:
        return f"{law}{how}"
    return (
        f"{law}{how}; along this motion smeared up to {_listed(unsure)} rad/s or m/s, since the "
        "log does not know the sign of smaller speeds"
    )


def _dead_band(band: DeadBandRecord, signals: SignalChoice | None) -> str:
    speeds = {name: speed for name, speed in band.speeds.items() if speed}
    how = _how(signals, "dead_band")
    if not speeds:
        at_rest = _listed(band.samples, skip_zeros=True)
        if band.asked == "rest" and at_rest != "none":
            return f"none{how}; torques of joints at rest left out: {at_rest}"
        return f"none{how}"
    how = how.strip(" ()") or ("as given" if band.asked != "tenth" else "as asked")
    if band.asked == "tenth":
        how = f"a tenth of the rms speed, {how}"
    left_out = _listed(band.samples, skip_zeros=True)
    return f"{_listed(speeds)} rad/s or m/s ({how}); torques left out: {left_out}"


def _missing(run: RunRecord) -> str:
    """Torques that the log itself does not have; those of the dead band have their own row."""
    by_band = run.dead_band.samples
    missing = {
        name: count - by_band.get(name, 0) for name, count in run.torque_samples_missing.items()
    }
    others = "none besides those left out above" if any(by_band.values()) else "none"
    return _listed(missing, skip_zeros=True) if any(missing.values()) else others


def _listed(values: Mapping[str, float], skip_zeros: bool = False) -> str:
    parts = []
    for key, value in values.items():
        if skip_zeros and value == 0:
            continue
        shown = significant(value) if isinstance(value, float) else str(value)
        parts.append(f"{key} {shown}")
    return ", ".join(parts) or "none"


def _shared(by_joint: Mapping[str, str]) -> str:
    """The value that all joints share, or else the value of each joint."""
    if len(set(by_joint.values())) == 1:
        return next(iter(by_joint.values()))
    return ", ".join(f"{joint}: {words}" for joint, words in by_joint.items()) or "?"
