"""The closest-to-CAD table of docs/standard-parameters.md, on the recorded Stäubli TX-40.

    STEELYARD_DATASETS=FOLDER python benchmarks/run.py tx40-cad

Distances |theta - prior| / |prior| of Gautier and Venture's (2013) Table II for several priors, and
how many of six inertias are positive definite (their Table III). Priors: the inertials of the URDF,
and drive terms from a first fit where they are identifiable alone; either alone, as

    steelyard identify tx40.urdf log.csv --overlay tx40.toml --method cad --columns independent

has it, or with the drive inertias that the data set states beside it (--prior FILE).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from contender import say
from goals import Goal

HERE = Path(__file__).resolve().parent
TOLERANCES = (0.0, -0.01, -0.02, -0.04)
NAME = "tx40-cad"
DESCRIPTION = "standard parameters closest to CAD values, on the recorded TX-40: distances, counts"
GOALS = (
    Goal("file_independent_ratio", ">=", 2.0),
    Goal("drive_independent_ratio", ">=", 3.0),
)


def measure() -> dict[str, float | None]:
    """Distances and counts; null without the recordings."""
    sys.path.insert(0, str(HERE.parent / "tests" / "helpers"))
    from recorded import tx40_log, tx40_overlay, tx40_prior, tx40_processing, tx40_robot

    from steelyard.estimators.cad import (
        drive_terms_from_fit,
        estimate_cad,
        estimate_cad_essential,
        relative_distance,
    )
    from steelyard.estimators.physical_counts import consistency_of
    from steelyard.identification.identify import identify

    if "STEELYARD_DATASETS" not in os.environ:
        say("STEELYARD_DATASETS names no folder with the recordings")
        return {goal.figure: None for goal in GOALS}
    found = identify(
        tx40_robot(),
        [tx40_log()],
        overlay=tx40_overlay(),
        method="wls",
        processing=tx40_processing(),
    )
    model, regression = found.model, found.regression
    priors = {
        "file": drive_terms_from_fit(model, regression, model.prior_theta()),
        "drive": drive_terms_from_fit(model, regression, tx40_prior(model, offsets=False)),
        "authors": tx40_prior(model, offsets=True),
    }
    figures: dict[str, float | None] = {}
    for name, prior in priors.items():
        for columns in ("independent", "all"):
            base = estimate_cad(model, regression, prior, columns=columns)
            essential, path = estimate_cad_essential(model, regression, prior, columns=columns)
            whole, part = (
                relative_distance(one.standard.theta, prior)  # type: ignore[union-attr]
                for one in (base, essential)
            )
            key = f"{name}_{columns}"
            figures |= {f"{key}_base": whole, f"{key}_essential": part}
            figures[f"{key}_ratio"] = whole / part
            say(f"{key:24} {whole:.4f} {part:.4f} {whole / part:.1f}")
            if columns == "all":
                continue
            figures["essential"] = float(len(path.essential))
            for what, theta in (
                ("prior", prior),
                ("base", base.standard.theta),  # type: ignore[union-attr]
                ("essential", essential.standard.theta),  # type: ignore[union-attr]
            ):
                report = consistency_of(model, np.asarray(theta))
                say(f"    {what:10} {report.counts} exact {report.n_physical}")
                for tolerance, count in zip(TOLERANCES, report.counts, strict=True):
                    figures[f"{key}_{what}_definite_{tolerance:g}"] = float(count)
                figures[f"{key}_{what}_exact"] = float(report.n_physical)
    return figures
