"""One proven gap: the fit's own, or the certificate's if that is smaller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from experiments import chain_experiment

from steelyard.certificates.certificate import prove
from steelyard.estimators.sequential.fit import fit_sequential, fit_sequential_paper
from steelyard.estimators.sequential.optimum_gap import OptimumGap, with_tighter_gap
from steelyard.findings import Finding
from steelyard.regression.compress import compress


@pytest.mark.parametrize("seed", range(3))
def test_the_finding_and_the_certificate_state_one_gap_of_one_objective(seed):
    """Whichever bound is smaller, of the same value, for the pass alone and as published."""
    experiment = chain_experiment(seed, 4, 600)
    model, rng = experiment.model, np.random.default_rng(seed)
    noise = 0.2 * np.std(experiment.tau, axis=0) * rng.normal(size=experiment.tau.shape)
    regression = compress(model, experiment.motion, experiment.measured(noise))
    published = fit_sequential_paper(model, regression)
    for found in (fit_sequential(model, regression, sweeps=0), published):
        own = found.optimum_gap
        certificate, _ = prove(model, regression, found.fit)
        assert certificate is not None
        # the certificate counts the residuals, the fit also its weak pull
        assert certificate.value == pytest.approx(own.value, rel=1e-2)
        told = with_tighter_gap(found.findings, own, certificate.gap)
        stated = own.tightened(certificate.gap)
        assert stated.gap == min(own.gap, certificate.gap)
        assert [one.code for one in told[:-1]] == [one.code for one in found.findings[:-1]]
        assert told[-1] == stated.finding()
        assert f"at most {stated.gap:.2g} (" in told[-1].words
    assert published.optimum_gap.deviations > 1.0


def test_more_than_a_standard_deviation_is_a_warning():
    """Also where the user chose the number of sweeps; an unknown gap always is."""
    near = OptimumGap(0.49, 100.0, 0, chosen=True)
    assert near.deviations == pytest.approx(0.99, abs=0.01)
    assert (near.finding().level, near.finding().code) == ("info", "sequential-gap")
    assert "0.49 (0.49 %, in units of the noise)" in near.finding().words
    far = replace(near, gap=2.0).finding()
    assert (far.level, far.code) == ("warning", "sequential-not-optimal")
    assert "leave out --sweeps" in far.words
    unknown = replace(near, gap=np.inf)
    assert unknown.finding().code == "sequential-gap-unknown"
    assert unknown.tightened(None) is unknown
    assert near.tightened(3.0) is near
    other = Finding("info", "else", "another")
    assert with_tighter_gap((other, unknown.finding()), unknown, 0.49) == (other, near.finding())
    assert with_tighter_gap((other,), None, 0.1) == (other,)
