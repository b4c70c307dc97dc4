"""Options for signal processing, shared by several commands."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal

from steelyard.cli.sensing import add_sensing_arguments, sensing_from
from steelyard.errors import SignalError, shown

if TYPE_CHECKING:
    from steelyard.signals.processing import DeadBand, Processing, TorqueDelay

PRESETS = ("sousa2014",)


def add_processing_arguments(
    parser: argparse.ArgumentParser, *, sensing: bool = False
) -> argparse._ArgumentGroup:
    """Options for the fields of `Processing`; those not given keep their defaults.

    sensing : whether the command takes floating bases, contacts and joints without torque.
    """
    group = parser.add_argument_group(
        "signals", "How logs are processed; many defaults are chosen from the data."
    )
    add = group.add_argument
    add("--preset", choices=PRESETS, help="processing of a paper, which other options may change")
    add("--cutoff-hz", type=_number_or("auto", "none"), metavar="F|auto|none",
        help="cutoff of the zero-phase low-pass on positions (default: auto, from their "
        "spectrum and, in identify, by prediction of left-out parts)")  # fmt: skip
    add("--filter-order", type=int, metavar="N", help="order of that Butterworth low-pass")
    add(
        "--torque-filter",
        choices=("auto", "same", "none"),
        help="filter torques, and Coulomb friction in the model, like positions, or neither; auto: "
        "identify takes what predicts left-out parts of the first log best (default: auto)",
    )
    add(
        "--torque-delay",
        action="append",
        metavar="S|NAME=S|auto|none",
        help="torques were recorded S seconds later than positions, and are read that much "
        "earlier; negative if they are early; NAME=S for one joint, may be repeated; auto: "
        "identify corrects a delay that the first log shows beyond doubt (default: auto)",
    )
    add(
        "--without-torque",
        action="append",
        metavar="JOINT|auto|none",
        help="do not use the recorded torque of this joint, may be repeated; auto: identify leaves "
        "out an effort that cannot be a torque, where that predicts the others better (default: "
        "auto)",
    )
    add("--derivative", choices=("central3", "central5", "savgol"),
        help="how positions are differentiated")  # fmt: skip
    add(
        "--savgol-window",
        type=int,
        metavar="N",
        help="window of the Savitzky-Golay filter, samples",
    )
    add("--savgol-order", type=int, metavar="N", help="degree of its polynomial")
    sources = ("auto", "differentiate", "measured", "if-measured")
    add("--velocity", choices=sources,
        help="where velocities come from; auto (default): identify takes measured ones if they "
        "predict left-out parts of the first log clearly better")  # fmt: skip
    add("--acceleration", choices=sources, help="the same of accelerations")
    add(
        "--time-base",
        choices=("auto", "as-stamped"),
        help="repair time stamps that contradict the signals, where that predicts left-out "
        "positions better (auto, the default), or use them as they are",
    )
    add("--sample-rate-hz", type=float, metavar="F", help="rate of the uniform time base")
    add(
        "--interpolation",
        choices=("linear", "cubic"),
        help="how samples with jittery time stamps are interpolated",
    )
    add(
        "--max-gap-s",
        type=float,
        metavar="S",
        help="longest gap of missing samples to interpolate; the log is cut at longer ones "
        "(default: 0.05)",
    )
    add("--trim-s", nargs=2, type=float, metavar=("A", "B"), help="seconds cut at start and end")
    add("--decimate", type=_count_or("auto"), metavar="N|auto", help="keep every N-th sample")
    add_dead_band_argument(group)
    add("--still-joints", choices=("refuse", "keep"),
        help="what to do with a log in which a joint never moves")  # fmt: skip
    if sensing:
        add_sensing_arguments(parser)
    return group


def add_dead_band_argument(parser: argparse._ActionsContainer) -> None:
    """The option for the dead band of friction."""
    parser.add_argument(
        "--dead-band",
        action="append",
        metavar="F|NAME=F|tenth|rest|auto|none",
        help="leave out torques of joints slower than F (rad/s or m/s), where Coulomb friction "
        "has no sign; NAME=F for one joint or coupling, may be repeated; tenth: of each joint's "
        "speed (rms); rest: only joints that stand still; auto: identify takes tenth or rest, what "
        "predicts left-out parts of the first log better (default: auto)",
    )


def add_friction_width_argument(parser: argparse._ActionsContainer) -> None:
    """The option for the width of Coulomb friction."""
    parser.add_argument(
        "--friction-width",
        action="append",
        metavar="F|NAME=F|auto",
        help="Coulomb friction grows linearly up to this speed (rad/s or m/s), as clip(v/F, -1, "
        "1); 0 for sign(v); NAME=F for one joint or coupling, may be repeated; auto: what predicts "
        "left-out parts of the first log best (default: auto)",
    )


def processing_from(arguments: argparse.Namespace, default: Processing) -> Processing:
    """``default`` or the preset, in which the given options are replaced."""
    from steelyard.signals.processing import Processing

    preset = getattr(arguments, "preset", None)
    processing = Processing.sousa2014() if preset == "sousa2014" else default
    given: dict[str, Any] = {}
    for field in fields(Processing):
        value = getattr(arguments, field.name, None)
        if value is not None:
            given[field.name] = value
    if "dead_band" in given:
        given["dead_band"] = dead_band_from(given["dead_band"])
    if "torque_delay" in given:
        given["torque_delay"] = torque_delay_from(given["torque_delay"])
    if "without_torque" in given:
        given["without_torque"] = without_torque_from(given["without_torque"])
    if given.get("cutoff_hz") == "none":
        given["cutoff_hz"] = None
    if "trim_s" in given:
        given["trim_s"] = tuple(given["trim_s"])
    if hasattr(arguments, "base_motion"):
        given["sensing"] = sensing_from(arguments) or processing.sensing
    return replace(processing, **given)


def _number_or(*words: str) -> Any:
    def parse(text: str) -> float | str:
        if text in words:
            return text
        try:
            return float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"'{text}' is neither a number nor {' or '.join(words)}"
            ) from None

    return parse


def _count_or(word: str) -> Any:
    def parse(text: str) -> int | str:
        if text == word:
            return text
        try:
            return int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"'{text}' is neither a whole number nor {word}"
            ) from None

    return parse


def dead_band_from(given: list[str]) -> DeadBand:
    """One speed for all, speeds by name, "tenth", "rest", "auto", or None."""
    if given == ["auto"]:
        return "auto"
    if given == ["tenth"]:
        return "tenth"
    if given == ["rest"]:
        return "rest"
    return (
        None
        if given == ["none"]
        else _numbers("--dead-band", given, "speed", "tenth, rest, auto or none")
    )


def without_torque_from(given: list[str]) -> tuple[str, ...] | Literal["auto"]:
    """Joints whose torque is not used; "auto" and "none" stand alone."""
    if given == ["auto"]:
        return "auto"
    if given == ["none"]:
        return ()
    if "auto" in given or "none" in given:
        raise SignalError("--without-torque takes joints, or auto or none alone")
    return tuple(given)


def torque_delay_from(given: list[str]) -> TorqueDelay:
    """One delay for all, delays by joint, "auto", or None."""
    if given == ["auto"]:
        return "auto"
    return None if given == ["none"] else _numbers("--torque-delay", given, "delay", "auto or none")


def friction_width_from(
    given: list[str] | None, preset: str | None = None
) -> float | dict[str, float] | Literal["auto"]:
    """One speed for all, speeds by name, or "auto"; 0, for sign(v), where a preset says nothing."""
    if given is None and preset is not None:
        return 0.0
    if given is None or given == ["auto"]:
        return "auto"
    return _numbers("--friction-width", given, "speed", "or auto")


def _numbers(option: str, given: list[str], noun: str, words: str) -> float | dict[str, float]:
    """One number for all, or numbers by name. noun : what the numbers are."""
    numbers: dict[str, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            value = float(number if name or not equals else text)  # "=3" names no joint
        except ValueError:
            raise SignalError(
                f"{option} is {shown(text)}; it must be a {noun}, NAME={noun.upper()}, {words}"
            ) from None
        if name in numbers and name:
            raise SignalError(f"{option} is given twice for {shown(name)}; give it once")
        numbers[name] = value
    if "" in numbers and len(given) > 1:
        raise SignalError(
            f"{option} for all joints is given more than once; use NAME={noun.upper()}"
        )
    return numbers.get("", numbers)
