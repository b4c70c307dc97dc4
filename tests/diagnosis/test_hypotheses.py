"""Hypotheses as columns: what each one is to first order, and how they are weighed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import pinocchio_torque

from steelyard.diagnosis.hypotheses import of_positions, of_robots, of_torques
from steelyard.diagnosis.hypotheses.fit import fit_of, moments
from steelyard.diagnosis.hypotheses.hypothesis import (
    Candidate,
    Kind,
    Scene,
    Suspect,
    one_row,
    scene_of,
)
from steelyard.diagnosis.hypotheses.remedies import correction_of
from steelyard.diagnosis.hypotheses.samples import Samples, plain_model, regressor
from steelyard.diagnosis.hypotheses.search import KINDS
from steelyard.diagnosis.hypotheses.stepwise import (
    SMALL,
    candidates_of,
    explained,
    weighed,
    with_admitted,
)
from steelyard.simulation.builtin_arm import builtin_arm

ARM = builtin_arm()
N, RATE_HZ = 1600, 100.0


def motion(time: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """q, v, a (n, n_joints) of sums of sines."""
    rng = np.random.default_rng([seed, 41])
    speed = rng.uniform(0.8, 3.5, size=(3, len(ARM.joint_names)))
    angle = speed * time[:, None, None] + rng.uniform(0.0, 6.0, size=speed.shape)
    parts = np.sin(angle), speed * np.cos(angle), -(speed**2) * np.sin(angle)
    return tuple(0.4 * np.sum(one, axis=1) for one in parts)


def samples_of(seed: int, noise: float = 0.01, fault=None, size: float = 0.0) -> Samples:
    """Samples whose torques are Pinocchio's with friction and noise, as shares of their size.

    fault : changes (time, q, v, a, tau) by a size before noise is added.
    """
    time = np.arange(N) / RATE_HZ
    q, v, a = motion(time, seed)
    tau = pinocchio_torque(ARM, q, v, a)
    scale = tau.std(axis=0)
    tau = tau + scale * (0.3 * np.sign(v) + 0.15 * v)
    if fault is not None:
        q, v, a, tau = fault(time, q, v, a, tau, size)
    rng = np.random.default_rng([seed, 43])
    tau = tau + noise * scale * rng.normal(size=tau.shape)
    moving = np.abs(v) > 0.1 * np.sqrt(np.mean(v**2, axis=0))
    return Samples(plain_model(ARM), time, q, v, a, np.sign(v), tau, moving, 2.0 / RATE_HZ)


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A right log."""
    return scene_of(samples_of(0))


def test_the_registry_names_every_kind_once() -> None:
    """Codes are unique, and every small kind has columns and words."""
    codes = [one.code for one in SMALL]
    assert len(set(codes)) == len(codes)
    assert all(one.columns is not None for one in SMALL)
    assert {*codes} <= {*KINDS}


def test_every_candidate_is_finite_and_has_a_likely_size(scene: Scene) -> None:
    """Columns (n, n_joints, k) of k sizes, about joints that there are."""
    found = candidates_of(scene)
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert one.table.shape == (*scene.samples.tau.shape, len(one.typical)), one.name
        assert np.isfinite(one.table).all(), one.name
        assert (one.typical > 0.0).all(), one.name
        assert {*one.joints} <= {*scene.model.channels}, one.name


MENDED = [one for one in SMALL if one.mended is not None]


@pytest.mark.parametrize("kind", MENDED, ids=lambda one: one.code)
def test_columns_are_what_mending_changes(kind: Kind, scene: Scene) -> None:
    """The residual of samples that are mended by a small size is that of the samples less the
    column; of bodies alone, since the friction of a joint follows what is done to its motion.
    """
    theta = np.zeros_like(scene.fit.theta)
    theta[bodies_of(scene)] = scene.fit.theta[bodies_of(scene)]
    scene = whole(replace(scene, fit=replace(scene.fit, theta=theta)))
    exact = replace(scene.full, tau=scene.predicted, moving=np.ones_like(scene.full.moving))
    for one in candidates_of(scene, [kind])[:3]:
        joints = tuple(scene.model.channels.index(name) for name in one.joints)
        sizes = 1e-4 * one.typical
        changed = kind.mended(exact, joints, sizes)
        residual = changed.tau - regressor(changed) @ theta
        wanted = -(one.table @ sizes)
        inner = slice(8, -8)  # splines end there
        off = np.linalg.norm((residual - wanted)[inner])
        assert off < 0.02 * np.linalg.norm(wanted[inner]) + 1e-12, one.name


