"""Certificates, results, priors, motions and payloads: JSON and tables of values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hostile.case import Action, Bench, Case, nested_lists

CERTIFICATE = "found/certificate.json"
RESULT = "found/result.json"
Change = Callable[[dict[str, Any]], object]


def _verify(bench: Bench, content: bytes | str) -> Action:
    return ["verify", bench.write(content, ".json")]


def _certificate(bench: Bench, change: Change) -> Action:
    document = bench.read_json(CERTIFICATE)
    change(document)
    return ["verify", bench.json(document)]


def _numbers(text: str, count: int) -> Change:
    """A condition of many rows, each of this number."""

    def change(document: dict[str, Any]) -> None:
        condition = {"name": "many", "kind": "nonnegative", "columns": [0]}
        condition |= {"A": [[text]] * count, "b": [text] * count}
        document["constraints"].append(condition)

    return change


def _certificate_text(bench: Bench, text: str, count: int) -> Action:
    """The same written without a copy of each number in memory."""
    document = bench.read_json(CERTIFICATE)
    document["numbers"]["theta"] = ["@"]
    whole = json.dumps(document).replace('"@"', ",".join([f'"{text}"'] * count))
    return ["verify", bench.write(whole, ".json")]


def _result(bench: Bench, change: Change, *command: str) -> Action:
    document = bench.read_json(RESULT)
    document.pop("hashes", None)  # of its digits, which a hostile file just leaves out
    change(document)
    path = bench.json(document)
    return [path if word == "@" else bench.robot if word == "ROBOT" else
            bench.log if word == "LOG" else word for word in command]  # fmt: skip


def _to_urdf(bench: Bench, mass: float) -> Action:
    change = _set("standard", "parameters", 0, "value", mass)
    command = _result(bench, change, "export", "@", "--to", "urdf", "--robot", "ROBOT")
    return [*command, "-o", f"{bench.path}.urdf"]


def _validate(bench: Bench, change: Change) -> Action:
    return _result(bench, change, "validate", "ROBOT", "@", "LOG")


def _result_text(bench: Bench, content: bytes | str) -> Action:
    return ["validate", bench.robot, bench.write(content, ".json"), bench.log]


def _prior(bench: Bench, content: bytes | str, ending: str = ".csv") -> Action:
    path = bench.write(content, ending)
    return ["identify", bench.robot, bench.log, "--no-ranges", "--prior", path]


def _base(bench: Bench, content: bytes | str, ending: str = ".csv") -> Action:
    return ["base", "test", bench.write(content, ending), bench.robot]


def _prior_row(bench: Bench, name: str, value: str) -> Action:
    """The table of the honest result with one value changed."""
    lines = (bench.honest / "found" / "standard_parameters.csv").read_text("utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    changed = [[row[0], value, *row[2:]] if row[0] == name else row for row in rows]
    path = bench.write("\n".join(",".join(row) for row in changed) + "\n", ".csv")
    return ["identify", bench.robot, bench.log, "--no-ranges", "--prior", path]


def _motion(bench: Bench, change: Change) -> Action:
    document = bench.read_json("motion.json")
    change(document)
    return ["design", bench.robot, "--like", bench.json(document)]


def _payload(bench: Bench, change: Change) -> Action:
    document = bench.read_json("payload.json")
    change(document)
    return ["simulate", bench.robot, "-o", str(bench.path) + ".csv", "--payload",
            bench.json(document), "--payload-link", "fore", "--duration-s", "0.1"]  # fmt: skip


def _set(*path: Any) -> Change:
    """Set the entry at path[:-1] to path[-1]."""

    def change(document: Any) -> None:
        *keys, last, value = path
        for key in keys:
            document = document[key]
        document[last] = value

    return change


DEEP = "[" * 200_000
TWICE = '{"schema": "steelyard.certificate/1", "schema": "steelyard.certificate/1"}'
LONG = "9" * 100_000

CASES = [
    Case(
        "certificate-900-lists-in-hashes",
        lambda b: _certificate(b, _set("hashes", nested_lists(900))),
        ("hash", "nested"),
    ),
    Case(
        "certificate-900-lists-in-hashes-json",
        lambda bench: [*_certificate(bench, _set("hashes", "model", nested_lists(900))), "--json"],
        ("hash", "nested"),
    ),
    Case(
        "certificate-900-lists-in-numbers",
        lambda b: _certificate(b, _set("numbers", "theta", nested_lists(900))),
        ("theta", "nested"),
    ),
    Case(
        "certificate-900-lists-in-constraints",
        lambda b: _certificate(b, lambda d: d["constraints"].append(nested_lists(900))),
        ("condition", "nested"),
    ),
    Case(
        "certificate-of-1e9999",
        lambda b: _certificate_text(b, "1e9999", 2_200_000),
        ("numbers", "digits"),
    ),
    Case(
        "certificate-of-1e9999-conditions",
        lambda b: _certificate(b, _numbers("1e9999", 200_000)),
        ("numbers", "digits", "long"),
    ),
    Case(
        "certificate-of-1e-9999",
        lambda b: _certificate(b, _numbers("1e-9999", 200_000)),
        ("numbers", "digits", "long"),
    ),
    Case(
        "certificate-of-p30000",
        lambda b: _certificate(b, _numbers("0x1p29999", 200_000)),
        ("numbers", "digits", "long"),
    ),
    Case(
        "certificate-of-ratios",
        lambda b: _certificate(b, _numbers("1" * 4000 + "/" + "7" * 4001, 1500)),
        ("numbers", "digits", "long"),
    ),
    Case(
        "certificate-2000000-numbers",
        lambda b: _certificate(b, _numbers("1", 1_100_000)),
        ("numbers", "values"),
    ),
    Case(
        "certificate-100000-names",
        lambda b: _certificate(b, lambda d: d["parameters"].extend(str(k) for k in range(200_000))),
        ("parameters",),
    ),
    Case(
        "certificate-of-empty-objects",
        lambda b: _certificate(b, _set("constraints", [{}] * 2_000_000)),
        ("condition", "values"),
    ),
    Case(
        "certificate-of-many-lists",
        lambda b: _verify(b, "[" + "[]," * 20_000_000 + "[]]"),
        ("not a certificate", "larger", "values"),
    ),
    Case("certificate-deep", lambda b: _verify(b, DEEP), ("not JSON",)),
    Case("certificate-deep-objects", lambda b: _verify(b, '{"a":' * 100_000), ("not JSON",)),
    Case("certificate-key-twice", lambda b: _verify(b, TWICE), ("twice",)),
    Case(
        "certificate-integer-long",
        lambda b: _verify(b, '{"schema": ' + LONG + "}"),
        ("not JSON", "digits"),
    ),
    Case("certificate-utf-16", lambda b: _verify(b, TWICE.encode("utf-16")), ("twice", "not JSON")),
    Case("certificate-utf-8-broken", lambda b: _verify(b, b'{"a": "\xff\xfe"}'), ("not JSON",)),
    Case("certificate-nul", lambda b: _verify(b, "\0" * 100), ("not JSON",)),
    Case("certificate-nan", lambda b: _verify(b, '{"a": NaN}'), ("not in quotes", "not JSON")),
    Case(
        "certificate-surrogate-names",
        lambda b: _certificate(b, _set("parameters", 0, "\ud800\x1b[2J\n")),
        ("hash",),
        (1, 2),
    ),
    Case(
        "certificate-file-is-a-loop",
        lambda b: _certificate(b, _set("files", 0, "name", "loop")),
        ("loop",),
        (1, 2),
    ),
    Case("certificate-65-mib", lambda b: _verify(b, b"[" + b" " * (65 * 2**20)), ("larger",)),
    Case("result-deep", lambda b: _result_text(b, DEEP), ("not JSON",)),
    Case(
        "result-integer-long", lambda b: _result_text(b, '{"schema": ' + LONG + "}"), ("not JSON",)
    ),
    Case(
        "result-900-lists",
        lambda b: _validate(b, _set("record", nested_lists(900))),
        ("record", "nested", "runs"),
    ),
    Case(
        "result-900-lists-as-schema",
        lambda b: _validate(b, _set("schema", nested_lists(900))),
        ("nested",),
    ),
    Case(
        "result-key-twice",
        lambda b: _result_text(
            b, '{"schema": "steelyard.result/1", "schema": "steelyard.result/1"}'
        ),
        ("twice",),
    ),
    Case(
        "result-value-is-an-object",
        lambda b: _validate(b, _set("estimate", "parameters", 0, {})),
        ("damaged", "parameters"),
    ),
    Case(
        "result-values-1e308",
        lambda b: _validate(
            b, lambda d: [p.update(predicts_with=1e308) for p in d["estimate"]["parameters"]]
        ),
        ("1e+308", "parameter"),
    ),
    Case(
        "result-value-integer-long",
        lambda b: _result_text(
            b,
            '{"schema": "steelyard.result/1", "estimate": {"parameters": '
            f'[{{"predicts_with": {"9" * 4000}}}]}}}}',
        ),
        ("damaged",),
    ),
    Case(
        "result-names-with-escapes",
        lambda b: _validate(b, _set("model", "terms", 0, "kind", "\x1b[2J\nfv")),
        ("term",),
    ),
    Case(
        "result-names-a-megabyte",
        lambda b: _validate(b, _set("model", "terms", 0, "kind", "a" * 1_000_000)),
        ("term",),
    ),
    Case(
        "result-many-empty-lists",
        lambda b: _result_text(b, "[" + "[]," * 20_000_000 + "[]]"),
        ("not a result", "values"),
    ),
    Case(
        "result-runs-without-numbers",
        lambda b: _validate(b, _set("record", "runs", [None, 1, "a"])),
        ("record",),
    ),
    Case("result-to-urdf", lambda b: _to_urdf(b, 1e-320), ("upper.m", "upper", "mass"), (0, 2)),
    Case("result-to-urdf-1e308", lambda b: _to_urdf(b, 1e308), ("upper.m", "upper", "mass")),
    Case(
        "result-compared-with-lists",
        lambda b: _result(b, _set("estimate", "parameters", [[], []]), "compare", "@", "@"),
        ("damaged", "parameters"),
    ),
    Case(
        "prior-mass-1e-320", lambda b: _prior_row(b, "upper.m", "1e-320"), ("mass", "upper"), (0, 2)
    ),
    Case(
        "prior-mass-1e-300", lambda b: _prior_row(b, "upper.m", "1e-300"), ("mass", "upper"), (0, 2)
    ),
    Case("prior-mass-1e300", lambda b: _prior_row(b, "upper.m", "1e300"), ("mass", "upper")),
    Case("prior-inertia-1e308", lambda b: _prior_row(b, "upper.Ixx", "1e308"), ("upper",)),
    Case(
        "prior-inertia-1e-320", lambda b: _prior_row(b, "upper.Ixx", "1e-320"), ("upper",), (0, 2)
    ),
    Case("prior-com-1e200", lambda b: _prior_row(b, "upper.mx", "1e200"), ("upper",)),
    Case("prior-one-line", lambda b: _prior(b, "a" * 30_000_000), ("line", "field")),
    Case("prior-million-lines", lambda b: _prior(b, "a,1\n" * 2_000_000), ("lines",)),
    Case(
        "prior-million-names",
        lambda b: _prior(b, "".join(f"a{k},1\n" for k in range(600_000))),
        ("a0", "lines", "values"),
    ),
    Case(
        "prior-million-columns",
        lambda b: _prior(b, "name,value" + ",x" * 3_000_000),
        ("name", "line", "upper", "cells"),
    ),
    Case("prior-nul", lambda b: _prior(b, "upper.m,1\0\n"), ("upper.m",)),
    Case("prior-deep", lambda b: _prior(b, DEEP, ".json"), ("JSON",)),
    Case(
        "prior-integer-long",
        lambda b: _prior(b, '{"upper.m": ' + LONG + "}", ".json"),
        ("JSON", "upper.m"),
    ),
    Case(
        "prior-key-twice", lambda b: _prior(b, '{"upper.m": 1, "upper.m": 2}', ".json"), ("twice",)
    ),
    Case(
        "prior-list-as-number",
        lambda b: _prior(b, '{"upper.m": ' + "[" * 900 + "]" * 900 + "}", ".json"),
        ("upper.m", "nested"),
    ),
    Case(
        "base-million-names",
        lambda b: _base(b, "".join(f"a{k},1\n" for k in range(600_000))),
        ("a0", "lines", "values"),
    ),
    Case("base-deep", lambda b: _base(b, DEEP, ".json"), ("JSON",)),
    Case(
        "base-1e308",
        lambda bench: [
            "base",
            "test",
            bench.write(_base_table(bench, "1e308"), ".csv"),
            bench.robot,
        ],
        ("1e+308", "base parameter", "large"),
        (0, 1, 2),
    ),
    Case(
        "base-1e-320",
        lambda bench: [
            "base",
            "test",
            bench.write(_base_table(bench, "1e-320"), ".csv"),
            bench.robot,
        ],
        ("base",),
        (0, 1, 2),
    ),
    Case(
        "motion-deep",
        lambda bench: ["design", bench.robot, "--like", bench.write(DEEP, ".json")],
        ("JSON",),
    ),
    Case(
        "motion-million-joints",
        lambda b: _motion(b, _set("joints", [f"j{k}" for k in range(200_000)])),
        ("joint",),
    ),
    Case(
        "motion-1e308", lambda b: _motion(b, lambda d: _all_numbers(d["trajectory"], 1e300)), ("",)
    ),
    Case(
        "motion-1e-320",
        lambda b: _motion(b, lambda d: _all_numbers(d["trajectory"], 1e-320)),
        ("",),
    ),
    Case(
        "motion-900-lists",
        lambda b: _motion(b, _set("trajectory", nested_lists(900))),
        ("trajectory", "nested"),
    ),
    Case(
        "payload-1e-320", lambda b: _payload(b, _set("inertial_parameters", [1e-320] * 10)), ("kg",)
    ),
    Case(
        "payload-1e300", lambda b: _payload(b, _set("inertial_parameters", [1e300] * 10)), ("kg",)
    ),
    Case(
        "payload-deep",
        lambda bench: [
            "simulate",
            bench.robot,
            "-o",
            str(bench.path) + ".csv",
            "--payload",
            bench.write(DEEP, ".json"),
        ],
        ("JSON",),
    ),
    Case(
        "payload-900-lists",
        lambda b: _payload(b, _set("values", nested_lists(900))),
        ("values", "nested"),
    ),
    Case("payload-names", lambda b: _payload(b, _set("frame", "\x1b[2J\n")), ("frame",)),
]


def _base_table(bench: Bench, value: str) -> str:
    lines = (bench.honest / "found" / "parameters.csv").read_text("utf-8").splitlines()
    rows = [line.split(",") for line in lines[1:]]
    return "name,value\n" + "".join(f'"{row[0]}",{value}\n' for row in rows)


def _all_numbers(value: Any, number: float) -> Any:
    """Replace every number inside lists and objects."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in list(items):
        if isinstance(entry, dict | list):
            _all_numbers(entry, number)
        elif isinstance(entry, float):
            value[key] = number
    return value
