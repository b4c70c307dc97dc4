"""Links of a URDF that are not physical as written, by another way than the library's."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from xml.etree import ElementTree


def exact_violators(data: bytes) -> set[str]:
    """Links that are not physical as written: tr(I)/2 1 - I has a negative principal minor."""
    found = set()
    for link in ElementTree.fromstring(data).findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        mass = Fraction(inertial.find("mass").attrib["value"].strip())
        entries = {k: Fraction(v.strip()) for k, v in inertial.find("inertia").attrib.items()}
        inertia = [[entries["i" + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"]
        half = sum(inertia[i][i] for i in range(3)) / 2
        S = [[half * (i == j) - inertia[i][j] for j in range(3)] for i in range(3)]
        minors = [S[i][i] for i in range(3)]
        minors += [S[i][i] * S[j][j] - S[i][j] ** 2 for i, j in combinations(range(3), 2)]
        minors.append(
            S[0][0] * (S[1][1] * S[2][2] - S[1][2] * S[2][1])
            - S[0][1] * (S[1][0] * S[2][2] - S[1][2] * S[2][0])
            + S[0][2] * (S[1][0] * S[2][1] - S[1][1] * S[2][0])
        )
        massless = mass == 0 and not any(entries.values())
        if not massless and (mass <= 0 or min(minors) < 0):
            found.add(link.attrib["name"])
    return found
