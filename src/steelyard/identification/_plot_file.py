"""The figure of an identification, and its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._files.access import whole_file
from steelyard.errors import ResultError, listed, shown_path
from steelyard.identification._found_fields import FoundFields
from steelyard.identification.outputs import report_of
from steelyard.report.plot import report_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = ("png", "svg", "pdf")


def plotted(found: FoundFields, path: str | Path | None = None) -> Figure:
    """The figure; also saved, if a path is given."""
    if path is None:
        return report_figure(report_of(found))
    path = Path(path)
    ending = path.suffix[1:].lower()
    if ending not in ENDINGS:
        raise ResultError(f"{shown_path(path)}: a figure is saved as {listed(ENDINGS)}")
    figure = report_figure(report_of(found))
    with whole_file(path, ResultError) as stream:
        save_figure(figure, stream, ending)
    return figure
