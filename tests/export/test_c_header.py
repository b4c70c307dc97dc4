"""The C header compiles without a warning and gives the library's torques."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from coded_robots import (
    C_FLAGS,
    CPP_FLAGS,
    HOSTILE,
    CompiledHeaders,
    case_of,
    checked,
    compiler,
    difference,
    hostile_case,
    paper_cases,
    random_cases,
    real_cases,
    run,
    travelled,
)

from steelyard.errors import ResultError
from steelyard.export.c_header import c_header, c_identifier, c_string, comment_text
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.terms import default_terms
from steelyard.robot.rotations import frozen_array
from steelyard.testing.random_robots import random_robot
from steelyard.validation.scores import predict_base


def header(case, number: int) -> str:
    return c_header(case.model, case.base, case.beta, name=f"r{number}")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """All cases in one library, compiled as C99 with warnings as errors."""
    cases = [*random_cases(), *paper_cases(), *real_cases(), hostile_case()]
    headers = [header(case, number) for number, case in enumerate(cases)]
    return cases, CompiledHeaders(headers, tmp_path_factory.mktemp("library"))


def test_torques_are_those_of_the_library(library):
    """60 random robots, robots of papers and of example-robot-data agree to 1e-12."""
    cases, compiled = library
    for number, case in enumerate(cases):
        found = compiled.torque(number, case.q, case.v, case.a)
        assert difference(found, case.torque) <= 1e-12, case.name


def test_gravity_is_that_of_the_library(library):
    """The weight's part of the torque, which has no friction and no offset."""
    cases, compiled = library
    for number, case in enumerate(cases):
        found = compiled.gravity(number, case.q, case.model.nv)
        largest = np.abs(case.gravity).max()
        assert np.abs(found - case.gravity).max() <= 1e-12 * max(largest, 1e-6), case.name


def test_the_result_may_overwrite_an_input(library):
    """Inputs are read before results are stored."""
    cases, compiled = library
    for number, case in enumerate(cases[:20]):
        inplace = case.a.copy()
        compiled.torque_into(number, case.q, case.v, inplace)
        assert np.array_equal(inplace, compiled.torque(number, case.q, case.v, case.a))


def test_names_and_units_are_texts(library):
    """Names come back byte by byte, hostile ones too; an index that no joint has gives NULL."""
    cases, compiled = library
    number = len(cases) - 1
    model = cases[number].model
    for row, (name, unit) in enumerate(zip(model.channels, model.channel_units, strict=True)):
        assert compiled.text(number, "name", row) == name.split("\0")[0].encode()
        assert compiled.text(number, "unit", row) == unit.encode()
    assert set(HOSTILE) == set(model.channels)
    assert compiled.text(number, "name", -1) is None
    assert compiled.text(number, "unit", model.nv) is None


def test_friction_over_a_travel_follows_its_state(tmp_path):
    """Started at rest of the path and stepped with each position, the state gives the torques of
    the library.
    """
    case, motion = travelled()
    (tmp_path / "arm.h").write_text(c_header(case.model, case.base, case.beta, name="arm"))
    (tmp_path / "main.c").write_text(STEPPED)
    compiled = tmp_path / "main"
    source = str(tmp_path / "main.c")
    run([compiler("cc"), *C_FLAGS, source, "-o", str(compiled), "-lm"])
    rows = np.hstack([motion.q, motion.v, motion.a])
    text = "\n".join(" ".join(repr(float(x)) for x in row) for row in rows)
    given = subprocess.run([compiled], input=text, capture_output=True, text=True, check=True)
    found = np.array([[float(x) for x in line.split()] for line in given.stdout.splitlines()])
    predicted = predict_base(case.model, case.base, case.beta, motion)
    assert difference(found, predicted) <= 1e-12


STEPPED = """
#include <stdio.h>
#include "arm.h"

int main(void)
{
    double q[3], v[3], a[3], tau[3], z[2], before[3];
    int first = 1, i;
    while (scanf("%lf %lf %lf %lf %lf %lf %lf %lf %lf", q, q + 1, q + 2, v, v + 1, v + 2, a, a + 1,
                 a + 2) == 9) {
        if (first)
            arm_friction_start(v, z);
        else
            arm_friction_step(before, q, z);
        first = 0;
        arm_torque(q, v, a, z, tau);
        printf("%.17g %.17g %.17g\\n", tau[0], tau[1], tau[2]);
        for (i = 0; i < 3; i++)
            before[i] = q[i];
    }
    return 0;
}
"""


