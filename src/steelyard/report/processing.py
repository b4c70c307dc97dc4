"""What was done to the signals of each run, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.report.numbers import significant


def processing_rows(record: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Per run, what was done to its signals, as (what, in words) pairs."""
    runs = []
    for run in record.get("runs", []):
        choices = run.get("processing", {})
        time = run.get("time", {})
        pairs = [
            ("log", f"{run.get('source') or 'made in memory'}"),
            ("samples", f"{run.get('samples_in')} in, {run.get('samples_out')} used, over "
                        f"{significant(run.get('duration_s'))} s"),
            ("time base", _time_base(time)),
            ("low-pass", _low_pass(run, choices)),
            ("torque", "filtered like the positions" if torque_is_filtered(run)
                       else "not filtered"),
            ("derivative", str(choices.get("derivative"))),
            ("velocity", _shared(run.get("velocity_from", {}))),
            ("acceleration", _shared(run.get("acceleration_from", {}))),
            ("cut at the ends", " and ".join(
                f"{significant(x, 3)} s" for x in run.get("trimmed_s", []))),
            ("kept", f"one sample in {run.get('decimation')}, "
                     f"{significant(run.get('rate_out_hz'))} Hz"),
            ("dead band", _dead_band(run)),
            ("missing torques", _listed(run.get("torque_samples_missing", {}), skip_zeros=True)),
            ("bridged samples", _listed(run.get("samples_bridged", {}))),
            ("unwrapped jumps", _listed(run.get("unwrapped_jumps", {}))),
            ("ignored", ", ".join([*run.get("ignored_columns", []),
                                   *run.get("ignored_joints", [])]) or "nothing"),
        ]  # fmt: skip
        runs.append((str(run.get("log", "run")), pairs))
    return runs


def covered(runs: Sequence[Mapping[str, Any]]) -> str:
    """What an error over these runs is about: how torques were filtered, which were left out."""
    words = list(dict.fromkeys(_torque_filter(run) for run in runs))
    cutoffs = [float(run["cutoff_hz"]) for run in runs if _filtered_at_cutoff(run)]
    if len(words) > 1 and len(cutoffs) == len(runs):
        low, high = (significant(x, 2) for x in (min(cutoffs), max(cutoffs)))
        words = [f"torque low-passed at {low} to {high} Hz"]
    left_out = total = 0
    for run in runs:
        samples = run.get("dead_band", {}).get("samples", {})
        left_out += sum(samples.values())
        total += len(samples) * int(run.get("samples_out") or 0)
    if left_out:
        words.append(f"{100 * left_out / total:.2g} % of torques left out near standstill")
    return "; ".join(words)


def torque_is_filtered(run: Mapping[str, Any]) -> bool:
    """Whether the torque of a recorded run went through a filter."""
    choices = run.get("processing", {})
    smoothed = choices.get("torque_filter") == "same" and choices.get("derivative") == "savgol"
    return _filtered_at_cutoff(run) or smoothed


def _filtered_at_cutoff(run: Mapping[str, Any]) -> bool:
    same = run.get("processing", {}).get("torque_filter") == "same"
    return same and run.get("cutoff_hz") is not None


def _torque_filter(run: Mapping[str, Any]) -> str:
    if _filtered_at_cutoff(run):
        return f"torque low-passed at {significant(run['cutoff_hz'], 2)} Hz"
    if torque_is_filtered(run):
        return f"torque smoothed over {run['processing'].get('savgol_window')} samples"
    return "torque not filtered"


def _low_pass(run: Mapping[str, Any], choices: Mapping[str, Any]) -> str:
    if run.get("cutoff_hz") is None:
        return "none"
    chosen = "chosen from the data" if run.get("cutoff_choice") else "as asked"
    return (
        f"zero-phase Butterworth of order {choices.get('filter_order')}, "
        f"{significant(run['cutoff_hz'])} Hz ({chosen})"
    )


def _time_base(time: Mapping[str, Any]) -> str:
    if not time.get("resampled"):
        words = f"uniform, {significant(time.get('rate_hz'))} Hz"
    else:
        words = (
            f"brought to {significant(time.get('rate_hz'))} Hz; the recorded stamps, "
            f"{significant(time.get('recorded_rate_hz'))} Hz, stray by up to "
            f"{significant(time.get('largest_deviation_periods'), 2)} periods"
        )
    holes = time.get("holes")
    return f"{words}; {holes} holes" if holes else words


def _dead_band(run: Mapping[str, Any]) -> str:
    band = run.get("dead_band", {})
    speeds = {name: speed for name, speed in band.get("speeds", {}).items() if speed}
    if not speeds:
        return "none"
    how = "chosen from the speeds" if band.get("asked") == "auto" else "as asked"
    left_out = _listed(band.get("samples", {}), skip_zeros=True)
    return f"{_listed(speeds)} rad/s or m/s ({how}); torques left out: {left_out}"


def _listed(values: Mapping[str, Any], skip_zeros: bool = False) -> str:
    parts = []
    for key, value in values.items():
        if value is None or (skip_zeros and value == 0):
            continue
        shown = significant(value) if isinstance(value, float) else str(value)
        parts.append(f"{key} {shown}")
    return ", ".join(parts) or "none"


def _shared(by_joint: Mapping[str, str]) -> str:
    """One word for all joints if they agree, else one for each."""
    if len(set(by_joint.values())) == 1:
        return next(iter(by_joint.values()))
    return ", ".join(f"{joint}: {words}" for joint, words in by_joint.items()) or "?"
