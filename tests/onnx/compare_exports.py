"""Compares ONNX models that Tenon wrote with what Tenon computed: onnx.checker must accept each, and onnxruntime give the same results.

    compare_exports.py FOLDER    FOLDER has NAME.onnx and NAME.onnx.npz with in_NAME and out_NAME of each, as test_onnx writes them:
                                 TENON_EXPORT_TO=FOLDER build/tests/test_onnx -sf='*export_examples.cpp'

Needs the packages onnx and onnxruntime. Models with nodes that only Tenon knows are checked, but not run. Exits 1 where one differs.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

# What onnxruntime says of models that are right, and that it does not run.
LIMITS = (
    "NOT_IMPLEMENTED",
    "is not currently registered or supported",
    "Only 4-D or 5-D tensor is supported",
    "does not support double yet",
)


def only_ours(model: onnx.ModelProto) -> list[str]:
    functions = {(function.domain, function.name) for function in model.functions}
    return [node.op_type for node in model.graph.node if node.domain and (node.domain, node.op_type) not in functions]


def compare(path: pathlib.Path) -> str:
    model = onnx.load(path)
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except onnx.checker.ValidationError as error:
        if "Field 'shape' of 'type'" not in str(error):  # an output whose number of dimensions is not known
            raise
    if only_ours(model):
        return "ours"
    arrays = pathlib.Path(f"{path}.npz")
    if not arrays.exists():
        return "random"
    with np.load(arrays) as stored:
        given = {name[3:]: stored[name] for name in stored if name.startswith("in_")}
        wanted = {name[4:]: stored[name] for name in stored if name.startswith("out_")}
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        results = session.run(list(wanted), {i.name: given[i.name] for i in session.get_inputs()})
    except Exception as error:
        if any(words in str(error) for words in LIMITS):
            return "not here"
        return f"refused: {error}"
    for name, found in zip(wanted, results):
        if found.dtype != wanted[name].dtype or found.shape != wanted[name].shape:
            return f"{name} is {found.dtype} {found.shape}, not {wanted[name].dtype} {wanted[name].shape}"
        if not np.allclose(found, wanted[name], rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"{name} differs: {found} instead of {wanted[name]}"
    return "same"


def main() -> int:
    counts: dict[str, int] = {}
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
        try:
            result = compare(path)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        kind = result if result in ("same", "ours", "random", "not here") else "WRONG"
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "WRONG":
            print(f"{path.stem}: {result[:400]}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if counts.get("WRONG") or not counts.get("same") else 0


if __name__ == "__main__":
    sys.exit(main())