def test_headers_compile_as_cpp(tmp_path):
    """g++ takes the headers with warnings as errors."""
    cases = [*random_cases()[:8], *paper_cases(), hostile_case()]
    headers = [header(case, number) for number, case in enumerate(cases)]
    checked(headers, tmp_path, "g++", *CPP_FLAGS)


def test_a_header_compiles_alone(tmp_path):
    """The header itself, and a copy of it named .c, give no warning."""
    for number, case in enumerate([random_cases()[0], random_cases()[7], hostile_case()]):
        text = header(case, number)
        checked([text], tmp_path / str(number), "cc", *C_FLAGS, "-Wshadow", "-Wconversion")
        copy = tmp_path / str(number) / "copy.c"
        copy.write_text(text, encoding="ascii")
        run([compiler("cc"), *C_FLAGS, "-c", str(copy), "-o", str(copy.with_suffix(".o"))])


def test_no_gravity_and_no_parameters(tmp_path):
    """A robot without gravity, and one whose parameters are all zero, give constant torques."""
    rng = np.random.default_rng(0)
    robot = replace(random_robot(rng, 2), gravity=frozen_array(np.zeros(3), (3,)))
    model = Model(robot)
    base = base_map(model)
    headers = [
        c_header(model, base, rng.normal(size=base.rank), name="light"),
        c_header(model, base, np.zeros(base.rank), name="empty"),
    ]
    assert headers[0].count("tau[0] = 0.0;") == 1
    assert headers[1].count("tau[0] = 0.0;") == 2
    checked(headers, tmp_path, "cc", *C_FLAGS)


def test_only_one_header_is_needed():
    """Nothing but <math.h> is included, and every constant reads back to the same double."""
    case = random_cases()[10]
    text = header(case, 0)
    assert re.findall("#include.*", text) == ["#include <math.h>"]
    stated = re.findall(r"^ \*   \S+[.]\S+\s+(\S+)  ", text, re.MULTILINE)
    assert [float(value) for value in stated] == case.beta.tolist()


def test_the_comment_tells_what_differs_from_the_file():
    """Locked joints, gravity and a floating base are stated."""
    rng = np.random.default_rng(4)
    robot = random_robot(rng, 3, chain=True).lock({"joint_2": 0.5})
    case = case_of("locked", Model(replace(robot, floating_base=True)), rng)
    text = header(case, 0)
    assert " * Joint joint_2 is locked at 0.5 and has no entry.\n" in text
    assert " * The base floats." in text
    assert f" * Gravity: {robot.gravity[0]:.10g}, " in text
    assert "joint_2 =" not in text


def test_names_for_c():
    """Names of robots become identifiers; names of files cannot end a text or a comment."""
    assert c_identifier("my arm-7") == "my_arm_7"
    assert c_identifier("7 joints") == "robot_7_joints"
    assert c_identifier("肘") == c_identifier("") == "robot"
    assert c_identifier("__a__b__") == "a_b"
    assert c_string('a"b\\c?1é') == '"a\\042b\\134c\\0771\\303\\251"'
    assert comment_text("*/ x ??/\n²") == "_/ x __/\\n^2"


def test_parameters_of_another_model_are_refused():
    """Base parameters must belong to the model, be complete and be finite."""
    case = random_cases()[1]
    other = Model(case.model.robot, default_terms(case.model.robot, "link"))
    with pytest.raises(ResultError, match="belong to a different model"):
        c_header(other, case.base, case.beta)
    with pytest.raises(ResultError, match="beta has shape"):
        c_header(case.model, case.base, case.beta[:-1])
    broken = case.beta.copy()
    broken[2] = np.nan
    with pytest.raises(ResultError, match=f"'{case.base.names[2]}' is not finite"):
        c_header(case.model, case.base, broken)
