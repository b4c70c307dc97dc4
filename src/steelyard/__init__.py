"""Steelyard: weigh the links of a robot from the torques its joints carry.

    from steelyard import Robot, identify, read_log

    found = identify(Robot.from_urdf("arm.urdf"), [read_log("run.csv")])
    for parameter in found.estimate.parameters():
        print(parameter.name, parameter.value, parameter.lower, parameter.upper)

The names below load their modules when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from steelyard.constraints import Constraints as Constraints
    from steelyard.drive_gains import identify_gains as identify_gains
    from steelyard.errors import SteelyardError as SteelyardError
    from steelyard.estimate import Estimate as Estimate
    from steelyard.estimators import ols as ols
    from steelyard.estimators import wls as wls
    from steelyard.excitation.fourier import FourierTrajectory as FourierTrajectory
    from steelyard.excitation.fourier import multisine as multisine
    from steelyard.identifiability import BaseMap as BaseMap
    from steelyard.identifiability import base_map as base_map
    from steelyard.identification import identify as identify
    from steelyard.logs import Log as Log
    from steelyard.logs import read_log as read_log
    from steelyard.logs import write_csv as write_csv
    from steelyard.model import Model as Model
    from steelyard.motion import Measurements as Measurements
    from steelyard.motion import Motion as Motion
    from steelyard.payload import Payload as Payload
    from steelyard.prior import Prior as Prior
    from steelyard.prior import prior_from_file as prior_from_file
    from steelyard.prior import prior_from_geometry as prior_from_geometry
    from steelyard.prior import prior_from_mass as prior_from_mass
    from steelyard.prior import prior_from_robot as prior_from_robot
    from steelyard.prior import prior_from_values as prior_from_values
    from steelyard.regression import Regression as Regression
    from steelyard.regression import compress as compress
    from steelyard.regression import compress_stream as compress_stream
    from steelyard.regression import merge as merge
    from steelyard.robot.overlay import read_overlay as read_overlay
    from steelyard.robot.tree import Robot as Robot
    from steelyard.signals import Processing as Processing
    from steelyard.signals import prepare as prepare
    from steelyard.simulation import Controller as Controller
    from steelyard.simulation import Sensors as Sensors
    from steelyard.simulation import simulate as simulate
    from steelyard.terms import coupled_terms as coupled_terms
    from steelyard.terms import default_terms as default_terms
    from steelyard.terms import joint_terms as joint_terms
    from steelyard.validation import validate as validate

_HOME = {
    "BaseMap": "identifiability",
    "Constraints": "constraints",
    "Controller": "simulation",
    "Estimate": "estimate",
    "FourierTrajectory": "excitation.fourier",
    "Log": "logs",
    "Measurements": "motion",
    "Model": "model",
    "Motion": "motion",
    "Payload": "payload",
    "Prior": "prior",
    "Processing": "signals",
    "Regression": "regression",
    "Robot": "robot.tree",
    "Sensors": "simulation",
    "SteelyardError": "errors",
    "base_map": "identifiability",
    "compress": "regression",
    "compress_stream": "regression",
    "coupled_terms": "terms",
    "default_terms": "terms",
    "identify": "identification",
    "identify_gains": "drive_gains",
    "joint_terms": "terms",
    "merge": "regression",
    "multisine": "excitation.fourier",
    "ols": "estimators",
    "prepare": "signals",
    "prior_from_file": "prior",
    "prior_from_geometry": "prior",
    "prior_from_mass": "prior",
    "prior_from_robot": "prior",
    "prior_from_values": "prior",
    "read_log": "logs",
    "read_overlay": "robot.overlay",
    "simulate": "simulation",
    "validate": "validation",
    "wls": "estimators",
    "write_csv": "logs",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
    value = getattr(import_module(f"steelyard.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
