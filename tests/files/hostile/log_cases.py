"""Logs: CSV, gzip and NPZ."""

from __future__ import annotations

import gzip

import numpy as np

from hostile.case import Action, Bench, Case, array_bytes, gzip_bomb, npy_bytes, npz_bytes, zip_bomb

HEADER = "time[s],shoulder.position[rad],elbow.position[rad],shoulder.torque[N*m],elbow.torque[N*m]"
N = 400


def _check(bench: Bench, path: str) -> Action:
    return ["identify", bench.robot, path, "--no-ranges", "--threads", "1"]


def _table(**changed: np.ndarray | bytes) -> dict[str, np.ndarray | bytes]:
    t = 0.01 * np.arange(N)
    q = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
    whole: dict[str, np.ndarray | bytes] = {
        "time": t, "position": q, "torque": 5.0 * q, "joint_names": np.array(["shoulder", "elbow"]),
    }  # fmt: skip
    return whole | changed


def _npz(bench: Bench, **changed: np.ndarray | bytes) -> Action:
    return _check(bench, bench.write(npz_bytes(_table(**changed)), ".npz"))


def _csv(bench: Bench, content: bytes | str, ending: str = ".csv") -> Action:
    return _check(bench, bench.write(content, ending))


def _raw_names(values: list[int]) -> bytes:
    """Names of joints as UTF-32 code units, which need not be characters."""
    data = np.array(values, dtype="<u4").tobytes()
    header = f"{{'descr': '<U1', 'fortran_order': False, 'shape': ({len(values)},), }}"
    return npy_bytes(header, data)


