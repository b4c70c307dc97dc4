"""Column names of frames: wrenches, poses, twists, accelerations and IMUs.

A column is named ``<frame>.<quantity>_<axis>[<unit>]``, for example ``wrist.force_x[N]``. Paths of
ROS messages (``/ft_sensor/wrench/force/x``) and short names (``fx``, ``qw``) are known too. A name
without a frame belongs to the frame that the user states where the log is used; that frame is
called ``""`` in the log.
"""

from __future__ import annotations

import re

FRAME_QUANTITIES: dict[str, tuple[str, ...]] = {
    "force": ("x", "y", "z"),
    "torque": ("x", "y", "z"),
    "position": ("x", "y", "z"),
    "quaternion": ("x", "y", "z", "w"),
    "rotation": ("11", "12", "13", "21", "22", "23", "31", "32", "33"),
    "rpy": ("roll", "pitch", "yaw"),
    "rotation_vector": ("x", "y", "z"),
    "linear_velocity": ("x", "y", "z"),
    "angular_velocity": ("x", "y", "z"),
    "linear_acceleration": ("x", "y", "z"),
    "angular_acceleration": ("x", "y", "z"),
    "proper_acceleration": ("x", "y", "z"),
}
"""Quantities of a frame and their axes, in the order of the columns of ``Log.frame_signals``."""

ORIENTATIONS = ("quaternion", "rotation", "rpy", "rotation_vector")
"""Quantities that state the orientation of a frame in the world."""

_LENGTH = {"m": (1.0, "m"), "cm": (1e-2, "m"), "mm": (1e-3, "m"), "um": (1e-6, "m")}
_ANGLE = {"rad": (1.0, "rad"), "mrad": (1e-3, "rad"), "deg": (0.017453292519943295, "rad")}
_ACCELERATION = {
    "m/s^2": (1.0, "m/s^2"),
    "cm/s^2": (1e-2, "m/s^2"),
    "mm/s^2": (1e-3, "m/s^2"),
    "g": (9.80665, "m/s^2"),
    "mg": (9.80665e-3, "m/s^2"),
}

FRAME_UNITS: dict[str, dict[str, tuple[float, str]]] = {
    "force": {"N": (1.0, "N"), "mN": (1e-3, "N"), "kN": (1e3, "N")},
    "torque": {
        "N*m": (1.0, "N*m"),
        "Nm": (1.0, "N*m"),
        "N.m": (1.0, "N*m"),
        "mN*m": (1e-3, "N*m"),
        "mNm": (1e-3, "N*m"),
        "N*mm": (1e-3, "N*m"),
        "Nmm": (1e-3, "N*m"),
        "kN*m": (1e3, "N*m"),
        "kNm": (1e3, "N*m"),
    },
    "position": _LENGTH,
    "quaternion": {"1": (1.0, "1")},
    "rotation": {"1": (1.0, "1")},
    "rpy": _ANGLE,
    "rotation_vector": _ANGLE,
    "linear_velocity": {
        "m/s": (1.0, "m/s"),
        "cm/s": (1e-2, "m/s"),
        "mm/s": (1e-3, "m/s"),
    },
    "angular_velocity": {
        "rad/s": (1.0, "rad/s"),
        "mrad/s": (1e-3, "rad/s"),
        "deg/s": (0.017453292519943295, "rad/s"),
        "rpm": (0.10471975511965978, "rad/s"),
    },
    "linear_acceleration": _ACCELERATION,
    "angular_acceleration": {
        "rad/s^2": (1.0, "rad/s^2"),
        "deg/s^2": (0.017453292519943295, "rad/s^2"),
    },
    "proper_acceleration": _ACCELERATION,
}
"""Unit as written: factor to the SI unit, and the SI unit, which is the first of each list."""

# words in front of an axis, with an underscore between or without one: force_x, forcex, f_x, fx
_WORDS = {
    "force": ("force", "f"),
    "torque": ("torque", "moment", "tau", "t", "m"),
    "position": ("position", "translation", "pos", "p"),
    "quaternion": ("quaternion", "orientation", "quat", "q"),
    "rotation_vector": ("rotation_vector", "rotvec"),
    "linear_velocity": ("linear_velocity", "lin_vel"),
    "angular_velocity": ("angular_velocity", "ang_vel", "gyro", "omega"),
    "linear_acceleration": ("linear_acceleration", "lin_acc"),
    "angular_acceleration": ("angular_acceleration", "ang_acc"),
    "proper_acceleration": ("proper_acceleration", "accelerometer"),
}
_QUANTITY_OF = {word: quantity for quantity, words in _WORDS.items() for word in words}
_WITH_AXIS = re.compile(r"^(?P<word>[a-z_]*[a-z])(?P<mark>_?)(?P<axis>[xyzw])$")
_NUMBERED = re.compile(r"^(?:quaternion|quat|orientation)(?:_|\[)?(?P<number>[0-3])\]?$")
_ENTRY = re.compile(r"^(?:r|rotation_|rot_)_?(?P<entry>[123][123])$")
# one letter alone and its axis are read without an underscore only; m_x is rather a mass
_LETTERS = frozenset({"f", "t", "m", "q", "p"})

