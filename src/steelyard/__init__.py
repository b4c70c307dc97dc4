"""Steelyard: identify the dynamic parameters of a robot from logs of its motion and torques.

    from steelyard import identify

    found = identify("arm.urdf", "run.csv", validate_on="other.csv")
    print(found.summary())
    found.save("out")
    found.to_urdf("identified.urdf")

Each exported name imports its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module

from steelyard._version import __version__ as __version__

TYPE_CHECKING = False  # as type checkers know it; importing typing takes half of the time
if TYPE_CHECKING:
    from steelyard.certificates.base_correction import proven_correction as proven_correction
    from steelyard.certificates.base_feasibility import base_feasibility as base_feasibility
    from steelyard.certificates.base_feasibility import correct_base as correct_base
    from steelyard.certificates.certificate import Certificate as Certificate
    from steelyard.certificates.certificate import prove as prove
    from steelyard.certificates.document import read_certificate as read_certificate
    from steelyard.certificates.verify import verify as verify
    from steelyard.certificates.writing import write_certificate as write_certificate
    from steelyard.errors import SteelyardError as SteelyardError
    from steelyard.errors import SteelyardWarning as SteelyardWarning
    from steelyard.errors import WeighingError as WeighingError
    from steelyard.estimators.bodies import body_estimates as body_estimates
    from steelyard.estimators.estimate import Estimate as Estimate
    from steelyard.estimators.least_squares import ols as ols
    from steelyard.estimators.least_squares import wls as wls
    from steelyard.estimators.manifold.fit import ManifoldFit as ManifoldFit
    from steelyard.estimators.manifold.fit import compile_manifold_fit as compile_manifold_fit
    from steelyard.estimators.manifold.fit import fit_on_manifold as fit_on_manifold
    from steelyard.estimators.result_file import Result as Result
    from steelyard.estimators.result_file import read_result as read_result
    from steelyard.estimators.result_file import result_document as result_document
    from steelyard.estimators.result_file import write_result as write_result
    from steelyard.estimators.sequential.fit import SequentialFit as SequentialFit
    from steelyard.estimators.sequential.fit import fit_sequential as fit_sequential
    from steelyard.excitation.collision.clearance import prove_clearance as prove_clearance
    from steelyard.excitation.collision.collision import Obstacle as Obstacle
    from steelyard.excitation.collision.collision import collision_model as collision_model
    from steelyard.excitation.design import design_motion as design_motion
    from steelyard.excitation.design_settings import DesignSettings as DesignSettings
    from steelyard.excitation.designed import DesignedMotion as DesignedMotion
    from steelyard.excitation.files.motion_file import read_motion as read_motion
    from steelyard.excitation.limits import MotionLimits as MotionLimits
    from steelyard.excitation.limits import motion_limits as motion_limits
    from steelyard.excitation.motions.fourier import FourierTrajectory as FourierTrajectory
    from steelyard.excitation.motions.fourier import multisine as multisine
    from steelyard.excitation.motions.periodic_run import periodic_run as periodic_run
    from steelyard.excitation.motions.polynomial import PolynomialTrajectory as PolynomialTrajectory
    from steelyard.excitation.predicted import predicted_precision as predicted_precision
    from steelyard.excitation.torque.torque_bounds import torque_bounds as torque_bounds
    from steelyard.excitation.torque_noise import given_noise as given_noise
    from steelyard.export.c_header import c_header as c_header
    from steelyard.export.identified_robot import IdentifiedRobot as IdentifiedRobot
    from steelyard.export.identified_robot import identified_robot as identified_robot
    from steelyard.export.identified_urdf import identified_urdf as identified_urdf
    from steelyard.export.mjcf import identified_mjcf as identified_mjcf
    from steelyard.export.mjcf_text import mjcf_text as mjcf_text
    from steelyard.export.numpy_module import numpy_module as numpy_module
    from steelyard.export.payload_texts import payload_mjcf as payload_mjcf
    from steelyard.export.payload_texts import payload_urdf as payload_urdf
    from steelyard.export.physical import nearest_urdf as nearest_urdf
    from steelyard.export.physical import write_nearest_urdf as write_nearest_urdf
    from steelyard.export.sdf import sdf_text as sdf_text
    from steelyard.export.tables import parameters_csv as parameters_csv
    from steelyard.export.tables import standard_csv as standard_csv
    from steelyard.export.urdf import rewrite_inertials as rewrite_inertials
    from steelyard.export.urdf import write_inertials as write_inertials
    from steelyard.export.urdf_text import urdf_text as urdf_text
    from steelyard.findings import Finding as Finding
    from steelyard.identification.drive_gains import identify_gains as identify_gains
    from steelyard.identification.found import Identification as Identification
    from steelyard.identification.identify import identify as identify
    from steelyard.identification.identify import with_certificate as with_certificate
    from steelyard.identification.identify import with_validation as with_validation
    from steelyard.identification.motion_outputs import motion_files as motion_files
    from steelyard.identification.motion_outputs import save_motion as save_motion
    from steelyard.identification.motion_outputs import write_motion as write_motion
    from steelyard.identification.outputs import document_of as document_of
    from steelyard.identification.outputs import report_of as report_of
    from steelyard.identification.outputs import write_outputs as write_outputs
    from steelyard.identification.payload import weigh_payload_ft as weigh_payload_ft
    from steelyard.identification.payload import weigh_payload_joints as weigh_payload_joints
    from steelyard.identification.payload_outputs import write_payload as write_payload
    from steelyard.identification.rehearse import rehearse as rehearse
    from steelyard.knowledge.constraints import Constraints as Constraints
    from steelyard.knowledge.constraints import MassSum as MassSum
    from steelyard.knowledge.constraints import Mirrored as Mirrored
    from steelyard.knowledge.overlay.apply import apply_overlay as apply_overlay
    from steelyard.knowledge.overlay.overlay import Overlay as Overlay
    from steelyard.knowledge.overlay.read_robot import read_robot as read_robot
    from steelyard.knowledge.overlay.toml_file import read_overlay as read_overlay
    from steelyard.knowledge.payload import Payload as Payload
    from steelyard.knowledge.prior import Prior as Prior
    from steelyard.knowledge.prior import prior_from_file as prior_from_file
    from steelyard.knowledge.prior import prior_from_geometry as prior_from_geometry
    from steelyard.knowledge.prior import prior_from_mass as prior_from_mass
    from steelyard.knowledge.prior import prior_from_robot as prior_from_robot
    from steelyard.knowledge.prior import prior_from_values as prior_from_values
    from steelyard.knowledge.regions import Box as Box
    from steelyard.knowledge.regions import Cylinder as Cylinder
    from steelyard.knowledge.regions import Ellipsoid as Ellipsoid
    from steelyard.knowledge.regions import Hull as Hull
    from steelyard.knowledge.regions import SymmetryPlane as SymmetryPlane
    from steelyard.logs.log import Log as Log
    from steelyard.logs.reading import read_log as read_log
    from steelyard.logs.writer_csv import write_csv as write_csv
    from steelyard.model.base_map import BaseMap as BaseMap
    from steelyard.model.base_map import base_map as base_map
    from steelyard.model.body_differences import body_differences as body_differences
    from steelyard.model.energy import energy_regressor as energy_regressor
    from steelyard.model.kernels import bias_torque as bias_torque
    from steelyard.model.kernels import mass_matrix as mass_matrix
    from steelyard.model.kernels import torque as torque
    from steelyard.model.kernels import torque_regressor as torque_regressor
    from steelyard.model.model import Model as Model
    from steelyard.model.terms import Term as Term
    from steelyard.model.terms import coupled_terms as coupled_terms
    from steelyard.model.terms import default_terms as default_terms
    from steelyard.model.terms import joint_terms as joint_terms
    from steelyard.model.visibility import visibility as visibility
    from steelyard.payload.known_payload import known_payload as known_payload
    from steelyard.payload.on_sensor import weigh_on_sensor as weigh_on_sensor
    from steelyard.payload.payload_estimate import PayloadEstimate as PayloadEstimate
    from steelyard.payload.payload_estimate import PayloadValue as PayloadValue
    from steelyard.payload.payload_file import read_payload as read_payload
    from steelyard.payload.stream_results import PayloadChange as PayloadChange
    from steelyard.payload.stream_results import PayloadSnapshot as PayloadSnapshot
    from steelyard.payload.stream_sources import FrameWrenches as FrameWrenches
    from steelyard.payload.stream_sources import JointTorques as JointTorques
    from steelyard.payload.stream_sources import RobotWrenches as RobotWrenches
    from steelyard.payload.streaming import PayloadStream as PayloadStream
    from steelyard.payload.streaming import StreamSettings as StreamSettings
    from steelyard.regression.compress import compress as compress
    from steelyard.regression.compress import compress_stream as compress_stream
    from steelyard.regression.extra_columns import ExtraColumns as ExtraColumns
    from steelyard.regression.factor_file import read_regression as read_regression
    from steelyard.regression.factor_file import write_regression as write_regression
    from steelyard.regression.regression import Regression as Regression
    from steelyard.regression.regression import merge as merge
    from steelyard.regression.row_mixing import RowMixing as RowMixing
    from steelyard.report.content import Reference as Reference
    from steelyard.report.content import Report as Report
    from steelyard.report.page import render_report as render_report
    from steelyard.report.page import write_report as write_report
    from steelyard.robot.differences import RobotDifferences as RobotDifferences
    from steelyard.robot.differences import robot_differences as robot_differences
    from steelyard.robot.formats.dynamics import read_dynamics as read_dynamics
    from steelyard.robot.nearest_body import nearest_physical as nearest_physical
    from steelyard.robot.parts import Joint as Joint
    from steelyard.robot.parts import Limits as Limits
    from steelyard.robot.parts import Link as Link
    from steelyard.robot.parts import Mimic as Mimic
    from steelyard.robot.physical_links import check_links as check_links
    from steelyard.robot.principal_body import PrincipalBody as PrincipalBody
    from steelyard.robot.principal_body import equivalent_box as equivalent_box
    from steelyard.robot.principal_body import point_masses as point_masses
    from steelyard.robot.principal_body import principal_body as principal_body
    from steelyard.robot.robot import Robot as Robot
    from steelyard.signals.frame_kinematics import (
        frame_motion_from_joints as frame_motion_from_joints,
    )
    from steelyard.signals.frame_motion import FrameMotion as FrameMotion
    from steelyard.signals.frame_motion import Wrench as Wrench
    from steelyard.signals.join_logs import join_logs as join_logs
    from steelyard.signals.motion import Measurements as Measurements
    from steelyard.signals.motion import Motion as Motion
    from steelyard.signals.prepare import Prepared as Prepared
    from steelyard.signals.prepare import prepare as prepare
    from steelyard.signals.prepared_frame import PreparedFrame as PreparedFrame
    from steelyard.signals.prepared_frame import prepare_frame as prepare_frame
    from steelyard.signals.processing import Processing as Processing
    from steelyard.signals.sensing import BaseMotion as BaseMotion
    from steelyard.signals.sensing import MeasuredWrench as MeasuredWrench
    from steelyard.signals.sensing import Sensing as Sensing
    from steelyard.signals.wrench import wrench_from_log as wrench_from_log
    from steelyard.simulation.floating_log import BaseSensors as BaseSensors
    from steelyard.simulation.floating_log import floating_log as floating_log
    from steelyard.simulation.sensors import Sensors as Sensors
    from steelyard.simulation.simulate import Controller as Controller
    from steelyard.simulation.simulate import simulate as simulate
    from steelyard.simulation.whole_body_motion import base_sines as base_sines
    from steelyard.simulation.whole_body_motion import whole_body_motion as whole_body_motion
    from steelyard.simulation.wrench_sensor import WrenchSensor as WrenchSensor
    from steelyard.simulation.wrench_sensor import add_wrench as add_wrench
    from steelyard.validation.held_out import HeldOut as HeldOut
    from steelyard.validation.held_out import validate_logs as validate_logs
    from steelyard.validation.result_comparison import ResultComparison as ResultComparison
    from steelyard.validation.result_comparison import compare_results as compare_results
    from steelyard.validation.saved_results import validate_result as validate_result
    from steelyard.validation.scores import predict_base as predict_base
    from steelyard.validation.scores import validate as validate

_HOME = {
    "BaseMap": "model.base_map",
    "BaseMotion": "signals.sensing",
    "BaseSensors": "simulation.floating_log",
    "Box": "knowledge.regions",
    "Certificate": "certificates.certificate",
    "Constraints": "knowledge.constraints",
    "Controller": "simulation.simulate",
    "Cylinder": "knowledge.regions",
    "DesignSettings": "excitation.design_settings",
    "DesignedMotion": "excitation.designed",
    "Ellipsoid": "knowledge.regions",
    "Estimate": "estimators.estimate",
    "ExtraColumns": "regression.extra_columns",
    "Finding": "findings",
    "FourierTrajectory": "excitation.motions.fourier",
    "FrameMotion": "signals.frame_motion",
    "FrameWrenches": "payload.stream_sources",
    "HeldOut": "validation.held_out",
    "Hull": "knowledge.regions",
    "Identification": "identification.found",
    "IdentifiedRobot": "export.identified_robot",
    "Joint": "robot.parts",
    "JointTorques": "payload.stream_sources",
    "Limits": "robot.parts",
    "Link": "robot.parts",
    "Log": "logs.log",
    "ManifoldFit": "estimators.manifold.fit",
    "MassSum": "knowledge.constraints",
    "MeasuredWrench": "signals.sensing",
    "Measurements": "signals.motion",
    "Mimic": "robot.parts",
    "Mirrored": "knowledge.constraints",
    "Model": "model.model",
    "Motion": "signals.motion",
    "MotionLimits": "excitation.limits",
    "Obstacle": "excitation.collision.collision",
    "Overlay": "knowledge.overlay.overlay",
    "Payload": "knowledge.payload",
    "PayloadChange": "payload.stream_results",
    "PayloadEstimate": "payload.payload_estimate",
    "PayloadSnapshot": "payload.stream_results",
    "PayloadStream": "payload.streaming",
    "PayloadValue": "payload.payload_estimate",
    "PolynomialTrajectory": "excitation.motions.polynomial",
    "Prepared": "signals.prepare",
    "PreparedFrame": "signals.prepared_frame",
    "PrincipalBody": "robot.principal_body",
    "Prior": "knowledge.prior",
    "Processing": "signals.processing",
    "Reference": "report.content",
    "Regression": "regression.regression",
    "Report": "report.content",
    "Result": "estimators.result_file",
    "ResultComparison": "validation.result_comparison",
    "Robot": "robot.robot",
    "RobotDifferences": "robot.differences",
    "RobotWrenches": "payload.stream_sources",
    "RowMixing": "regression.row_mixing",
    "Sensing": "signals.sensing",
    "Sensors": "simulation.sensors",
    "SequentialFit": "estimators.sequential.fit",
    "SteelyardError": "errors",
    "SteelyardWarning": "errors",
    "StreamSettings": "payload.streaming",
    "SymmetryPlane": "knowledge.regions",
    "Term": "model.terms",
    "WeighingError": "errors",
    "Wrench": "signals.frame_motion",
    "WrenchSensor": "simulation.wrench_sensor",
    "add_wrench": "simulation.wrench_sensor",
    "apply_overlay": "knowledge.overlay.apply",
    "base_feasibility": "certificates.base_feasibility",
    "base_map": "model.base_map",
    "base_sines": "simulation.whole_body_motion",
    "bias_torque": "model.kernels",
    "body_differences": "model.body_differences",
    "body_estimates": "estimators.bodies",
    "c_header": "export.c_header",
    "check_links": "robot.physical_links",
    "collision_model": "excitation.collision.collision",
    "compare_results": "validation.result_comparison",
    "compile_manifold_fit": "estimators.manifold.fit",
    "compress": "regression.compress",
    "compress_stream": "regression.compress",
    "correct_base": "certificates.base_feasibility",
    "coupled_terms": "model.terms",
    "default_terms": "model.terms",
    "design_motion": "excitation.design",
    "document_of": "identification.outputs",
    "energy_regressor": "model.energy",
    "equivalent_box": "robot.principal_body",
    "fit_on_manifold": "estimators.manifold.fit",
    "fit_sequential": "estimators.sequential.fit",
    "floating_log": "simulation.floating_log",
    "frame_motion_from_joints": "signals.frame_kinematics",
    "given_noise": "excitation.torque_noise",
    "identified_mjcf": "export.mjcf",
    "identified_robot": "export.identified_robot",
    "identified_urdf": "export.identified_urdf",
    "identify": "identification.identify",
    "identify_gains": "identification.drive_gains",
    "join_logs": "signals.join_logs",
    "joint_terms": "model.terms",
    "known_payload": "payload.known_payload",
    "mass_matrix": "model.kernels",
    "merge": "regression.regression",
    "mjcf_text": "export.mjcf_text",
    "motion_files": "identification.motion_outputs",
    "motion_limits": "excitation.limits",
    "multisine": "excitation.motions.fourier",
    "nearest_physical": "robot.nearest_body",
    "nearest_urdf": "export.physical",
    "numpy_module": "export.numpy_module",
    "ols": "estimators.least_squares",
    "parameters_csv": "export.tables",
    "payload_mjcf": "export.payload_texts",
    "payload_urdf": "export.payload_texts",
    "periodic_run": "excitation.motions.periodic_run",
    "point_masses": "robot.principal_body",
    "predict_base": "validation.scores",
    "predicted_precision": "excitation.predicted",
    "prepare": "signals.prepare",
    "prepare_frame": "signals.prepared_frame",
    "principal_body": "robot.principal_body",
    "prior_from_file": "knowledge.prior",
    "prior_from_geometry": "knowledge.prior",
    "prior_from_mass": "knowledge.prior",
    "prior_from_robot": "knowledge.prior",
    "prior_from_values": "knowledge.prior",
    "prove": "certificates.certificate",
    "prove_clearance": "excitation.collision.clearance",
    "proven_correction": "certificates.base_correction",
    "read_certificate": "certificates.document",
    "read_dynamics": "robot.formats.dynamics",
    "read_log": "logs.reading",
    "read_motion": "excitation.files.motion_file",
    "read_overlay": "knowledge.overlay.toml_file",
    "read_payload": "payload.payload_file",
    "read_regression": "regression.factor_file",
    "read_result": "estimators.result_file",
    "read_robot": "knowledge.overlay.read_robot",
    "rehearse": "identification.rehearse",
    "render_report": "report.page",
    "report_of": "identification.outputs",
    "result_document": "estimators.result_file",
    "rewrite_inertials": "export.urdf",
    "robot_differences": "robot.differences",
    "save_motion": "identification.motion_outputs",
    "sdf_text": "export.sdf",
    "simulate": "simulation.simulate",
    "standard_csv": "export.tables",
    "torque": "model.kernels",
    "torque_bounds": "excitation.torque.torque_bounds",
    "torque_regressor": "model.kernels",
    "urdf_text": "export.urdf_text",
    "validate": "validation.scores",
    "validate_logs": "validation.held_out",
    "validate_result": "validation.saved_results",
    "verify": "certificates.verify",
    "visibility": "model.visibility",
    "weigh_on_sensor": "payload.on_sensor",
    "weigh_payload_ft": "identification.payload",
    "weigh_payload_joints": "identification.payload",
    "whole_body_motion": "simulation.whole_body_motion",
    "with_certificate": "identification.identify",
    "with_validation": "identification.identify",
    "wls": "estimators.least_squares",
    "wrench_from_log": "signals.wrench",
    "write_certificate": "certificates.writing",
    "write_csv": "logs.writer_csv",
    "write_inertials": "export.urdf",
    "write_motion": "identification.motion_outputs",
    "write_nearest_urdf": "export.physical",
    "write_outputs": "identification.outputs",
    "write_payload": "identification.payload_outputs",
    "write_regression": "regression.factor_file",
    "write_report": "report.page",
    "write_result": "estimators.result_file",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
    value = getattr(import_module(f"steelyard.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