def bodies_of(scene: Scene) -> np.ndarray:
    """Columns of the bodies."""
    return np.array([column.kind == "rigid_body" for column in scene.model.columns])


def whole(scene: Scene) -> Scene:
    """The scene on all samples, with the same parameters."""
    W = regressor(scene.full)
    return replace(scene, samples=scene.full, W=W)


def test_a_gain_is_that_of_a_fit_with_the_column(scene: Scene) -> None:
    """The size is the one of the fit that has the column among its own, and no pull on it."""
    column = one_row(np.cos(2.0 * scene.samples.q[:, 2]), 2, 7)
    kind = replace(of_robots.KINDS[-1], told=lambda sizes: float(sizes[0]), least=0.0)
    tau = scene.samples.tau + 0.05 * scene.fit.size[2] * column
    other = scene_of(replace(scene.samples, tau=tau))
    one = Candidate(kind, (), column, np.array([scene.fit.size[2]]))
    (found,) = weighed(other, [one])
    white, moving = other.whitened, other.samples.moving
    A = white.A
    c, r = (white.white((one * moving)[:, :, None]).ravel() for one in (column, other.samples.tau))
    x0 = np.zeros(A.shape[1])
    file = other.model.prior_theta()
    x0[: len(file)] = file / other.fit.spread
    rows = np.vstack([np.column_stack([A, c]), np.eye(A.shape[1] + 1)[:-1]])
    best = np.linalg.lstsq(rows, np.concatenate([r, x0]), rcond=None)[0][-1]
    assert found.sizes[0] == pytest.approx(best, rel=1e-2)
    assert found.size == pytest.approx(0.05 * scene.fit.size[2], rel=0.1)
    assert found.steadiness > 4.0


def test_what_the_model_has_gains_nothing(scene: Scene) -> None:
    """A column of the model itself is absorbed, whatever its size."""
    kind = of_robots.KINDS[-1]
    own = Candidate(kind, (), scene.W[:, :, 30], np.array([1.0]))
    (found,) = weighed(scene, [own])
    assert found.gain < 1.0
    assert found.kept < 0.2


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_believed_of_a_right_log(seed: int) -> None:
    """White noise of one percent."""
    found = explained(samples_of(seed))
    assert [one.kind.code for one in found.believed] == []


def _drifting(time, q, v, a, tau, size):
    """Noise that is correlated over two seconds."""
    rng = np.random.default_rng(round(1e6 * float(tau[0, 0])) % 2**32)
    keep = np.exp(-(time[1] - time[0]) / 2.0)
    slow = np.sqrt(1.0 - keep**2) * rng.normal(size=tau.shape)
    for i in range(1, len(slow)):
        slow[i] += keep * slow[i - 1]
    return q, v, a, tau + size * tau.std(axis=0) * slow


@pytest.mark.parametrize("seed", range(8))
def test_slow_noise_is_no_fault(seed: int) -> None:
    """Four percent of every torque wander, which some slow column explains by chance."""
    found = explained(samples_of(seed, fault=_drifting, size=0.04))
    assert [one.kind.code for one in found.believed] == []


def _rippled(time, q, v, a, tau, size):
    tau = tau.copy()
    tau[:, 1] += size * tau[:, 1].std() * np.sin(41.3 * q[:, 1] + 0.4)
    return q, v, a, tau


