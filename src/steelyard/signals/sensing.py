"""What a log tells besides the joints: the motion of a floating base, and wrenches on the robot.

The equation of a robot whose base floats is

    W(q, v, a) theta = [base wrench; joint torques] + sum over contacts of Jᵀ wrench

Each row needs everything on its right side: a row is used where all of it was measured. A base
wrench is what a force plate, a hoist or a test stand exerts on the base. A contact wrench, such as
that of a foot on the floor, acts on any link and is taken to the side of the torques.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeVar, get_args

from steelyard.errors import SignalError
from steelyard.signals.orientation import ORDERS, QuaternionOrder

BaseAxes = Literal["frame", "world", "base"]
BASE_AXES: tuple[BaseAxes, ...] = get_args(BaseAxes)
"""Axes of a floating base's velocities; "base" is an older name of "world"."""
TwistAxes = Literal["frame", "base"]
TWIST_AXES: tuple[TwistAxes, ...] = get_args(TwistAxes)
"""Axes in which velocities are recorded: those of the frame itself, or of the base (the world)."""
BaseSource = Literal["pose", "twist", "imu"]
BASE_SOURCES: tuple[BaseSource, ...] = get_args(BaseSource)
WrenchAxes = Literal["frame", "world"]
WRENCH_AXES: tuple[WrenchAxes, ...] = get_args(WrenchAxes)
WrenchSign = Literal["on-robot", "by-robot"]
WRENCH_SIGNS: tuple[WrenchSign, ...] = get_args(WrenchSign)
BaseForces = Literal["nothing", "unmeasured"]
BASE_FORCES: tuple[BaseForces, ...] = get_args(BaseForces)
Torques = Literal["all", "recorded"]
TORQUES: tuple[Torques, ...] = get_args(Torques)


@dataclass(frozen=True)
class BaseMotion:
    """How the log tells the motion of the base.

    source : "pose" (position and orientation), "twist" (velocities and orientation; accelerations
        where recorded) or "imu" (gyroscope and accelerometer); None for what the log has of it, see
        :func:`steelyard.signals.found_sensing.completed`.
    frame : the link whose motion is recorded: the root, or a link on fixed joints to it, such as
        that of an IMU; None for the root. columns : its name in the log, where it is another.
    twist_axes : of velocities and accelerations, "frame" (its own) or "world". angular_axes : the
        same of the angular ones, where they are others: MuJoCo's qvel and qacc of a free joint are
        in the axes of the world and, the angular part, in those of the body.
    quaternion_order : "x-first" or "w-first".
    """

    source: BaseSource | None = None
    frame: str | None = None
    columns: str | None = None
    twist_axes: BaseAxes = "frame"
    quaternion_order: QuaternionOrder = "x-first"
    angular_axes: BaseAxes | None = None

    def __post_init__(self) -> None:
        if self.source is not None:
            _check("source of the base's motion", self.source, BASE_SOURCES)
        for name in ("twist_axes", "angular_axes"):
            given = getattr(self, name)
            if name == "twist_axes" or given is not None:
                _check(f"axes of the base's motion ({name})", given, BASE_AXES)
            if given == "base":
                object.__setattr__(self, name, "world")
        _check("order of the base's quaternion", self.quaternion_order, ORDERS)


@dataclass(frozen=True)
class MeasuredWrench:
    """Force and torque that the log has of a frame of the robot, at the frame's origin.

    frame : the link at whose origin it acts. columns : its name in the log, where it is another.
    axes : of the components: those of the frame, or those of the world. sign : what acts
        "on-robot" (upward, where it stands), or what the robot exerts ("by-robot").
    torque : whether the log has a torque; without one (a point foot) it is zero. By default where
        it is recorded.
    """

    frame: str
    columns: str | None = None
    axes: WrenchAxes = "frame"
    sign: WrenchSign = "on-robot"
    torque: bool | Literal["where recorded"] = "where recorded"

    def __post_init__(self) -> None:
        if not (isinstance(self.torque, bool) or self.torque == "where recorded"):
            raise SignalError(f"torque is {self.torque!r}; it must be true or false")
        _check(f"axes of the wrench at '{self.frame}'", self.axes, WRENCH_AXES)
        _check(f"sign of the wrench at '{self.frame}'", self.sign, WRENCH_SIGNS)

    @property
    def name_in_log(self) -> str:
        """The frame whose columns of the log hold it."""
        return self.frame if self.columns is None else self.columns


