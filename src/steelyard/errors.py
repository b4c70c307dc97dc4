"""What can go wrong, by name.

Every message says what is wrong, where (link, joint, row, time), by how much,
and what to do about it. The command line prints the message as one line and
exits with code 2; a traceback is a defect.
"""


class SteelyardError(Exception):
    """Base of every error that Steelyard raises on purpose."""


class RobotError(SteelyardError):
    """A robot description cannot be read, or describes no robot."""


class OverlayError(SteelyardError):
    """A TOML overlay says something that does not fit the robot."""


class ModelError(SteelyardError):
    """A term, a column or a parameter does not fit the model."""


class LogError(SteelyardError):
    """A log cannot be read, or does not fit the robot."""


class SignalError(SteelyardError):
    """A signal cannot be processed as asked."""


class RegressionError(SteelyardError):
    """Factors cannot be formed, merged, saved or loaded."""


class EstimationError(SteelyardError):
    """An estimator cannot give what it was asked for."""


class PriorError(SteelyardError):
    """What is believed beforehand is not physical, or not complete."""


class SimulationError(SteelyardError):
    """The virtual robot cannot follow, or left the numbers."""


class ResultError(SteelyardError):
    """A result file cannot be read, or belongs to another model."""


class MissingDependencyError(SteelyardError):
    """An optional library is needed and absent."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        self.library = library
        self.extra = extra
        super().__init__(
            f"{purpose} needs {library}, which is not installed: pip install 'steelyard[{extra}]'"
        )
