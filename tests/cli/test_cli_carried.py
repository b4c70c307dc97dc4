"""steelyard simulate with a payload and a force/torque sensor."""

from __future__ import annotations

import json

import numpy as np
import pytest
from weighed_payload import weighed, without_inertia

from steelyard.cli import main
from steelyard.logs.reading import read_log
from steelyard.payload.payload_file import payload_text
from steelyard.robot.inertia import from_com
from steelyard.simulation.builtin_arm import arm_urdf
from steelyard.simulation.carried_payload import box_inertia

BASE = "simulate arm.urdf -o log.csv --duration-s 0.2 --rate-hz 100 --controller ideal"
BODY = "--payload 2 --payload-link tool --payload-com 0.01 0.02 0.05"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with the built-in arm and a payload file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(arm_urdf(), encoding="utf-8")
    text = payload_text(weighed(frame="tool"))
    (tmp_path / "payload.json").write_text(text, encoding="utf-8")
    return tmp_path


def document(capsys, words: str) -> dict:
    """The JSON object of a command that succeeds."""
    assert main([*words.split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_payload_by_mass_or_by_file(capsys):
    """Torques change, the robot's own parameters do not; the file gives link and body."""
    plain = document(capsys, BASE)
    empty = read_log("log.csv").signal("shoulder_pitch", "torque")
    found = document(capsys, f"{BASE} {BODY}")
    assert found["parameters"] == plain["parameters"]
    want = from_com(2.0, [0.01, 0.02, 0.05], box_inertia(2.0))
    assert found["payload"] == {"link": "tool", "inertial_parameters": want.tolist()}
    assert np.abs(read_log("log.csv").signal("shoulder_pitch", "torque") - empty).max() > 1.0
    found = document(capsys, f"{BASE} --payload payload.json")
    assert found["payload"]["inertial_parameters"] == weighed().phi.tolist()
    assert plain["payload"] is None


@pytest.mark.parametrize(
    ("stated", "inertia"),
    [
        ("--payload-size 0.1 0.2 0.3", np.diag([0.13, 0.10, 0.05]) * 2.0 / 12.0),
        ("--payload-inertia 0 0 0 0 0 0", np.zeros((3, 3))),
        ("--payload-inertia 0.003 0 0 0.004 0 0.002", np.diag([0.003, 0.004, 0.002])),
    ],
)
def test_the_size_of_a_payload_can_be_stated(stated, inertia, capsys):
    """By the edges of a box, or by its inertia; zeros are a point mass."""
    found = document(capsys, f"{BASE} {BODY} {stated}")["payload"]["inertial_parameters"]
    assert found == pytest.approx(from_com(2.0, [0.01, 0.02, 0.05], inertia).tolist())


def test_a_payload_that_is_not_all_known_is_named(capsys, folder):
    """A note says that the rest is one body that fits; a known payload has none."""
    assert main(f"{BASE} --payload payload.json".split()) == 0
    assert "note: the data behind" not in capsys.readouterr().out
    text = payload_text(without_inertia(weighed(frame="tool")))
    (folder / "payload.json").write_text(text, encoding="utf-8")
    assert main(f"{BASE} --payload payload.json".split()) == 0
    assert "do not determine all of the payload" in capsys.readouterr().out
    assert main(f"{BASE} {BODY}".split()) == 0
    assert "note: the data behind" not in capsys.readouterr().out


def test_the_sensor_is_logged_with_its_bias(capsys):
    """Six columns; a bias adds to them, and the noise of the joints stays as it was."""
    main(f"{BASE} {BODY} --sensor tool --torque-noise 0.1".split())
    assert "and the wrench at tool" in capsys.readouterr().out
    first = read_log("log.csv")
    assert first.frames == ("tool",)
    assert first.frame_signal("tool", "force").shape == (21, 3)
    main(f"{BASE} {BODY} --sensor tool --torque-noise 0.1 --sensor-bias 1 2 3 4 5 6".split())
    second = read_log("log.csv")
    change = second.frame_signal("tool", "torque") - first.frame_signal("tool", "torque")
    assert change == pytest.approx(np.tile([4.0, 5.0, 6.0], (21, 1)))
    for joint in first.joints:
        assert first.signal(joint, "torque").tolist() == second.signal(joint, "torque").tolist()


def test_noise_has_the_stated_size_and_is_not_that_of_the_joints():
    """Forces and torques of a sensor with noise; the same draws are not used for joints."""
    more = "--duration-s 10 --torque-noise 1 --sensor tool"
    main(f"{BASE} {BODY} {more}".split())
    exact = read_log("log.csv")
    main(f"{BASE} {BODY} {more} --sensor-noise 0.5 0.02".split())
    noisy = read_log("log.csv")
    for quantity, size in (("force", 0.5), ("torque", 0.02)):
        noise = noisy.frame_signal("tool", quantity) - exact.frame_signal("tool", quantity)
        assert noise.std() == pytest.approx(size, rel=0.1)
    main(f"{BASE} {BODY} --duration-s 10".split())
    quiet = read_log("log.csv")
    force = noisy.frame_signal("tool", "force") - exact.frame_signal("tool", "force")
    others = [exact.signal(one, "torque") - quiet.signal(one, "torque") for one in exact.joints[:3]]
    assert np.abs(force[0] / 0.5 - [other[0] for other in others]).min() > 1e-6


@pytest.mark.parametrize("stated", ["", "--payload 0", "--payload empty.json"])
def test_an_empty_gripper_shows_the_bias_of_its_sensor(stated, capsys, folder):
    """Without a payload, or with one without mass: the bias alone, and the torques of the arm."""
    text = payload_text(weighed(np.zeros(10), frame="tool"))
    (folder / "empty.json").write_text(text, encoding="utf-8")
    document(capsys, BASE)
    plain = read_log("log.csv")
    found = document(capsys, f"{BASE} {stated} --sensor tool --sensor-bias 1 2 3 4 5 6")
    log = read_log("log.csv")
    assert found["payload"] is None
    assert found["sensor"] == "tool"
    assert log.frame_signal("tool", "force").tolist() == 21 * [[1.0, 2.0, 3.0]]
    assert log.frame_signal("tool", "torque").tolist() == 21 * [[4.0, 5.0, 6.0]]
    for joint in plain.joints:
        assert plain.signal(joint, "torque").tolist() == log.signal(joint, "torque").tolist()


def test_a_file_of_an_impossible_mass_is_refused_for_its_mass(capsys, folder):
    """1e200 kg: the message names the mass, and nothing else."""
    content = json.loads(payload_text(weighed(frame="tool")))
    content["inertial_parameters"] = [1e200 * x for x in content["inertial_parameters"]]
    (folder / "payload.json").write_text(json.dumps(content), encoding="utf-8")
    assert main(f"{BASE} --payload payload.json".split()) == 2
    assert "state a mass of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--payload 2", "give --payload-link"),
        ("--payload-com 0 0 1", "but no --payload"),
        ("--payload-size 1 1 1", "but no --payload"),
        ("--payload 2 --payload-link tool --payload-size 0 1 1", "three lengths above 0"),
        (f"{BODY} --payload-size 1 1 1 --payload-inertia 1 0 0 1 0 1", "give one"),
        ("--payload-link tool", "but no --payload"),
        ("--sensor nowhere", "nowhere"),
        ("--payload 0 --sensor nowhere", "nowhere"),
        ("--payload 0 --payload-link tool --payload-inertia 1 0 0 1 0 1", "must be positive"),
        ("--payload payload.json --payload-com 0 0 1", "is a file, which states it"),
        ("--payload absent.json", "absent.json"),
        ("--payload arm.urdf", "is not JSON"),
        ("--payload -1 --payload-link tool", "must be positive"),
        ("--payload nan --payload-link tool", "must be positive"),
        ("--payload inf --payload-link tool", "at most 1e+09 kg"),
        ("--payload 1e308 --payload-link tool", "at most 1e+09 kg"),
        ("--payload 2 --payload-link nowhere", "nowhere"),
        ("--payload 2 --payload-link base", "does not move"),
        ("--payload 2 --sensor nowhere", "nowhere"),
        ("--payload 2 --payload-link tool --sensor upper_arm", "joint that moves between"),
        (f"{BODY} --sensor tool --sensor-noise -1 0", "force_noise is -1"),
    ],
)
def test_bad_input_is_named(words, says, capsys, folder):
    """One line, exit code 2, and no log."""
    assert main(f"{BASE} {words}".split()) == 2
    assert says in capsys.readouterr().err
    assert not (folder / "log.csv").exists()
