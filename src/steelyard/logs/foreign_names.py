"""Column names of other programs: numbered joints, and paths of ROS topics.

A name gives a joint and a quantity, as in :mod:`steelyard.logs.columns`. A joint of which only
the number is known, as in ``q1``, ``tau_0`` or ``/joint_states/position[2]``, is named ``#1``,
``#0``, ``#2``: which joint of a robot that is, is decided where the log meets the robot.
"""

from __future__ import annotations

import re

# A letter alone, and a force, are too often something else: a voltage, a setting, a sensor.
AMBIGUOUS = frozenset({"v", "a", "i", "force"})

TOPICS = frozenset({"joint_states", "joint_state"})

# Longer numbers are no numbers of joints, and are not read as such.
_NUMBER = r"(?P<number>[0-9]{1,9})"
_AT_END = re.compile(rf"(?:\[{_NUMBER}\]|[._/ ]?{_NUMBER.replace('number', 'plain')})$")
_JOINT_FIRST = re.compile(
    rf"^(?P<joint>(?:j|jnt|joint|axis)_?{_NUMBER})[_ ](?P<word>[a-z]+)$", re.IGNORECASE
)
_WRITTEN = re.compile(rf"^(?:j|jnt|joint|axis)[_ -]?{_NUMBER}$", re.IGNORECASE)
_MARKED = re.compile(rf"^#{_NUMBER}$")
_MEASURED = re.compile(r"^(?:(?:actual|measured|joint)_)+", re.IGNORECASE)


def foreign_signal(name: str, quantities: dict[str, str]) -> tuple[str, str] | None:
    """Joint and quantity of a column without its unit; None where the name is not known.

    quantities : every spelling of a quantity, in lower case, with the quantity.
    """
    words = {word: name for word, name in quantities.items() if word not in AMBIGUOUS}
    return _number_last(name, words) or _number_first(name, words) or _path(name, words)


def marked_number(joint: str) -> int | None:
    """The number of a joint that has no name: 1 for ``#1``."""
    found = _MARKED.match(joint)
    return None if found is None else int(found["number"])


def written_number(joint: str) -> int | None:
    """The number in a name that may be a mere number: 1 for ``joint_1``, ``j1``, ``axis1``."""
    found = _WRITTEN.match(joint)
    return None if found is None else int(found["number"])


def _number_last(name: str, words: dict[str, str]) -> tuple[str, str] | None:
    """``q1``, ``position_0``, ``/joint_states/position[0]``, ``actual_q_3``."""
    end = _AT_END.search(name)
    if end is None:
        return None
    path, word = _split_path(name[: end.start()])
    quantity = words.get(_MEASURED.sub("", word).lower())
    if quantity is None or not (path == "" or _is_topic(path)):
        return None
    return f"#{int(end['number'] or end['plain'])}", quantity


def _number_first(name: str, words: dict[str, str]) -> tuple[str, str] | None:
    """``joint1_pos``, ``joint_1_position``; the joint keeps the name that is written."""
    path, last = _split_path(name)
    found = _JOINT_FIRST.match(last)
    if found is None or not (path == "" or _is_topic(path)):
        return None
    quantity = words.get(found["word"].lower())
    return None if quantity is None else (found["joint"], quantity)


def _path(name: str, words: dict[str, str]) -> tuple[str, str] | None:
    """``elbow/effort``, ``/joint_states/elbow/position``: of a topic, only the joint remains."""
    path, slash, word = name.rpartition("/")
    quantity = words.get(word.strip().lower())
    if not slash or quantity is None:
        return None
    joint = (path.rpartition("/")[2] if _is_topic(path) else path).strip()
    return None if not joint or joint.lower() in TOPICS else (joint, quantity)


def _split_path(name: str) -> tuple[str, str]:
    """What is before the last dot or slash, with it, and what is behind."""
    cut = max(name.rfind("."), name.rfind("/")) + 1
    return name[:cut], name[cut:]


def _is_topic(path: str) -> bool:
    """Whether a path is that of a ROS topic: it starts with a slash, or names joint_states."""
    return path.startswith("/") or any(part.lower() in TOPICS for part in re.split("[./]", path))
