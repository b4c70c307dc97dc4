"""``steelyard simulate``: gains and model of the controller have their effect, or are refused."""

from __future__ import annotations

import numpy as np
import pytest
from small_arm import write_arm

from steelyard.cli import main
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv

JOINTS = ("shoulder", "elbow")


@pytest.fixture
def followed(tmp_path, capsys):
    """Runs simulate on a plan, and gives by how much each joint is away from it at the end."""
    robot = write_arm(tmp_path)
    plan = tmp_path / "plan.csv"
    still = ["simulate", robot, "-o", plan, "--controller", "ideal", "--duration-s", 4]
    assert main([str(word) for word in [*still, "--rate-hz", 200]]) == 0
    wanted = read_log(plan)
    write_csv(wanted, plan)

    def away(*options: object) -> np.ndarray:
        out = tmp_path / "log.csv"
        argv = ["simulate", robot, plan, "-o", out, "--rate-hz", 200, *options]
        assert main([str(word) for word in argv]) == 0, capsys.readouterr().err
        log = read_log(out)
        late = log.time > 1.0
        return np.array(
            [
                np.abs(log.signals[j, "position"] - wanted.signals[j, "position"])[late].mean()
                for j in JOINTS
            ]
        )

    return away


FRICTION = ("--friction", 0.5, 0.2, "--drive-inertia", 0.05)


def test_errors_fall_with_the_stiffness(followed):
    """Kp e is the acceleration that friction takes: four times the gain, a quarter of the error;
    of one joint alone where only its gain is raised.
    """
    soft = followed(*FRICTION, "--stiffness", 400)
    stiff = followed(*FRICTION, "--stiffness", 1600)
    np.testing.assert_allclose(soft / stiff, 4.0, rtol=0.25)
    one = followed(*FRICTION, "--stiffness", 400, "--stiffness", "elbow=1600")
    assert soft[1] / one[1] > 2.0
    assert soft[0] / one[0] < 1.5


def test_damping_is_critical_unless_it_is_given(followed):
    """2 sqrt(Kp) by default, and another motion with another value."""
    plain = followed(*FRICTION, "--stiffness", 400)
    np.testing.assert_allclose(followed(*FRICTION, "--stiffness", 400, "--damping", 40), plain)
    assert not np.allclose(followed(*FRICTION, "--stiffness", 400, "--damping", 10), plain)


def test_a_controller_with_the_files_bodies_does_not_know_a_heavier_link(followed):
    """With the true bodies the robot follows; with those of the file the weight holds it back."""
    heavy = ("--set", "fore.m=3", "--set", "fore.mx=0.3", "--set", "fore.Iyy=0.08")
    heavy += ("--set", "fore.Izz=0.08", "--stiffness", 400)
    knows, believes = (followed(*heavy, "--controller-model", name) for name in ("true", "file"))
    assert knows.max() < 1e-3
    assert believes.max() > 10.0 * knows.max()


@pytest.mark.parametrize(
    "options",
    [("--stiffness", "3"), ("--damping", "3"), ("--controller-model", "file")],
)
def test_a_robot_that_follows_exactly_has_no_controller(tmp_path, capsys, options):
    """The option is named, and a joint that there is not is named as well."""
    robot = str(write_arm(tmp_path))
    out = str(tmp_path / "log.csv")
    assert main(["simulate", robot, "-o", out, "--controller", "ideal", *options]) == 2
    assert f"{options[0]} is of a controller" in capsys.readouterr().err
    if options[0] != "--controller-model":
        assert main(["simulate", robot, "-o", out, options[0], "wrist=3"]) == 2
        assert "names 'wrist'" in capsys.readouterr().err