def _claim(shape: str, descr: str = "'<f8'") -> bytes:
    return npy_bytes(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")


def _two_mb(bench: Bench) -> Action:
    header = npy_bytes("{'descr': '|b1', 'fortran_order': False, 'shape': (268435456,), }")
    return _check(bench, bench.write(zip_bomb("time", header, 2**28), ".npz"))


def _many_arrays(bench: Bench) -> Action:
    one = array_bytes(np.zeros(1))
    return _check(bench, bench.write(npz_bytes({f"a{k}": one for k in range(11_000)}), ".npz"))


def _rows(*, scale_t: float = 1.0, torque: float = 5.0, text: str = "") -> str:
    t = 0.01 * np.arange(N)
    q = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
    table = np.column_stack([scale_t * t, q, torque * q])
    lines = [",".join(repr(float(x)) for x in row) for row in table]
    return "\n".join([HEADER, *lines]) + "\n" + text


DEEP = "(" * 20_000
STRUCTURED = "[('a', '<f8'), ('b', '<f8')]"

CASES = [
    Case(
        "npz-names-above-unicode",
        lambda b: _npz(b, joint_names=_raw_names([0x110000, 0x7FFFFFFF])),
        ("joint_names",),
    ),
    Case(
        "npz-names-surrogates",
        lambda b: _npz(b, joint_names=_raw_names([0xD800, 0xDFFF])),
        ("joint",),
    ),
    Case(
        "npz-names-control",
        lambda b: _npz(b, joint_names=np.array(["a\x1b[2J\n", "b\rc"])),
        ("joint",),
    ),
    Case("npz-two-mb-of-zeros", _two_mb, ("times its size",)),
    Case("npz-huge-shape", lambda b: _npz(b, time=_claim(f"({10**12},)")), ("claims",)),
    Case(
        "npz-shape-beyond-integers",
        lambda b: _npz(b, time=_claim(f"({2**70}, {2**70})")),
        ("claims", "not a NumPy array"),
    ),
    Case("npz-million-axes", lambda b: _npz(b, time=_claim("(" + "1," * 30_000 + ")")), ("array",)),
    Case("npz-negative-shape", lambda b: _npz(b, time=_claim("(-5,)")), ("claims",)),
    Case("npz-header-of-brackets", lambda b: _npz(b, time=npy_bytes(DEEP)), ("not a NumPy array",)),
    Case(
        "npz-header-of-4-gb",
        lambda b: _npz(b, time=b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"),
        ("not a NumPy array",),
    ),
    Case(
        "npz-header-long",
        lambda b: _npz(b, time=npy_bytes(" " * 60_000 + "{}")),
        ("not a NumPy array",),
    ),
    Case(
        "npz-dtype-of-objects",
        lambda b: _npz(b, time=np.array([{}, []], dtype=object)),
        ("Python objects",),
    ),
    Case(
        "npz-dtype-structured",
        lambda b: _npz(b, time=_claim("(3,)", STRUCTURED) + bytes(48)),
        ("not numeric",),
    ),
    Case(
        "npz-dtype-nested",
        lambda b: _npz(b, time=_claim("(3,)", f"[('a', {STRUCTURED}, ({10**9},))]")),
        ("array",),
    ),
    Case(
        "npz-dtype-complex",
        lambda b: _npz(b, position=np.ones((N, 2), dtype=complex)),
        ("not numeric",),
    ),
    Case(
        "npz-dtype-void",
        lambda b: _npz(b, time=_claim(f"({N},)", "'|V8'") + bytes(8 * N)),
        ("numeric",),
    ),
    Case(
        "npz-dtype-dates",
        lambda b: _npz(b, time=np.arange(N).astype("datetime64[s]")),
        ("numeric",),
    ),
    Case("npz-nan-everywhere", lambda b: _npz(b, position=np.full((N, 2), np.nan)), ("position",)),
    Case("npz-largest-numbers", lambda b: _npz(b, torque=np.full((N, 2), 1.7e308)), ("torque",)),
    Case("npz-many-arrays", _many_arrays, ("arrays",)),
    Case("npz-is-text", lambda b: _csv(b, "time,position\n1,2\n", ".npz"), ("NPZ",)),
    Case("npz-is-a-cut-archive", lambda b: _csv(b, npz_bytes(_table())[:700], ".npz"), ("NPZ",)),
    Case("csv-stamps-1e-300-apart", lambda b: _csv(b, _rows(scale_t=1e-298)), ("time",)),
    Case("csv-stamps-1e300-apart", lambda b: _csv(b, _rows(scale_t=1e302)), ("time",)),
    Case("csv-torques-1e-15", lambda b: _csv(b, _rows(torque=1e-15)), ("torque",), (0, 1, 2)),
    Case(
        "csv-one-cell-of-9s",
        lambda b: _csv(b, _rows(text="9" * 200_000 + ",0,0,0,0\n")),
        ("line", "time"),
        (0, 1),  # one row is skipped
    ),
    Case("csv-empty", lambda b: _csv(b, ""), ("empty",)),
    Case("csv-nul-bytes", lambda b: _csv(b, _rows() + "\0" * 1000), ("line",), (0, 1)),
    Case("csv-nul-bytes-late", lambda b: _csv(b, _rows() + "4.0,0,\0\0,0,0\n"), ("line",), (0, 1)),
    Case("csv-nul-bytes-only", lambda b: _csv(b, HEADER + "\n" + "\0" * 9000), ("binary",)),
    Case("csv-utf-16", lambda b: _csv(b, _rows().encode("utf-16")), ("UTF-8", "binary")),
    Case("csv-latin-1", lambda b: _csv(b, (HEADER + ",\xfc\n").encode("latin1")), ("UTF-8",)),
    Case(
        "csv-million-columns",
        lambda b: _csv(b, "time" + ",a" * 1_000_000 + "\n"),
        ("header", "columns"),
    ),
    Case(
        "csv-million-cells-in-a-row",
        lambda b: _csv(b, HEADER + "\n" + "1," * 3_000_000 + "\n"),
        ("line",),
    ),
    Case("csv-long-line", lambda b: _csv(b, HEADER + "\n" + "1" * 30_000_000 + "\n"), ("line",)),
    Case("csv-one-quote", lambda b: _csv(b, HEADER + '\n"' + "1,1\n" * 5_000_000), ("line",)),
    Case(
        "csv-header-of-quotes", lambda b: _csv(b, '"' * 1_000_001 + "\n1,2\n"), ("header", "column")
    ),
    Case(
        "csv-names-with-escapes",
        lambda b: _csv(b, "time,\x1b[31m.position,b\x07.torque\n0,1,2\n1,2,3\n"),
        ("column",),
    ),
    Case(
        "gz-one-line",
        lambda b: _csv(b, gzip_bomb(HEADER.encode() + b"\n", b"1" * 2**20, 2000), ".csv.gz"),
        ("line",),
    ),
    Case(
        "gz-one-header",
        lambda b: _csv(b, gzip_bomb(b"", b"a" * 2**20, 2000), ".csv.gz"),
        ("header",),
    ),
    Case(
        "gz-blank-lines",
        lambda b: _csv(b, gzip_bomb(HEADER.encode() + b"\n", b"\n" * 2**20, 2000), ".csv.gz"),
        ("blank lines",),
    ),
    Case(
        "gz-blank-lines-of-spaces",
        lambda b: _csv(
            b, gzip_bomb(HEADER.encode() + b"\n", b" \r\n\t \n" * 2**17, 2000), ".csv.gz"
        ),
        ("blank lines",),
    ),
    Case(
        "gz-rows-of-zeros",
        lambda b: _csv(
            b, gzip_bomb(HEADER.encode() + b"\n", b"0,0,0,0,0\n" * 10**5, 100), ".csv.gz"
        ),
        ("times its size", "time stamp repeats"),
    ),
    Case(
        "gz-rows-without-numbers",
        lambda b: _csv(b, gzip_bomb(HEADER.encode() + b"\n", b",,,,\n" * 10**5, 100), ".csv.gz"),
        ("line", "times its size"),
    ),
    Case(
        "gz-cut", lambda b: _csv(b, gzip.compress(_rows().encode())[:2000], ".csv.gz"), ("damaged",)
    ),
    Case(
        "gz-in-gz",
        lambda b: _csv(b, gzip.compress(gzip.compress(_rows().encode())), ".csv.gz"),
        ("binary", "UTF-8"),
    ),
]
