"""Options of the processing from a log to motion and measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from steelyard.errors import SignalError
from steelyard.signals.sensing import Sensing

Derivative = Literal["central3", "central5", "savgol"]
Source = Literal["auto", "differentiate", "measured", "if-measured"]
DeadBand = float | Mapping[str, float] | Literal["auto", "tenth", "rest"] | None
TorqueDelay = float | Mapping[str, float] | Literal["auto"] | None

CHOICES = {
    "time_base": ("auto", "as-stamped"),
    "interpolation": ("linear", "cubic"),
    "derivative": ("central3", "central5", "savgol"),
    "velocity": ("auto", "differentiate", "measured", "if-measured"),
    "acceleration": ("auto", "differentiate", "measured", "if-measured", "none"),
    "torque_filter": ("auto", "same", "none"),
    "still_joints": ("refuse", "keep"),
}
MAX_ORDER = 12
LONGEST_DELAY_S = 10.0


@dataclass(frozen=True)
class Processing:
    """Options of :func:`steelyard.signals.prepare`; the defaults suit most logs.

    time_base : ``"auto"`` repairs stamps that contradict the signals (rows that repeat, stamps of
        when rows were written, a clock that is fast or slow beside measured velocities) where that
        predicts left-out positions clearly better; see `steelyard.signals.recorded.clock`.
        ``"as-stamped"`` uses them as they are.
    sample_rate_hz : rate of the uniform grid on which signals are filtered; None takes the
        median rate of the stamps. Uniform stamps at that rate are left untouched.
    interpolation : how jittery stamps are brought to the grid. ``"linear"`` stays well
        behaved where two stamps nearly coincide; ``"cubic"`` (a spline) is closer for
        clean positions that are sampled slowly.
    max_gap_s : missing samples (NaN) between two good ones are interpolated if these are at
        most this far apart; the log is cut at longer gaps, and each piece filtered,
        differentiated and trimmed on its own.
    unwrap : undo jumps by 2 pi in the positions of revolute and continuous joints.
    cutoff_hz : zero-phase Butterworth low-pass on positions; ``"auto"`` chooses it (see
        :func:`steelyard.signals.automatic_cutoff`), None does not filter.
    filter_order : order of the Butterworth filter, which runs forward and backward.
    torque_filter : ``"same"`` filters the torques like the positions, and Coulomb friction in
        the model alike; ``"none"`` does not. With ``"auto"`` :func:`steelyard.identify` chooses
        what predicts left-out parts of the logs best; :func:`prepare` itself does not filter.
    torque_delay : seconds by which recorded torques are later than positions, for all joints or by
        joint; they are read that much earlier, before any filter. None or 0 leaves them. With
        ``"auto"`` :func:`steelyard.identify` corrects a delay that the first log shows beyond
        doubt, and says so; :func:`prepare` itself does not.
    without_torque : joints whose recorded torque is not used, as if it had not been measured. With
        ``"auto"`` :func:`steelyard.identify` leaves out an effort that cannot be a torque, where
        the others are predicted better without it, and says so; :func:`prepare` itself uses all.
    derivative : ``"central5"``, ``"central3"``, or ``"savgol"``, a polynomial of degree
        ``savgol_order`` fitted to ``savgol_window`` samples.
    velocity, acceleration : ``"differentiate"`` the positions, or take the ``"measured"``
        channels where a joint has them (filtered like the positions); ``"if-measured"`` does not
        refuse a log without them. With ``"auto"`` :func:`steelyard.identify` takes measured ones if
        they predict left-out parts of the first log clearly better; :func:`prepare` itself
        differentiates. With the acceleration ``"none"`` there is none (NaN), which suits the energy
        and the power model.
    trim_s : seconds cut at the start and at the end; ``"auto"`` cuts what the filter needs
        to settle.
    decimate : keep every n-th sample; ``"auto"`` keeps about ten samples per cutoff period.
    dead_band : a torque is not used while a Coulomb term that acts on it has a speed (rad/s or
        m/s) below this; one number, or one per name of a joint or coupling with Coulomb friction.
        ``"tenth"`` is a tenth of the root mean square of each term's speed. ``"rest"`` leaves out
        only torques of joints that stand still for a while. None or 0 uses every torque. With
        ``"auto"`` :func:`steelyard.identify` chooses between "tenth" and "rest" by what predicts
        left-out parts of the logs best; :func:`prepare` itself takes "rest".
    friction_smear : speed (rad/s or m/s) by owner of a Coulomb term within which the sign of the
        measured speed is not known: friction along the measured motion grows linearly up to it,
        while the law that is written stays as sharp as its width. None for a measurement that knows
        the sign; :func:`steelyard.identify` finds it where widths are left open.
    still_joints : ``"refuse"`` a log in which a joint never moves, or ``"keep"`` it, which
        suits logs that serve for prediction only.
    sensing : what the log has besides positions and torques of the joints: the motion of a
        floating base, wrenches, and whether joints may lack a torque. None for a fixed base
        without contacts; for a floating base it then follows from the names of the columns, see
        :func:`steelyard.signals.found_sensing.completed`.
    """

    time_base: Literal["auto", "as-stamped"] = "auto"
    sample_rate_hz: float | None = None
    interpolation: Literal["linear", "cubic"] = "linear"
    max_gap_s: float = 0.05
    unwrap: bool = True
    cutoff_hz: float | Literal["auto"] | None = "auto"
    filter_order: int = 4
    torque_filter: Literal["auto", "same", "none"] = "auto"
    torque_delay: TorqueDelay = "auto"
    without_torque: tuple[str, ...] | Literal["auto"] = "auto"
    derivative: Derivative = "central5"
    savgol_window: int = 11
    savgol_order: int = 4
    velocity: Source = "auto"
    acceleration: Source | Literal["none"] = "auto"
    trim_s: tuple[float, float] | Literal["auto"] = "auto"
    decimate: int | Literal["auto"] = "auto"
    dead_band: DeadBand = "auto"
    friction_smear: Mapping[str, float] | None = None
    still_joints: Literal["refuse", "keep"] = "refuse"
    sensing: Sensing | None = None

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise SignalError(
                    f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}"
                )
        if self.sample_rate_hz is not None:
            _check_number("sample_rate_hz", self.sample_rate_hz, positive=True)
        if self.cutoff_hz is not None and self.cutoff_hz != "auto":
            _check_number("cutoff_hz", self.cutoff_hz, positive=True)
        _check_number("max_gap_s", self.max_gap_s)
        if not isinstance(self.unwrap, bool):
            raise SignalError(f"unwrap is {self.unwrap!r}; it must be true or false")
        _check_count("filter_order", self.filter_order, 1, MAX_ORDER)
        _check_count("savgol_order", self.savgol_order, 2, MAX_ORDER)
        _check_count("savgol_window", self.savgol_window, self.savgol_order + 1, 100_001)
        if self.savgol_window % 2 == 0:
            raise SignalError(f"savgol_window is {self.savgol_window}; it must be odd")
        if self.decimate != "auto":
            _check_count("decimate", self.decimate, 1, 1_000_000)
        self._check_trim()
        self._check_dead_band()
        self._check_smear()
        self._check_delay()
        self._check_without_torque()
        if not (self.sensing is None or isinstance(self.sensing, Sensing)):
            raise SignalError(f"sensing is {self.sensing!r:.60}; it must be a Sensing or None")

    def _check_trim(self) -> None:
        if self.trim_s == "auto":
            return
        if isinstance(self.trim_s, (str, bytes)) or not hasattr(self.trim_s, "__len__"):
            raise SignalError(f"trim_s is {self.trim_s!r}; it must be 'auto' or (start, end)")
        if len(self.trim_s) != 2:
            raise SignalError(f"trim_s has {len(self.trim_s)} entries; it must be (start, end)")
        for value in self.trim_s:
            _check_number("trim_s", value)
        object.__setattr__(self, "trim_s", tuple(float(value) for value in self.trim_s))

    def _check_dead_band(self) -> None:
        if isinstance(self.dead_band, Mapping):
            for joint, value in self.dead_band.items():
                _check_number(f"dead_band of joint '{joint}'", value)
            object.__setattr__(self, "dead_band", dict(self.dead_band))
        elif self.dead_band not in (None, "auto", "tenth", "rest"):
            _check_number("dead_band", self.dead_band)

    def _check_smear(self) -> None:
        if self.friction_smear is None:
            return
        if not isinstance(self.friction_smear, Mapping):
            raise SignalError(
                f"friction_smear is {self.friction_smear!r:.60}; it must be speeds by name, or None"
            )
        for owner, value in self.friction_smear.items():
            _check_number(f"friction_smear of '{owner}'", value)
        object.__setattr__(self, "friction_smear", dict(self.friction_smear))

    def _check_delay(self) -> None:
        if isinstance(self.torque_delay, Mapping):
            for joint, value in self.torque_delay.items():
                _check_delay_s(f"torque_delay of joint '{joint}'", value)
            object.__setattr__(self, "torque_delay", dict(self.torque_delay))
        elif self.torque_delay not in (None, "auto"):
            _check_delay_s("torque_delay", self.torque_delay)

    def _check_without_torque(self) -> None:
        given = self.without_torque
        if given == "auto":
            return
        listed_names = isinstance(given, (list, tuple))
        if not (listed_names and all(isinstance(joint, str) for joint in given)):
            raise SignalError(f"without_torque is {given!r:.60}; it must be 'auto' or joint names")
        object.__setattr__(self, "without_torque", tuple(given))

    @property
    def torques_left_out(self) -> tuple[str, ...]:
        """Joints whose recorded torque is not used."""
        return () if self.without_torque == "auto" else self.without_torque

    def takes_measured(self, quantity: Literal["velocity", "acceleration"]) -> bool:
        """Whether measured velocities or accelerations are used where a log has them."""
        return getattr(self, quantity) in ("measured", "if-measured")

    @property
    def filters_torque(self) -> bool:
        """Whether torques are filtered like the positions."""
        return self.torque_filter == "same"

    @staticmethod
    def sousa2014() -> Processing:
        """The processing of Sousa and Cortesão (IJRR 2014) for their WAM arm at 1 kHz.

        Butterworth of order 3 at 2.5 Hz, zero phase, on positions only; torque unfiltered;
        five-point central differences; 3 s and 1 s cut at the ends; every sample kept, no delay
        corrected, no torque left out, and no dead band. Its Coulomb friction is sign(v), which is
        ``friction_width=0.0`` of :func:`steelyard.identify`; ``--preset`` sets it.
        """
        return Processing(
            cutoff_hz=2.5,
            filter_order=3,
            torque_filter="none",
            torque_delay=None,
            without_torque=(),
            derivative="central5",
            velocity="differentiate",
            acceleration="differentiate",
            trim_s=(3.0, 1.0),
            decimate=1,
            dead_band=None,
        )

    def as_record(self) -> dict[str, object]:
        """Every option by name, in plain values that JSON can hold."""
        record: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Mapping):
                value = dict(value)
            if isinstance(value, Sensing):
                value = value.as_record()
            record[field.name] = list(value) if isinstance(value, tuple) else value
        return record

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Processing:
        """Read :meth:`as_record` back; options that this version does not have are ignored."""
        known = {field.name for field in fields(Processing)}
        options = {name: value for name, value in record.items() if name in known}
        if options.get("sensing") is not None:
            options["sensing"] = Sensing.from_record(options["sensing"])
        return Processing(**options)


def _check_number(name: str, value: object, positive: bool = False) -> None:
    need = "from 1e-9 to 1e9" if positive else "from 0 to 1e9"
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    # compared before it is converted: a whole number may be too large for a float
    if not (good and (1e-9 if positive else 0) <= value <= 1e9):  # type: ignore[operator]
        raise SignalError(f"{name} is {value!r:.60}; it must be a number {need}")


def _check_delay_s(name: str, value: object) -> None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (good and abs(value) <= LONGEST_DELAY_S):  # type: ignore[arg-type]
        raise SignalError(
            f"{name} is {value!r:.60}; it must be seconds, from {-LONGEST_DELAY_S:g} to "
            f"{LONGEST_DELAY_S:g}, positive for torques that are late"
        )


def _check_count(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SignalError(f"{name} is {value!r}; it must be a whole number from {least} to {most}")
