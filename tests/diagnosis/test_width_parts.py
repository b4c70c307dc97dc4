"""Parts of a log for several widths of friction in one pass are those of a pass for each."""

from __future__ import annotations

import numpy as np
import pytest
from small_arm import URDF, arm_log

from steelyard.diagnosis.friction_width import SHARES
from steelyard.diagnosis.signal_ways import Way, Ways
from steelyard.model.model import Model
from steelyard.model.terms import coupled_terms, default_terms
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing

ARM = Robot.from_urdf_text(URDF)
COUPLED = coupled_terms("wrist", {"shoulder": 1.0, "elbow": -0.5}, ["coulomb"])


@pytest.mark.parametrize("terms", [(), COUPLED], ids=["joints", "coupled"])
@pytest.mark.parametrize("torque_filter", ["same", "none"])
@pytest.mark.parametrize("dead_band", [False, True])
def test_parts_of_all_shares_are_those_of_each(terms, torque_filter, dead_band):
    """Gram matrices of every part and channel, counts and columns, also where two Coulomb terms
    act on one row.
    """
    model = Model(ARM, (*default_terms(ARM), *terms))
    log = arm_log(ARM, 1, name="run")
    speeds = {term.owner: 0.7 for term in model.jumping_terms}
    way = Way(12.0, torque_filter, 0.0, dead_band=dead_band)
    alone, together = (Ways(model, log, Processing(), (8.0, 40.0), speeds) for _ in range(2))
    together.find_shares(way, SHARES)
    assert len(together.found) == len(SHARES) * (1 if way == Way(12.0, "none", 0.0) else 2)
    for one, found in together.found.items():
        expected = alone.parts(one)
        assert found.columns == expected.columns
        assert np.array_equal(found.counts, expected.counts)
        pairs = [(found.whole, expected.whole)]
        pairs += zip(found.channels, expected.channels, strict=True)
        for ours, theirs in pairs:
            gram, other = (np.swapaxes(R, 1, 2) @ R for R in (ours, theirs))
            assert np.allclose(gram, other, rtol=0.0, atol=1e-11 * np.abs(other).max())
