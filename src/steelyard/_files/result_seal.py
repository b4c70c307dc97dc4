"""The hashes of a result: of its digits, of everything in it, and of the files written with it.

Every command that reads a result compares them with the content, so that a number that was edited,
damaged or copied from another result is noticed. They are no signature: whoever changes a file on
purpose can compute them again. What a result claims is proven by its certificate, see
`steelyard.certificates.result_binding`.

"digits" covers names, values and the model that they belong to, and is all that results of earlier
versions have. "document" covers every member: verdict, errors, findings, record and "files", the
hashes of the files that were written into the same folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard._files.access import read_capped
from steelyard._files.limits import MAX_BESIDE_BYTES
from steelyard.errors import (
    ChangedFilesWarning,
    ResultError,
    SteelyardError,
    quoted_list,
    shown_path,
)

SECTIONS = ("model", "estimate", "standard")
"""Members of a result that the hash covers as a whole."""
ROBOT = ("joints", "gravity", "floating_base", "turned", "locked")
"""Members of its "robot" that the hash covers: not its name, nor where its file was."""


def digits_hash(document: Mapping[str, Any]) -> str:
    """SHA-256 of the digits of a result.

    Numbers count as binary numbers: 1, 1.0 and 1e0 are the same, so that a program that writes
    JSON in another style does not change the hash.
    """
    robot = document.get("robot")
    covered = {key: document.get(key) for key in SECTIONS}
    covered["robot"] = {
        key: robot.get(key) if isinstance(robot, Mapping) else None for key in ROBOT
    }
    return _hash(covered)


def document_hash(document: Mapping[str, Any]) -> str:
    """SHA-256 of every member of a result but its hashes; numbers as in :func:`digits_hash`."""
    return _hash({key: value for key, value in document.items() if key != "hashes"})


def _hash(content: Mapping[str, Any]) -> str:
    text = json.dumps(_plain(content), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


HASHES = {"digits": digits_hash, "document": document_hash}


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The result with its hashes."""
    return {**document, "hashes": {name: made(document) for name, made in HASHES.items()}}


def stated_hash(document: Mapping[str, Any], name: str = "digits") -> object:
    """A hash that a result states; None for one of an earlier version, which has none."""
    hashes = document.get("hashes")
    return hashes.get(name) if isinstance(hashes, Mapping) else hashes


def refuse_changed(document: Mapping[str, Any], where: str, error: type[SteelyardError]) -> None:
    """Raise ``error`` for a result whose content does not match the hashes that it states.

    where : the file, as the message calls it.
    """
    for name, made in HASHES.items():
        stated = stated_hash(document, name)
        if stated is None:
            continue
        try:
            unchanged = stated == made(document)
        except (RecursionError, ValueError):  # nested too deeply, or beyond Unicode
            unchanged = False
        if not unchanged:
            what = "digits do" if name == "digits" else "verdict, errors or other content do"
            raise error(
                f"{where}: was changed after it was written: its {what} not match their SHA-256, "
                f"hashes.{name}; restore the file, or identify again"
            )


def file_hashes(contents: Mapping[str, bytes]) -> dict[str, str]:
    """The member "files" of a result: SHA-256 by name of the files in its folder."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in sorted(contents.items())}


PLAIN_NAME = re.compile(r"[^/\\\x00-\x1f]{1,255}")
"""Names that a stranger's file may have opened in its folder."""
MOST_FILES = 100


def files_beside(document: Mapping[str, Any], folder: Path) -> dict[str, bool | None]:
    """By name of each file that was written with a result: whether it is unchanged.

    None for one that is not in the folder any more. Raises ResultError for an entry that cannot
    be one.
    """
    stated = document.get("files") or {}
    if not isinstance(stated, Mapping) or len(stated) > MOST_FILES:
        raise ResultError(f"the files of a result are a list of at most {MOST_FILES}")
    found: dict[str, bool | None] = {}
    for name, sha256 in stated.items():
        if not PLAIN_NAME.fullmatch(name) or name in (".", ".."):
            raise ResultError("the name of a file must be a plain name, without a folder")
        if not (folder / name).exists():
            found[name] = None
            continue
        try:
            data = read_capped(folder / name, MAX_BESIDE_BYTES, ResultError)
        except ResultError:
            found[name] = False
            continue
        found[name] = hashlib.sha256(data).hexdigest() == sha256
    return found


def warn_of_changed_files(document: Mapping[str, Any], path: str | Path) -> None:
    """Issue a warning if files beside the result at this path were not written with it."""
    there = files_beside(document, Path(path).parent)
    changed = [name for name, same in there.items() if same is False]
    if changed:
        warnings.warn(
            f"{shown_path(path)}: beside it are files that were not written with it, or were "
            f"changed since: {quoted_list(changed)}; identify again, or remove them",
            ChangedFilesWarning,
            stacklevel=3,
        )


def _plain(value: Any) -> Any:
    """The same data with every number as the text of a binary number."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        try:
            return {"number": float(value).hex()}
        except OverflowError:
            return {"number": hex(int(value))}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value]
