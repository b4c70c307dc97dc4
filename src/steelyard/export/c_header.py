"""The identified inverse dynamics as a C header that stands alone.

The header has the base parameters as constants of straight-line code: no loops, no memory, no
library but ``<math.h>``. It is C99 and C++.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from numpy.typing import ArrayLike

from steelyard._version import __version__
from steelyard.export._inverse_dynamics import base_theta, inverse_dynamics, travel_terms
from steelyard.export._straight_line import Statements, Target, Value, statements
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.model.terms import Term


def c_header(model: Model, base: BaseMap, beta: ArrayLike, *, name: str | None = None) -> str:
    """Text of a header with the inverse dynamics of base parameters beta (n_base,).

    name : what the header's names begin with; by default the robot's. Characters that C does not
        allow in names become underscores.

    The header defines, for a robot named "arm",

        void arm_torque(const double q[], const double v[], const double a[], double tau[])
        void arm_gravity(const double q[], double tau[])

    and where friction builds up over a travel

        void arm_torque(const double q[], const double v[], const double a[], const double z[],
                        double tau[])
        void arm_friction_start(const double v[], double z[])
        void arm_friction_step(const double q_before[], const double q[], double z[])

    with q (nq) in rad or m, v and a (nv), and tau (nv) in N m or N, the state z of friction, and
    the names and units of the torques. ``arm_gravity`` is the weight's part of the torque, without
    friction and offsets.
    """
    theta = base_theta(model, base, beta)
    dynamics = inverse_dynamics(model, theta)
    prefix = c_identifier(model.robot.name if name is None else name)
    target = Target(
        entry="{array}[{index}]",
        assign="const double {name} = {text};",
        store="{name} = {text};",
        sin="sin",
        cos="cos",
        sign=f"{prefix}_sign",
        clip=f"{prefix}_clip",
        exp="exp",
        abs="fabs",
    )
    torque, gravity = (_code(target, results) for results in (dynamics.torque, dynamics.gravity))
    follows = bool(travel_terms(model))
    inputs = "qvaz" if follows else "qva"
    kinds = torque.kinds | ({"sign"} if follows else set())
    guard = f"STEELYARD_{prefix}_H"
    values = theta[list(base.independent)].tolist()
    parts = [
        _description(model, base, values, prefix),
        f"#ifndef {guard}\n#define {guard}\n\n#include <math.h>",
        _names(model, prefix),
        *(HELPERS[kind].format(prefix=prefix) for kind in HELPERS if kind in kinds),
        *([_friction_state(prefix, model)] if follows else []),
        f"/* Torques of a motion. */\n{_function(prefix, 'torque', model, inputs, torque)}",
        f"/* Torques that hold the weight. */\n{_function(prefix, 'gravity', model, 'q', gravity)}",
        f"#endif /* {guard} */",
    ]
    return "\n\n".join(parts) + "\n"


# comparisons with NaN are false, so that NaN stays NaN
HELPERS = {
    "sign": """\
static inline double {prefix}_sign(double x)
{{
    return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x);
}}""",
    "clip": """\
