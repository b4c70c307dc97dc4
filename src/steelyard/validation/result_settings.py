"""How two results were made, where that differs, and their errors side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from steelyard.errors import listed
from steelyard.estimators.result_entries import stored_list, stored_object
from steelyard.estimators.result_file import Result
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord, content_hashes


@dataclass(frozen=True)
class SettingPair:
    """Something in which two results were made differently, as text."""

    what: str
    a: str
    b: str


@dataclass(frozen=True)
class ErrorPair:
    """A relative error |residual| / |torque| of both results; NaN where it is not known.

    joint : None for all joints together. held_out : whether on logs that were not used.
    """

    what: str
    joint: str | None
    held_out: bool
    a: float
    b: float


Setting = tuple[str, object, object]
"""What it is, and its value in both results."""
HELD_OUT = (
    ("relative_error", "outside the dead band"),
    ("relative_error_all", "all samples"),
    ("relative_error_unfiltered", "all, unfiltered torque"),
)


def error_pairs(a: Result, b: Result) -> tuple[tuple[ErrorPair, ...], bool | None]:
    """Errors of both, and whether the held-out logs are the same (None if one has none)."""
    pairs = []
    if a.equation == b.equation:  # shares of torque and shares of energy cannot be compared
        pairs.append(ErrorPair("training", None, False, _training(a), _training(b)))
        channels_a, channels_b = (_by_joint(result, "estimate", "channels") for result in (a, b))
        pairs += [
            ErrorPair("training", joint, False, error, channels_b[joint])
            for joint, error in channels_a.items()
            if joint in channels_b
        ]
    held_a, held_b = (_held_out_logs(result) for result in (a, b))
    for key, what in HELD_OUT:
        first, second = _held_out(a, key), _held_out(b, key)
        if not (math.isnan(first) and math.isnan(second)):
            pairs.append(ErrorPair(what, None, True, first, second))
    joints_a, joints_b = (
        _by_joint(result, "validation", "overall", "prediction", "channels") for result in (a, b)
    )
    pairs += [
        ErrorPair(HELD_OUT[0][1], joint, True, error, joints_b[joint])
        for joint, error in joints_a.items()
        if joint in joints_b
    ]
    return tuple(pairs), held_a == held_b if held_a and held_b else None


def setting_pairs(a: Result, b: Result) -> tuple[SettingPair, ...]:
    """Everything in which the two were made differently; what is the same is left out.

    Options of processing are those of the first run.
    """
    return tuple(
        SettingPair(what, *_told_apart(first, second))
        for what, first, second in (
            *_model_settings(a, b),
            *_data_settings(a, b),
            *_estimate_settings(a, b),
        )
        if first != second
    )


def _model_settings(a: Result, b: Result) -> Iterator[Setting]:
    yield "Steelyard", _entry(a, "steelyard"), _entry(b, "steelyard")
    for what, key in (
        ("robot", "name"),
        ("joints", "joints"),
        ("gravity", "gravity"),
        ("floating base", "floating_base"),
    ):
        yield what, _entry(a, "robot", key), _entry(b, "robot", key)
    yield "locked joints", dict(a.locked), dict(b.locked)
    yield "turned joints", [turn.joint for turn in a.turned], [turn.joint for turn in b.turned]
    terms_a, terms_b = ({term.name: term for term in result.terms} for result in (a, b))
    only_a, only_b = (
        [name for name in own if name not in other]
        for own, other in ((terms_a, terms_b), (terms_b, terms_a))
    )
    yield "terms in one only", only_a, only_b
    for name, term in terms_a.items():
        if name in terms_b:
            yield f"width of {name}", term.width, terms_b[name].width


def _data_settings(a: Result, b: Result) -> Iterator[Setting]:
    logs_a, logs_b = _logs(a.runs, b.runs)
    yield "logs", logs_a, logs_b
    samples_a, samples_b = (sum(run.samples_in for run in own.runs) for own in (a, b))
    yield "samples", samples_a, samples_b
    if not (a.runs and b.runs):
        return
    first_a, first_b = a.runs[0], b.runs[0]
    for option in fields(Processing):
        chosen_a, chosen_b = (getattr(run.processing, option.name) for run in (first_a, first_b))
        yield option.name, chosen_a, chosen_b
    yield "cutoff used, Hz", first_a.cutoff_hz, first_b.cutoff_hz
    yield "one sample kept in", first_a.decimation, first_b.decimation
    yield "torques left out", _left_out(a.runs), _left_out(b.runs)


def _estimate_settings(a: Result, b: Result) -> Iterator[Setting]:
    yield "method", a.method, b.method
    yield "model", a.equation.words, b.equation.words
    for what, *keys in (
        ("prior", "record", "prior", "source"),
        ("prior's metric", "record", "prior", "metric"),
        ("weight of the prior", "record", "prior", "gamma"),
        ("rows", "estimate", "n_rows"),
        ("time blocks", "estimate", "n_blocks"),
        ("level of intervals", "estimate", "interval_level"),
        ("intervals by", "estimate", "interval_covariance"),
        ("certificate", "certificate", "kind"),
    ):
        yield what, _entry(a, *keys), _entry(b, *keys)
    # a computed number: methods with the same data differ in its last digits
    one, other = (_rounded(_entry(x, "estimate", "condition_scaled")) for x in (a, b))
    yield "condition number", one, other


def _rounded(value: object) -> object:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _entry(result: Result, *keys: str) -> object:
    """An entry of the document; None where it is missing."""
    within = stored_object(result, *keys[:-1])
    return None if within is None else within.entries.get(keys[-1])


def _logs(a: tuple[RunRecord, ...], b: tuple[RunRecord, ...]) -> tuple[list[str], list[str]]:
    """Names of the logs; with the start of their hashes where only the contents differ."""
    names = [run.log for run in a], [run.log for run in b]
    if names[0] == names[1] and content_hashes(a) != content_hashes(b):
        return _with_hashes(a), _with_hashes(b)
    return names


def _with_hashes(runs: tuple[RunRecord, ...]) -> list[str]:
    return [f"{run.log} (content {(run.content_sha256 or '?')[:8]})" for run in runs]


def _told_apart(a: object, b: object) -> tuple[str, str]:
    """Two values as text: short, or in full where the short texts are equal."""
    short = _shown(a), _shown(b)
    return short if short[0] != short[1] else (repr(a), repr(b))


def _shown(value: object) -> str:
    """A value of a setting as text."""
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return listed(f"{name} {_shown(entry)}" for name, entry in value.items())
    if isinstance(value, list | tuple):
        return listed(_shown(entry) for entry in value)
    return str(value)


def _left_out(runs: tuple[RunRecord, ...]) -> int:
    return sum(run.dead_band.n_left_out for run in runs)


def _training(result: Result) -> float:
    estimate = stored_object(result, "estimate")
    return math.nan if estimate is None else estimate.number("relative_error")


def _held_out(result: Result, key: str) -> float:
    prediction = stored_object(result, "validation", "overall", "prediction")
    return math.nan if prediction is None else prediction.number(key)


def _held_out_logs(result: Result) -> frozenset[str]:
    """Content hashes of the held-out logs."""
    records = [
        run.child("record") for run in stored_list(stored_object(result, "validation"), "runs")
    ]
    hashes = [record.text("content_sha256") for record in records if record is not None]
    return frozenset(found for found in hashes if found is not None)


def _by_joint(result: Result, *keys: str) -> dict[str, float]:
    """Relative errors of a list of channels, by joint."""
    channels = stored_list(stored_object(result, *keys[:-1]), keys[-1])
    return {
        name: channel.number("relative_error")
        for channel in channels
        for name in [channel.text("name")]
        if name is not None
    }
