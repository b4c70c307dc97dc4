"""What a weighed payload leaves open, and what to record to determine it, in sentences."""

from __future__ import annotations

from steelyard.payload.payload_estimate import PayloadEstimate, PayloadKind, PayloadValue

KIND_SIGNS: dict[PayloadKind, str] = {
    "confidence": "●",
    "feasible range": "◐",
    "not determined": "○",
}
KIND_WORDS: dict[PayloadKind, str] = {
    "confidence": "the data determine it",
    "feasible range": "the data do not determine it; physical bodies that fit the data have every "
    "value of this range, and no other",
    "not determined": "every value fits the data",
}
AXES = ("x", "y", "z")
LABELS = {
    "m": "mass",
    **{f"c{axis}": f"centre of mass, {axis}" for axis in AXES},
    **{f"bias_f{axis}": f"bias of force {axis}" for axis in AXES},
    **{f"bias_t{axis}": f"bias of torque {axis}" for axis in AXES},
    **{f"rotation_{axis}": f"rotation of the sensor about {axis}" for axis in AXES},
}
COM = ("cx", "cy", "cz")


def label_of(name: str) -> str:
    """What a value is called in a table for people."""
    if name.endswith("_com"):
        return f"{name.removesuffix('_com')} about the centre of mass"
    return LABELS.get(name, name)


def is_about_origin(name: str) -> bool:
    """Whether a value of the body is one of the parameters about the frame's origin."""
    return name != "m" and name not in COM and not name.endswith("_com")


def open_values(values: tuple[PayloadValue, ...]) -> tuple[PayloadValue, ...]:
    """Those that the data do not determine."""
    return tuple(value for value in values if value.kind != "confidence")


NO_PAYLOAD = (
    "The data do not show a payload: its mass may be zero, and nothing else of it can be known. "
    "If there is one, it is too light for the noise of these data."
)


def payload_notes(estimate: PayloadEstimate) -> tuple[str, ...]:
    """What was not determined, why, and what to record; empty where all is determined."""
    left = {value.name for value in open_values((*estimate.values, *estimate.others))}
    if any(finding.code == "no-payload" for finding in estimate.findings):
        return (NO_PAYLOAD,)
    notes = []
    if "m" in left or left & set(COM):
        notes.append(
            "Mass and centre of mass are found from how the weight turns in the frame: hold the "
            "payload in more orientations, at least three, in which gravity points along "
            "different axes of the frame."
            if estimate.mode == "ft"
            else "Joint torques show the weight only through axes that are not vertical: record "
            "postures and motions in which several horizontal axes carry the payload, with the "
            "wrist turned differently."
        )
    if any(name.endswith("_com") for name in left):
        notes.append(
            "Force and torque did not show the inertia about the centre of mass: nothing "
            "accelerated, or too little for the noise and the misfit of these data. To determine "
            "it, record a motion that turns the payload back and forth about at least two axes, as "
            "fast as is safe, and give that log, too "
            "(steelyard design finds such a motion)."
            if estimate.static
            else "The motion says too little about the inertia: turn the payload faster, and about "
            "all three axes; slow motions only show mass and centre of mass."
        )
    if any(name.startswith("rotation_") for name in left):
        notes.append(
            "The rotation of the sensor is found from the direction of the weight: more "
            "orientations, or a heavier body, determine it."
        )
    if any(name.startswith("bias_") for name in left):
        notes.append(
            "A bias cannot be told from the weight in a few orientations: record more of them, or "
            "zero the sensor without payload and leave the bias out (--no-bias)."
        )
    return tuple(notes)
