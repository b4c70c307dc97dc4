"""Constraints and a certificate

Masses, boxes and symmetry are stated by name. The estimate satisfies them exactly, with the digits
that are written, and a certificate proves it without trust in the solver.
"""

from steelyard import (
    Box,
    Constraints,
    Model,
    identify,
    multisine,
    simulate,
    verify,
    write_certificate,
)
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth

robot = builtin_arm()
model = Model(robot)
log = simulate(model, builtin_truth(model), multisine(robot), duration_s=20.0, rate_hz=100.0)

total = float(sum(model.prior_theta()[first] for first in model.first_column_of_body))
known = Constraints(
    total_mass=(0.8 * total, 1.2 * total),
    com={"hand": Box((-0.1, -0.1, -0.1), (0.1, 0.1, 0.2))},
    bounds={"coulomb": (0.0, 20.0)},
)
found = identify(robot, log, method="feasible", constraints=known, n_resamples=20, ranges=False)
print(found.estimate.method, f"{found.estimate.relative_error:.2%}")
if found.certificate is None:
    print(found.findings)
else:
    print(found.certificate.words)
    write_certificate("certificate.json", found.certificate.document)
    print("verified in integer arithmetic:", verify("certificate.json").valid)
