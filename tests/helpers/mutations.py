"""Seeded mutations of honest files: what a damaged disk, an editor or an attacker makes of them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

Random = np.random.Generator
NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
TOKEN = re.compile(rb"[\w.+-]+")
NUMBERS = (
    "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "-0", "0", "1e12", "-1", "1e-12", "1e160",
    "1e-160", "9" * 40, "9" * 400, "1e9999", "0x1p3", "1_0", "", "true", "1,5", "\u0661", "1e30",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, "", "nan", "1e309", "\x1b[2J\n", "\ud800", [], {}, [[]], 0, -1, 1e308, -1e308,
    1e-320, 10**400, 2**63, 1e160, float("nan"), float("inf"), ["a"], {"a": 1}, [None], "upper.m",
)  # fmt: skip


def mutated_bytes(rng: Random, data: bytes) -> bytes:
    """The file with one to three changes of random kinds."""
    for _ in range(int(rng.integers(1, 4))):
        data = BYTE_CHANGES[int(rng.integers(len(BYTE_CHANGES)))](rng, data)
    return data


def _flip(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data or b"\0")
    changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _drop(rng: Random, data: bytes) -> bytes:
    start = int(rng.integers(len(data) + 1))
    return data[:start] + data[start + int(rng.integers(1, 40)) :]


def _repeat(rng: Random, data: bytes) -> bytes:
    start = int(rng.integers(len(data) + 1))
    part = data[start : start + int(rng.integers(1, 200))]
    return data[:start] + part * int(rng.integers(2, 5)) + data[start:]


def _insert(rng: Random, data: bytes) -> bytes:
    start = int(rng.integers(len(data) + 1))
    return data[:start] + rng.bytes(int(rng.integers(1, 8))) + data[start:]


def _swap(rng: Random, data: bytes) -> bytes:
    found = list(TOKEN.finditer(data))
    if len(found) < 2:
        return data
    i, j = sorted(int(k) for k in rng.choice(len(found), 2, replace=False))
    a, b = found[i], found[j]
    return data[: a.start()] + b[0] + data[a.end() : b.start()] + a[0] + data[b.end() :]


def _number(rng: Random, data: bytes) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    one = found[int(rng.integers(len(found)))]
    new = NUMBERS[int(rng.integers(len(NUMBERS)))].encode()
    return data[: one.start()] + new + data[one.end() :]


BYTE_CHANGES: tuple[Callable[[Random, bytes], bytes], ...] = (
    _flip, _cut, _drop, _repeat, _insert, _swap, _number, _number, _number, _number,
)  # fmt: skip


def mutated_json(rng: Random, data: bytes) -> bytes:
    """The JSON file with entries replaced, removed or moved; or with changed bytes."""
    if rng.random() < 0.3:
        return mutated_bytes(rng, data)
    document = json.loads(data)
    for _ in range(int(rng.integers(1, 4))):
        _change_entry(rng, document)
    return json.dumps(document).encode()


def _change_entry(rng: Random, document: Any) -> None:
    """Walk to a random entry, and replace it by a value, by a copy of another, or remove it."""
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.15:
            break
        place = inner
    kind = rng.random()
    if kind < 0.15:
        del place[key]
    elif kind < 0.3:
        place[key] = copy.deepcopy(place[keys[int(rng.integers(len(keys)))]])
    else:
        place[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])


def mutated_array(rng: Random, array: np.ndarray) -> np.ndarray:
    """An array with other values, another type or another shape."""
    kind = int(rng.integers(7))
    changed = array.copy()
    if kind == 0:
        return changed.T
    if kind == 1:
        return changed[: int(rng.integers(len(changed) + 1))] if changed.ndim else changed
    if kind == 2:
        types = (complex, str, bool, np.int8, np.float16, object, np.uint64)
        with np.errstate(all="ignore"):
            real = changed if changed.dtype.kind in "fiub" else np.zeros(changed.shape)
            return real.astype(types[int(rng.integers(len(types)))])
    if kind == 3:
        return changed.reshape(-1)[:, None]
    if changed.dtype.kind not in "fiu" or not changed.size:
        return np.zeros(0)
    values = (np.nan, np.inf, -np.inf, 1e308, 1e-320, -0.0, 1e160, 0.0, -1.0, 1e29)
    changed = changed.astype(float)
    where = rng.integers(changed.size, size=int(rng.integers(1, 5)))
    changed.reshape(-1)[where] = values[int(rng.integers(len(values)))]
    return changed
