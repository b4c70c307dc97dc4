"""Robot files beside a certificate: whose bodies they state."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from small_arm import URDF, write_arm

from steelyard.certificates.bound import Bound
from steelyard.certificates.document import ParsedCertificate
from steelyard.certificates.file_binding import bound_to_files
from steelyard.certificates.files import CertifiedFile
from steelyard.certificates.robot_binding import ClaimedRobot
from steelyard.model.model import Model

SAME = Bound(confirmed=('the bodies in "arm.urdf" are those of the certificate',))
OTHER = '"arm.urdf" has other parameters than the certificate: {}'
HEAVIER = URDF.replace('<mass value="1.5"/>', '<mass value="1.6"/>')


@pytest.fixture(scope="module")
def claimed(tmp_path_factory) -> ClaimedRobot:
    """The robot of the certificate."""
    return ClaimedRobot.read(write_arm(tmp_path_factory.mktemp("arm")))


def found(
    claimed: ClaimedRobot,
    folder: Path | None,
    not_estimated: Collection[str] | None,
    *,
    file_format: str = "urdf",
    theta: np.ndarray | None = None,
) -> Bound:
    """What is said about arm.urdf in this folder beside a certificate of the arm's own bodies."""
    model = Model(claimed.robot)
    values = model.prior_theta() if theta is None else theta
    exact = [Fraction(float(value)) for value in values]
    names = tuple(model.column_names)
    certificate = ParsedCertificate("feasible", names, (), None, {"theta": exact}, (), (), {})
    files = [CertifiedFile("arm.urdf", file_format, "0" * 64, 2)]
    return bound_to_files(files, folder, certificate, claimed, model, not_estimated)


@pytest.mark.parametrize("not_estimated", [None, (), ("fore.m",)])
def test_the_bodies_of_the_certificate(claimed, tmp_path, not_estimated):
    """A file of the same bodies is confirmed."""
    write_arm(tmp_path)
    assert found(claimed, tmp_path, not_estimated) == SAME


@pytest.mark.parametrize(
    ("not_estimated", "expected"),
    [
        (None, Bound(cautions=(OTHER.format('"fore"'),))),
        ((), Bound(problems=(OTHER.format('"fore"'),))),
        (("upper.m",), Bound(problems=(OTHER.format('"fore"'),))),
        (("forearm.m", "fore"), Bound(problems=(OTHER.format('"fore"'),))),
        (("fore.m",), SAME),
        (("upper.Ixx", "fore.Iyz"), SAME),
    ],
)
def test_other_bodies(claimed, tmp_path, not_estimated, expected):
    """A problem where a result says that the body was estimated, a caution where none says, and
    right where the file keeps what it stated.
    """
    write_arm(tmp_path, HEAVIER)
    assert found(claimed, tmp_path, not_estimated) == expected


def test_every_body_that_differs_is_named(claimed, tmp_path):
    """Of two, one may be as it was stated."""
    write_arm(tmp_path, HEAVIER.replace('<mass value="2.5"/>', '<mass value="2.4"/>'))
    assert found(claimed, tmp_path, ()).problems == (OTHER.format('"upper", "fore"'),)
    assert found(claimed, tmp_path, ("fore.m",)).problems == (OTHER.format('"upper"'),)


def test_what_is_not_there_or_cannot_be_read_is_not_compared(claimed, tmp_path):
    """No folder, no such file, another format."""
    assert found(claimed, tmp_path, ()) == Bound()
    assert found(claimed, None, ()) == Bound()
    write_arm(tmp_path, HEAVIER)
    assert found(claimed, tmp_path, (), file_format="sdf") == Bound()


def test_a_file_of_another_robot_is_a_problem(claimed, tmp_path):
    """Of other lengths, or no robot at all; the words say so."""
    write_arm(tmp_path, URDF.replace('xyz="0.3 0 0"', 'xyz="0.31 0 0"'))
    words = '"arm.urdf" is another robot: its joints or its geometry differ'
    assert found(claimed, tmp_path, None) == Bound(problems=(words,))
    write_arm(tmp_path, "<robot/>")
    (problem,) = found(claimed, tmp_path, ("fore.m",)).problems
    assert problem.startswith('"arm.urdf" is another robot: ')


@pytest.mark.parametrize("body", [0, 1])
@pytest.mark.parametrize("place", [0, 2, 4, 8])
def test_files_have_fewer_digits(claimed, tmp_path, body, place):
    """A body may differ by 1e-9 of its pseudo-inertia, as written digits do, not by more."""
    write_arm(tmp_path)
    model = Model(claimed.robot)
    theta, first = model.prior_theta(), model.first_column_of_body[body]
    size = np.hypot(theta[first], np.sqrt(2.0) * np.linalg.norm(theta[first + 1 : first + 4]))
    for share, same in ((0.5e-9, True), (2.5e-9, False)):
        other = theta.copy()
        other[first + place] += share * size
        assert (found(claimed, tmp_path, (), theta=other) == SAME) == same
