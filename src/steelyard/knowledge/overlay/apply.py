"""Apply an overlay to a robot."""

from __future__ import annotations

from dataclasses import replace

from steelyard._files.limits import MAX_COUPLINGS_PER_JOINT
from steelyard.errors import OverlayError, did_you_mean, listed, shown, shown_path
from steelyard.knowledge.overlay.overlay import LIMITS, Overlay
from steelyard.robot.parts import Limits, gravity_vector
from steelyard.robot.robot import Robot


def apply_overlay(robot: Robot, overlay: Overlay) -> Robot:
    """The robot with the overlay's gravity, base, locked joints, limits and motors.

    Raises :class:`OverlayError` where the overlay names a joint that the robot lacks, gives
    terms to a joint without a coordinate of its own, makes a lower limit exceed the upper one, or
    states motors that cannot drive the joints.
    """
    from steelyard.knowledge.overlay._transmission import transmission_of, unknown_motor_joint

    where = shown_path(overlay.source) if overlay.source else "the overlay"
    moving = {joint.name: joint for joint in robot.moving_joints}
    unknown = [name for name in overlay.joint_names if name not in moving]
    if unknown:
        fixed = {joint.name for joint in robot.joints if not joint.moves}
        why = "is fixed" if unknown[0] in fixed else "the robot does not have"
        raise OverlayError(
            f"{where} names joint {shown(unknown[0])}, which {why}"
            f"{did_you_mean(unknown[0], moving)}; it names {listed(overlay.joint_names)}; "
            f"the moving joints of robot '{robot.name}' are {listed(moving)}"
        )
    unknown_motor_joint(overlay, moving, where)
    if len(overlay.couplings) > MAX_COUPLINGS_PER_JOINT * len(moving):
        raise OverlayError(
            f"{where} has {len(overlay.couplings)} couplings for {len(moving)} moving joints; at "
            f"most {MAX_COUPLINGS_PER_JOINT} for each are read"
        )
    in_directions = [joint for c in overlay.couplings for joint, _ in c.direction]
    driven = [joint for motor in overlay.motors for joint in motor.joints]
    for name in [*overlay.locked, *overlay.joint_terms, *in_directions, *driven]:
        mimic = moving[name].mimic
        if mimic is not None:
            raise OverlayError(
                f"{where} locks joint {shown(name)} or gives it terms or a motor, but it only "
                f"follows joint '{mimic.joint}'; name that one"
            )
    for name in [*overlay.joint_terms, *in_directions]:
        if name in overlay.locked:
            raise OverlayError(
                f"{where} locks joint {shown(name)} and gives it terms; leave out one of them"
            )
    for coupling in overlay.couplings:
        if coupling.name in moving:
            raise OverlayError(
                f"{where}: coupling {shown(coupling.name)} has the name of a joint; rename it"
            )
    joints = tuple(
        replace(joint, limits=_merged(joint.limits, overlay.limits[joint.name], joint.name, where))
        if joint.name in overlay.limits
        else joint
        for joint in robot.joints
    )
    changed = replace(
        robot,
        joints=joints,
        gravity=robot.gravity if overlay.gravity is None else gravity_vector(overlay.gravity),
        floating_base=(
            robot.floating_base if overlay.floating_base is None else overlay.floating_base
        ),
    )
    if overlay.locked:
        changed = changed.lock(overlay.locked)
    # without motors in this overlay, the robot keeps its own
    transmission = transmission_of(changed, overlay, where)
    return changed if transmission is None else replace(changed, transmission=transmission)


def _merged(stated: Limits, given: Limits, joint: str, where: str) -> Limits:
    """The file's limits, replaced by the overlay's where it states them."""
    given_values = {key: getattr(given, key) for key in LIMITS if getattr(given, key) is not None}
    merged = replace(stated, **given_values)
    if merged.lower is not None and merged.upper is not None and merged.lower > merged.upper:
        raise OverlayError(
            f"{where}: joint {shown(joint)} would have its lower limit {merged.lower} above its "
            f"upper limit {merged.upper}"
        )
    return merged
