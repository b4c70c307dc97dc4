"""Files that a certificate names: stated, written by the schema, and checked again."""

from __future__ import annotations

import hashlib

import jsonschema
import numpy as np
import pytest
from certificate_cases import plain, problem
from small_arm import URDF

from steelyard.certificates.files import certified_file, check_files, stated_files, with_files
from steelyard.certificates.verify import verify
from steelyard.certificates.writing import read_schema, write_certificate
from steelyard.conic.exact_text import CertificateError

NAME = "arm.identified.urdf"


@pytest.fixture
def document(tmp_path) -> dict:
    """A certificate that names a file beside it."""
    (tmp_path / NAME).write_text(URDF, encoding="utf-8")
    document = with_files(
        plain(problem(0), np.random.default_rng(0)), [certified_file(NAME, URDF.encode())]
    )
    write_certificate(tmp_path / "certificate.json", document)
    return document


def test_a_named_file_is_checked_where_it_is(tmp_path, document):
    """From a path in its folder; from an object only with a folder."""
    jsonschema.validate(document, read_schema())
    path = tmp_path / "certificate.json"
    assert stated_files(document)[0].sha256 == hashlib.sha256(URDF.encode()).hexdigest()
    assert verify(path).valid
    assert verify(path).details["files"][0]["checked"] is True
    assert verify(document).details["files"][0]["checked"] is False
    (tmp_path / NAME).write_text(URDF.replace("2.5", "2.4"), encoding="utf-8")
    verdict = verify(path)
    assert not verdict.valid
    assert "has changed since the certificate was made" in verdict.words
    assert verify(document).valid
    assert not verify(document, folder=tmp_path).valid


def test_a_file_that_is_not_physical_is_not_certified():
    """Nor one that is no URDF; a format that cannot be checked is said to be so."""
    bad = URDF.replace('izz="0.025"', 'izz="0.9"', 1).encode()
    with pytest.raises(CertificateError, match='is not exactly physical in "upper"'):
        certified_file(NAME, bad)
    for data in (b"<robot", b"<mujoco/>", URDF.replace('"0.03"', '"nan"').encode()):
        with pytest.raises(CertificateError):
            certified_file(NAME, data)
    other = certified_file("arm.xml", b"<mujoco/>", "mjcf")
    assert other.links == 0


def test_a_wrong_number_of_links_is_reported(tmp_path, document):
    """The count is part of the statement."""
    document["files"][0]["links"] = 3
    (verdict,) = check_files(stated_files(document), tmp_path)
    assert verdict.problem == '"arm.identified.urdf" does not have 3 links with an inertial'


@pytest.mark.parametrize(
    "files",
    [
        {},
        [1],
        [{"name": NAME}],
        [{"name": "a/b", "format": "urdf", "sha256": "0" * 64, "links": 1}],
        [{"name": 1, "format": "urdf", "sha256": "0" * 64, "links": 1}],
        [{"name": NAME, "format": "urdf", "sha256": "0", "links": 1}],
        [{"name": NAME, "format": "urdf", "sha256": "0" * 64, "links": True}],
        [{"name": NAME, "format": "urdf", "sha256": "0" * 64, "links": "1"}],
    ],
)
def test_what_is_no_list_of_files_is_refused(document, files):
    """Certificates may be a stranger's."""
    with pytest.raises(CertificateError):
        verify({**document, "files": files})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "files": files}, read_schema())
