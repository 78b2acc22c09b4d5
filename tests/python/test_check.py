"""tenon.check: checks detect an operator's faults and pass sound operators."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tenon
from tenon import ops


@pytest.fixture(autouse=True)
def host():
    with tenon.Host(threads=2) as made:
        yield made


def operator(name="Scaled", **functions):
    """An operator that computes factor * x, with the given faults."""

    def describe(op):
        op.input("x")
        op.output("y")
        op.param("factor").greater_than(0).at_most(9)

    def forward(self, call):
        np.multiply(call.x, self.factor, out=call.y)

    def backward(self, call):
        np.multiply(call.y_grad, self.factor, out=call.x_grad)

    body = {
        "__doc__": "factor * x",
        "factor": 2.0,
        "describe": describe,
        "forward": forward,
        "backward": backward,
    } | functions
    return tenon.operator(type(name, (), body))


def verdicts(report):
    return {result.check: result.verdict for result in report}


def test_a_sound_operator_passes_all_that_concerns_it():
    report = tenon.check(operator())
    assert report.ok and bool(report)
    assert not report.failed
    found = verdicts(report)
    assert set(found) == {name for name, _ in tenon._core.list_checks("")}
    for name in (
        "inference",
        "dtypes",
        "coverage",
        "inputs",
        "guard",
        "determinism",
        "instances",
        "save_load",
        "gradient",
        "bounds",
        "parameters",
    ):
        assert found[name] == "passed", report
    assert "scaled: " in repr(report) and "gradient" in repr(report)
    assert (
        "<table>" in report._repr_html_()
        and "<td>gradient</td><td>passed</td>" in report._repr_html_()
    )
    assert report["gradient"].sentence.endswith("outputs")


def wrong_gradient(self, call):
    call.x_grad = call.y_grad * (self.factor + 0.5)


def half_written(self, call):
    call.y.flat[: call.y.size // 2] = 0


def unsteady(self, call):
    self.count = getattr(self, "count", 0) + 1
    call.y = call.x * self.factor + np.random.default_rng().random()


def too_narrow(self, call):
    if call.x.dtype == np.float16:
        raise TypeError("no halves")
    call.y = call.x * self.factor


def dies(self, call):
    import ctypes

    ctypes.string_at(8)


@pytest.mark.parametrize(
    "functions, check, verdict, sentence",
    [
        ({"backward": wrong_gradient}, "gradient", "failed", "x"),
        ({"forward": half_written}, "coverage", "failed", "element"),
        ({"forward": unsteady}, "determinism", "failed", "different bits"),
        ({"forward": too_narrow}, "dtypes", "failed", "no halves"),
        ({"infer": lambda self, io: io.set_output("y", (2,))}, "shapes", None, ""),
        ({"forward": dies}, "coverage", "crashed", "signal 11"),
    ],
)
def test_each_fault_is_found_by_its_check(functions, check, verdict, sentence):
    report = tenon.check(operator("Faulty", **functions), checks=[check])
    found = next(result for result in report if result.check == check)
    if verdict is not None:
        assert found.verdict == verdict and sentence in found.sentence, report
        assert not report.ok and found in report.failed
        assert check in repr(report) and verdict.upper() in repr(report)
    # this process is unaffected
    np.testing.assert_array_equal(ops.relu(np.array([-1.0, 1.0])), [0, 1])


def test_chosen_checks_and_unknown_ones():
    made = operator()
    assert list(verdicts(tenon.check(made, checks=["gradient", "bounds"]))) == [
        "gradient",
        "bounds",
    ]
    with pytest.raises(tenon.UsageError, match="there is no check 'gradients'") as caught:
        tenon.check(made, checks=["gradients"])
    assert "gradient" in caught.value.hint
    with pytest.raises(TypeError, match="@tenon.operator"):
        tenon.check(int)


def test_an_operator_that_does_not_end_is_named():
    import time

    report = tenon.check(
        operator("Endless", forward=lambda self, call: time.sleep(60)),
        timeout=0.3,
        checks=["coverage"],
    )
    assert report[0].verdict == "crashed" and "did not end within 0.3 s" in report[0].sentence


def test_kernels_may_call_other_operators_of_the_process():
    operator("Inner")

    def forward(self, call):
        call.y = ops.inner(call.x, factor=1.0) * self.factor

    report = tenon.check(
        operator("Outer", forward=forward), checks=["coverage", "gradient", "save_load"]
    )
    assert report.ok, report


def test_a_plugin_and_a_function_of_one(tmp_path, monkeypatch):
    info = ops["tenon.relu"].info
    report = tenon.check(info.path, op="relu", checks=["gradient", "inference"])
    assert (
        verdicts(report) == {"gradient": "passed", "inference": "passed"} and report[0].op == "relu"
    )
    assert verdicts(tenon.check(ops["tenon.relu"], checks=["bounds"])) == {"bounds": "skipped"}
    with pytest.raises(tenon.FileError, match="is not a readable file"):
        tenon.check(tmp_path / "none.so")
    with pytest.raises(tenon.UsageError, match="no operator 'relux'"):
        tenon.check(info.path, op="relux")


def test_a_function_of_an_operator_in_python_and_the_same_seed():
    made = operator()
    first = tenon.check(ops.scaled, checks=["determinism"], seed=3)
    assert first[0].calls == tenon.check(made, checks=["determinism"], seed=3)[0].calls
    assert first[0].calls


def test_checks_run_from_a_script_whose_host_has_run():
    source = """
        import numpy as np, tenon, threading
        from tenon import ops
        ops.relu(np.ones(1_000_000, np.float32))  # threads of the host
        stop = threading.Event()
        other = threading.Thread(
            target=lambda: [ops.add(np.ones(4), np.ones(4)) for _ in iter(stop.is_set, True)])
        other.start()
        @tenon.operator
        class Same:
            '''x'''
            def describe(op): op.input("x"); op.output("y")
            def forward(self, call): call.y = call.x
            def backward(self, call): call.x_grad = call.y_grad
        for _ in range(5):
            report = tenon.check(Same, checks=["coverage", "gradient", "save_load"])
            if not report.ok: print(report)
        stop.set(); other.join()
        print("end")
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout.strip(), done.stderr) == ("end", "")