def test_the_ripple_of_a_gear_is_no_fault() -> None:
    """It is admitted with its size, and nothing is told."""
    for seed in (0, 1):
        found = explained(samples_of(seed, fault=_rippled, size=0.05))
        ripples = [one for one in found.friction if one.kind.code == "torque-ripple"]
        ripple = max(ripples, key=lambda one: one.worth)
        assert ripple.candidate.joints == (ARM.joint_names[1],)
        scale = samples_of(seed, noise=0.0).tau[:, 1].std()
        assert ripple.size == pytest.approx(0.05 * scale, rel=0.2)
        assert found.believed == ()


def _cross(time, q, v, a, tau, size):
    tau = tau.copy()
    tau[:, 1] += size * tau[:, 2]
    return q, v, a, tau


def _saturated(time, q, v, a, tau, size):
    most = np.abs(tau[:, 1]).max() / size
    tau = tau.copy()
    tau[:, 1] = most * np.tanh(tau[:, 1] / most)
    return q, v, a, tau


def _eccentric(time, q, v, a, tau, size):
    e = np.radians(size) * np.sin(q[:, 1])
    d = np.radians(size) * np.cos(q[:, 1])
    q, v, a = q.copy(), v.copy(), a.copy()
    old = v[:, 1].copy()
    q[:, 1] += e
    a[:, 1] += d * a[:, 1] - e * old**2
    v[:, 1] += d * old
    return q, v, a, tau


def _sprung(time, q, v, a, tau, size):
    tau = tau.copy()
    tau[:, 3] += size * tau[:, 3].std() * q[:, 3] / q[:, 3].std()
    return q, v, a, tau


def _coupled(time, q, v, a, tau, size):
    tau = tau.copy()
    tau[:, 4] += size * tau[:, 4].std() * (np.sign(v[:, 5]) + 0.5 * v[:, 5])
    return q, v, a, tau


def _driven_with_a_neighbour(time, q, v, a, tau, size):
    rubbing = np.sign(v[:, 5]), v[:, 5]
    own = np.linalg.lstsq(np.column_stack(rubbing), tau[:, 5], rcond=None)[0]
    tau = tau.copy()
    tau[:, 4] -= size * (tau[:, 5] - own[0] * rubbing[0] - own[1] * rubbing[1])
    tau[:, 5] += size * own[1] * v[:, 4]
    return q, v, a, tau


def _polled(time, q, v, a, tau, size):
    late = [np.interp(time - size * k, time, one) for k, one in enumerate(tau.T)]
    return q, v, a, np.column_stack(late)


def _loaded(time, q, v, a, tau, size):
    tau = tau.copy()
    tau[:, 1] += size * np.sign(v[:, 1]) * np.abs(tau[:, 1])
    return q, v, a, tau


FAULTS = {
    "cross-talk": (_cross, 0.08),
    "torque-saturation": (_saturated, 1.5),
    "encoder-error": (_eccentric, 3.0),
    "spring": (_sprung, 0.3),
    "coupled-joints": (_coupled, 0.2),
    "coupled-joints of a drive": (_driven_with_a_neighbour, 0.3),
    "polled-joints": (_polled, 0.004),
}


