"""Ways to prepare a log, compared by how well left-out parts of it are predicted, and the one that
was chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.left_out import (
    ComparedRows,
    Parts,
    compared_rows,
    left_out_squares,
    part_edges,
    part_members,
    parts_from,
    pull_rows,
)
from steelyard.diagnosis.width_parts import friction_signals, parts_of_widths, placed_terms
from steelyard.estimators.least_squares import joint_noise
from steelyard.logs.log import Log
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.regression.compress import MAX_BLOCKS, block_length, compress
from steelyard.regression.equation import TORQUE, Equation
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.regression import Regression
from steelyard.signals.dead_band import without_slow_torques, without_unsure_torques
from steelyard.signals.filters import settling_time_s
from steelyard.signals.motion import Motion
from steelyard.signals.opened_log import OpenedLog, open_log
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing, Source

Array = NDArray[np.float64]
TorqueFilter = Literal["same", "none"]

OPEN_OPTIONS = ("cutoff_hz", "torque_filter", "dead_band", "velocity", "acceleration")
"""Options of the processing that may be left open."""
MOST_SAMPLES = 20_000
"""A log with more samples is thinned out for the comparison."""
OTHER = 1.25
"""Cutoffs are different if they differ at least so many times."""
KEPT = 3
"""Ways whose prepared samples are kept, since those with and without a dead band share them."""
FEWER_BLOCKS = 16
"""Time blocks, at most, where only some channels are compared; they are put into eight parts."""


@dataclass(frozen=True)
class Way:
    """One way to prepare a log.

    share : width of Coulomb friction as a share of the rms speed of its term.
    velocity, acceleration : where they come from.
    dead_band : whether torques below a tenth of the rms speed are left out of the fit.
    sure : whether torques are left out where the sign of a measured speed is uncertain; only of
        what is predicted.
    """

    cutoff_hz: float | None
    torque_filter: TorqueFilter
    share: float
    velocity: Source = "differentiate"
    acceleration: Source | Literal["none"] = "differentiate"
    dead_band: bool = False
    sure: bool = False


@dataclass(frozen=True)
class SignalTrial:
    """A way to prepare the log, and the score of its prediction.

    score : mean squared error on left-out parts, in units of the noise.
    """

    way: Way
    score: float

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        way = asdict(self.way)
        del way["sure"]  # of what is predicted, not of the fit
        return {**way, "score": self.score}


@dataclass(frozen=True)
class SignalChoice:
    """The processing and the widths of friction that were chosen.

    asked : the processing in which some options were left open.
    widths : of the law, rad/s or m/s by owner of the Coulomb term; sharper than the shares where
        only the measured speed is uncertain, see `Processing.friction_smear`.
    shares : widths along the measured motion, as shares of the rms speed; None where widths were
        given.
    chosen : the trial that was chosen, before each term got a share of its own; None where nothing
        was compared. trials : all that were compared. reason : why nothing was.
    channels : those on whose torques they were compared; empty for all.
    """

    asked: Processing
    processing: Processing
    widths: Mapping[str, float]
    shares: Mapping[str, float] | None = None
    chosen: SignalTrial | None = None
    trials: tuple[SignalTrial, ...] = ()
    reason: str = ""
    channels: tuple[str, ...] = ()

    @property
    def cutoff_is_automatic(self) -> bool:
        """Whether the cutoff was chosen on the log, and not given."""
        return self.asked.cutoff_hz == "auto"

    @property
    def proposed_hz(self) -> float | None:
        """The cutoff that the spectrum of the log proposed, which is tried first."""
        return self.trials[0].way.cutoff_hz if self.trials else None

    def compared(self, option: str) -> bool:
        """Whether this option of the processing was left open, and chosen by comparison."""
        return self.chosen is not None and getattr(self.asked, option) == "auto"

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold, as in ``record.signals`` of a result file."""
        return {
            "asked": {name: self.asked.as_record()[name] for name in OPEN_OPTIONS},
            "widths": dict(self.widths),
            "shares": None if self.shares is None else dict(self.shares),
            "chosen": None if self.chosen is None else self.chosen.as_json(),
            "trials": [trial.as_json() for trial in self.trials],
            "reason": self.reason,
            **({"channels": list(self.channels)} if self.channels else {}),
        }


