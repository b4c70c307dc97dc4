"""Overlays: TOML."""

from __future__ import annotations

from hostile.case import Action, Bench, Case

COUPLING = (
    '[[coupling]]\nname = "c{0}"\ndirection = {{shoulder = 1, elbow = {0}.5}}\n'
    'terms = ["viscous"]\n'
)


def _identify(bench: Bench, content: bytes | str) -> Action:
    path = bench.write(content, ".toml")
    return ["identify", bench.robot, bench.log, "--overlay", path]


CASES = [
    Case(
        "toml-key-of-50000-parts",
        lambda b: _identify(b, ".".join("a" * 50_000) + " = 1\n"),
        ("parts",),
    ),
    Case(
        "toml-table-of-50000-parts",
        lambda b: _identify(b, "[" + ".".join("a" * 50_000) + "]\n"),
        ("parts",),
    ),
    Case(
        "toml-quoted-key-of-parts",
        lambda b: _identify(b, ".".join(['"a b"'] * 20_000) + " = 1\n"),
        ("parts",),
    ),
    Case(
        "toml-keys-with-escaped-quotes",
        lambda b: _identify(b, " . ".join(['"a\\""'] * 20_000) + " = 1\n"),
        ("parts",),
    ),
    Case(
        "toml-many-keys-of-30-parts",
        lambda b: _identify(
            b, "".join(f"{'.'.join(f'k{k}p{i}' for i in range(30))} = 1\n" for k in range(4000))
        ),
        ("not known",),
    ),
    Case("toml-dots", lambda b: _identify(b, "." * 1_000_000), ("not TOML",)),
    Case("toml-deep-arrays", lambda b: _identify(b, "a = " + "[" * 100_000), ("not TOML",)),
    Case("toml-deep-tables", lambda b: _identify(b, "a = " + "{a=" * 100_000), ("not TOML",)),
    Case(
        "toml-integer-of-a-million-digits",
        lambda b: _identify(b, "gravity = [0, 0, " + "9" * 500_000 + "]"),
        ("not TOML", "gravity"),
    ),
    Case(
        "toml-hex-of-a-million-digits",
        lambda b: _identify(b, "gravity = [0, 0, 0x" + "f" * 500_000 + "]"),
        ("gravity",),
    ),
    Case(
        "toml-float-of-a-million-digits",
        lambda b: _identify(b, "gravity = [0, 0, 1." + "9" * 500_000 + "e9]"),
        ("gravity",),
    ),
    Case(
        "toml-10000-couplings",
        lambda b: _identify(b, "".join(COUPLING.format(k) for k in range(10_000))),
        ("coupling",),
    ),
    Case(
        "toml-10000-motors",
        lambda b: _identify(
            b, "".join(f"[motor.m{k}]\nratio = {{shoulder = {k}.5}}\n" for k in range(10_000))
        ),
        ("motor",),
    ),
    Case(
        "toml-30000-joints",
        lambda b: _identify(b, "".join(f"[joint.m{k}]\nvelocity = 1\n" for k in range(30_000))),
        ("joint",),
    ),
    Case(
        "toml-60000-locked",
        lambda b: _identify(b, "[locked]\n" + "".join(f"m{k} = 1\n" for k in range(60_000))),
        ("locked", "joint"),
    ),
    Case(
        "toml-60000-masses",
        lambda b: _identify(
            b, "[constraints.mass]\n" + "".join(f"m{k} = [0, 1]\n" for k in range(50_000))
        ),
        ("mass", "link", "body"),
    ),
    Case(
        "toml-terms-of-a-megabyte",
        lambda b: _identify(b, "terms = [" + '"viscous",' * 80_000 + "]"),
        ("viscous",),
    ),
    Case("toml-strings-open", lambda b: _identify(b, 'a = """' + '\\"' * 400_000), ("not TOML",)),
    Case("toml-gravity-1e300", lambda b: _identify(b, "gravity = [0, 0, -1e300]"), ("gravity",)),
    Case(
        "toml-gravity-1e-300",
        lambda b: _identify(b, "gravity = [0, 0, -1e-300]"),
        ("gravity",),
        (0, 2),
    ),
    Case("toml-gravity-nan", lambda b: _identify(b, "gravity = [0, 0, nan]"), ("gravity",)),
    Case(
        "toml-direction-1e300",
        lambda b: _identify(b, COUPLING.format(0).replace("0.5", "1e300")),
        ("weight", "direction"),
    ),
    Case(
        "toml-direction-1e-320",
        lambda b: _identify(b, COUPLING.format(0).replace("0.5", "1e-320")),
        ("weight", "direction"),
    ),
    Case(
        "toml-masses-1e-320",
        lambda b: _identify(b, "[constraints]\ntotal_mass = [1e-320, 1e-319]\n"),
        ("mass",),
    ),
    Case(
        "toml-masses-1e300",
        lambda b: _identify(b, "[constraints]\ntotal_mass = [1e300, 1e301]\n"),
        ("mass",),
    ),
    Case("toml-utf-16", lambda b: _identify(b, "gravity = [0,0,1]".encode("utf-16")), ("UTF-8",)),
    Case("toml-nul", lambda b: _identify(b, "a\0 = 1"), ("not TOML",)),
    Case("toml-key-with-newline", lambda b: _identify(b, '"a\\nb\\u001b[2J" = 1'), ("not known",)),
    Case("toml-2-mb", lambda b: _identify(b, "# " + "a" * 2_000_000), ("larger",)),
]
