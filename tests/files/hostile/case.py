"""What a case of the corpus is: a file to make, what is done with it, and what must be said."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Bench:
    """A folder with honest files of the two-joint arm, and a place for a case's own file.

    result : folder of an identification. path : where the case writes its hostile file, without
    an extension.
    """

    honest: Path
    path: Path

    @property
    def robot(self) -> str:
        """An honest URDF."""
        return str(self.honest / "arm.urdf")

    @property
    def log(self) -> str:
        """An honest log of it."""
        return str(self.honest / "run.csv")

    @property
    def result(self) -> str:
        """An honest result.json."""
        return str(self.honest / "found" / "result.json")

    def write(self, content: bytes | str, ending: str) -> str:
        """The hostile file with this content."""
        path = self.path.with_name(self.path.name + ending)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def json(self, document: Any) -> str:
        """The hostile file as JSON."""
        return self.write(json.dumps(document), ".json")

    def read_json(self, name: str) -> dict[str, Any]:
        """An honest JSON file, to be changed."""
        document: dict[str, Any] = json.loads((self.honest / name).read_text("utf-8"))
        return document


Action = Sequence[str]
"""Arguments of the command line; or `FIT` and a regression file, which no command reads."""
FIT = "fit a regression file"


@dataclass(frozen=True)
class Case:
    """One hostile input.

    make : writes the file and gives what to do with it. words : what the refusal must contain, of
    which one is enough. codes : exit codes that are right; 2 is a refusal.
    """

    name: str
    make: Callable[[Bench], Action]
    words: tuple[str, ...]
    codes: tuple[int, ...] = field(default=(2,))


def npy_bytes(header: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """An NPY file with this header text, which NumPy would not write."""
    text = header.encode("latin1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text + data


def array_bytes(array: np.ndarray) -> bytes:
    """An array as NumPy writes it."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz_bytes(members: Mapping[str, bytes | np.ndarray], compressed: bool = True) -> bytes:
    """An NPZ archive of these arrays, or of these bytes in place of arrays."""
    stream = io.BytesIO()
    way = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", way) as archive:
        for name, member in members.items():
            data = member if isinstance(member, bytes) else array_bytes(member)
            archive.writestr(f"{name}.npy", data)
    return stream.getvalue()


def gzip_bomb(start: bytes, block: bytes, n_blocks: int) -> bytes:
    """gzip of ``start`` and many times ``block``, without compressing it many times."""
    head = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = head.compress(start) + head.flush(zlib.Z_FULL_FLUSH)
    body = zlib.compressobj(9, zlib.DEFLATED, -15)
    repeated = body.compress(block) + body.flush(zlib.Z_FULL_FLUSH)
    header = gzip.compress(b"", mtime=0)[:10]
    return header + first + repeated * n_blocks + b"\x03\x00" + bytes(8)


def zip_bomb(name: str, header: bytes, n_bytes: int) -> bytes:
    """An NPZ archive of one array of ``n_bytes`` zeros after its header, made quickly."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH)
    size = 2**20
    repeat = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = repeat.compress(bytes(size)) + repeat.flush(zlib.Z_FULL_FLUSH)
    whole, rest = divmod(n_bytes, size)
    tail = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = first + block * whole + tail.compress(bytes(rest)) + tail.flush()
    total, title = len(header) + n_bytes, f"{name}.npy".encode()
    crc = zlib.crc32(header)
    zeros = bytes(size)
    for _ in range(whole):
        crc = zlib.crc32(zeros, crc)
    crc = zlib.crc32(bytes(rest), crc)
    fields = struct.pack("<HHHHHIII", 20, 0, 8, 0, 33, crc, len(packed), total)
    local = b"PK\x03\x04" + fields + struct.pack("<HH", len(title), 0) + title
    central = b"PK\x01\x02" + struct.pack("<H", 20) + fields
    central += struct.pack("<HHHHHII", len(title), 0, 0, 0, 0, 0, 0) + title
    end = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)
    return local + packed + central + b"PK\x05\x06" + end


def nested_lists(depth: int) -> Any:
    """Lists in lists."""
    inner: Any = []
    for _ in range(depth):
        inner = [inner]
    return inner
