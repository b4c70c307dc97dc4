"""One offline HTML file that shows a result: no scripts, nothing loaded from elsewhere."""

from steelyard.report.content import JointError, Reference, Report, TorqueRun
from steelyard.report.page import render_report, write_report

__all__ = ["JointError", "Reference", "Report", "TorqueRun", "render_report", "write_report"]
