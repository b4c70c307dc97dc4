"""Whether the files of a folder hold the parameters that its certificate and result are about.

A file's hash and that its links are physical say nothing about whose parameters these are. So the
robot file is made anew from the parameters and the user's robot file, and compared with what is
there: byte by byte or, since another version or processor may write other digits, element by
element of the XML, numbers to 1e-9. A second inertial, a changed damping, mesh or limit, and the
file of another run are all differences. The terms of the joints and the tables are compared
likewise.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from steelyard._files.access import EARLIER, read_capped
from steelyard._files.json_text import parse_json
from steelyard._files.limits import MAX_JSON_BYTES
from steelyard._files.xml import NUMBER, XmlElement, parse_xml, read_file
from steelyard.certificates.bound import Bound, several
from steelyard.conic.exact_text import quoted
from steelyard.errors import MissingDependencyError, ResultError, SteelyardError
from steelyard.estimators.result_file import Result
from steelyard.export.formats import (
    ATTACHED_CHOICES,
    IDENTIFIED,
    JOINTS_SUFFIX,
    joints_json,
    spread_robot,
)
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.export.identified_urdf import identified_urdf
from steelyard.export.mjcf import identified_mjcf
from steelyard.export.mjcf_text import mjcf_text
from steelyard.export.robot_file import RobotFile
from steelyard.export.tables import saved_base_csv, saved_csv
from steelyard.export.urdf_text import urdf_text
from steelyard.knowledge.overlay.read_robot import first_element, read_robot
from steelyard.model.model import Model

AS_WRITTEN = 1e-9
"""Relative difference of numbers that the digits of another version may leave."""
FORMAT_OF = {"robot": "urdf", "mujoco": "mjcf"}
"""By the first element of a file."""
ROBOT_ENDINGS = (".urdf", ".xml", ".mjcf")
MUCH_LARGER = 1_000_000
"""Bytes by which a layout of another version may be longer than twice as long."""
TABLES = {"parameters.csv": saved_base_csv, "standard_parameters.csv": saved_csv}
MOST_SEEN = 100
"""Files with such names that are looked at in a folder."""


def bound_to_files(
    named: Sequence[str],
    folder: Path,
    model: Model | None,
    theta: Sequence[float],
    result: Result | None,
) -> Bound:
    """Whether the robot files in this folder are those that the parameters give.

    named : files that the certificate lists; others called ``*.identified.*`` are compared too.
    model : of the user's robot file; None if that is not given. Then the parameters are put into
        the file itself, which must not change its numbers.
    theta : (n_columns,) standard parameters. result : says which of them were not estimated; None
        if none is given, so that a difference is a caution.
    """
    given = "the robot file" if model is not None else "its own links"
    seen = sorted(path.name for path in folder.glob(f"*{IDENTIFIED}.*"))
    names = [name for name in dict.fromkeys((*named, *seen)) if (folder / name).is_file()]
    found = Bound()
    if len(names) > MOST_SEEN:
        words = f"there are {len(names)} files called *{IDENTIFIED}.*; at most {MOST_SEEN} are read"
        return Bound(problems=(words,))
    for name in names:
        if name.endswith(EARLIER):
            continue
        try:
            differs = _difference(name, folder, model, theta, result)
        except _OtherFormat:
            words = f"{quoted(name)} was not compared: it is no URDF, MJCF or file of joint terms"
            is_robot = name.lower().endswith(ROBOT_ENDINGS) or name in named
            found += Bound(problems=(words,)) if is_robot else Bound(cautions=(words,))
            continue
        except MissingDependencyError as failure:
            found += Bound(cautions=(f"{quoted(name)} was not compared: {failure}",))
            continue
        except SteelyardError as failure:
            differs = str(failure)
        if differs is None:
            words = f"{quoted(name)} is what these parameters and {given} give"
            found += Bound(confirmed=(words,))
            continue
        if differs == OTHER_WORDS:
            found += Bound(cautions=(f"{quoted(name)}: {OTHER_WORDS}",))
            continue
        words = f"{quoted(name)} is not what these parameters and {given} give: {differs}"
        found += Bound(cautions=(words,)) if result is None else Bound(problems=(words,))
    return found


class _OtherFormat(Exception):
    """A file is none of those that are compared."""


def _format_of(name: str, data: bytes) -> str:
    """What a file is, by its content, whatever it is called; joint terms by their name."""
    if name.endswith(JOINTS_SUFFIX):
        return "joints"
    try:
        found = FORMAT_OF.get(first_element(data) or "")
    except SteelyardError:
        found = None
    if found is None:
        raise _OtherFormat
    return found


def _difference(
    name: str, folder: Path, model: Model | None, theta: Sequence[float], result: Result | None
) -> str | None:
    """The first difference between a file and what it should be; None if there is none."""
    data = read_capped(folder / name, MAX_JSON_BYTES, ResultError)
    what = _format_of(name, data)
    if model is None and result is not None:
        is_joints = what == "joints"
        model = _model_of(_robot_file_of(name, folder) if is_joints else folder / name, result)
        compare = _own_json_differences if is_joints else _xml_differences
    else:
        compare = _json_differences if what == "joints" else _xml_differences
    assert model is not None
    first, reasons = None, []
    for expected in _expected(name, what, folder, model, theta, result):
        if isinstance(expected, SteelyardError):
            reasons.append(str(expected))
            continue
        if data == expected:
            return None
        if len(data) > 2 * len(expected) + MUCH_LARGER:
            return "it is much larger"
        found = next(compare(expected, data, quoted(name)), None)
        if found is None:
            return None
        first = first or found
    return first or (reasons or ["no such file can be made of this robot"])[0]


def _expected(
    name: str,
    what: str,
    folder: Path,
    model: Model,
    theta: Sequence[float],
    result: Result | None,
) -> Iterator[bytes | SteelyardError]:
    """What the file may be: by each rule for attached links, with and without Drake's tags."""
    source = model.robot.source
    file = None if source is None else RobotFile(Path(source), read_file(source))
    not_estimated = () if result is None else result.not_estimated
    stated = "keep" if result is None else result.attached
    for rule in sorted(ATTACHED_CHOICES[:2], key=lambda one: one != stated):
        try:
            found = spread_robot(model, theta, rule, not_estimated)
            if what == "joints":
                yield _joints(name, folder, found)
                continue
            yield from _robot_texts(what, found, file)
        except MissingDependencyError:
            raise
        except SteelyardError as failure:
            yield failure


