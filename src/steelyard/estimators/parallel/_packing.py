"""Conditions as named arrays, for helper processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block


def packed_blocks(blocks: Sequence[Block]) -> dict[str, NDArray[np.generic]]:
    """Kinds, columns and coefficients of blocks, without statements, which no solver needs."""
    out: dict[str, NDArray[np.generic]] = {
        "kinds": np.array([block.kind for block in blocks]),
        "bands": np.array([block.band for block in blocks]),
    }
    for k, block in enumerate(blocks):
        out[f"columns{k}"] = np.array(block.columns, dtype=np.int64)
        out[f"A{k}"], out[f"b{k}"] = block.A, block.b
    return out


def unpacked_blocks(arrays: Mapping[str, NDArray[Any]]) -> tuple[Block, ...]:
    """The conditions that were packed."""
    out = []
    for k, kind in enumerate(arrays["kinds"].tolist()):
        columns = tuple(arrays[f"columns{k}"].tolist())
        band = bool(arrays["bands"][k])
        out.append(Block(kind, columns, arrays[f"A{k}"], arrays[f"b{k}"], band=band))
    return tuple(out)
