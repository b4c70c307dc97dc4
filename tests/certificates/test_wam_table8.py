"""Table 8 of Sousa and Cortesão (2014) on a synthetic twin of their recordings."""

from __future__ import annotations

import importlib
import shutil

import numpy as np
import pytest
from project import ROOT

from steelyard.errors import LogError
from steelyard.logs.reading import read_log


@pytest.fixture(scope="module")
def table8(tmp_path_factory):
    """The benchmark's module, and a folder with four short recordings of its twin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        module = importlib.import_module("wam_table8")
        yield module, module.twin(tmp_path_factory.mktemp("twin"), seconds=24.0, rate_hz=200.0)


def test_recordings_are_read_as_their_authors_describe_them(table8, tmp_path):
    """Time, positions and torques of joints 1 to 7, as NumPy reads the columns; the same file under
    another name is refused, since nothing tells what its columns are.
    """
    _, folder = table8
    path = folder / "rbtlog_traj1.dat"
    table, log = np.loadtxt(path), read_log(path)
    np.testing.assert_array_equal(log.time, table[:, 0])
    for k in range(1, 8):
        np.testing.assert_array_equal(log.signals[f"#{k}", "position"], table[:, k])
        np.testing.assert_array_equal(log.signals[f"#{k}", "torque"], table[:, 7 + k])
    shutil.copy(path, tmp_path / "traj1.dat")
    with pytest.raises(LogError, match="has no header line"):
        read_log(tmp_path / "traj1.dat")
    np.savetxt(tmp_path / "rbtlog_even.dat", table[:, :14])
    with pytest.raises(LogError, match="has no header line"):
        read_log(tmp_path / "rbtlog_even.dat")


def test_the_table_of_the_twin(table8):
    """Four solutions on four recordings: errors are those of NumPy's residuals, least squares fits
    best, and the feasible solutions predict the other recordings better, as in the paper.
    """
    module, folder = table8
    figures = module.table(folder)
    assert figures["order_holds"] == 1.0
    assert 0.0 <= figures["identification_boxed_above_ols"] < 0.1
    for row in module.ROWS[1:]:
        assert figures[f"{row}_boxed"] < figures[f"{row}_ols"]
    model = module.wam()
    runs = [module.compressed(model, folder / name) for name in module.FILES[:2]]
    R, z = (runs[0].system(np.ones(7))[:, at] for at in (slice(None, -1), -1))
    beta = np.linalg.lstsq(R, z, rcond=None)[0]
    for row, run in zip(module.ROWS, runs, strict=False):
        R, z = (run.system(np.ones(7))[:, at] for at in (slice(None, -1), -1))
        error = 100.0 * np.linalg.norm(z - R @ beta) / np.linalg.norm(z)
        assert figures[f"{row}_ols"] == pytest.approx(error, rel=1e-6)


def test_the_twin_is_controlled_with_the_gains_of_table_4(table8):
    """Kd is 2 sqrt(Kp) to the printed digits, and the joints follow the plan of Table 5."""
    module, folder = table8
    np.testing.assert_allclose(module.KD, 2.0 * np.sqrt(module.KP), rtol=2e-3)
    log = read_log(folder / "rbtlog_traj1.dat")
    l = np.arange(1, 6) * module.OMEGA  # noqa: E741
    phase = np.outer(log.time, l)
    for k, largest in ((0, 0.2), (4, 0.2)):
        plan = np.sin(phase) @ (module.A[k] / l) - np.cos(phase) @ (module.B[k] / l) + module.Q0[k]
        assert np.abs(log.signals[f"#{k + 1}", "position"] - plan).max() < largest