def _model_of(path: Path, result: Result) -> Model:
    """The model of a result for the robot in this file; an error for another robot."""
    gravity = result.document["robot"].get("gravity")
    return result.model_for(read_robot(path, gravity=gravity, keep_angles=True))


def _joints(name: str, folder: Path, found: IdentifiedRobot) -> bytes:
    """The terms of the joints beside the robot file of the same stem, with its hash."""
    robot_file = _robot_file_of(name, folder)
    return joints_json(found, robot_file.name, read_file(robot_file))


def _robot_file_of(name: str, folder: Path) -> Path:
    """The robot file that a file of joint terms belongs to."""
    stem = name.removesuffix(JOINTS_SUFFIX)
    for ending in ROBOT_ENDINGS:
        if (folder / f"{stem}{ending}").is_file():
            return folder / f"{stem}{ending}"
    raise ResultError("the robot file that it belongs to is not there")


def _robot_texts(wanted: str, found: IdentifiedRobot, file: RobotFile | None) -> Iterator[bytes]:
    """The robot's own file with the parameters, or a new one where it has none of this format."""
    if file is None or file.format != wanted:
        yield (urdf_text if wanted == "urdf" else mjcf_text)(found).encode()
    elif wanted == "mjcf":
        yield identified_mjcf(found, file.path).data
    else:
        for drake in (False, True):
            yield identified_urdf(found, file.data, drake=drake).data


def _xml_differences(expected: bytes, data: bytes, where: str) -> Iterator[str]:
    """Differences of two XML documents: elements, their order, and attributes."""
    if first_element(data) != first_element(expected):
        yield "its first element is another"
        return
    yield from _element_differences(parse_xml(expected, where), parse_xml(data, where), "")


