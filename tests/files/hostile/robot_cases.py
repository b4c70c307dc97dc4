"""Robot files: URDF, MJCF, SRDF."""

from __future__ import annotations

from hostile.case import Action, Bench, Case

LINK = (
    '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
    'ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="j{1}" type="revolute"><parent link="{0}"/><child link="{1}"/>'
    '<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
)
BODY = '<body name="b{0}"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="j{0}"/>'


def _check(bench: Bench, content: bytes | str, ending: str = ".urdf") -> Action:
    return ["check", bench.write(content, ending)]


def _identify(bench: Bench, content: bytes | str, ending: str = ".urdf") -> Action:
    return ["identify", bench.write(content, ending), bench.log]


def _with_arm(bench: Bench, change) -> Action:
    """The honest arm with a changed text, identified from the honest log."""
    text = change((bench.honest / "arm.urdf").read_text("utf-8"))
    return ["identify", bench.write(text, ".urdf"), bench.log]


def _chain(n: int) -> str:
    links = "".join(LINK.format(f"l{k}") for k in range(n + 1))
    joints = "".join(JOINT.format(f"l{k}", f"l{k + 1}") for k in range(n))
    return f'<robot name="chain">{links}{joints}</robot>'


def _star(n: int) -> str:
    links = "".join(LINK.format(f"l{k}") for k in range(n + 1))
    joints = "".join(JOINT.format("l0", f"l{k}") for k in range(1, n + 1))
    return f'<robot name="star">{links}{joints}</robot>'


def _mjcf(bodies: str, before: str = "") -> str:
    return f'<mujoco model="x">{before}<worldbody>{bodies}</worldbody></mujoco>'


def _bodies(n: int) -> str:
    """Bodies side by side on one carrier."""
    inside = "".join(BODY.format(k) + "</body>" for k in range(1, n))
    return BODY.format(0) + inside + "</body>"


def _nested(n: int) -> str:
    return "".join(BODY.format(k) for k in range(n)) + "</body>" * n


def _srdf(bench: Bench, content: str) -> Action:
    robot = str(bench.honest / "solid.urdf")
    return ["design", robot, "--srdf", bench.write(content, ".srdf"), "--budget", "1s"]


LAUGHS = "<!DOCTYPE r [" + "".join(
    f'<!ENTITY a{k} "{f"&a{k - 1};" * 10 if k else "ha" * 10}">' for k in range(9)
) + ']><robot name="&a8;"/>'  # fmt: skip
EXTERNAL = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>'

