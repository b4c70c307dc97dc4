"""What is wrong with the links of a file, and the file that a log is compared with."""

from __future__ import annotations

import numpy as np
from small_arm import URDF

from steelyard.robot.inertia import from_com
from steelyard.robot.physical_links import check_links, negative_masses, without_negative_masses
from steelyard.robot.robot import Robot

ARM = Robot.from_urdf_text(URDF)
BROKEN = Robot.from_urdf_text(URDF.replace('mass value="1.5"', 'mass value="-1.5"'))


def test_a_negative_mass_is_named_with_its_link():
    """With its kilograms and where to look; a right file has nothing of the kind."""
    assert negative_masses(ARM) == ()
    (finding,) = negative_masses(BROKEN)
    assert finding.level == "warning"
    assert "'fore' (-1.5 kg)" in finding.words
    assert "'steelyard check'" in finding.words


def test_without_the_sign_it_is_the_file_that_was_meant():
    """Mass, centre of mass and inertia as stated; links that are right are left alone."""
    assert without_negative_masses(ARM) is ARM
    mended = without_negative_masses(BROKEN)
    for name in ("upper", "fore"):
        np.testing.assert_allclose(mended.link(name).inertial, ARM.link(name).inertial, atol=1e-12)
    assert mended.link("upper") is BROKEN.link("upper")
    assert {one.verdict for one in check_links(mended)} == {"no inertial", "physical"}
    np.testing.assert_allclose(
        mended.link("fore").inertial,
        from_com(1.5, [0.1, 0.02, 0.03], ARM.link("fore").inertia_com),
        atol=1e-12,
    )
