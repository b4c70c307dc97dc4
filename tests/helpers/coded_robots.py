"""Robots, parameters and states for the code that is written from them; a C compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from paper_robots import tx40_model, wam
from robot_files import example_urdfs

from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import coupled_terms, default_terms, joint_terms
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion
from steelyard.testing.random_robots import random_robot

Array = np.ndarray
C_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
CPP_FLAGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
HOSTILE = (
    '*/ #error "out"',
    "/* in",
    "new\nline",
    "*/\n#error\n/*",
    "null\0 and tab\t",
    "\u202eturned",
    'say "hello"',
    "quotes ''' and \"\"\"",
    "{braces} {0}",
    "what??/",
    "??' ??( ??/",
    "back\\slash\\",
    "percent %s %n",
    "größe_肘",
    "0 starts with a digit",
    "a b",
    "a-b",
    "a_b",
    "name",
    "unit",
    "int",
    "__reserved__",
    "肘",
)
# trees, hands, slides and continuous joints
REAL_ROBOTS = ("xarm7", "panda", "kinova", "ur5_robot", "so101", "allegro_right_hand", "tiago")


@dataclass(frozen=True, eq=False)
class Case:
    """A model with base parameters beta (n_base,), and states q, v, a (n, ...)."""

    name: str
    model: Model
    base: BaseMap
    beta: Array
    q: Array
    v: Array
    a: Array

    @property
    def theta(self) -> Array:
        """Standard parameters with the torques of beta."""
        theta = np.zeros(len(self.model.columns))
        theta[list(self.base.independent)] = self.beta
        return theta

    @property
    def torque(self) -> Array:
        """The library's torques (n, nv), of standard parameters."""
        return torque(self.model, self.theta, self.q, self.v, self.a)

    @property
    def gravity(self) -> Array:
        """The library's torques (n, nv) at rest, without terms."""
        rigid = [column.kind == "rigid_body" for column in self.model.columns]
        rest = np.zeros_like(self.v)
        return torque(self.model, np.where(rigid, self.theta, 0.0), self.q, rest, rest)


def case_of(name: str, model: Model, rng: np.random.Generator, n: int = 20) -> Case:
    """Random base parameters and states; some joints stand still or move slowly."""
    base = base_map(model)
    q, v, a = random_states(rng, model.robot, n)
    v[rng.random(v.shape) < 0.1] = 0.0
    v[rng.random(v.shape) < 0.1] *= 0.01
    return Case(name, model, base, rng.normal(size=base.rank), q, v, a)


def random_case(seed: int) -> Case:
    """A random robot with friction widths; a third with a coupling; every eighth floats."""
    rng = np.random.default_rng(seed)
    robot = random_robot(
        rng, 1 + seed % 6, mimic=0.3, chain=seed % 2 == 0, floating_base=seed % 8 == 7
    )
    joints = robot.joint_names
    terms = default_terms(robot)
    if seed % 3 == 0 and len(joints) > 1:
        direction = dict(zip(joints[:3], rng.normal(size=3).tolist(), strict=False))
        terms += coupled_terms("gear", direction, ("drive_inertia", "viscous", "coulomb", "offset"))
    widths = {name: 0.1 for name in (*joints, "gear") if rng.random() < 0.5}
    return case_of(f"random {seed}", Model(robot, terms).with_widths(widths), rng)


@cache
def travelled() -> tuple[Case, Motion]:
    """A robot whose friction builds up over a travel at one joint and along a coupling, and a
    motion that changes direction.
    """
    rng = np.random.default_rng(9)
    robot = random_robot(rng, 3)
    first, second, third = robot.joint_names
    belt = coupled_terms("belt", {second: 1.0, third: -0.5}, ["coulomb", "stribeck"])
    own = joint_terms([first], ["coulomb", "load_coulomb"])
    terms = [replace(one, travel=0.02) for one in own]
    terms += [replace(one, travel=0.05) for one in belt]
    case = case_of("travel", Model(robot, (*terms, *joint_terms([third]))), rng)
    time = np.linspace(0.0, 5.0, 400)
    angle = np.multiply.outer(time, [1.3, 2.1, 3.7])
    rate = np.array([1.3, 2.1, 3.7])
    motion = Motion(time, np.sin(angle), rate * np.cos(angle), -(rate**2) * np.sin(angle))
    return case, motion


def random_cases() -> tuple[Case, ...]:
    """Sixty random robots."""
    return tuple(random_case(seed) for seed in range(60))


@cache
def hostile_case() -> Case:
    """A robot whose names could end a text or a comment, or be taken for other names."""
    rng = np.random.default_rng(3)
    robot = random_robot(rng, len(HOSTILE), chain=True, fixed=0.0)
    names = {f"joint_{i}": text for i, text in enumerate(HOSTILE, start=1)}
    names |= {f"link_{i}": f"{text} link" for i, text in enumerate(HOSTILE, start=1)}
    joints = tuple(
        replace(
            joint,
            name=names[joint.name],
            parent=names.get(joint.parent, joint.parent),
            child=names[joint.child],
        )
        for joint in robot.joints
    )
    links = tuple(replace(link, name=names.get(link.name, link.name)) for link in robot.links)
    changed = Robot("*/ #error \"??/\n'''", links, joints, gravity=robot.gravity)
    return case_of("hostile", Model(changed), rng, n=5)


