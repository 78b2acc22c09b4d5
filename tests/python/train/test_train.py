"""Training from Python: bits equal to the program's, resuming, Ctrl-C, early stopping, and
errors.
"""

import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon import nn, ops
from training import assert_same_bits, examples, network, train, values

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAM = Path(os.environ.get("TENON_PROGRAM", Path(tenon.__file__).parents[2] / "tenon"))


# ---- the program's bits --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (
            "--optimizer adamw --set weight_decay=0.1 --schedule cosine --warm-up 5 "
            "--end-rate 1e-5 --accumulate 2 --micro-batches 3 --clip-norm 0.5 --seed 7 --epochs 3 "
            "--batch 10 --learning-rate 0.01".split(),
            dict(
                optimizer="adamw",
                weight_decay=0.1,
                schedule="cosine",
                warm_up=5,
                end_rate=1e-5,
                accumulate=2,
                micro_batches=3,
                clip_norm=0.5,
            )
            | dict(seed=7, epochs=3, batch=10, learning_rate=0.01),
        ),
        (
            "--optimizer momentum --schedule step --decay-every 4 --decay 0.5 --no-shuffle "
            "--epochs 4 --memory-budget 18000".split(),
            dict(
                optimizer="momentum",
                schedule="step",
                decay_every=4,
                decay=0.5,
                shuffle=False,
                epochs=4,
                memory_budget=18000,
            ),
        ),
    ],
    ids=["defaults", "cosine", "step"],
)
def test_the_same_bits_as_the_program(tmp_path, words, options):
    if not PROGRAM.exists():
        pytest.skip("the program tenon is not beside the package; TENON_PROGRAM=PATH names it")
    graph = network()
    data = examples()
    (tmp_path / "graph.json").write_text(graph.to_json())
    for name, array in data.items():
        np.save(tmp_path / f"{name}.npy", array)
    command = [
        PROGRAM,
        "train",
        "graph.json",
        "-o",
        "net.tenon",
        "--data",
        "x=x.npy",
        "--data",
        "label=label.npy",
        *words,
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    run = train(graph, data, **options)
    run.graph.save(tmp_path / "ours.tenon")
    assert_same_bits(tenon.load(tmp_path / "ours.tenon"), tenon.load(tmp_path / "net.tenon"))
    assert not values(run.graph)["fc_weight"].same_bits(
        values(train(graph, data, **{**options, "seed": 8}).graph)["fc_weight"]
    )


# ---- what a run says -----------------------------------------------------------------------------


def test_history_curves_and_confusion():
    data, held = examples(), examples(80, seed=1)
    run = train(
        network(), data, validate=held, accuracy=("scores", "label"), epochs=5, learning_rate=0.01
    )
    assert [entry["epoch"] for entry in run.history] == [0, 1, 2, 3, 4]
    assert [entry["step"] for entry in run.history] == [4, 8, 12, 16, 20]
    assert run.stopped == "epochs" and run.best is None
    assert run.curves.startswith("<svg") and run.curves in run._repr_html_()
    # The last entry, measured again with numpy.
    given = run.graph(**held)
    share = (given.best == held["label"]).mean()
    assert run.history[-1]["validation_accuracy"] == pytest.approx(share) and share > 0.5
    assert run.history[-1]["validation_loss"] == pytest.approx(float(given.loss), rel=1e-5)
    counts = np.zeros((3, 3), int)
    np.add.at(counts, (held["label"].astype(int), given.best), 1)
    table = run.confusion(["red", "green", "blue"])
    np.testing.assert_array_equal(table.counts, counts)
    assert table.accuracy == pytest.approx(share)
    assert list(run.graph.outputs()) == ["loss", "best"]
    assert (
        "<svg" in table._repr_html_() and "green" in table._repr_html_() and "green" in repr(table)
    )
    assert "5 epochs, 20 steps" in repr(run)


def test_a_trained_graph_learns_and_the_original_stays():
    graph = network()
    graph.initialize(0)
    before = graph["fc_weight"].numpy()
    run = train(graph, examples(), epochs=30, learning_rate=0.02)
    assert run.history[-1]["loss"] < 0.6 * run.history[0]["loss"]
    np.testing.assert_array_equal(graph["fc_weight"].numpy(), before)


def test_loss_and_accuracy_are_found_or_named():
    graph = network()
    data = examples()
    named = train(
        graph,
        data,
        loss=graph["softmax_cross_entropy"],
        accuracy=(graph["scores"], graph["label"]),
        epochs=1,
    )
    assert named.history[0]["accuracy"] > 0
    assert_same_bits(named.graph, train(graph, data, epochs=1).graph)
    two = tenon.Graph()
    x = two.input("x", "float32", (None, 2))
    y = nn.dense(x, 1)
    two.outputs(a=ops.mean(y), b=ops.mean(y * y))
    with pytest.raises(tenon.UsageError, match="no output 'loss'"):
        train(two, {"x": np.ones((4, 2), np.float32)})
    assert train(two, {"x": np.ones((4, 2), np.float32)}, loss="b", epochs=1).history


def test_evaluate():
    data = examples()
    run = train(network(), data, epochs=2)
    made = tenon.evaluate(run.graph, data, accuracy=("scores", "label"), batch=33)
    given = run.graph(**data)
    assert made.loss == pytest.approx(float(given.loss), rel=1e-5)
    assert made.accuracy == pytest.approx((given.best == data["label"]).mean())
    assert tenon.evaluate(run.graph, data).accuracy is None


def test_confusion_of_scores_and_of_classes():
    labels, classes = np.array([0, 1, 2, 2, 1]), np.array([0, 2, 2, 2, 1])
    scores = np.eye(3, dtype=np.float32)[classes]
    expected = [[1, 0, 0], [0, 1, 1], [0, 0, 2]]
    np.testing.assert_array_equal(tenon.confusion(labels, scores).counts, expected)
    np.testing.assert_array_equal(tenon.confusion(labels, classes).counts, expected)
    assert tenon.confusion(labels, classes, names="abcd").counts.shape == (4, 4)
    with pytest.raises(tenon.UsageError, match="label 2"):
        tenon.confusion(labels, scores[:, :2])
    with pytest.raises(tenon.UsageError, match="class 2 is not a class"):
        tenon.confusion(labels, classes, names="ab")


# ---- checkpoints ---------------------------------------------------------------------------------


def test_resumed_training_has_the_bits_of_one_that_never_stopped(tmp_path):
    whole = train(network(), examples(), epochs=6)
    path = tmp_path / "net.checkpoint.tenon"
    stopped = train(
        network(),
        examples(),
        epochs=6,
        checkpoint=path,
        callbacks=[lambda report: report.step == 10],
    )
    assert stopped.stopped == "callback" and tenon.load(path).training["step"] == 10
    resumed = train(network(), examples(), epochs=6, checkpoint=path, resume=True)
    assert_same_bits(whole.graph, resumed.graph)
    assert [entry["epoch"] for entry in resumed.history] == [2, 3, 4, 5]
    again = train(network(), examples(), epochs=6, resume=path)
    assert again.history == [] and "no epoch ended" in repr(again) and again._repr_html_()
    assert_same_bits(whole.graph, again.graph)


def test_checkpoints_on_the_way(tmp_path):
    path = tmp_path / "net.checkpoint.tenon"
    steps = []

    def look(report):
        steps.append(tenon.load(path).training["step"] if path.exists() else 0)

    train(network(), examples(), epochs=2, checkpoint=path, checkpoint_every=3, callbacks=[look])
    assert steps == [0, 0, 3, 3, 3, 6, 6, 6] and tenon.load(path).training["step"] == 8


def test_a_failing_callback_leaves_a_checkpoint(tmp_path):
    path = tmp_path / "net.checkpoint.tenon"

    def fail(report):
        if report.step == 5:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(network(), examples(), checkpoint=path, callbacks=[fail])
    assert tenon.load(path).training["step"] == 5


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from training import *
def tell(report):
    if report.step == 5: print("ready", flush=True)
train(network(), examples(), epochs=10**6, checkpoint=sys.argv[2], callbacks=[tell])
"""


def test_ctrl_c_ends_the_step_and_saves(tmp_path):
    path = tmp_path / "net.checkpoint.tenon"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGINT)
        errors = child.communicate(timeout=120)[1]
    finally:
        child.kill()
    assert b"KeyboardInterrupt" in errors and child.returncode == -signal.SIGINT
    where = tenon.load(path).training
    assert where["step"] >= 5
    epochs = where["epoch"] + 2
    resumed = train(network(), examples(), epochs=epochs, resume=path)
    assert_same_bits(resumed.graph, train(network(), examples(), epochs=epochs).graph)


def test_early_stopping_keeps_the_best():
    data, held = examples(20), examples(100, seed=1)
    held["label"] = np.roll(held["label"], 1)  # nothing to learn, so the loss on them soon grows
    run = train(network(), data, validate=held, epochs=300, learning_rate=0.02, early_stopping=3)
    losses = [entry["validation_loss"] for entry in run.history]
    lowest = int(np.argmin(losses))
    assert run.stopped == "early stopping" and len(losses) < 300 and len(losses) == lowest + 4
    assert tenon.evaluate(run.best, held).loss == pytest.approx(losses[lowest], rel=1e-6)
    assert not values(run.best)["fc_weight"].same_bits(values(run.graph)["fc_weight"])


# ---- progress ------------------------------------------------------------------------------------


class Bar:
    made = []

    def __init__(self, total, initial, disable, unit):
        self.total, self.steps, self.disable, self.text = total, initial, disable, ""
        Bar.made.append(self)

    def update(self):
        self.steps += 1

    def set_postfix_str(self, text, refresh):
        self.text = text

    def close(self):
        self.closed = True


def broken(**_):
    raise ImportError("IProgress not found. Please update jupyter and ipywidgets.")


def as_tqdm(monkeypatch, auto, std):
    package = types.ModuleType("tqdm")
    monkeypatch.setitem(sys.modules, "tqdm", package)
    for name, bar in [("auto", auto), ("std", std)]:
        module = types.ModuleType(f"tqdm.{name}")
        module.tqdm = bar
        monkeypatch.setitem(sys.modules, module.__name__, module)


def test_tqdm_where_it_is_and_its_plain_bar_where_notebooks_lack_widgets(monkeypatch):
    Bar.made.clear()
    as_tqdm(monkeypatch, broken, Bar)
    train(network(), examples(), epochs=2, progress=None)
    (bar,) = Bar.made
    assert (bar.total, bar.steps, bar.disable, bar.closed) == (
        8,
        8,
        None,
        True,
    ) and "epoch 2/2" in bar.text
    train(network(), examples(), epochs=2, progress=False)
    assert len(Bar.made) == 1


def test_lines_without_tqdm(monkeypatch, capsys):
    as_tqdm(monkeypatch, broken, broken)
    train(network(), examples(), epochs=2, progress=None)
    assert capsys.readouterr().err == ""  # stderr is not a terminal
    train(network(), examples(), validate=examples(), epochs=2, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert (
        len(lines) == 2
        and lines[1].startswith("epoch 2/2  loss ")
        and "validation loss" in lines[1]
    )


# ---- the example ---------------------------------------------------------------------------------


def test_the_digits_are_learned_in_25_lines(tmp_path):
    example = REPOSITORY / "host/python/examples/digits.py"
    assert len(example.read_text().splitlines()) <= 25
    folders = [str(Path(tenon.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, example],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    right = float(done.stdout.split("correct, ")[1].split(" %")[0])
    assert right >= 97
    images = (
        np.load(REPOSITORY / "tests/data/digits_images.npy")[1500:]
        .astype("float32")
        .reshape(-1, 1, 8, 8)
        / 8
        - 1
    )
    labels = np.load(REPOSITORY / "tests/data/digits_labels.npy")[1500:]
    scores = tenon.load(tmp_path / "digits.tenon")(image=images, label=labels).scores
    assert 100 * (scores.argmax(1) == labels).mean() == pytest.approx(right, abs=0.01)


def test_errors_of_wide_graphs_list_sixteen_names():
    graph, data = tenon.Graph(), np.zeros((4, 2), np.float32)
    inputs = [graph.input(f"x{number}", "float32", (None, 2)) for number in range(20)]
    graph.outputs(**{f"y{number}": each + 1.0 for number, each in enumerate(inputs)})
    with pytest.raises(tenon.UsageError, match="its outputs are y0, .*, y15 and 4 more"):
        tenon.train(graph, [data] * 20, epochs=1, progress=False)
    graph.output("loss", ops.mean(graph.variable("w", np.ones(2, np.float32)) * inputs[0]))
    with pytest.raises(
        tenon.UsageError, match=r"20 inputs \(x0, .*, x15 and 4 more\), but got 1 arrays"
    ):
        tenon.train(graph, [data], epochs=1, progress=False)
    named = {f"x{number}": data for number in range(20)}
    with pytest.raises(
        tenon.UsageError, match="no input 'z'; its inputs are x0, .*, x15 and 4 more"
    ):
        tenon.train(graph, named, epochs=1, progress=False, validate={"z": data})
    held = named | {"x0": data[:3]}
    with pytest.raises(tenon.UsageError, match="differ: 3 for 'x0', .*, 4 for 'x15' and 4 more"):
        tenon.train(graph, named, epochs=1, progress=False, validate=held)