class Chosen:
    """-log p of each row's label, summed; labels are below the number of classes."""

    ignore_index = -100

    def describe(op):
        op.types("float32", "float64")
        op.input("p")
        op.input("label").types("int64")
        op.output("loss")
        op.param("ignore_index")

    def infer(self, io):
        io.set_output("loss", ())

    def forward(self, call):
        count = call.label != self.ignore_index
        rows = np.flatnonzero(count)
        label = call.label[count]
        if (
            call.p.ndim != 2
            or call.label.shape != call.p.shape[:1]
            or np.any(label < 0)
            or np.any(label >= call.p.shape[1])
        ):
            raise ValueError(f"labels {call.label} of {call.p.shape}")
        call.loss[...] = -np.log(call.p[rows, label]).sum()


def test_calls_to_try_are_named_by_shape_set_and_input(tmp_path):
    made = tenon.operator(Chosen)
    label = np.array([2, -7], np.int64)
    given = {"shape": {"p": (2, 3)}, "set": {"ignore_index": -7}, "input": {"label": label}}
    report = tenon.check(made, checks=["coverage", "save_load", "examples"], **given)
    assert verdicts(report) == {
        "coverage": "passed",
        "save_load": "passed",
        "examples": "skipped",
    }, report
    assert report["save_load"].calls == ["(p float32 [2, 3], label int64 [2]) ignore_index=-7"]
    refused = tenon.check(made, checks=["coverage"], **given | {"set": {"ignore_index": -6}})
    assert (
        verdicts(refused) == {"coverage": "untried"}
        and "labels [ 2 -7] of (2, 3)" in refused[0].sentence
    )
    tenon.save_array(tmp_path / "label.npy", label)
    from_file = given | {
        "set": [{"ignore_index": -7}, {"ignore_index": -6}],
        "input": {"label": tmp_path / "label.npy"},
    }
    both = tenon.check(made, checks=["save_load"], **from_file)
    assert both[0].sentence == "1 call" and any("ignore_index=-6" in call for call in both[0].calls)
    with pytest.raises(tenon.UsageError, match="no input 'labels'"):
        tenon.check(made, input={"labels": label})


def test_calls_of_a_plugin_are_named_the_same_way(tmp_path):
    info = ops["tenon.embedding"].info
    sizes = {"input_dim": 4, "output_dim": 2}
    given = {
        "op": "embedding",
        "checks": ["coverage", "save_load"],
        "shape": {"weight": [4, 2]},
        "set": sizes,
    }
    indices = np.array([3, 0, 3], np.int32)
    report = tenon.check(info.path, **given, input={"indices": indices})
    assert verdicts(report) == {"coverage": "passed", "save_load": "passed"}, report
    assert report["save_load"].calls[0].startswith("(indices int32 [3], weight float32 [4, 2])"), (
        report["save_load"].calls
    )
    np.save(tmp_path / "indices.npy", indices + 1)
    report = tenon.check(info.path, **given, input={"indices": tmp_path / "indices.npy"})
    assert (
        verdicts(report)["coverage"] == "untried" and "there are 4" in report["coverage"].sentence
    ), report
    report = tenon.check(
        ops["tenon.clip"].info.path, op="clip", checks=["gradient"], set={"low": -0.25, "high": 2}
    )
    assert report.ok and all("low=-0.25 high=2" in call for call in report[0].calls), report[
        0
    ].calls