CASES = [
    Case("xml-billion-laughs", lambda b: _check(b, LAUGHS), ("document type",)),
    Case("xml-external-entity", lambda b: _check(b, EXTERNAL), ("document type",)),
    Case("xml-deep", lambda b: _check(b, "<robot>" + "<a>" * 100_000), ("nested deeper",)),
    Case(
        "xml-million-elements",
        lambda b: _check(b, "<robot>" + "<a/>" * 1_100_000 + "</robot>"),
        ("elements",),
    ),
    Case(
        "xml-million-attributes",
        lambda b: _check(b, "<robot " + " ".join(f'a{k}="1"' for k in range(1_000_000)) + "/>"),
        ("attributes", "no links"),
    ),
    Case(
        "xml-attributes-without-quotes",
        lambda b: _check(b, "<robot " + "a=" * 2_500_000 + "/>"),
        ("attributes", "not XML"),
    ),
    Case(
        "xml-one-tag-without-end", lambda b: _check(b, "<robot a" + "a" * 20_000_000), ("not XML",)
    ),
    Case("xml-long-comment", lambda b: _check(b, "<!--" * 16_000 + "<robot"), ("not XML",)),
    Case(
        "xml-comments-open", lambda b: _check(b, "<!--a-->" * 2_000 + "<!--" * 12_000), ("not XML",)
    ),
    Case(
        "xml-long-text",
        lambda b: _check(b, "<robot name='x'>" + "a\n" * 10_000_000 + "</robot>"),
        ("no link", "link"),
    ),
    Case("xml-nul", lambda b: _check(b, "<robot name='a\0b'/>"), ("not XML",)),
    Case(
        "xml-utf-16", lambda b: _check(b, '<robot name="x"/>'.encode("utf-16")), ("link", "not XML")
    ),
    Case(
        "xml-encoding-unknown",
        lambda b: _check(b, '<?xml version="1.0" encoding="x-rot13"?><robot/>'),
        ("not XML",),
    ),
    Case(
        "xml-encoding-utf-7",
        lambda b: _check(b, '<?xml version="1.0" encoding="utf-7"?><robot/>'),
        ("not XML", "link"),
    ),
    Case(
        "xml-names-with-newlines",
        lambda b: _check(b, '<robot name="x"><link name="a&#10;b&#27;[2J"/></robot>'),
        ("link", "not XML"),
    ),
    Case("xml-65-mib", lambda b: _check(b, b" " * (65 * 2**20)), ("empty", "larger")),
    Case(
        "urdf-number-of-a-million-digits",
        lambda b: _with_arm(
            b, lambda text: text.replace('value="2.5"', f'value="{"9" * 1_000_000}"')
        ),
        ("not a number",),
    ),
    Case(
        "urdf-mass-1e-320",
        lambda b: _with_arm(b, lambda text: text.replace('value="2.5"', 'value="1e-320"')),
        ("mass", "upper"),
        (0, 2),
    ),
    Case(
        "urdf-mass-1e300",
        lambda b: _with_arm(b, lambda text: text.replace('value="2.5"', 'value="1e300"')),
        ("kg (mass)",),
    ),
    Case(
        "urdf-inertia-1e300",
        lambda b: _with_arm(b, lambda text: text.replace('ixx="0.02"', 'ixx="1e300"')),
        ("inertia", "upper"),
    ),
    Case(
        "urdf-origin-1e200",
        lambda b: _with_arm(b, lambda text: text.replace('xyz="0.3 0 0"', 'xyz="1e200 0 0"')),
        ("1e+200",),
    ),
    Case(
        "urdf-origin-1e-200",
        lambda b: _with_arm(
            b, lambda text: text.replace('axis xyz="0 1 0"', 'axis xyz="0 1e-200 0"')
        ),
        ("axis",),
        (0, 2),
    ),
    Case(
        "urdf-limits-1e300",
        lambda b: _with_arm(b, lambda text: text.replace('upper="2.5"', 'upper="1e300"')),
        ("limit",),
        (0, 2),
    ),
    Case("urdf-chain-of-10000", lambda b: _check(b, _chain(10_000)), ("links",)),
    Case("urdf-star-of-30000", lambda b: _check(b, _star(30_000)), ("links",)),
    Case(
        "urdf-loop",
        lambda b: _check(
            b,
            '<robot name="x">'
            + LINK.format("a")
            + LINK.format("b")
            + JOINT.format("a", "b")
            + JOINT.format("b", "a")
            + "</robot>",
        ),
        ("link", "loop", "root"),
    ),
    Case(
        "urdf-same-names",
        lambda b: _check(b, '<robot name="x">' + LINK.format("a") * 1000 + "</robot>"),
        ("'a'",),
    ),
    Case(
        "urdf-mimics-of-mimics",
        lambda b: _check(b, _star(1500).replace("<axis", '<mimic joint="jl1"/><axis')),
        ("mimic",),
        (0, 2),
    ),
    Case("mjcf-30000-bodies", lambda b: _check(b, _mjcf(_bodies(30_000)), ".xml"), ("bodies",)),
    Case(
        "mjcf-nested-bodies", lambda b: _check(b, _mjcf(_nested(5_000)), ".xml"), ("nested deeper",)
    ),
    Case(
        "mjcf-30000-joints",
        lambda b: _check(
            b, _mjcf(BODY.format(0) + '<joint axis="1 0 0"/>' * 30_000 + "</body>"), ".xml"
        ),
        ("<joint>",),
    ),
    Case(
        "mjcf-200000-geoms",
        lambda b: _check(
            b, _mjcf("<body><joint/>" + '<geom size="1"/>' * 200_000 + "</body>"), ".xml"
        ),
        ("<geom>",),
    ),
    Case(
        "mjcf-50000-defaults",
        lambda b: _check(
            b,
            _mjcf(
                BODY.format(0) + "</body>",
                "<default>"
                + "".join(
                    f'<default class="c{k}"><joint damping="1"/></default>' for k in range(50_000)
                )
                + "</default>",
            ),
            ".xml",
        ),
        ("<default>",),
    ),
    Case(
        "mjcf-50000-actuators",
        lambda b: _check(
            b,
            _mjcf(BODY.format(0) + "</body>").replace(
                "</mujoco>", "<actuator>" + '<motor joint="j0"/>' * 50_000 + "</actuator></mujoco>"
            ),
            ".xml",
        ),
        ("<motor>",),
    ),
    Case(
        "mjcf-50000-equalities",
        lambda b: _check(
            b,
            _mjcf(BODY.format(0) + "</body>").replace(
                "</mujoco>",
                "<equality>"
                + '<joint joint1="j0" polycoef="0 0 0 0 0"/>' * 50_000
                + "</equality></mujoco>",
            ),
            ".xml",
        ),
        ("<joint>", "joints"),
    ),
    Case(
        "mjcf-replicate",
        lambda b: _check(b, _mjcf('<replicate count="1000000"><body/></replicate>'), ".xml"),
        ("replicate",),
    ),
    Case(
        "mjcf-include-itself",
        lambda b: _check(b, '<mujoco><include file="x.xml"/></mujoco>', ".xml"),
        ("include",),
    ),
    Case(
        "mjcf-nan",
        lambda b: _check(b, _mjcf('<body pos="nan 0 0"><joint/></body>'), ".xml"),
        ("finite",),
    ),
    Case(
        "mjcf-mass-1e300",
        lambda b: _check(
            b,
            _mjcf(
                '<body><joint/><inertial pos="0 0 0" mass="1e300" '
                'diaginertia="1e300 1e300 1e300"/></body>'
            ),
            ".xml",
        ),
        ("mass", "1e+300", "1e300"),
    ),
    Case(
        "mjcf-huge-number",
        lambda b: _check(b, _mjcf(f'<body pos="{"9" * 100_000} 0 0"><joint/></body>'), ".xml"),
        ("pos",),
    ),
    Case(
        "mjcf-name-of-a-megabyte",
        lambda b: _check(b, _mjcf(f'<body name="{"a" * 1_000_000}"><joint/></body>'), ".xml"),
        ("name", "mass", "inertia"),
    ),
    Case("srdf-bomb", lambda b: _srdf(b, LAUGHS), ("document type",)),
    Case("srdf-deep", lambda b: _srdf(b, "<robot>" + "<a>" * 100_000), ("nested deeper",)),
]
