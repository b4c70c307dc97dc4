"""Send named arrays through a pipe: eight bytes of length, then an NPZ, without pickle."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from typing import IO

import numpy as np
from numpy.typing import NDArray

Message = Mapping[str, NDArray[np.generic]]
_LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], message: Message) -> None:
    """Write one message."""
    buffer = io.BytesIO()
    np.savez(buffer, **message)  # type: ignore[arg-type]
    data = buffer.getbuffer()
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, NDArray[np.generic]]:
    """Read one message; EOFError at the end of the stream."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    with np.load(io.BytesIO(_exactly(stream, length)), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the other process has ended")
    return data
