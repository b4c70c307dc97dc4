"""Designs that come too close between samples are mended; distances are looked at by MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ball_arm import joint, link, write
from solid_robots import oracle_distances

from steelyard.errors import CollisionError, SignalError
from steelyard.excitation._poses import allowed_poses
from steelyard.excitation.collision.collision import collision_model
from steelyard.excitation.design import design_motion
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.fourier_design import search_problem
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.search import search as search_module
from steelyard.excitation.search._objective import shortfall
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.search.mending import mended
from steelyard.excitation.search.search import Stage
from steelyard.model.model import Model
from steelyard.robot.robot import Robot

pytest.importorskip("coal")
pytest.importorskip("mujoco")

CLEARANCE_M = 0.01
SETTINGS = DesignSettings(period_s=4.0, harmonics=3, rounds=1, budget_s=600.0, share=1.0, threads=1)
# the bracket is 12 to 14 mm from the shoulder wherever the arm is
WRIST = [
    link("base", 0.02),
    link("shoulder", 0.05),
    link("upper", 0.02, (0.4, 0, 0)),
    link("bracket", 0.05, (0.112, 0, 0)),
    link("fore", 0.03, (0.3, 0, 0)),
    joint("turn", "base", "shoulder", (0, 0, 0.3), axis=(0, 0, 1)),
    joint("lift", "shoulder", "upper", (0.002, 0, 0)),
    joint("mount", "upper", "bracket", kind="fixed"),
    joint("elbow", "upper", "fore", (0.6, 0, 0)),
]
INERTIAL = (
    '<inertial><origin xyz="0.2 0.01 0.02"/><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>'
)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A fast arm above a floor, two parts of which never are far apart."""
    parts = [part.replace("<collision>", INERTIAL + "<collision>") for part in WRIST]
    path = write(tmp_path_factory.mktemp("arm"), parts)
    robot = Robot.from_urdf(path)
    model = Model(robot)
    one = np.ones(3)
    limits = MotionLimits(
        model.channels, -1.4 * one, 1.4 * one, 5.0 * one, 25.0 * one, np.inf * one, np.inf * one
    )
    collision = collision_model(path, robot, ground=0.1, clearance_m=CLEARANCE_M, limits=limits)
    return DesignTask(model, limits, SETTINGS, collision=collision)


def problem_of(task: DesignTask):
    basis = FourierBasis(task.limits, task.settings.period_s, task.settings.harmonics)
    return search_problem(task, basis, allowed_poses(task))


def smallest(task: DesignTask, trajectory, rate_hz: float = 300.0) -> np.ndarray:
    """Smallest distance (n_pairs,) of each pair along a motion, by MuJoCo."""
    time = np.arange(0.0, trajectory.duration_s, 1.0 / rate_hz)
    q = trajectory.derivative(time, 0)
    return oracle_distances(task.collision, task.model.robot, q).min(axis=0)


def test_a_pair_that_never_is_far_does_not_prevent_a_design(crowded, monkeypatch):
    """Another pair comes too close between samples, by more than the first one has."""
    stages = (Stage(4, False, 1e-4, 20, 12), Stage(2, False, 1e-6, 20, 40))
    monkeypatch.setattr(search_module, "STAGES", stages)
    problem = problem_of(crowded)
    before = search_module.search(problem, seed=0, budget_s=600.0, rounds=1, threads=1)
    close = smallest(crowded, problem.basis.trajectory(before.x))
    names = [pair.names for pair in crowded.collision.pairs]
    lift = np.zeros((41, 3))
    lift[:, 1] = np.linspace(-1.4, 1.4, 41)
    most = crowded.collision.distances(lift).max(axis=0)[names.index(("shoulder", "bracket"))]
    assert CLEARANCE_M - close.min() > most - CLEARANCE_M
    motion = design_motion(crowded.model, crowded.limits, SETTINGS, collision=crowded.collision)
    assert motion.clearance.holds
    assert smallest(crowded, motion.trajectory).min() >= CLEARANCE_M
    # nearly as good as the motion that is too close
    assert motion.value < before.value + 0.15
    assert motion.value < motion.start_value - 0.5


