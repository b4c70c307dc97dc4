"""The hash of a result's digits: names, values and the model that they belong to.

Every command that reads a result compares it with the content, so that a number that was edited,
damaged or copied from another result is noticed. It is no signature: whoever changes a file on
purpose can compute it again. What a result claims is proven by its certificate, see
`steelyard.certificates.result_binding`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from steelyard.errors import SteelyardError

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
    text = json.dumps(_plain(covered), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The result with the hash of its digits."""
    return {**document, "hashes": {"digits": digits_hash(document)}}


def stated_hash(document: Mapping[str, Any]) -> object:
    """The hash that a result states; None for one of an earlier version, which has none."""
    hashes = document.get("hashes")
    return hashes.get("digits") if isinstance(hashes, Mapping) else hashes


def refuse_changed(document: Mapping[str, Any], where: str, error: type[SteelyardError]) -> None:
    """Raise ``error`` for a result whose digits do not match the hash that it states.

    where : the file, as the message calls it.
    """
    stated = stated_hash(document)
    if stated is None:
        return
    try:
        unchanged = stated == digits_hash(document)
    except (RecursionError, ValueError):  # nested too deeply, or beyond Unicode
        unchanged = False
    if not unchanged:
        raise error(
            f"{where}: was changed after it was written: its digits do not match their SHA-256, "
            "hashes.digits; restore the file, or identify again"
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
