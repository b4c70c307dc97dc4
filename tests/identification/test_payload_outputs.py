"""The files of a weighed payload."""

from __future__ import annotations

import pytest
from weighed_payload import opened, weighed

from steelyard.errors import ResultError
from steelyard.export.payload_texts import payload_mjcf_file, payload_urdf_file
from steelyard.identification import payload_outputs
from steelyard.identification.payload_outputs import PAYLOAD_FILES, ROBOT_FILES, write_payload
from steelyard.payload.payload_file import payload_document, read_payload


@pytest.fixture(autouse=True)
def quick_page(monkeypatch):
    """Figures take time, and are tested elsewhere."""
    monkeypatch.setattr(payload_outputs, "render_payload_page", lambda estimate: "<page>")


def test_all_files_are_written(tmp_path):
    """Numbers, page and both robot files, in a folder that is made."""
    estimate = weighed()
    paths = write_payload(estimate, tmp_path / "new" / "out")
    assert {path.name for path in paths.values()} == set(PAYLOAD_FILES.values())
    assert payload_document(read_payload(paths["payload"])) == payload_document(estimate)
    assert paths["report"].read_text(encoding="utf-8") == "<page>"
    assert paths["urdf"].read_text(encoding="utf-8") == payload_urdf_file(estimate)
    assert paths["mjcf"].read_text(encoding="utf-8") == payload_mjcf_file(estimate)


def test_nothing_is_written_where_one_file_cannot_be(tmp_path):
    """A folder in the place of the last file leaves the others unwritten."""
    (tmp_path / PAYLOAD_FILES["mjcf"]).mkdir()
    with pytest.raises(ResultError, match="cannot be written"):
        write_payload(weighed(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [PAYLOAD_FILES["mjcf"]]


def test_no_robot_file_of_a_payload_that_is_not_to_be_used(tmp_path):
    """Those of an earlier run are put aside; numbers and page are written, and say so."""
    write_payload(weighed(), tmp_path)
    doubtful = opened(weighed(), "cz")
    paths = write_payload(doubtful, tmp_path)
    assert set(paths) == set(PAYLOAD_FILES) - set(ROBOT_FILES)
    for kind in ROBOT_FILES:
        assert not (tmp_path / PAYLOAD_FILES[kind]).exists()
        assert (tmp_path / (PAYLOAD_FILES[kind] + ".earlier")).exists()
    assert '"level": "do not use"' in paths["payload"].read_text(encoding="utf-8")
    assert read_payload(paths["payload"]).verdict == doubtful.verdict
    assert set(write_payload(doubtful, tmp_path, write_anyway=True)) == set(PAYLOAD_FILES)