@dataclass(frozen=True)
class Sensing:
    """What was measured besides positions and torques of the joints.

    base : how the log tells the motion of the base; None for a fixed base.
    base_wrench : what holds the base; "nothing" if only the contacts touch the robot, so that the
        wrench is zero; "unmeasured" if something does that was not measured: the six rows of the
        base are then not used.
    contacts : wrenches at other links (or at the base), all that there are.
    torques : "all" if every joint must have a torque; "recorded" uses the joints that have one.
    wrench_axes, wrench_sign : of the wrenches that are not stated here but found by their names.

    What is None follows from the robot and from the names of the log's columns, see
    :func:`steelyard.signals.found_sensing.completed`; so do the contacts where no wrench is stated.
    """

    base: BaseMotion | None = None
    base_wrench: MeasuredWrench | BaseForces | None = None
    contacts: tuple[MeasuredWrench, ...] = ()
    torques: Torques | None = None
    wrench_axes: WrenchAxes | None = None
    wrench_sign: WrenchSign | None = None

    def __post_init__(self) -> None:
        if self.torques is not None:
            _check("torques", self.torques, TORQUES)
        if self.wrench_axes is not None:
            _check("axes of the wrenches", self.wrench_axes, WRENCH_AXES)
        if self.wrench_sign is not None:
            _check("sign of the wrenches", self.wrench_sign, WRENCH_SIGNS)
        if isinstance(self.base_wrench, str) and self.base_wrench not in BASE_FORCES:
            raise SignalError(
                f"base_wrench is {self.base_wrench!r}; it must be a MeasuredWrench, 'nothing', "
                "'unmeasured' or None"
            )
        taken: dict[str, MeasuredWrench] = {}
        for one in self.wrenches:
            name = one.name_in_log
            if name in taken:
                raise SignalError(
                    f"the columns of '{name}' are given twice, for the wrenches at frames "
                    f"'{taken[name].frame}' and '{one.frame}': one force would count as two. Name "
                    "them once, with --base-wrench or with --contact"
                )
            taken[name] = one

    @property
    def wrenches(self) -> tuple[MeasuredWrench, ...]:
        """All measured wrenches: that of the base, if there is one, and the contacts."""
        held = self.base_wrench
        return (held, *self.contacts) if isinstance(held, MeasuredWrench) else self.contacts

    def as_record(self) -> dict[str, object]:
        """Plain values that JSON can hold."""
        return asdict(self)

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Sensing:
        """Read :meth:`as_record` back; entries that this version does not have are ignored."""
        if not isinstance(record, Mapping):
            raise SignalError(f"sensing is {record!r:.60}; it must be a table of entries")
        base, held = record.get("base"), record.get("base_wrench")
        contacts = record.get("contacts", ())
        if not isinstance(contacts, list | tuple):
            raise SignalError(f"contacts is {contacts!r:.60}; it must be a list of wrenches")
        return Sensing(
            base=None if base is None else _read(BaseMotion, base, "base"),
            base_wrench=held
            if held is None or isinstance(held, str)
            else _read(MeasuredWrench, held, "base_wrench"),  # type: ignore[arg-type]
            contacts=tuple(_read(MeasuredWrench, one, "contacts") for one in contacts),
            torques=record.get("torques"),
            wrench_axes=record.get("wrench_axes"),
            wrench_sign=record.get("wrench_sign"),
        )


_Part = TypeVar("_Part", BaseMotion, MeasuredWrench)


def _read(kind: type[_Part], record: object, what: str) -> _Part:
    known = [one.name for one in fields(kind)]
    if not isinstance(record, Mapping) or known[0] not in record:
        raise SignalError(f"{what} of sensing must be a table with '{known[0]}'")
    return kind(**{name: record[name] for name in known if name in record})


def _check(what: str, given: object, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise SignalError(f"{what}: {given!r}; it must be one of {', '.join(map(repr, choices))}")
