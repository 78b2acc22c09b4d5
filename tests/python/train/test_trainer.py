"""Trainers: single steps, and errors before the first step."""

import numpy as np
import pytest
import tenon
from tenon import nn, ops
from training import assert_same_bits, examples, network, train


def test_a_loop_of_ones_own():
    with tenon.Trainer(network(), examples(), epochs=2, accuracy=("scores", "label")) as trainer:
        reports = list(trainer)
        assert (
            [report.step for report in reports] == list(range(1, 9))
            and trainer.steps == 8
            and trainer.epoch == 2
        )
        assert [report.examples for report in reports] == [64, 64, 64, 8] * 2
        assert trainer.examples == 200 and trainer.steps_per_epoch == 4 and trainer.position == 0
        assert all(0 <= report.accuracy <= 1 and report.learning_rate == 1e-3 for report in reports)
        measured = trainer.evaluate(examples())
        assert measured.loss == pytest.approx(
            tenon.evaluate(trainer.graph(), examples()).loss, rel=1e-6
        )
        kept = trainer.graph()
    assert_same_bits(kept, train(network(), examples(), epochs=2).graph)
    with pytest.raises(tenon.UsageError, match="the trainer is closed"):
        trainer.step()
    assert repr(trainer) == "<tenon.Trainer, closed>"
    trainer.close()


def test_batches_of_ones_own():
    data = examples()
    order = np.arange(200)
    whole = tenon.Trainer(network(), data, shuffle=False)
    own = tenon.Trainer(network(), {name: array[:1] for name, array in data.items()})
    for begin in range(0, 200, 64):
        rows = order[begin : begin + 64]
        one, other = whole.step(), own.step((data["x"][rows], data["label"][rows]))
        assert (one.loss, one.examples) == (other.loss, other.examples)
    assert_same_bits(whole.graph(), own.graph())
    assert own.position == 0 and own.steps == 4


def test_lanes_is_the_old_name_of_micro_batches():
    new = train(network(), examples(), epochs=1, micro_batches=3)
    for make in (tenon.Trainer, train):
        with pytest.warns(DeprecationWarning, match="use micro_batches=") as warned:
            old = make(network(), examples(), epochs=1, lanes=3)
        assert len(warned) == 1
    assert_same_bits(old.graph, new.graph)


def test_sgd_is_the_closed_form():
    graph = tenon.Graph()
    x, y = graph.input("x", "float64", (None, 3)), graph.input("y", "float64", (None, 1))
    graph.outputs(
        loss=ops.mean_squared_error(
            nn.dense(x, 1, weight=np.ones((1, 3)), bias=False, name="fc"), y
        )
    )
    random = np.random.default_rng(0)
    data, target, weight = (
        random.standard_normal((10, 3)),
        random.standard_normal((10, 1)),
        np.ones((1, 3)),
    )
    with tenon.Trainer(
        graph, (data, target), optimizer="sgd", learning_rate=0.25, batch=10
    ) as trainer:
        for _ in range(5):
            error = data @ weight.T - target
            assert trainer.step().loss == pytest.approx((error**2).mean())
            weight = weight - 0.25 * 2 * error.T @ data / 10
        np.testing.assert_allclose(
            trainer.graph()["fc_weight"].numpy(), weight, rtol=1e-6
        )  # the rate is a float32


def test_a_failed_step_changes_nothing():
    data = examples()
    bad = {"x": np.full((4, 4), np.inf, np.float32), "label": data["label"][:4]}
    trainer, other = (tenon.Trainer(network(), data) for _ in range(2))
    trainer.step()
    for wrong, kind, text in [
        (bad, tenon.ExecutionError, "the loss is nan"),
        ({"x": data["x"]}, tenon.UsageError, "no examples for input 'label'"),
        (
            {**data, "x": data["x"].astype(float)},
            tenon.UsageError,
            "is float64 but the graph needs float32",
        ),
        ((data["x"],), tenon.UsageError, "2 inputs"),
        (data["x"], TypeError, "a dict or a tuple"),
        ({"x": object(), "label": data["label"]}, TypeError, "input 'x'"),
    ]:
        with pytest.raises(kind, match=text):
            trainer.step(wrong)
        assert trainer.can_be_saved and trainer.steps == 1
    trainer.step()
    other.step(), other.step()
    assert_same_bits(trainer.graph(), other.graph())


def test_a_sparse_matrix_trains():
    sparse = pytest.importorskip("scipy.sparse")
    data = examples()
    dense = np.where(data["x"] > 1, data["x"], 0)
    graph = tenon.Graph()
    x, label = graph.input("x", "float32", (None, 4)), graph.input("label", "uint8", (None,))
    w = graph.variable("w", dtype="float32", shape=(4, 3))
    graph.outputs(loss=ops.softmax_cross_entropy(ops.matmul(x, w), label))
    made = [
        train(graph, (array, data["label"]), epochs=3).graph["w"].numpy()
        for array in (dense, sparse.csr_array(dense))
    ]
    np.testing.assert_allclose(*made, rtol=1e-4, atol=1e-6)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        (dict(optimizer="adamx"), tenon.PluginError, "adamx"),
        (dict(optimizer="relu"), tenon.UsageError, "relu"),
        (dict(weight_dekay=0.1), tenon.UsageError, "weight_dekay"),
        (dict(schedule="linear"), tenon.UsageError, "no schedule 'linear'"),
        (dict(epochs=-1), tenon.UsageError, "epochs is -1"),
        (dict(epochs=2.5), TypeError, "epochs must be an integer, not float"),
        (dict(learning_rate="fast"), TypeError, "learning_rate must be a number, not str"),
        (dict(learning_rate=-1), tenon.UsageError, "rate"),
        (dict(batch=0), tenon.UsageError, "batch is 0"),
        (dict(accuracy="scores"), TypeError, "accuracy must be"),
        (dict(accuracy=("scores", "lable")), tenon.UsageError, "no input 'lable'"),
        (dict(loss="los"), tenon.UsageError, "los"),
        (dict(checkpoint_every=5), tenon.UsageError, "needs a path"),
        (dict(resume=True), tenon.UsageError, "needs the checkpoint"),
        (dict(resume="nowhere.tenon"), tenon.FileError, "no such checkpoint"),
        (dict(checkpoint="no/such/folder/x.tenon"), tenon.FileError, "no folder"),
        (dict(checkpoint="x.bin"), tenon.UsageError, "must end in .tenon"),
        (dict(early_stopping=3), tenon.UsageError, "needs validate="),
        (
            dict(validate={"x": np.ones((2, 4), np.float32)}),
            tenon.UsageError,
            "no examples for input 'label'",
        ),
        (dict(validate={**examples(4), "y": np.ones(4)}), tenon.UsageError, "no input 'y'"),
        (
            dict(validate=(np.ones((2, 4)), np.zeros(2, np.uint8))),
            tenon.UsageError,
            "float64 but the graph needs float32",
        ),
        (
            dict(validate=(np.ones((2, 4), np.float32), np.zeros(3, np.uint8))),
            tenon.UsageError,
            "numbers of examples differ",
        ),
    ],
)
def test_refused_before_the_first_step(options, kind, text):
    steps = []
    with pytest.raises(kind, match=text):
        train(network(), examples(), callbacks=[steps.append], **options)
    assert steps == []


def test_a_confusion_table_needs_validation():
    with pytest.raises(tenon.UsageError, match="needs validation data"):
        train(network(), examples(), epochs=1).confusion()
