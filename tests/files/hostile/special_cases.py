"""Pipes, devices, folders and links in place of files, for every input of every command."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hostile.case import Action, Bench, Case

INPUTS: dict[str, tuple[list[str], str]] = {
    "check": (["check", "@"], ".urdf"),
    "diff": (["diff", "ROBOT", "@"], ".urdf"),
    "identify-robot": (["identify", "@", "LOG"], ".urdf"),
    "identify-log": (["identify", "ROBOT", "@"], ".csv"),
    "identify-gz": (["identify", "ROBOT", "@"], ".csv.gz"),
    "identify-npz": (["identify", "ROBOT", "@"], ".npz"),
    "identify-overlay": (["identify", "ROBOT", "LOG", "--overlay", "@"], ".toml"),
    "identify-prior": (["identify", "ROBOT", "LOG", "--prior", "@"], ".csv"),
    "identify-held-out": (["identify", "ROBOT", "LOG", "--no-ranges", "--validate-on", "@"],
                          ".csv"),
    "validate-result": (["validate", "ROBOT", "@", "LOG"], ".json"),
    "validate-log": (["validate", "ROBOT", "RESULT", "@"], ".csv"),
    "compare": (["compare", "RESULT", "@"], ".json"),
    "export": (["export", "@", "--to", "csv"], ".json"),
    "export-robot": (["export", "RESULT", "--to", "urdf", "--robot", "@"], ".urdf"),
    "verify": (["verify", "@"], ".json"),
    "verify-result": (["verify", "CERTIFICATE", "--result", "@"], ".json"),
    "verify-robot": (["verify", "CERTIFICATE", "--robot", "@"], ".urdf"),
    "verify-overlay": (["verify", "CERTIFICATE", "--robot", "ROBOT", "--overlay", "@"], ".toml"),
    "base-test": (["base", "test", "@", "ROBOT"], ".csv"),
    "logs-check": (["logs", "check", "ROBOT", "@"], ".csv"),
    "design-like": (["design", "ROBOT", "--like", "@"], ".json"),
    "design-after": (["design", "ROBOT", "--after", "@"], ".json"),
    "design-srdf": (["design", "SOLID", "--srdf", "@"], ".srdf"),
    "rehearse-motion": (["rehearse", "ROBOT", "--motion", "@"], ".json"),
    "simulate-motion": (["simulate", "ROBOT", "@", "-o", "OUT"], ".csv"),
    "simulate-payload": (["simulate", "ROBOT", "-o", "OUT", "--payload", "@"], ".json"),
    "gains": (["gains", "ROBOT", "--empty", "@", "--loaded", "LOG", "--payload", "fore",
               "--mass", "1"], ".csv"),
    "payload-joints": (["payload", "joints", "ROBOT", "@", "--empty", "LOG", "--frame", "fore"],
                       ".csv"),
}  # fmt: skip


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _missing(path: Path) -> None:
    """No file at all."""


KINDS: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "pipe": (_pipe, ("not a regular file",)),
    "device": (_zeros, ("not a regular file",)),
    "folder": (_folder, ("is a folder", "is a directory", "no result.json")),
    "loop": (_loop, ("symbolic links", "no such file", "loop")),
    "missing": (_missing, ("no such file",)),
    "name": (_missing, ("no such file",)),
}


def _make(kind: str, command: list[str], ending: str) -> Callable[[Bench], Action]:
    def make(bench: Bench) -> Action:
        odd = "\x1b[2J\n\u202e" if kind == "name" else ""
        path = bench.path.with_name(f"{bench.path.name}{odd}{ending}")
        KINDS[kind][0](path)
        words = {"@": str(path), "ROBOT": bench.robot, "LOG": bench.log, "RESULT": bench.result,
                 "CERTIFICATE": str(bench.honest / "found" / "certificate.json"),
                 "SOLID": str(bench.honest / "solid.urdf"),
                 "OUT": f"{bench.path}.out.csv"}  # fmt: skip
        return [words.get(word, word) for word in command]

    return make


CASES = [
    Case(f"{kind}-{name}", _make(kind, command, ending), KINDS[kind][1])
    for name, (command, ending) in INPUTS.items()
    for kind in KINDS
]
