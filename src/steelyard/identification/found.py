"""The result of an identification, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.certificates.certificate import Certificate
from steelyard.conic.blas_threads import one_blas_thread
from steelyard.diagnosis.admitted_terms import Admission
from steelyard.diagnosis.hypotheses.stepwise import Missing
from steelyard.diagnosis.signal_ways import SignalChoice
from steelyard.diagnosis.verdict.judge import CheckedInput, judge
from steelyard.diagnosis.verdict.verdict import Verdict
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Estimate
from steelyard.export.formats import AttachedChoice
from steelyard.findings import Finding
from steelyard.identification._notebook import html_tables
from steelyard.identification._overview import overview
from steelyard.identification._plot_file import plotted
from steelyard.identification._prediction import predicted, prepared_log
from steelyard.identification._summary import summary
from steelyard.identification.outputs import write_outputs
from steelyard.identification.robot_file import write_robot_file
from steelyard.logs.any_log import LogLike
from steelyard.model.model import Model
from steelyard.regression.regression import Regression
from steelyard.report.content import Reference
from steelyard.signals.motion import Motion
from steelyard.signals.prepare import Prepared
from steelyard.validation.held_out import HeldOut

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Identification:
    """The result of :func:`steelyard.identify`.

    estimate : parameters with intervals, and all findings; its ``runs`` say how each log was
        processed.
    regression : the compressed data, for another estimator or for merging with more runs.
    fit : the constrained fit of the estimate; None for methods without constraints.
    validation : errors on the held-out logs; None if there were none.
    certificate : proof that the estimate meets its constraints; None for methods without
        constraints, and if nothing could be proven, which a finding reports.
    signals : the filters and friction widths that were chosen, and how.
    admission : the terms besides the stated ones that the first log asked for.
    first_run : the first run that was used, for the report; None if it was not kept.
    level : of the intervals in the files that :func:`steelyard.write_outputs` writes.
    missing : what explains the first log besides the model, or would: hypotheses, each with its
        share of what is left unexplained.
    checked : what is known of the logs that were used, for the verdict.
    """

    model: Model
    estimate: Estimate
    regression: Regression
    fit: ConstrainedFit | None = None
    validation: HeldOut | None = None
    certificate: Certificate | None = None
    signals: SignalChoice | None = None
    admission: Admission | None = None
    first_run: Prepared | None = None
    level: float = 0.95
    checked: CheckedInput | None = None
    missing: tuple[Missing, ...] = ()

    def __repr__(self) -> str:
        return overview(self)

    def _repr_html_(self) -> str:
        """Tables of links and joints, for a notebook."""
        return html_tables(self)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings and notes about logs, estimate, validation and certificate."""
        return self.estimate.findings

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the result can be used: usable, usable with care, or do not use, and why."""
        with one_blas_thread():  # matrices are small
            return judge(self.model, self.estimate, self.regression, self.validation, self.checked)

    def summary(self) -> str:
        """Links and joints with their intervals, errors of each joint and findings, as text."""
        return summary(self)

    def save(
        self,
        folder: str | Path,
        *,
        reference: Reference | None = None,
        attached: AttachedChoice | None = None,
        write_anyway: bool = False,
    ) -> dict[str, Path]:
        """Write the robot file, report, result, tables and certificate; returns paths by kind.

        write_anyway : whether to write the robot file even if the verdict is not to use it.
        See :func:`steelyard.write_outputs`.
        """
        return write_outputs(
            self, folder, reference=reference, attached=attached, write_anyway=write_anyway
        )

    def to_urdf(
        self,
        path: str | Path,
        *,
        attached: AttachedChoice | None = None,
        write_anyway: bool = False,
    ) -> Path:
        """Write the robot as URDF: its own file with identified inertials, damping and friction.

        All other bytes are as they were. A robot from another format becomes a new file without
        shapes. Drive inertia and offsets are not part of a URDF: :meth:`save` writes them too.

        attached : what becomes of links behind fixed joints: "keep" leaves them as they are and
            gives the rest of the body to the moving link, "lump" gives all to the moving link and
            empties the others, "refuse" raises an error; by default as for the estimate. See
            :mod:`steelyard.model.attached_links`.

        write_anyway : whether also if the verdict is not to use the result.

        Raises an error, and writes nothing, for a result that is not to be used, for a link that
        would not be physical, for a robot file that has changed, and for the path of that file.
        """
        return write_robot_file(self, path, "urdf", attached=attached, write_anyway=write_anyway)

    def to_mjcf(
        self,
        path: str | Path,
        *,
        attached: AttachedChoice | None = None,
        write_anyway: bool = False,
    ) -> Path:
        """Write the robot as MJCF, with armature, damping and friction loss, as :meth:`to_urdf`."""
        return write_robot_file(self, path, "mjcf", attached=attached, write_anyway=write_anyway)

    def prepare(self, log: LogLike) -> Prepared:
        """A log (or path, or data frame) with its signals processed as those of the estimate."""
        return prepared_log(self, log)

    def predict(
        self,
        motion: Motion | Prepared | LogLike | ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
    ) -> Array:
        """Joint torques (n_samples, n_joints) in N m or N, columns as ``model.channels``.

        motion : positions (n_samples, n_joints) in rad or m, with velocities v and accelerations
            a; or a Motion; or a log, path or data frame, whose signals are processed as those of
            the estimate, so that the torques are at the times of ``found.prepare(log)``.
        """
        return predicted(self, motion, v, a)

    def plot(self, path: str | Path | None = None) -> Figure:
        """A figure: torques measured and predicted, errors, masses against the robot file.

        path : where to save it, as PNG, SVG or PDF by its ending.

        No window opens. A notebook shows the figure after ``%matplotlib inline``.
        """
        return plotted(self, path)
