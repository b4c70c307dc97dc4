"""Whether a robot file that a certificate names holds the parameters that it certifies.

The file's hash and that its links are physical say nothing about whose parameters these are. They
are read, summed over the links of each body, and compared with theta. A file has about twelve
digits, and centres of mass and inertias instead of moments, so that this comparison has a
tolerance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from steelyard.certificates.bound import Bound, several
from steelyard.certificates.document import ParsedCertificate
from steelyard.certificates.files import CertifiedFile
from steelyard.certificates.robot_binding import ClaimedRobot
from steelyard.conic.exact_text import quoted
from steelyard.errors import SteelyardError
from steelyard.model.model import Model
from steelyard.robot.inertia import pseudo_inertia

AS_WRITTEN = 1e-9
"""Relative difference of a body's pseudo-inertia that the digits of a robot file may leave."""
READ = ("urdf", "mjcf")


def bound_to_files(
    files: Sequence[CertifiedFile],
    folder: Path | None,
    certificate: ParsedCertificate,
    claimed: ClaimedRobot,
    model: Model,
    not_estimated: Collection[str] | None,
) -> Bound:
    """Whether the files beside the certificate state the bodies of theta.

    not_estimated : names of the parameters of which the file keeps what it stated; None if no
        result says which these are, so that a difference is a caution.
    """
    found = Bound()
    theta = np.array([float(x) for x in certificate.vectors["theta"]])
    for one in files:
        path = None if folder is None else folder / one.name
        if path is None or not path.exists() or one.format not in READ:
            continue
        try:
            other = claimed.alike(path, model)
        except SteelyardError as failure:
            found += Bound(problems=(f"{quoted(one.name)} is another robot: {failure}",))
            continue
        different = [
            name
            for name in _different(model, theta, other.prior_theta())
            if not any(own.startswith(f"{name}.") for own in not_estimated or ())
        ]
        if not different:
            words = f"the bodies in {quoted(one.name)} are those of the certificate"
            found += Bound(confirmed=(words,))
            continue
        words = (
            f"{quoted(one.name)} has other parameters than the certificate: {several(different)}"
        )
        found += Bound(cautions=(words,)) if not_estimated is None else Bound(problems=(words,))
    return found


def _different(model: Model, theta: np.ndarray, other: np.ndarray) -> list[str]:
    """Names of the bodies whose parameters differ."""
    names = []
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        one, two = (pseudo_inertia(values[first : first + 10]) for values in (theta, other))
        if np.linalg.norm(one - two) > AS_WRITTEN * np.linalg.norm(one):
            names.append(body.name)
    return names
