#!/usr/bin/env python3
"""Runs all node tests of the onnx package with test_onnx: backend.py BUILD_FOLDER, in a Python with
onnx.

Not part of CI. Prints how many tests pass and why others are rejected; exits with 1 if a result is
wrong.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from onnx import TensorProto, numpy_helper, save
from onnx.backend.test.case.node import collect_testcases

# Looser tolerances (relative, absolute), for recorded results that are less precise than Tenon's.
LOOSER = {
    # numpy's complex64 transform leaves noise next to values of 0 to 99
    "test_dft_inverse": (1e-3, 1e-4),
    "test_dft_inverse_opset19": (1e-3, 1e-4),
    "test_attention_4d_causal_fp16_expanded": (2**-9, 1e-3),  # each node rounds to float16
}


def to_bytes(value, info) -> bytes:
    if isinstance(value, TensorProto):
        value.name = "t"
        return value.SerializeToString()
    kind = info.type.WhichOneof("value") if info is not None else "tensor_type"
    if kind == "sequence_type":
        return numpy_helper.from_list(value, "t").SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, "t").SerializeToString()
    return numpy_helper.from_array(value, "t").SerializeToString()


def write(case, folder: Path) -> None:
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    save(case.model, folder / "model.onnx")
    relative, absolute = LOOSER.get(case.name, (case.rtol, case.atol))
    (folder / "tolerance.txt").write_text(f"{relative} {absolute}\n")
    graph = case.model.graph
    for kind, values, infos in zip(
        ("input", "output"), case.data_sets[0], (graph.input, graph.output)
    ):
        for i, value in enumerate(values):
            (data / f"{kind}_{i}.pb").write_bytes(
                to_bytes(value, infos[i] if i < len(infos) else None)
            )


def reason_of(text: str) -> str:
    text = re.sub(r"^\S*\.(onnx|pb): ", "", text)
    return re.sub(
        r" ?\(\d+ nodes?, the first [^)]*\)",
        "",
        re.sub(r"(node '[^']*'|node that produces '[^']*')", "node", text),
    )


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = Path(sys.argv[1]).resolve() / "tests" / "test_onnx"
    with tempfile.TemporaryDirectory() as made:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cases = collect_testcases()
        compared = [
            case
            for case in cases
            if "bernoulli" not in case.name and "training_dropout" not in case.name
        ]
        for case in compared:
            write(case, Path(made) / "node" / case.name)
        report = Path(made) / "report.txt"
        subprocess.run(
            [program, "-tc=ONNX's own tests*"],
            env={**os.environ, "TENON_ONNX_CASES": made, "TENON_ONNX_REPORT": str(report)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        lines = [line.split(None, 2) for line in report.read_text(errors="replace").splitlines()]
    counts = collections.Counter(line[0] for line in lines)
    reasons = collections.defaultdict(list)
    for kind, name, *rest in lines:
        if kind != "right":
            reasons[kind, reason_of(rest[0] if rest else "")].append(
                name.removeprefix("node/test_")
            )
    for (kind, reason), names in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
        print(
            f"{len(names):4} {kind:8}{reason[:160]}  "
            f"({names[0]}{', ...' if len(names) > 1 else ''})"
        )
    print(
        f"{counts['right']} of {len(cases)} are right, {counts['refused']} are refused, "
        f"{counts['WRONG']} are wrong, "
        f"{len(cases) - len(compared)} draw random numbers and are not compared"
    )
    return 1 if counts["WRONG"] or len(lines) != len(compared) else 0


if __name__ == "__main__":
    sys.exit(main())