def _element_differences(one: XmlElement, other: XmlElement, owner: str) -> Iterator[str]:
    name = one.attributes.get("name")
    owner = owner if name is None else f"{one.tag} {quoted(name)}: "
    if one.tag != other.tag:
        yield f"{owner}<{other.tag[:60]}> in line {other.line} is not <{one.tag[:60]}>"
        return
    size = 0.0
    if one.tag == "inertia":
        size = max((abs(float(x)) for x in one.attributes.values() if _is_number(x)), default=0.0)
    for key in dict.fromkeys((*one.attributes, *other.attributes)):
        texts = one.attributes.get(key), other.attributes.get(key)
        if not _same_text(*texts, size):
            was, is_ = ("missing" if text is None else quoted(text[:60]) for text in texts)
            yield f"{owner}{key} of <{one.tag[:60]}> in line {other.line} is {is_}, not {was}"
    tags = [child.tag for child in one.children], [child.tag for child in other.children]
    if tags[0] != tags[1]:
        counts = ", ".join(
            f"{tags[1].count(tag)} <{tag[:60]}>, not {tags[0].count(tag)}"
            for tag in sorted({*tags[0], *tags[1]})
            if tags[0].count(tag) != tags[1].count(tag)
        )
        yield f"{owner}<{one.tag[:60]}> in line {other.line} has {counts or 'another order'}"
        return
    for pair in zip(one.children, other.children, strict=True):
        yield from _element_differences(*pair, owner)


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text.strip()) is not None


def _same_text(one: str | None, other: str | None, size: float = 0.0) -> bool:
    """Whether two attributes are the same text, or the same numbers up to digits.

    size : of numbers that are compared together, such as the six of an inertia.
    """
    if one == other:
        return True
    if one is None or other is None:
        return False
    pairs = one.split(), other.split()
    if len(pairs[0]) != len(pairs[1]) or not all(map(_is_number, (*pairs[0], *pairs[1]))):
        return False
    x, y = ([float(text) for text in texts] for texts in pairs)
    allowed = AS_WRITTEN * max(size, *map(abs, x))
    return all(abs(a - b) <= allowed for a, b in zip(x, y, strict=True))


WORDS = ("meaning", "torque")
"""Texts for people in a file of joint terms, which another version may put otherwise."""


OTHER_WORDS = "its formulas or explanations are not those that this version writes"


def _json_differences(expected: bytes, data: bytes, where: str) -> Iterator[str]:
    pair = json.loads(expected), parse_json(data, where, ResultError)
    found = list(_value_differences(*pair, where))
    yield from [one for one in found if one != OTHER_WORDS] or found


def _own_json_differences(expected: bytes, data: bytes, where: str) -> Iterator[str]:
    """Without how bodies were spread over their links, which a file that was emptied cannot say."""
    pair = [json.loads(expected), parse_json(data, where, ResultError)]
    for one in pair:
        if isinstance(one, dict):
            one.pop("bodies_of_several_links", None)
    yield from _json_differences(json.dumps(pair[0]).encode(), json.dumps(pair[1]).encode(), where)


def _value_differences(one: object, other: object, where: str) -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        for key in one:
            if key not in WORDS:
                yield from _value_differences(one[key], other[key], f"{where}, {key}")
            elif one[key] != other[key]:
                yield OTHER_WORDS
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, pair in enumerate(zip(one, other, strict=True)):
            yield from _value_differences(*pair, f"{where} {at + 1}")
    elif isinstance(one, float) and isinstance(other, int | float):
        if not abs(one - other) <= AS_WRITTEN * abs(one):
            yield f"{where} is {other!r:.60}, not {one!r:.60}"
    elif one != other:
        yield f"{where} is {other!r:.60}, not {one!r:.60}"


def bound_to_tables(folder: Path, model: Model, result: Result) -> Bound:
    """Whether the tables in this folder hold the numbers of the result, where it has them."""
    found = Bound()
    for name, render in TABLES.items():
        if not (folder / name).is_file():
            continue
        try:
            expected = _rows(render(model, result))
            there = _rows(read_capped(folder / name, MAX_JSON_BYTES, ResultError).decode())
        except (SteelyardError, UnicodeDecodeError, csv.Error) as failure:
            found += Bound(problems=(f"{quoted(name)} cannot be compared: {failure}",))
            continue
        heads = [row[:1] for row in expected] == [row[:1] for row in there]
        same = heads and expected[0] == there[0]
        different = [
            row[0] for row, own in zip(expected, there, strict=False) if _differs(row, own)
        ]
        if same and not different:
            found += Bound(confirmed=(f"{quoted(name)} has the numbers of the result",))
        else:
            which = several(different) if different else "it has other rows"
            words = f"{quoted(name)} does not have the numbers of the result: {which}"
            found += Bound(problems=(words,))
    return found


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def _differs(expected: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row has other cells; what a result does not have is empty in the expected one."""
    if len(row) != len(expected):
        return True
    pairs = zip(expected, row, strict=True)
    return any(cell != "" and not _same_text(cell, own) for cell, own in pairs)
