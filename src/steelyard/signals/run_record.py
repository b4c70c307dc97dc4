"""What was found in the log of a run, and how it was processed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from steelyard._files.json_data import finite
from steelyard._files.json_object import JsonObject
from steelyard.errors import SignalError, SteelyardError
from steelyard.robot.transmission import Motor
from steelyard.signals.cutoff import CutoffChoice
from steelyard.signals.processing import DeadBand, Processing
from steelyard.signals.sensing import Sensing

CORRELATED_PERIODS = 1.5
"""Time over which a low-pass filter correlates residuals, in periods of its cutoff."""


@dataclass(frozen=True)
class PeriodRecord:
    """Time between neighbouring stamps of a log, s."""

    min: float
    median: float
    max: float
    std: float


@dataclass(frozen=True)
class TimeBaseRecord:
    """How the recorded time stamps became a uniform grid.

    recorded_rate_hz, mean_rate_hz : median and mean rate of the stamps.
    largest_deviation_periods : of a stamp from the even grid that fits best.
    resampled : whether the grid differs from the stamps. rate_hz : of the grid.
    holes : places where stamps are far apart. samples_in_holes : of the grid.
    starts_s, ends_s : of each piece between holes at which the log was cut.
    """

    recorded_rate_hz: float
    mean_rate_hz: float
    period_s: PeriodRecord
    largest_deviation_periods: float
    resampled: bool
    rate_hz: float
    holes: int
    samples_in_holes: int
    starts_s: tuple[float, ...] = ()
    ends_s: tuple[float, ...] = ()


@dataclass(frozen=True)
class TimeRepair:
    """What was wrong with the time base of a log, and how much better it is without.

    repeated_rows : that were left out, or interpolated where the others keep their stamps.
    missing_rows : that even stamps count, between those that were recorded.
    moved_s : how far stamps were moved (s, rms), to even ones. closer : how many times closer
    left-out positions are predicted then.
    rate : true time over stamped time, on average. drift : how far that changes within the log.
    agrees : how many times smaller the difference of velocities and positions is then.
    """

    repeated_rows: int = 0
    missing_rows: int = 0
    moved_s: float = 0.0
    closer: float = 1.0
    rate: float = 1.0
    drift: float = 0.0
    agrees: float = 1.0


@dataclass(frozen=True)
class DeadBandRecord:
    """The dead band of a run and what it left out.

    asked : as in :class:`Processing`. speeds : rad/s or m/s by the joint or coupling with Coulomb
    friction. samples : torques that were left out, by channel.
    """

    asked: DeadBand = None
    speeds: Mapping[str, float] = field(default_factory=dict)
    samples: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_left_out(self) -> int:
        """Number of torques that were left out, over all channels."""
        return sum(self.samples.values())

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "asked": dict(self.asked) if isinstance(self.asked, Mapping) else self.asked,
            "speeds": dict(self.speeds),
            "samples": dict(self.samples),
        }


@dataclass(frozen=True)
class RunRecord:
    """What was found in the log of one run and done to it.

    content_sha256 : hash of the log's time and signals in SI units.
    samples_in, duration_s : of the log. samples_out, rate_out_hz : of what is used.
    ignored_columns, ignored_joints : of the log, that the robot does not have.
    computed_from_motors : "joint.quantity" -> how it was computed, as text.
    motors : of the robot's transmission; None where it has none.
    time : how the stamps became a grid; None where a file does not say.
    time_repair : what was wrong with the stamps, before they became one.
    rows_cut_at_ends : rows of the log, at start and end. trimmed_s : s, at start and end.
    samples_bridged : missing samples that were interpolated, by "joint.quantity".
    outliers : samples far from their neighbours that were left out, by "joint.quantity".
    stuck : samples that stood still or were cut off and were left out, by "joint.quantity".
    slips_taken_back : jumps of an encoder, by joint.
    interpolated_between_updates : "joint.quantity" of signals that were held between updates.
    unwrapped_jumps : jumps by 2 pi, by joint.
    cutoff_hz : of the low-pass filter, None without one. cutoff_choice : if it was automatic.
    velocity_from, acceleration_from : how those of each joint were obtained, as text.
    velocity_factors : measured velocity over the derivative of the position, by joint.
    decimation : n, where every n-th sample is kept.
    error_band : speeds (rad/s or m/s), by the joint or coupling with Coulomb friction, below which
        torques are left out of the first of the reported errors.
    torque_samples_missing : by channel, those left out by the dead band included.
    sensing_asked : what was stated besides joints; ``processing.sensing`` also has what was found
        in this log by the names of its columns.
    """

    log: str
    processing: Processing
    source: str | None = None
    content_sha256: str | None = None
    samples_in: int = 0
    duration_s: float = 0.0
    ignored_columns: tuple[str, ...] = ()
    ignored_joints: tuple[str, ...] = ()
    computed_from_motors: Mapping[str, str] = field(default_factory=dict)
    motors: tuple[Motor, ...] | None = None
    time: TimeBaseRecord | None = None
    time_repair: TimeRepair = field(default_factory=TimeRepair)
    rows_cut_at_ends: tuple[int, ...] = (0, 0)
    samples_bridged: Mapping[str, int] = field(default_factory=dict)
    outliers: Mapping[str, int] = field(default_factory=dict)
    stuck: Mapping[str, int] = field(default_factory=dict)
    slips_taken_back: Mapping[str, int] = field(default_factory=dict)
    interpolated_between_updates: tuple[str, ...] = ()
    unwrapped_jumps: Mapping[str, int] = field(default_factory=dict)
    cutoff_hz: float | None = None
    cutoff_choice: CutoffChoice | None = None
    velocity_from: Mapping[str, str] = field(default_factory=dict)
    acceleration_from: Mapping[str, str] = field(default_factory=dict)
    velocity_factors: Mapping[str, float] = field(default_factory=dict)
    trimmed_s: tuple[float, ...] = (0.0, 0.0)
    decimation: int = 1
    rate_out_hz: float = math.nan
    samples_out: int = 0
    dead_band: DeadBandRecord = field(default_factory=DeadBandRecord)
    error_band: Mapping[str, float] = field(default_factory=dict)
    torque_samples_missing: Mapping[str, int] = field(default_factory=dict)
    sensing_asked: Sensing | None = None

    @property
    def processing_as_used(self) -> Processing:
        """The processing, with an automatic cutoff replaced by the one chosen for this run.

        With it, the torques of another log can be compared with those of this run. It gives
        accelerations, which torques need, even if the run had none. What sensing was not stated is
        open again: another log may tell the motion of its base by other columns.
        """
        used = replace(self.processing, sensing=self.sensing_asked)
        if used.acceleration == "none":
            used = replace(used, acceleration="differentiate")
        if used.cutoff_hz != "auto" or self.cutoff_hz is None:
            return used
        return replace(used, cutoff_hz=self.cutoff_hz)

    @property
    def torque_is_low_passed(self) -> bool:
        """Whether the torque went through the low-pass filter."""
        return self.processing.filters_torque and self.cutoff_hz is not None

    @property
    def torque_is_filtered(self) -> bool:
        """Whether the torque went through the low-pass or the Savitzky-Golay filter."""
        chosen = self.processing
        smoothed = chosen.filters_torque and chosen.derivative == "savgol"
        return self.torque_is_low_passed or smoothed

    @property
    def correlation_s(self) -> float:
        """Time (s) over which the low-pass filter correlates residuals; 0 without a filter."""
        return 0.0 if self.cutoff_hz is None else CORRELATED_PERIODS / self.cutoff_hz

    @property
    def trimmed_share(self) -> float:
        """Share of the log's duration that was cut at its ends."""
        return sum(self.trimmed_s) / self.duration_s if self.duration_s > 0.0 else 0.0

    @property
    def dead_band_shares(self) -> dict[str, float]:
        """Share of each channel's torques that the dead band left out."""
        if not self.samples_out:
            return {}
        return {name: n / self.samples_out for name, n in self.dead_band.samples.items()}

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold, as in ``record.runs`` of a result file."""
        asked = None if self.sensing_asked is None else self.sensing_asked.as_record()
        entries: dict[str, Any] = {
            "log": self.log,
            "source": self.source,
            "content_sha256": self.content_sha256,
            "processing": self.processing.as_record(),
            "samples_in": self.samples_in,
            "duration_s": self.duration_s,
            "ignored_columns": self.ignored_columns,
            "ignored_joints": self.ignored_joints,
            "computed_from_motors": self.computed_from_motors,
            "transmission": None if self.motors is None else _motors_as_json(self.motors),
            "time": None if self.time is None else asdict(self.time),
            "time_repair": asdict(self.time_repair),
            "rows_cut_at_ends": self.rows_cut_at_ends,
            "samples_bridged": self.samples_bridged,
            "outliers": self.outliers,
            "stuck": self.stuck,
            "slips_taken_back": self.slips_taken_back,
            "interpolated_between_updates": self.interpolated_between_updates,
            "unwrapped_jumps": self.unwrapped_jumps,
            "cutoff_hz": self.cutoff_hz,
            "cutoff_choice": None if self.cutoff_choice is None else asdict(self.cutoff_choice),
            "velocity_from": self.velocity_from,
            "acceleration_from": self.acceleration_from,
            "velocity_factors": self.velocity_factors,
            "trimmed_s": self.trimmed_s,
            "decimation": self.decimation,
            "rate_out_hz": self.rate_out_hz,
            "samples_out": self.samples_out,
            "dead_band": self.dead_band.as_json(),
            "error_band": self.error_band,
            "torque_samples_missing": self.torque_samples_missing,
            "sensing_asked": asked,
        }
        return finite(entries)  # type: ignore[no-any-return]

    @staticmethod
    def from_json(value: object, where: str, error: type[SteelyardError]) -> RunRecord:
        """Read :meth:`as_json` back; raises ``error`` for invalid entries.

        where : file and place, for messages. Only ``processing`` must be there: files of earlier
        versions have fewer entries.
        """
        given = JsonObject.of(value, where, error)
        if given.entries.get("processing") is None:
            raise error(f"{where}: does not say how its signals were processed ('processing')")
        cutoff = given.number("cutoff_hz")
        if cutoff <= 0.0:
            raise error(f"{where}: 'cutoff_hz' is {cutoff:g}; it must be positive")
        processing = _processing(given.child("processing"))
        return RunRecord(
            log=given.text("log") or "run",
            processing=processing,
            source=given.text("source"),
            content_sha256=given.text("content_sha256"),
            samples_in=given.count("samples_in"),
            duration_s=given.number("duration_s", 0.0),
            ignored_columns=given.texts("ignored_columns"),
            ignored_joints=given.texts("ignored_joints"),
            computed_from_motors=given.texts_by_name("computed_from_motors"),
            motors=_motors(given.child("transmission")),
            time=_time_base(given.child("time")),
            time_repair=_time_repair(given.child("time_repair")),
            rows_cut_at_ends=given.counts("rows_cut_at_ends"),
            samples_bridged=given.counts_by_name("samples_bridged"),
            outliers=given.counts_by_name("outliers"),
            stuck=given.counts_by_name("stuck"),
            slips_taken_back=given.counts_by_name("slips_taken_back"),
            interpolated_between_updates=given.texts("interpolated_between_updates"),
            unwrapped_jumps=given.counts_by_name("unwrapped_jumps"),
            cutoff_hz=None if math.isnan(cutoff) else cutoff,
            cutoff_choice=_cutoff_choice(given.child("cutoff_choice")),
            velocity_from=given.texts_by_name("velocity_from"),
            acceleration_from=given.texts_by_name("acceleration_from"),
            velocity_factors=given.numbers_by_name("velocity_factors"),
            trimmed_s=given.numbers("trimmed_s"),
            decimation=given.count("decimation", 1),
            rate_out_hz=given.number("rate_out_hz"),
            samples_out=given.count("samples_out"),
            dead_band=_dead_band(given.child("dead_band")),
            error_band=given.numbers_by_name("error_band"),
            torque_samples_missing=given.counts_by_name("torque_samples_missing"),
            sensing_asked=_sensing(given, processing.sensing),
        )


def content_hashes(runs: Iterable[RunRecord]) -> frozenset[str]:
    """Content hashes of the logs of these runs, where they are known."""
    return frozenset(run.content_sha256 for run in runs if run.content_sha256 is not None)


def runs_as_json(runs: Iterable[RunRecord]) -> dict[str, Any]:
    """The ``record`` of a result or regression file, as far as runs are concerned."""
    entries = [run.as_json() for run in runs]
    return {"runs": entries} if entries else {}


def runs_from_json(
    record: object, where: str, error: type[SteelyardError]
) -> tuple[RunRecord, ...]:
    """The runs in the ``record`` of a result or regression file; none where it has no ``runs``."""
    runs = JsonObject.of(record, where, error).entries.get("runs", [])
    if not isinstance(runs, list):
        raise error(f"{where}: 'runs' must be a list")
    return tuple(
        RunRecord.from_json(run, f"{where}: run {k}", error) for k, run in enumerate(runs, 1)
    )


def _motors_as_json(motors: tuple[Motor, ...]) -> dict[str, Any]:
    return {
        motor.name: {
            "ratio": dict(motor.ratio),
            "torque_constant": motor.torque_constant,
            "gain": motor.gain,
        }
        for motor in motors
    }


def _processing(given: JsonObject | None) -> Processing:
    assert given is not None
    try:
        return Processing.from_record(given.entries)
    except SignalError as failure:
        raise given.error(f"{given.where}: {failure}") from None


def _sensing(given: JsonObject, used: Sensing | None) -> Sensing | None:
    """What was stated; a file that does not say it means all that was used."""
    if "sensing_asked" not in given.entries:
        return used
    entry = given.child("sensing_asked")
    try:
        return None if entry is None else Sensing.from_record(entry.entries)
    except SignalError as failure:
        raise given.error(f"{given.where}: {failure}") from None


def _motors(given: JsonObject | None) -> tuple[Motor, ...] | None:
    if given is None:
        return None
    motors = []
    for name in given.entries:
        entry = given.child(name)
        if entry is not None:
            constant = entry.number("torque_constant")
            motors.append(
                Motor(
                    str(name),
                    tuple(entry.numbers_by_name("ratio").items()),
                    None if math.isnan(constant) else constant,
                    entry.number("gain", 1.0),
                )
            )
    return tuple(motors)


def _time_base(given: JsonObject | None) -> TimeBaseRecord | None:
    if given is None:
        return None
    period = given.child("period_s") or JsonObject({}, given.where, given.error)
    return TimeBaseRecord(
        recorded_rate_hz=given.number("recorded_rate_hz"),
        mean_rate_hz=given.number("mean_rate_hz"),
        period_s=PeriodRecord(*(period.number(key) for key in ("min", "median", "max", "std"))),
        largest_deviation_periods=given.number("largest_deviation_periods"),
        resampled=given.flag("resampled"),
        rate_hz=given.number("rate_hz"),
        holes=given.count("holes"),
        samples_in_holes=given.count("samples_in_holes"),
        starts_s=given.numbers("starts_s"),
        ends_s=given.numbers("ends_s"),
    )


def _time_repair(given: JsonObject | None) -> TimeRepair:
    if given is None:
        return TimeRepair()
    return TimeRepair(
        repeated_rows=given.count("repeated_rows"),
        missing_rows=given.count("missing_rows"),
        moved_s=given.number("moved_s", 0.0),
        closer=given.number("closer", 1.0),
        rate=given.number("rate", 1.0),
        drift=given.number("drift", 0.0),
        agrees=given.number("agrees", 1.0),
    )


def _cutoff_choice(given: JsonObject | None) -> CutoffChoice | None:
    if given is None:
        return None
    return CutoffChoice(
        cutoff_hz=given.number("cutoff_hz"),
        relative_error=given.number("relative_error"),
        least_error_hz=given.number("least_error_hz"),
        least_error=given.number("least_error"),
        bandwidth_hz=given.number("bandwidth_hz"),
        noise=given.numbers("noise"),
    )


def _dead_band(given: JsonObject | None) -> DeadBandRecord:
    if given is None:
        return DeadBandRecord()
    try:
        asked = Processing(dead_band=given.entries.get("asked")).dead_band
    except SignalError as failure:
        raise given.error(f"{given.where}: {failure}") from None
    return DeadBandRecord(asked, given.numbers_by_name("speeds"), given.counts_by_name("samples"))
