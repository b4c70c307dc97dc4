"""The plain command on the recordings of the benchmark ``real``: all options left open.

Its errors are measured at a cutoff and a dead band that are frozen here, those that version 0.1.0
chose for the row: filters differ between versions, and errors compare only at equal ones. The error
with unfiltered torque is on the motion as the plain command itself processes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from real_rows import Row

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Frozen:
    """How a row is scored, and what version 0.1.0 had on it.

    cutoff_hz : of the torque. bands : dead bands (rad/s) by joint or coupling.
    before : its errors (percent) outside the dead band, on all samples, and on all samples with
        unfiltered torque.
    """

    cutoff_hz: float
    bands: dict[str, float]
    before: tuple[float, float, float]


def _numbered(name: str, first: int, *bands: float) -> dict[str, float]:
    return {name.format(k): band for k, band in enumerate(bands, first)}


_KUKA = _numbered("lwr_{}_joint", 0, 0.0698, 0.0401, 0.1196, 0.0698, 0.0803, 0.1296, 0.0897)


def _ur10(*bands: float) -> dict[str, float]:
    names = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
    return {f"{name}_joint": band for name, band in zip(names, bands, strict=True)}


FROZEN = {
    "kuka_run3": Frozen(4.4555, _KUKA, (3.66, 3.77, 3.77)),
    "kuka_run3_unstated": Frozen(4.4555, _KUKA, (4.66, 4.70, 4.70)),
    "ur10_first": Frozen(
        5.445,
        _ur10(0.0516, 0.0396, 0.0959, 0.0968, 0.0537, 0.0906),
        (5.19, 7.35, 7.35),
    ),
    "ur10_last": Frozen(
        4.3197,
        _ur10(0.0472, 0.0231, 0.1112, 0.1126, 0.0623, 0.1229),
        (6.57, 8.94, 8.97),
    ),
    "kinova_testing2": Frozen(
        2.8615,
        _numbered("joint_{}", 1, 0.1166, 0.0831, 0.1162, 0.1045, 0.0573, 0.0371, 0.0844),
        (29.88, 31.36, 56.49),
    ),
    "tx40_second_half": Frozen(
        27.7095,
        {**_numbered("joint_{}", 1, 0.2314, 0.2099, 0.163, 0.295, 0.1721, 0.3457),
         "motor_6": 0.2556},
        (5.85, 19.64, 23.84),
    ),
}  # fmt: skip


def measured_plainly(row: Row) -> Figures:
    """NAME_plain, NAME_plain_all and NAME_plain_unfiltered, in percent, and the same before."""
    from steelyard.identification.identify import identify
    from steelyard.signals.prepare import prepare
    from steelyard.signals.processing import Processing
    from steelyard.validation.scores import predict_base

    name, frozen = row.figure, FROZEN[row.figure]
    train, test = row.logs()
    robot = row.model().robot
    found = identify(
        robot,
        train,
        overlay=row.overlay(),
        torque=row.torque,
        n_resamples=0,
        ranges=False,
        compare_terms=False,
        certify=False,
    )
    model, estimate = found.model, found.estimate
    assert found.signals is not None
    scored = prepare(
        test,
        model,
        Processing(
            cutoff_hz=frozen.cutoff_hz,
            torque_filter="same",
            dead_band=frozen.bands,
            friction_smear=found.signals.processing.friction_smear,
            still_joints="keep",
        ),
    )
    own = prepare(
        test,
        model,
        replace(found.signals.processing, torque_filter="none", still_joints="keep"),
    )
    errors = []
    for motion, tau in (
        (scored.motion, scored.measurements.tau),
        (scored.motion, scored.all_measurements.tau),
        (own.motion, own.unfiltered.tau),
    ):
        predicted = predict_base(model, estimate.base, estimate.beta, motion)
        used = np.isfinite(tau)
        errors.append(
            float(100.0 * np.linalg.norm((predicted - tau)[used]) / np.linalg.norm(tau[used]))
        )
    outside, everywhere, unfiltered = errors
    return {
        f"{name}_plain": outside,
        f"{name}_plain_all": everywhere,
        f"{name}_plain_unfiltered": unfiltered,
        f"{name}_plain_before": frozen.before[0],
        f"{name}_plain_all_before": frozen.before[1],
        f"{name}_plain_unfiltered_before": frozen.before[2],
        f"{name}_plain_over_before": unfiltered / frozen.before[2],
    }


CONSTANTS = (
    ("entropic", "SPREAD", (0.2, 0.45)),
    ("prior_weight", "DOUBT", (0.02, 0.2)),
    ("entropic", "TERM_WEIGHT", (1.0, 10.0)),
)
"""Constants of the rules for the prior, by module, and other values for them."""


def range_over_constants(row: Row) -> Figures:
    """NAME_plain_least and NAME_plain_most: with one constant of the rules changed at a time."""
    from importlib import import_module

    found = []
    for module, constant, values in CONSTANTS:
        rules = import_module(f"steelyard.estimators.{module}")
        usual = getattr(rules, constant)
        for value in values:
            setattr(rules, constant, value)
            try:
                found.append(measured_plainly(row)[f"{row.figure}_plain"])
            finally:
                setattr(rules, constant, usual)
    known = [error for error in found if error is not None]
    return {f"{row.figure}_plain_least": min(known), f"{row.figure}_plain_most": max(known)}