class Ways:
    """The ways to prepare one log; each is prepared and compressed when it is first needed.

    range_hz : the lowest and the highest cutoff of any way; None without a filter.
    speeds : rms speed (rad/s or m/s) of each Coulomb term, by owner.
    fixed : widths (rad/s or m/s) by owner where they are given; shares then have no effect.
    equation : what is fitted and predicted. measured : names of the channels with
    torques; None for all. opened : the log, where it was opened before.
    compared : the channels on which ways are compared.
    """

    def __init__(
        self,
        model: Model,
        log: Log,
        processing: Processing,
        range_hz: tuple[float, float] | None,
        speeds: Mapping[str, float],
        fixed: Mapping[str, float] | None = None,
        threads: int = 1,
        equation: Equation = TORQUE,
        measured: Collection[str] | None = None,
        opened: OpenedLog | None = None,
    ) -> None:
        self.model, self.log, self.speeds, self.fixed = model, log, speeds, fixed
        self.threads, self.equation = threads, equation
        self.range_hz = range_hz
        # all ways on the same samples: the ends are cut as the lowest cutoff needs it
        settling = correlation_s = 0.0
        if range_hz is not None:
            settling = settling_time_s(range_hz[0], processing.filter_order)
            correlation_s = 1.5 / range_hz[0]
        trim = (settling, settling) if processing.trim_s == "auto" else processing.trim_s
        self.processing = replace(processing, trim_s=trim)
        self.thinning = max(1, len(log) // MOST_SAMPLES)
        self.compared = ComparedRows(tuple(range(len(model.channels))), base_map(model))
        if equation.of_joints:
            names = model.channels if measured is None else measured
            self.compared = compared_rows(model, self.compared.base, names)
        self.pull = pull_rows(model, self.compared.base.K)
        most = MAX_BLOCKS if self.compared.mixing is None else FEWER_BLOCKS
        longest = max(correlation_s, equation.correlation_s)
        self.block_s = block_length(log.duration_s, longest, most)
        self.sigma: Array | None = None
        self.edges: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.found: dict[Way, Parts] = {}
        self.prepared = lru_cache(maxsize=KEPT)(self._prepared)
        self.with_share = cache(self._with_share)
        self.opened = {} if opened is None else {_measured(processing): opened}

    def _with_share(self, share: float) -> Model:
        """The model with widths of this share of the speeds, or the given widths."""
        if self.fixed is not None:
            return self.model.with_widths(self.fixed)
        return self.model.with_widths({name: share * v for name, v in self.speeds.items()})

    def squares(
        self, way: Way, *, outside_band: bool = False, sure: bool = False
    ) -> tuple[Array, Array]:
        """Squared errors and counts (n_parts, n_channels) on unfiltered torque: of all samples, of
        those outside the dead band, or where the sign of the speed is sure.
        """
        predicted = self.parts(predicted_way(way, outside_band, sure))
        return left_out_squares(self.parts(way), predicted, self.pull), predicted.counts

    def parts(self, way: Way) -> Parts:
        """The factors of this way's parts."""
        if way not in self.found:
            prepared = self._prepared_for(way, (way.share,))
            regression = self._regression(self.with_share(way.share), prepared)
            if self.sigma is None:  # of the first way that is tried
                self.sigma, self.edges = joint_noise(regression), part_edges(regression)
            members = part_members(regression, self.edges)
            self.found[way] = parts_from(regression, self.sigma, members)
        return self.found[way]

    def find_shares(self, way: Way, shares: Sequence[float], *, sure: bool = False) -> None:
        """Find what `squares` needs of this way with each of these shares, in two passes over the
        samples instead of two for each share.
        """
        if not self.equation.of_joints:
            return
        for one in dict.fromkeys((way, predicted_way(way, sure=sure))):
            ways = [replace(one, share=share) for share in shares]
            if self.sigma is None:
                self.parts(ways[0])
            missing = [one for one in ways if one not in self.found]
            if len(missing) > 1:
                self.found.update(zip(missing, self._parts_of_shares(missing), strict=True))

    def _prepared(self, way: Way, shares: tuple[float, ...]) -> Prepared:
        """The log without a dead band of this way, with the friction of each of these shares."""
        decimate = self.processing.decimate
        if way.torque_filter == "none" and decimate == "auto":
            decimate = self.thinning
        processing = replace(
            self.processing,
            cutoff_hz=way.cutoff_hz,
            torque_filter=way.torque_filter,
            decimate=decimate,
            velocity=way.velocity,
            acceleration=way.acceleration,
        )
        first, *others = (self.with_share(share) for share in shares)
        sources = _measured(processing)
        if sources not in self.opened:
            self.opened[sources] = open_log(self.log, self.model.robot, processing)
        return prepare(
            self.log, first, processing, other_widths=others, opened=self.opened[sources]
        )

    def _parts_of_shares(self, ways: Sequence[Way]) -> list[Parts]:
        """The parts of ways that differ only in their shares."""
        models = [self.with_share(way.share) for way in ways]
        placed = placed_terms(models[0], self.compared)
        if not placed or self.sigma is None:
            return [self.parts(way) for way in ways]
        prepared = self._prepared_for(ways[0], [way.share for way in ways])
        others = prepared.other_friction or [
            friction_signals(model, prepared.motion) for model in models[1:]
        ]

        def compressed(motion: Motion, extra: ExtraColumns) -> Regression:
            return self._regression(models[0], replace(prepared, motion=motion), extra)

        return parts_of_widths(
            placed, prepared.motion, others, compressed, self.compared, self.sigma, self.edges
        )

    def _prepared_for(self, way: Way, shares: Sequence[float]) -> Prepared:
        """The log, prepared in this way, with the friction of each of these shares."""
        # the widths of friction affect signals only where friction is filtered, or one follows its
        # travel
        follows = any(term.travel for term in self.model.terms)
        filtered = tuple(shares) if way.torque_filter != "none" or follows else (0.0,)
        plain = replace(way, share=0.0, dead_band=False, sure=False)
        prepared = self.prepared(plain, filtered)
        motion, given = prepared.motion, prepared.all_measurements
        if way.sure:
            other = self.other_cutoff(way)
            assert other is not None
            assert way.cutoff_hz is not None
            there = self.prepared(replace(plain, cutoff_hz=other), (0.0,)).motion
            kept = without_unsure_torques(self.model, motion, there, given, way.cutoff_hz)
        elif way.dead_band:
            kept, _ = without_slow_torques(self.model, motion, given, "tenth")
        else:
            return prepared
        return replace(prepared, measurements=kept)

    def other_cutoff(self, way: Way) -> float | None:
        """Another cutoff, to see how far speeds depend on it; None where there is none."""
        if way.cutoff_hz is None or self.range_hz is None:
            return None
        lowest, highest = self.range_hz
        higher = min(2.0 * way.cutoff_hz, highest)
        other = higher if higher >= OTHER * way.cutoff_hz else max(0.5 * way.cutoff_hz, lowest)
        return None if 1.0 / OTHER < other / way.cutoff_hz < OTHER else other

    def _regression(
        self, model: Model, prepared: Prepared, extra: ExtraColumns | None = None
    ) -> Regression:
        return compress(
            model,
            prepared.motion,
            prepared.measurements,
            base=replace(self.compared.base, model_hash=model.hash),
            block_s=self.block_s,
            threads=self.threads,
            extra=extra,
            mixing=self.compared.mixing,
            equation=self.equation,
        )


def other_sources(
    model: Model, log: Log, processing: Processing
) -> tuple[tuple[Source, Source | Literal["none"]], ...]:
    """Where velocities and accelerations may come from besides differentiated positions, where that
    is left open and the log has them of every joint.
    """

    def sources(asked: Any, quantity: str) -> tuple[Any, ...]:
        if asked != "auto":
            return (asked,)
        recorded = all((joint, quantity) in log.signals for joint in model.robot.joint_names)
        return ("differentiate", "if-measured") if recorded else ("differentiate",)

    velocities = sources(processing.velocity, "velocity")
    return tuple(product(velocities, sources(processing.acceleration, "acceleration")))[1:]


def _measured(processing: Processing) -> tuple[bool, bool]:
    """Whether velocities and accelerations are measured ones."""
    return processing.takes_measured("velocity"), processing.takes_measured("acceleration")


def predicted_way(way: Way, outside_band: bool = False, sure: bool = False) -> Way:
    """What this way is compared with: unfiltered torque of all samples, of those outside the dead
    band, or where the sign of the speed is sure.
    """
    return replace(way, torque_filter="none", dead_band=outside_band, sure=sure)