static inline double {prefix}_clip(double x)
{{
    return x > 1.0 ? 1.0 : (x < -1.0 ? -1.0 : x);
}}""",
}


def _code(target: Target, results: Sequence[Value]) -> Statements:
    return statements(target, results, "tau")


def _function(prefix: str, what: str, model: Model, inputs: str, code: Statements) -> str:
    sizes = {"q": model.nq, "v": model.nv, "a": model.nv, "z": len(travel_terms(model))}
    arguments = [f"const double {array}[{sizes[array]}]" for array in inputs]
    lines = [f"(void){array};" for array in inputs if array not in code.inputs]
    body = "\n".join(f"    {line}" for line in (*lines, *code.texts))
    return (
        f"static inline void {prefix}_{what}(\n"
        f"    {', '.join(arguments)}, double tau[{model.nv}])\n{{\n{body}\n}}"
    )


def _friction_state(prefix: str, model: Model) -> str:
    """Functions that start and update the state of friction that builds up over a travel."""
    terms = travel_terms(model)
    row_of = {name: row for row, name in enumerate(model.channels)}
    n, first = len(terms), model.nq - model.nv

    def along(entry: str, term: Term, ahead: int = 0) -> str:
        parts = [
            f"{weight!r} * {entry.format(row_of[joint] + ahead)}"
            for joint, weight in term.direction
        ]
        return " + ".join(parts)

    start = [
        f"    z[{k}] = {prefix}_sign({along('v[{0}]', term)});" for k, term in enumerate(terms)
    ]
    step = []
    for k, term in enumerate(terms):
        moved = along("(q[{0}] - q_before[{0}])", term, first)
        step += [
            "    {",
            f"        const double d = {moved};",
            f"        const double way = {prefix}_sign(d);",
            f"        z[{k}] = way + (z[{k}] - way) * exp(-fabs(d) / {term.travel!r});",
            "    }",
        ]
    owners = ", ".join(comment_text(term.owner) for term in terms)
    return (
        f"/* State z of friction that builds up over a travel: of {owners}.\n"
        " * It is 1 or -1 where a joint has moved on for several travels. Start it once, then\n"
        " * update it with each new position, and give it to the torque. */\n"
        f"static inline void {prefix}_friction_start(const double v[{model.nv}], double z[{n}])\n"
        "{\n" + "\n".join(start) + "\n}\n\n"
        f"static inline void {prefix}_friction_step(\n"
        f"    const double q_before[{model.nq}], const double q[{model.nq}], double z[{n}])\n"
        "{\n" + "\n".join(step) + "\n}"
    )


def _names(model: Model, prefix: str) -> str:
    """Sizes, the index of each joint, and functions that return names and units."""
    taken = {f"{prefix}_{word}" for word in ("joint_name", "joint_unit")}
    places = [
        f"{_unique(f'{prefix}_joint_{_word(joint) or row}', taken)} = {row}"
        for row, joint in enumerate(model.channels)
    ]
    return "\n\n".join(
        [
            f"/* Numbers of positions and of torques. */\n"
            f"enum {{ {prefix}_nq = {model.nq}, {prefix}_nv = {model.nv} }};",
            f"/* Index of each joint in v, a and tau. */\nenum {{\n{_lines(places, 4)}\n}};",
            "/* Name of a joint; 0 for an index that no joint has. */\n"
            + _texts(f"{prefix}_joint_name", model.channels),
            "/* Unit of the torque of a joint; 0 for an index that no joint has. */\n"
            + _texts(f"{prefix}_joint_unit", model.channel_units),
        ]
    )


def _texts(function: str, texts: Sequence[str]) -> str:
    """A function with a table of texts: a table outside would be unused in most programs."""
    n, entries = len(texts), _lines(map(c_string, texts), 8)
    return (
        f"static inline const char *{function}(int joint)\n{{\n"
        f"    static const char *const texts[{n}] = {{\n{entries}\n    }};\n"
        f"    return joint >= 0 && joint < {n} ? texts[joint] : 0;\n}}"
    )


def _lines(entries: Iterable[str], indent: int) -> str:
    return ",\n".join(" " * indent + entry for entry in entries)


def _description(model: Model, base: BaseMap, values: Sequence[float], prefix: str) -> str:
    """The comment at the top of the header."""
    robot = model.robot
    gravity = ", ".join(f"{x:.10g}" for x in robot.gravity.tolist())
    state = "z, " if travel_terms(model) else ""
    lines = [
        f"Inverse dynamics of the robot {comment_text(robot.name)}, written by Steelyard "
        f"{__version__}.",
        "",
        f"  {prefix}_torque(q, v, a, {state}tau)  torques of the motion: bodies, drives and "
        "friction",
        f"  {prefix}_gravity(q, tau)       the weight's part of it, without friction and offsets",
        *(
            f"Friction of {comment_text(term.owner)} builds up over a travel of {term.travel:.6g} "
            "rad or m: see z below."
            for term in travel_terms(model)
        ),
        "",
        "q: positions (rad or m). v: speeds (rad/s or m/s). a: accelerations (rad/s^2 or m/s^2).",
        f"tau: {'wrench of the base and ' if robot.floating_base else ''}torques of the joints "
        "(N m or N). tau may be one of the input arrays.",
        *(FLOATING_BASE if robot.floating_base else ()),
        f"Gravity: {gravity} m/s^2 in the frame of the robot's base.",
        *(
            f"Joint {comment_text(joint)} is locked at {position:.10g} and has no entry."
            for joint, position in robot.locked.items()
        ),
        "",
        f"{base.rank} base parameters, as constants in the code. Each is named after one of the",
        "parameters that it combines.",
        "",
    ]
    names = [comment_text(name) for name in base.names]
    width = max((len(name) for name in names), default=0)
    for text, value, unit in zip(names, values, base.units, strict=True):
        lines.append(f"  {text:<{width}}  {value!r:>24}  {comment_text(unit)}")
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])


FLOATING_BASE = (
    "The base floats. q begins with its position and quaternion (x, y, z, w) in the world; v and a",
    "begin with the linear and the angular velocity of the base and their derivatives, in its own",
    "frame; tau begins with force and moment, in the same frame.",
)


def c_identifier(text: str) -> str:
    """A name that C and C++ allow and do not reserve, with as much of ``text`` as possible."""
    word = _word(text)
    return word if word[:1].isalpha() else f"robot_{word}".rstrip("_")


def _word(text: str) -> str:
    """The letters and digits of ``text``; what is between them becomes one underscore."""
    return re.sub("[^A-Za-z0-9]+", "_", text).strip("_")


def _unique(word: str, taken: set[str]) -> str:
    """``word``, with a number behind it if it is taken; then it is taken."""
    number, candidate = 1, word
    while candidate in taken:
        number += 1
        candidate = f"{word}_{number}"
    taken.add(candidate)
    return candidate


def c_string(text: str) -> str:
    """A string literal; all but plain characters as octal numbers of their UTF-8 bytes.

    Octal numbers have at most three digits, so that a digit behind one is not part of it. A
    question mark is never plain: two of them begin a trigraph.
    """
    plain = (
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in _utf8(text)
    )
    return f'"{"".join(plain)}"'


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def comment_text(text: str) -> str:
    """``text`` for a comment: one line of ASCII that cannot end the comment.

    Squares are written as ^2, stars and question marks (trigraphs) as underscores, and other
    characters as Python would write them in ASCII.
    """
    escaped = text.replace("²", "^2").encode("unicode_escape").decode("ascii")
    return escaped.translate({ord("*"): "_", ord("?"): "_"})