@cache
def paper_cases() -> tuple[Case, ...]:
    """Robots whose link frames are away from their joints, and one with a coupled wrist."""
    rng = np.random.default_rng(5)
    models = {"wam": Model(wam()), "tx40": tx40_model(separate_coupling_inertia=True)}
    return tuple(case_of(name, model, rng) for name, model in models.items())


@cache
def real_cases() -> tuple[Case, ...]:
    """Robots of example-robot-data."""
    rng = np.random.default_rng(6)
    files = {path.stem: path for path in example_urdfs()}
    return tuple(case_of(name, Model(Robot.from_urdf(files[name])), rng) for name in REAL_ROBOTS)


def difference(found: Array, truth: Array) -> float:
    """Largest error of a joint's torque, as a share of the largest torque of that joint."""
    size = np.abs(truth).max(axis=0)
    return float(np.max(np.abs(found - truth).max(axis=0) / np.where(size > 0.0, size, 1.0)))


def loaded(text: str) -> ModuleType:
    """The module of this text."""
    module = ModuleType("written")
    exec(compile(text, "written.py", "exec"), module.__dict__)
    return module


def compiler(name: str) -> str:
    """A compiler on the path, or a skip."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no compiler '{name}' on the path")
    return found


def checked(headers: Iterable[str], folder: Path, command: str, *flags: str) -> None:
    """Compile a program that includes these headers; it must give no warning."""
    folder.mkdir(parents=True, exist_ok=True)
    program = write_program(headers, folder, "program.cc" if "++" in command else "program.c")
    run([compiler(command), *flags, "-c", str(program), "-o", str(folder / "program.o")])


def write_program(headers: Iterable[str], folder: Path, name: str) -> Path:
    """A source file that includes each header twice, which must have no effect."""
    lines = []
    for number, header in enumerate(headers):
        (folder / f"header_{number}.h").write_text(header, encoding="ascii")
        lines += [f'#include "header_{number}.h"\n'] * 2
    lines.append("int main(void) { return 0; }\n")
    (folder / name).write_text("".join(lines), encoding="ascii")
    return folder / name


class CompiledHeaders:
    """Headers with the names r0, r1, ... in one shared library."""

    def __init__(self, headers: list[str], folder: Path) -> None:
        program = write_program(headers, folder, "library.c")
        with program.open("a") as file:
            for number in range(len(headers)):
                file.write(EXPORTS.replace("NAME", f"r{number}"))
        library = folder / "library.so"
        flags = (*C_FLAGS, "-shared", "-fPIC")
        run([compiler("cc"), *flags, str(program), "-o", str(library), "-lm"])
        self._library = ctypes.CDLL(str(library))

    def torque(self, number: int, q: Array, v: Array, a: Array) -> Array:
        """tau (n, nv) of robot ``number``."""
        return self._evaluate(f"r{number}_evaluate_torque", v.shape[1], q, v, a)

    def torque_into(self, number: int, q: Array, v: Array, a: Array) -> None:
        """Overwrite a (n, nv) with the torque of robot ``number``."""
        self._call(f"r{number}_evaluate_torque", q, v, a, a)

    def gravity(self, number: int, q: Array, nv: int) -> Array:
        """tau (n, nv) of robot ``number`` at rest."""
        return self._evaluate(f"r{number}_evaluate_gravity", nv, q)

    def text(self, number: int, what: str, joint: int) -> bytes | None:
        """The name or the unit of a joint."""
        function = getattr(self._library, f"r{number}_text_{what}")
        function.restype = ctypes.c_char_p
        found: bytes | None = function(ctypes.c_int(joint))
        return found

    def _evaluate(self, function: str, nv: int, *inputs: Array) -> Array:
        tau = np.full((len(inputs[0]), nv), np.nan)
        self._call(function, *map(np.ascontiguousarray, inputs), tau)
        return tau

    def _call(self, function: str, *arrays: Array) -> None:
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
        getattr(self._library, function)(ctypes.c_long(len(arrays[0])), *pointers)


EXPORTS = """
void NAME_evaluate_torque(
    long n, const double *q, const double *v, const double *a, double *tau);
void NAME_evaluate_torque(
    long n, const double *q, const double *v, const double *a, double *tau)
{
    for (long i = 0; i < n; ++i)
        NAME_torque(q + i * NAME_nq, v + i * NAME_nv, a + i * NAME_nv, tau + i * NAME_nv);
}
void NAME_evaluate_gravity(long n, const double *q, double *tau);
void NAME_evaluate_gravity(long n, const double *q, double *tau)
{
    for (long i = 0; i < n; ++i) NAME_gravity(q + i * NAME_nq, tau + i * NAME_nv);
}
const char *NAME_text_name(int joint);
const char *NAME_text_name(int joint) { return NAME_joint_name(joint); }
const char *NAME_text_unit(int joint);
const char *NAME_text_unit(int joint) { return NAME_joint_unit(joint); }
"""


def run(command: list[str]) -> None:
    """Run a compiler; its messages are part of the failure."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[:4000]