# Fields of ROS messages, where word and axis are parts of a path. The linear_acceleration of
# sensor_msgs/Imu is what its accelerometer shows, gravity included.
_FIELDS = {
    "force": "force",
    "torque": "torque",
    "position": "position",
    "translation": "position",
    "orientation": "quaternion",
    "rotation": "quaternion",
    "quaternion": "quaternion",
    "linear_acceleration": "proper_acceleration",
    "proper_acceleration": "proper_acceleration",
    "angular_velocity": "angular_velocity",
    "linear_velocity": "linear_velocity",
    "angular_acceleration": "angular_acceleration",
}
_NESTED = {
    ("twist", "linear"): "linear_velocity",
    ("twist", "angular"): "angular_velocity",
    ("accel", "linear"): "linear_acceleration",
    ("accel", "angular"): "angular_acceleration",
}
# Names of messages inside messages, and the usual last part of an IMU's topic: no frames.
_WRAPPERS = frozenset({"wrench", "pose", "twist", "accel", "transform", "data", "data_raw"})

# Universal Robots' real-time interface numbers six components.
_UNIVERSAL = re.compile(
    r"^actual_(?:TCP_(?P<signal>force|pose|speed)|tool_(?P<tool>accelerometer))_(?P<number>[0-5])$",
    re.IGNORECASE,
)
_UNIVERSAL_PARTS = {
    "force": ("force", "torque"),
    "pose": ("position", "rotation_vector"),
    "speed": ("linear_velocity", "angular_velocity"),
}


def frame_signal(name: str) -> tuple[str, str, str] | None:
    """Frame, quantity and axis of a column without its unit; None where the name is not known."""
    found = _UNIVERSAL.match(name)
    if found is not None:
        return _of_universal_robots(found)
    parts = re.split(r"[./]", name)
    last = parts[-1].strip()
    if last.lower() in ("x", "y", "z", "w") and len(parts) > 1:
        return _field(name, [part.strip() for part in parts[:-1]], last.lower())
    cut = max(name.rfind("."), name.rfind("/")) + 1
    frame = _frame_of(name[:cut])
    meant = _component(last.lower())
    return None if meant is None or frame is None else (frame, *meant)


def is_short(name: str) -> bool:
    """Whether a column without its unit is named by a letter and an axis alone, such as ``fx``."""
    last = re.split(r"[./]", name)[-1].strip()
    return len(last) == 2 or last.lower() in FRAME_QUANTITIES["rpy"]


def _component(word: str) -> tuple[str, str] | None:
    """Quantity and axis of the last part of a name."""
    if word in FRAME_QUANTITIES["rpy"]:
        return "rpy", word
    entry = _ENTRY.match(word)
    if entry is not None:
        return "rotation", entry["entry"]
    numbered = _NUMBERED.match(word)
    if numbered is not None:
        return "quaternion", FRAME_QUANTITIES["quaternion"][int(numbered["number"])]
    found = _WITH_AXIS.match(word)
    quantity = None if found is None else _QUANTITY_OF.get(found["word"])
    if found is None or quantity is None or found["axis"] not in FRAME_QUANTITIES[quantity]:
        return None
    if found["mark"] and found["word"] in _LETTERS:
        return None
    return quantity, found["axis"]


def _field(name: str, parts: list[str], axis: str) -> tuple[str, str, str] | None:
    """A field of a ROS message: ``/ft_sensor/wrench.wrench.force.x``."""
    word = parts[-1].lower()
    rest = parts[:-1]
    inside = rest[-1].lower() if rest else ""
    quantity = _NESTED.get((inside, word)) or _FIELDS.get(word)
    if quantity is None or axis not in FRAME_QUANTITIES[quantity]:
        return None
    cut = len(name) - len(axis) - 1 - len(parts[-1]) - 1
    frame = _frame_of(name[: max(cut, 0) + 1] if rest else "")
    return None if frame is None else (frame, quantity, axis)


def _frame_of(path: str) -> str | None:
    """The frame in the first part of a name, which ends with a dot or slash or is empty.

    Names of messages are passed over; of a path with slashes, only the last part counts.
    """
    path = path.strip()
    if path and path[-1] in "./":
        path = path[:-1]
    while path:
        cut = max(path.rfind("."), path.rfind("/")) + 1
        if path[cut:].strip().lower() not in _WRAPPERS:
            break
        path = path[: max(cut - 1, 0)]
    return path.rpartition("/")[2].strip()


def _of_universal_robots(found: re.Match[str]) -> tuple[str, str, str] | None:
    number = int(found["number"])
    if found["tool"] is not None:
        return ("", "proper_acceleration", "xyz"[number]) if number < 3 else None
    first, second = _UNIVERSAL_PARTS[found["signal"].lower()]
    return "", (first, second)[number // 3], "xyz"[number % 3]


def frame_column_name(frame: str, quantity: str, axis: str) -> str:
    """The name under which a component is written, and read back as the same."""
    prefix = f"{frame}." if frame else ""
    if quantity == "rpy":
        return f"{prefix}{axis}"
    return f"{prefix}r{axis}" if quantity == "rotation" else f"{prefix}{quantity}_{axis}"


def component_names(name: str, unit: str | None, width: int) -> list[str] | None:
    """The columns of a table (n_samples, width) of a frame's quantity, such as ``wrist.force``.

    None where the name, without its unit, is not that of such a table, or has another width. A
    table without a frame's name may be ``quaternion``, but not ``torque``, which is that of joints.
    """
    frame, dot, word = name.rpartition(".")
    quantity = word.strip().lower()
    axes = FRAME_QUANTITIES.get(quantity)
    if axes is None or len(axes) != width or (dot and not frame.strip()):
        return None
    if not dot and quantity in ("force", "torque", "position"):
        return None
    bracket = "" if unit is None else f"[{unit}]"
    return [f"{frame_column_name(frame.strip(), quantity, axis)}{bracket}" for axis in axes]
