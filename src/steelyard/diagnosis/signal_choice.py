"""Filters and friction widths, chosen by how well left-out parts of a log are predicted.

Five choices, made on one log:

cutoff          of the low-pass filter on positions. `automatic_cutoff` proposes one from the
                spectrum of the positions; it is doubled or halved as long as that predicts better,
                but not below four bandwidths of the motion. Of those that predict as well, the
                highest, in the mean over grids of such steps, so that it does not jump with the
                data.
torque filter   the same filter on the torque and on Coulomb friction in the model, or none.
dead band       torques below a tenth of a joint's speed (rms) are left out of the fit, or not.
width           of Coulomb friction: sign(s), or clip(s / width, -1, 1) with a width of 2 to 40 % of
                the joint's speed (rms); one share for all joints, or one for each.
derivatives     velocities and accelerations by differentiating positions, or measured ones where
                the log has them; these only where they predict clearly better.

Each way is fitted to all parts of the log but one, and predicts the unfiltered torque of all
samples of that part. The width is chosen by that error, the cutoff by the error outside the dead
band, torque filter and dead band by both, which count alike. The usual choice is kept where it
predicts as well as the best: a filtered torque, a dead band, sign(s). With the torque
and friction filtered as the positions are, a low cutoff distorts both sides of the equation alike;
with an unfiltered torque it biases inertia and friction, which left-out parts of the same log,
distorted in the same way, hardly show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.friction_width import SHARES, law_shares, shares_by_term
from steelyard.diagnosis.left_out import best_of, scores
from steelyard.diagnosis.signal_ways import (
    SignalChoice,
    SignalTrial,
    TorqueFilter,
    Way,
    Ways,
    other_sources,
)
from steelyard.errors import EstimationError, listed
from steelyard.estimators.prior_weight import SAME
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.regression.equation import TORQUE, Equation
from steelyard.signals.cutoff import HIGHEST
from steelyard.signals.filters import settling_time_s
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.opened_log import open_log
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord
from steelyard.signals.term_speeds import rms_speeds, term_speeds

Array = NDArray[np.float64]

BANDWIDTHS = 4.0
"""Cutoffs below this many bandwidths of the motion are not tried."""
MOST_STEPS = 5
"""How often the proposed cutoff may be doubled or halved."""
NOTICEABLE = 1.005
"""Ratio of errors below which they are the same."""
CLEARLY_BETTER = 0.98
"""Squared error below which measured velocities or accelerations are taken, over that of
differentiation."""


def choose_signals(
    model: Model,
    log: Log,
    processing: Processing,
    *,
    widths: Mapping[str, float] | Literal["auto"] = "auto",
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    equation: Equation = TORQUE,
) -> SignalChoice:
    """What is "auto" in ``processing`` and ``widths``, chosen on one log.

    equation : what is fitted and predicted; of energy or power, only over all intervals, and with
        one share of the speed for all widths.

    A dead band leaves out the torques for which the width of friction matters: with one, Coulomb
    friction keeps its sign.
    """
    log, _ = name_numbered_joints(log, model.robot)
    opened = open_log(log, model.robot, processing)
    # as the spectrum alone would have it
    prepared = prepare(log, model, replace(processing, torque_filter="none"), opened=opened)
    record, given = prepared.record, prepared.measurements
    measured = [c for c, tau in zip(given.channels, given.tau.T) if np.isfinite(tau).any()]
    owners = [term.owner for term in model.jumping_terms]
    speeds = dict(
        zip(owners, rms_speeds(term_speeds(model, prepared.motion.v)).tolist(), strict=True)
    )
    with_band = any(record.dead_band.speeds.values())
    open_widths = widths == "auto" and bool(speeds) and not with_band
    open_band = processing.dead_band == "auto" and bool(speeds)
    fixed = {} if widths == "auto" else dict(widths)
    filters: tuple[TorqueFilter, ...] = ("same", "none")
    if processing.torque_filter != "auto":
        filters = (processing.torque_filter,)
    elif record.cutoff_hz is None and processing.derivative != "savgol":
        filters = ("none",)
    usual = replace(
        processing,
        cutoff_hz=record.cutoff_hz,
        torque_filter=filters[0],
        dead_band="rest" if processing.dead_band == "auto" else processing.dead_band,
        velocity="differentiate" if processing.velocity == "auto" else processing.velocity,
        acceleration=(
            "differentiate" if processing.acceleration == "auto" else processing.acceleration
        ),
    )
    rate = 1.0 if record.time is None else record.time.rate_hz
    reach = _reach(record, log, rate)
    settled = (reach is None or reach[0] == reach[1]) and len(filters) == 1
    if settled and not (open_widths or open_band or other_sources(model, log, processing)):
        return SignalChoice(processing, usual, fixed)
    widest = None if reach is None else (reach[0], HIGHEST * rate)
    given_widths = None if open_widths else fixed
    ways = Ways(
        model, log, processing, widest, speeds, given_widths, threads, equation, measured, opened
    )
    try:
        return _Search(ways, processing, usual, progress, reach).run(filters)
    except EstimationError as failure:
        return SignalChoice(processing, usual, fixed, reason=str(failure))


def _reach(record: RunRecord, log: Log, rate_hz: float) -> tuple[float, float] | None:
    """The lowest and the highest cutoff to try; None without a filter."""
    proposed, choice = record.cutoff_hz, record.cutoff_choice
    if proposed is None:
        return None
    if choice is None:
        return proposed, proposed
    settling = settling_time_s(1.0, record.processing.filter_order)
    lowest = max(BANDWIDTHS * choice.bandwidth_hz, 4.0 * settling / log.duration_s)
    return min(lowest, proposed), max(HIGHEST * rate_hz, proposed)


class _Search:
    """The search over ways, which counts and keeps what was tried.

    reach : the lowest and the highest cutoff (Hz) to try; None without a filter.
    """

    def __init__(
        self,
        ways: Ways,
        asked: Processing,
        usual: Processing,
        progress: Callable[[int, int], None] | None,
        reach: tuple[float, float] | None,
    ) -> None:
        self.ways, self.asked, self.usual = ways, asked, usual
        self.progress, self.reach = progress, reach
        self.tried: dict[Way, Array] = {}
        self.errors: dict[Way, Array] = {}

    def score(self, way: Way) -> Array:
        """Mean squared error (n_parts,) of each part."""
        if way not in self.tried:
            squares, counts = self.ways.squares(way)
            self.tried[way] = scores(squares, counts)
            if self.progress is not None:
                total = 2 * len(SHARES) + 2 * MOST_STEPS
                self.progress(min(len(self.tried), total), total)
        return self.tried[way]

    def run(self, filters: Sequence[TorqueFilter]) -> SignalChoice:
        """The choice between these filters of the torque, and all else that was left open."""
        ways, usual = self.ways, self.usual
        assert usual.cutoff_hz != "auto"
        start = Way(usual.cutoff_hz, filters[0], 0.0, usual.velocity, usual.acceleration)
        first = self._best_share(start)
        open_band = self.asked.dead_band == "auto" and bool(ways.speeds)
        options = []
        for one in filters:
            way = self._best_cutoff(replace(first, torque_filter=one, dead_band=open_band))
            options += [way, replace(way, dead_band=False)] if open_band else [way]
        way = self._best_fit(options)
        way = replace(self._best_share(replace(way, dead_band=False)), dead_band=way.dead_band)
        way = self._best_sources(way)
        score = float(self.score(way).mean())
        processing = replace(
            usual,
            cutoff_hz=way.cutoff_hz,
            torque_filter=way.torque_filter,
            dead_band=("tenth" if way.dead_band else "rest") if open_band else usual.dead_band,
            velocity=way.velocity,
            acceleration=way.acceleration,
        )
        shares, widths = None, dict(ways.fixed or {})
        if ways.fixed is None:
            shares = shares_by_term(ways, way)
            law = law_shares(ways, way, shares)
            widths = {name: share * ways.speeds[name] for name, share in law.items()}
            if law != shares:
                smear = {name: share * ways.speeds[name] for name, share in shares.items()}
                processing = replace(processing, friction_smear=smear)
        return SignalChoice(
            self.asked,
            processing,
            widths,
            shares,
            SignalTrial(way, score),
            tuple(SignalTrial(one, float(each.mean())) for one, each in self.tried.items()),
            channels=() if ways.compared.mixing is None else ways.compared.mixing.names,
        )

    def _best_share(self, way: Way) -> Way:
        """The share that predicts best; that of ``way`` where it predicts as well."""
        if self.ways.fixed is not None:
            self.score(way)
            return way
        options = [replace(way, share=share) for share in SHARES]
        self.ways.find_shares(way, SHARES)
        return options[best_of([self.score(one) for one in options], SHARES.index(way.share))]

    def outside(self, way: Way) -> float:
        """Mean squared error outside the dead band, in units of the noise."""
        return float(self._outside(way).mean())

    def _outside(self, way: Way) -> Array:
        if way not in self.errors:
            # a dead band would leave out every interval in which one of the joints is slow
            outside = bool(self.ways.speeds) and self.ways.equation.of_joints
            self.errors[way] = scores(*self.ways.squares(way, outside_band=outside))
        return self.errors[way]

    def error(self, way: Way) -> Array:
        """Geometric mean (n_parts,) of the errors on all samples and outside the dead band."""
        return np.sqrt(self.score(way) * self._outside(way))

    def _best_cutoff(self, proposed: Way) -> Way:
        """Double or halve the cutoff while that predicts torques outside the dead band better.

        Of cutoffs that predict as well as the best, the highest: a low one biases parameters in a
        way that left-out parts of the same log, distorted alike, hardly show. Halving has to pay
        on all samples as well.
        """
        if self.reach is None:
            return proposed
        lowest, highest = self.reach
        tried: list[Way] = [proposed]
        refused: list[Way] = []
        for factor, accepted in ((2.0, 1.0 + SAME), (0.5, 1.0)):
            way = proposed
            for _ in range(MOST_STEPS):
                cutoff = factor * _cutoff(way)
                if not lowest <= cutoff <= highest:
                    break
                way = replace(way, cutoff_hz=cutoff)
                least = min(self.outside(one) for one in tried)
                if not self.outside(way) <= accepted * least:
                    refused.append(way)
                    break
                if factor < 1.0 and not self.error(way).mean() < self.error(tried[-1]).mean():
                    break
                tried.append(way)
            if len(tried) > 1:
                break
        return self._highest_as_good(tried, refused)

    def _highest_as_good(self, tried: list[Way], refused: list[Way]) -> Way:
        """The highest cutoff that predicts as well as the best, in the mean over grids.

        The highest on one grid lies up to a step below the cutoff where the error reaches the
        limit, which is interpolated between the last that is good and the next; over all places of
        the grid, half a step. So the choice does not jump with the data. At least the best cutoff.
        """
        best = min(tried, key=self.outside)
        limit = (1.0 + SAME) * self.outside(best)
        good = max((one for one in tried if self.outside(one) <= limit), key=_cutoff)
        above = [one for one in (*tried, *refused) if _cutoff(one) > _cutoff(good)]
        if not above:
            return good
        worse = min(above, key=_cutoff)
        share = (limit - self.outside(good)) / (self.outside(worse) - self.outside(good))
        mean = _cutoff(good) * (_cutoff(worse) / _cutoff(good)) ** (share - 0.5)
        return replace(good, cutoff_hz=max(mean, _cutoff(best)))

    def _best_fit(self, options: list[Way]) -> Way:
        """The way with the smallest error; the first of the options on a tie."""
        errors = [float(self.error(way).mean()) for way in options]
        best = int(np.nanargmin(errors))
        return options[0 if errors[0] <= (1.0 + SAME) * errors[best] else best]

    def _best_sources(self, way: Way) -> Way:
        """The way with measured velocities or accelerations, if that predicts clearly better, each
        with a cutoff of its own: what is not differentiated needs less of a filter.
        """
        options = [way]
        for v, a in other_sources(self.ways.model, self.ways.log, self.asked):
            options.append(self._best_cutoff(replace(way, velocity=v, acceleration=a)))
        if len(options) == 1:
            return way
        errors = [self.error(one) for one in options]
        best = best_of(errors, 0)
        better = errors[best].mean() < CLEARLY_BETTER * errors[0].mean()
        return options[best] if better else way


def _cutoff(way: Way) -> float:
    assert way.cutoff_hz is not None
    return way.cutoff_hz


def signal_findings(choice: SignalChoice) -> tuple[Finding, ...]:
    """What was chosen, and that measured velocities or accelerations are used, if they are."""
    chosen = choice.chosen
    if chosen is None:
        words = (
            "filters and friction widths were not compared on left-out parts of the log: "
            f"{choice.reason}"
        )
        return (Finding("info", "signals-not-compared", words),) if choice.reason else ()
    worst = max(trial.score for trial in choice.trials)
    times = float(np.sqrt(worst / chosen.score)) if chosen.score > 0.0 else np.inf
    words = (
        f"{_in_words(choice, chosen.way)}: of {len(choice.trials)} ways to prepare the first log "
        "this predicts parts of it that were left out best, or as well as the best (with the "
        "worst way the error there is "
        f"{f'{times:.3g} times as large' if times >= NOTICEABLE else 'as small'})"
    )
    if choice.channels:
        words += (
            f"; compared on the torques of {len(choice.channels)} joints that carry the fewest "
            f"links ({listed(choice.channels)}), since the robot has many parameters"
        )
    findings = [Finding("info", "signals-chosen", words)]
    differentiated = [
        trial.score
        for trial in choice.trials
        if (trial.way.velocity, trial.way.acceleration) == ("differentiate", "differentiate")
    ]
    taken = [
        name
        for name in ("velocity", "acceleration")
        if getattr(chosen.way, name) == "if-measured" and getattr(choice.asked, name) == "auto"
    ]
    if taken and differentiated:
        words = (
            f"The measured {' and '.join(taken)} of the joints is used: with it the squared error "
            f"on left-out parts of the log is {chosen.score / min(differentiated):.2f} times as "
            "large as with differentiated positions"
        )
        kept = f"--{taken[0]} differentiate"
        findings.append(Finding("info", "measured-signals-used", words, option=kept))
    return tuple(findings)


def _span(shares: Mapping[str, float]) -> str:
    least, most = min(shares.values()), max(shares.values())
    return f"{100.0 * least:g} %" if least == most else f"{100.0 * least:g} to {100.0 * most:g} %"


def _in_words(choice: SignalChoice, way: Way) -> str:
    cutoff = "no filter" if way.cutoff_hz is None else f"a cutoff of {way.cutoff_hz:.3g} Hz"
    torque = "torque and friction filtered" if way.torque_filter == "same" else "torque unfiltered"
    shares = choice.shares or {}
    law = {name: share for name, share in shares.items() if choice.widths.get(name)}
    smear = {name: share for name, share in shares.items() if share and name not in law}
    friction = "sign(v) for friction"
    if law:
        friction = f"friction that saturates at {_span(law)} of each joint's speed (rms)"
        if len(law) < len(shares):
            friction += f" ({listed(law)}), sign(v) for that of the others"
    if smear:
        friction += (
            f", smeared up to {_span(smear)} of the speed, where the log does not know its sign"
        )
    if way.dead_band:
        torque += " and used above a tenth of each joint's speed (rms)"
    return f"{cutoff}, {torque}, {friction}"
