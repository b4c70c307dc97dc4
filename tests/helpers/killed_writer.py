"""A process that is killed while it replaces files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

KILLED = 9
SCRIPT = """
import json, os, sys
from pathlib import Path
from steelyard._files.access import write_files
from steelyard.errors import ResultError

step, files, aside = json.loads(sys.stdin.read())
done = os.replace, os.unlink
left = [step]

def dying(which):
    def one(*names, **more):
        if left[0] == 0:
            os._exit(9)
        left[0] -= 1
        return done[which](*names, **more)
    return one

os.replace, os.unlink = dying(0), dying(1)
files = {Path(path): text.encode("latin-1") for path, text in files.items()}
write_files(files, ResultError, aside=[Path(path) for path in aside])
"""


def killed_at(step: int, files: Mapping[Path, bytes], aside: tuple[Path, ...] = ()) -> bool:
    """Whether the process was killed before its step ``step`` that renames or removes a file."""
    import json

    given = {str(path): data.decode("latin-1") for path, data in files.items()}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps([step, given, [str(path) for path in aside]]).encode(),
        check=False,
    )
    assert done.returncode in (0, KILLED)
    return done.returncode == KILLED
