"""Output files of a weighed payload: numbers, page, and the body as URDF and MJCF."""

from __future__ import annotations

from pathlib import Path

from steelyard._files.access import made_folder, text_bytes, write_files
from steelyard.errors import ResultError
from steelyard.export.payload_texts import payload_mjcf_file, payload_urdf_file
from steelyard.payload.payload_estimate import PayloadEstimate
from steelyard.payload.payload_file import payload_text
from steelyard.report.payload_page import render_payload_page

PAYLOAD_FILES = {
    "payload": "payload.json",
    "report": "report.html",
    "urdf": "payload.urdf",
    "mjcf": "payload.xml",
}
"""Name of each file that :func:`write_payload` may write."""
ROBOT_FILES = ("urdf", "mjcf")
"""Those that a simulator loads: not of a payload that is not to be used."""


def write_payload(
    estimate: PayloadEstimate, folder: str | Path, *, write_anyway: bool = False
) -> dict[str, Path]:
    """Write all files into a folder, whole or not at all; returns their paths by kind.

    folder : created if missing. write_anyway : whether to write ``ROBOT_FILES`` even if the verdict
        is not to use the payload. Those of an earlier run, which could be taken for its own, get
        the ending ".earlier" else.
    """
    texts = {
        "payload": payload_text(estimate),
        "report": render_payload_page(estimate),
        "urdf": payload_urdf_file(estimate),
        "mjcf": payload_mjcf_file(estimate),
    }
    withheld = () if estimate.verdict.usable or write_anyway else ROBOT_FILES
    texts = {kind: text for kind, text in texts.items() if kind not in withheld}
    place = made_folder(folder, ResultError)
    paths = {kind: place / PAYLOAD_FILES[kind] for kind in texts}
    write_files(
        {paths[kind]: text_bytes(text) for kind, text in texts.items()},
        ResultError,
        aside=[place / PAYLOAD_FILES[kind] for kind in withheld],
    )
    return paths
