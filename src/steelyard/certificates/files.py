"""Robot files that a certificate is about: their hashes, and that their digits are physical.

A certificate proves properties of parameters. Its member "files" lists robot files that were
written with these parameters, beside the certificate. For each file it states the SHA-256 of its
bytes and that every link is exactly physical with the digits in the file; both are checked again
when the certificate is verified, if the file is there.

Uses Python's standard library only, like :mod:`steelyard.certificates.verify`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard._files.result_seal import PLAIN_NAME
from steelyard._files.xml import parse_xml, read_file
from steelyard.certificates.document import hashes_of
from steelyard.conic.exact_text import CertificateError, quoted
from steelyard.errors import SteelyardError
from steelyard.robot.formats.urdf_digits import inexact_links, stated_inertials

MAX_FILES = 100
KEYS = {"name", "format", "sha256", "links"}


@dataclass(frozen=True)
class CertifiedFile:
    """What a certificate states about one file.

    name : of the file, in the certificate's folder. format : "urdf", or another whose digits are
        not checked. links : number of links with an inertial, all exactly physical.
    """

    name: str
    format: str
    sha256: str
    links: int


@dataclass(frozen=True)
class FileVerdict:
    """The check of one file. problem : None if nothing is wrong or the file is not there."""

    name: str
    checked: bool
    words: str
    problem: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {"name": self.name, "checked": self.checked, "words": self.words}


def certified_file(name: str, data: bytes, format_name: str = "urdf") -> CertifiedFile:
    """The statement about a file; raises CertificateError if it does not hold."""
    problem = _physical_problem(data, name, format_name)
    if problem is not None:
        raise CertificateError(problem)
    n_links = _n_links(data, name) if format_name in CHECKS else 0
    return CertifiedFile(name, format_name, hashlib.sha256(data).hexdigest(), n_links)


def _n_links(data: bytes, name: str) -> int:
    return len(stated_inertials(parse_xml(data, quoted(name))))


def with_files(document: Mapping[str, Any], files: Sequence[CertifiedFile]) -> dict[str, Any]:
    """The certificate's document with statements about these files."""
    entries = [
        {"name": one.name, "format": one.format, "sha256": one.sha256, "links": one.links}
        for one in files
    ]
    listed = {**document, "files": entries}
    return {**listed, "hashes": {**document["hashes"], **hashes_of(listed)}}


def stated_files(document: Mapping[str, Any]) -> tuple[CertifiedFile, ...]:
    """The files of a certificate's document, which may be untrusted."""
    entries = document.get("files", [])
    if not isinstance(entries, list) or len(entries) > MAX_FILES:
        raise CertificateError(f"files must be a list of at most {MAX_FILES} files")
    found = []
    for entry in entries:
        if not isinstance(entry, Mapping) or set(entry) != KEYS:
            raise CertificateError("a file needs a name, a format, a sha256 and links")
        name, sha256, links = entry["name"], entry["sha256"], entry["links"]
        plain = isinstance(name, str) and PLAIN_NAME.fullmatch(name)
        if not plain or name in (".", ".."):
            raise CertificateError("the name of a file must be a plain name, without a folder")
        if not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):
            raise CertificateError(f"the file {quoted(name)} has no SHA-256")
        if isinstance(links, bool) or not isinstance(links, int):
            raise CertificateError(f"the file {quoted(name)} has no number of links")
        found.append(CertifiedFile(name, str(entry["format"]), sha256, links))
    return tuple(found)


def check_files(files: Sequence[CertifiedFile], folder: Path | None) -> tuple[FileVerdict, ...]:
    """Check the files that are in ``folder``; None checks none."""
    return tuple(_check(one, folder) for one in files)


def _check(one: CertifiedFile, folder: Path | None) -> FileVerdict:
    if folder is None or not os.path.lexists(folder / one.name):
        return FileVerdict(one.name, False, "not beside the certificate, so it was not checked")
    try:
        data = read_file(folder / one.name)
    except SteelyardError as failure:
        return _wrong(one, str(failure))
    if hashlib.sha256(data).hexdigest() != one.sha256:
        return _wrong(one, f"{quoted(one.name)} has changed since the certificate was made")
    problem = _physical_problem(data, one.name, one.format)
    if problem is not None:
        return _wrong(one, problem)
    if one.format not in CHECKS:
        return FileVerdict(one.name, True, "unchanged; the digits of this format are not checked")
    if _n_links(data, one.name) != one.links:
        return _wrong(one, f"{quoted(one.name)} does not have {one.links} links with an inertial")
    words = f"unchanged, and its {one.links} links with an inertial are exactly physical"
    return FileVerdict(one.name, True, words)


def _wrong(one: CertifiedFile, problem: str) -> FileVerdict:
    return FileVerdict(one.name, True, problem, problem)


def _physical_problem(data: bytes, name: str, format_name: str) -> str | None:
    check = CHECKS.get(format_name)
    if check is None:
        return None
    try:
        bad = check(data, quoted(name))
    except SteelyardError as failure:
        return str(failure)
    if not bad:
        return None
    links = ", ".join(quoted(link) for link in bad[:5])
    return f"{quoted(name)} is not exactly physical in {links}"


CHECKS: dict[str, Callable[[bytes, str], Sequence[str]]] = {"urdf": inexact_links}
"""By format, a function that names the links that are not exactly physical."""