def test_a_motion_is_mended_by_little(crowded):
    """What is a few millimetres too close is moved by about as much, and the limits hold."""
    problem = problem_of(crowded)
    rng = np.random.default_rng(3)
    floor = [pair.names for pair in crowded.collision.pairs].index(("ground", "fore"))
    for _ in range(4):
        x = search_module._random(problem, rng)
        kept = smallest(crowded, problem.basis.trajectory(x), 20.0)
        clearance = np.full(len(kept), CLEARANCE_M)
        clearance[floor] = kept[floor] + 0.004
        safety = replace(problem.safety, clearance_m=clearance, distance_step_s=0.025)
        tighter = replace(problem, safety=safety)
        found = mended(tighter, x)
        assert found is not None
        assert not tighter.allows(x)
        assert tighter.allows(found)
        assert problem.basis.slack(found).min() > 0.0
        assert np.linalg.norm(found - x) < 0.1
        again = smallest(crowded, problem.basis.trajectory(found), 40.0)
        assert (again >= clearance - 1e-6).all()


def test_what_cannot_be_mended_is_said(crowded):
    """Ten metres of clearance: no motion, and a search says that none keeps its distances."""
    problem = problem_of(crowded)
    far = replace(problem, safety=replace(problem.safety, clearance_m=10.0))
    x = search_module._random(problem, np.random.default_rng(0))
    assert mended(far, x) is None
    with pytest.raises(SignalError, match=r"keeps torques and distances.*--clearance"):
        search_module.search(far, seed=0, budget_s=600.0, rounds=1, threads=1)


def test_the_shortfall_is_zero_with_room_and_grows_beyond_the_limit():
    room = np.array([1.0, 0.02, 0.005, 0.0, -1.0])
    value, slope = shortfall(room)
    assert list(value[:2]) == [0.0, 0.0]
    assert (np.diff(value[1:]) > 0.0).all()
    step = 1e-6
    expected = (shortfall(room + step)[0] - shortfall(room - step)[0]) / (2.0 * step)
    np.testing.assert_allclose(slope, expected, atol=1e-8)


def test_allowed_motions_are_those_with_a_price(crowded):
    """Few samples first give the same answer as all of them."""
    problem = problem_of(crowded)
    rng = np.random.default_rng(5)
    answers = []
    for share in np.linspace(0.02, 0.6, 40):
        x = problem.basis.random_start(rng, problem.centres[0], float(share))
        answers.append(problem.allows(x))
        price = problem.prices(search_module.price)(x).value
        assert answers[-1] == np.isfinite(price)
    assert 0 < sum(answers) < len(answers)


def test_the_few_poses_of_a_crowded_robot_are_found(crowded):
    """The floor is so high that the upper arm must point up: one pose of many."""
    places = crowded.collision.placements.copy()
    floor = [k for k, shape in enumerate(crowded.collision.shapes) if not shape.is_bounded]
    places[floor, 2, 3] = 0.65
    pairs = {pair.names: pair for pair in crowded.collision.pairs}
    high = replace(crowded.collision, placements=places, pairs=(pairs["ground", "upper"],))
    poses = np.array(allowed_poses(replace(crowded, collision=high)))
    assert len(poses) > 1
    height = 0.3 - 0.4 * np.sin(poses[:, 1]) - 0.02
    assert (height > 0.65 + CLEARANCE_M - 1e-9).all()


def test_no_pose_at_all_names_the_pair_and_the_only_joint_that_moves_it(crowded):
    pairs = {pair.names: pair for pair in crowded.collision.pairs}
    stiff = replace(crowded.collision, pairs=(pairs["shoulder", "bracket"],), clearance_m=0.0141)
    with pytest.raises(CollisionError, match=r"shoulder and bracket .*only joint 'lift' changes"):
        allowed_poses(replace(crowded, collision=stiff))