@pytest.mark.parametrize("code", FAULTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_fault_is_found_first(code: str, seed: int) -> None:
    """Alone, or among at most three that cannot be told apart."""
    fault, size = FAULTS[code]
    found = explained(samples_of(seed, fault=fault, size=size))
    assert found.believed
    first = found.believed[0]
    codes = {first.kind.code, *(one.kind.code for one in first.rivals)}
    assert code.split()[0] in codes
    assert len(codes) <= 3


def test_a_law_of_friction_is_no_fault() -> None:
    """Friction that grows with the load is admitted, and nothing is told."""
    found = explained(samples_of(0, fault=_loaded, size=0.15))
    laws = {(one.kind.code, one.candidate.joints) for one in found.friction}
    assert ("load-friction", (ARM.joint_names[1],)) in laws
    assert found.believed == ()


@pytest.mark.parametrize("seed", range(4))
def test_another_length_of_a_link_is_found_in_the_file(seed: int) -> None:
    """The third joint is four centimetres elsewhere on the robot."""
    joint = ARM.joint_names[3]
    rng = np.random.default_rng([seed, 5])
    shift = rng.normal(size=3)
    shift *= 0.04 / np.linalg.norm(shift)
    s = samples_of(seed)
    file = of_robots.displaced(ARM, joint, -shift, np.zeros(3))
    found = explained(replace(s, model=plain_model(file)))
    assert found.believed
    first = found.believed[0]
    codes = [first.kind.code, *(one.kind.code for one in first.rivals)]
    assert "link-length" in codes
    assert found.scene.fit.mean_error < 1.2 * fit_of(moments(s)).mean_error


def test_admitting_a_column_and_taking_it_back_is_the_fit_as_it_was(scene: Scene) -> None:
    """To the last digits."""
    one = candidates_of(scene, of_positions.KINDS[:1])[0]
    there = with_admitted(scene, [one])
    assert there.W.shape[2] == scene.W.shape[2] + 1
    back = with_admitted(there, [])
    assert back.fit.score == pytest.approx(scene.fit.score, rel=1e-12)


def test_sizes_have_the_sign_of_the_fault() -> None:
    """Torques that are late have a positive delay, gains above one are above one."""
    time = np.arange(N) / RATE_HZ
    s = samples_of(2)
    late = np.column_stack([np.interp(time - 0.02, time, one) for one in s.tau.T])
    (delay,) = [
        one
        for one in weighed(
            scene_of(replace(s, tau=late)), candidates_of(scene_of(s), of_torques.KINDS[:1])
        )
        if one.candidate.joints == ()
    ]
    assert 0.01 < delay.size < 0.03


def test_a_late_motion_is_mended_with_its_friction() -> None:
    """Position, speed, acceleration and the sign of friction are those of the same moment again."""
    right = samples_of(1)
    when = np.clip(right.time - 0.03, 0.0, None)

    def late(table: np.ndarray) -> np.ndarray:
        out = table.copy()
        out[:, 2] = np.interp(when, right.time, table[:, 2])
        return out

    smooth = replace(right, jump=np.tanh(right.v), slower=(np.tanh(0.5 * right.v),))
    names = ("q", "v", "a", "jump")
    logged = replace(smooth, **{name: late(getattr(smooth, name)) for name in names})
    logged = replace(logged, slower=tuple(late(one) for one in smooth.slower))
    mended = of_positions.late_position_mended(logged, (2,), np.array([0.03]))
    inner = slice(10, -10)
    for name in names:
        given, wanted = getattr(mended, name)[inner], getattr(smooth, name)[inner]
        np.testing.assert_allclose(given, wanted, atol=5e-3 * np.abs(wanted).max())
    np.testing.assert_allclose(mended.slower[0][inner], smooth.slower[0][inner], atol=5e-3)


def delay_of(joints: tuple[str, ...], half: float, rivals: tuple[str, ...] = ()) -> Suspect:
    """A delay of 10 ms that is the same in all parts of the log."""
    interval = 0.01 - half, 0.01 + half
    error = 0.05, 0.01
    kind = KINDS["delay"]
    parts = (0.01,) * 4
    return Suspect(kind, joints, 0.01, "s", 100.0, error, interval, by_part=parts, rivals=rivals)


def test_delays_are_corrected_together_or_not_at_all() -> None:
    """One that is not sure, or that something else explains as well, keeps all from it."""
    names = ("a", "b", "c")
    sure, other = delay_of(("a",), 1e-4), delay_of(("b",), 1e-4)
    assert correction_of([sure, other], names) == {"a": 0.01, "b": 0.01}
    assert correction_of([sure, delay_of(("b",), 5e-3)], names) is None
    assert correction_of([sure, delay_of(("b",), 1e-4, ("position-late",))], names) is None
    assert correction_of([delay_of((), 1e-4)], names) == 0.01
    assert correction_of([replace(sure, error=(0.05, 0.045))], names) is None
    assert correction_of([], names) is None


def test_polled_joints_are_corrected_by_their_number() -> None:
    """Each joint is later than the one before it."""
    polled = replace(delay_of((), 1e-4), kind=KINDS["polled-joints"])
    assert correction_of([polled], ("a", "b", "c")) == {"b": 0.01, "c": 0.02}
