"""tenon.Scorer by itself; tests/python_engines uses it in the workers of engines."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import tenon
from tenon import ops


@pytest.fixture
def network(tmp_path):
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, 2))
    graph.outputs(
        y=x @ graph.variable("w", np.array([[1], [10]], np.float32)), positive=ops.relu(x)
    )
    path = tmp_path / "net.tenon"
    graph.save(path)
    return path


def batch(rows: int = 3):
    x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
    x.flags.writeable = False
    return {"x": x, "id": np.arange(rows)}


def test_a_scorer_is_a_function_of_batches(network):
    scored = tenon.Scorer(network)(batch())
    assert list(scored) == ["y", "positive"] and scored["y"].tolist() == [[10], [32], [54]]
    kept = tenon.Scorer(network, outputs="y", keep="id")(batch())
    assert list(kept) == ["id", "y"] and kept["id"].tolist() == [0, 1, 2]
    assert tenon.Scorer(network, outputs="y").columns(batch()["x"]).tolist() == [[10], [32], [54]]


def test_inputs_that_the_outputs_do_not_need_are_not_asked_for(tmp_path):
    graph = tenon.Graph()
    x, label = graph.input("x", "float32", (None, 2)), graph.input("label", "float32", (None, 2))
    scores = ops.relu(x)
    graph.outputs(scores=scores, loss=ops.sum(scores - label))
    graph.save(tmp_path / "net.tenon")
    scorer = tenon.Scorer(tmp_path / "net.tenon", outputs="scores")
    assert np.array_equal(scorer(batch())["scores"], batch()["x"]) and np.array_equal(
        scorer.columns(batch()["x"]), batch()["x"]
    )
    with pytest.raises(tenon.UsageError, match="no column 'label'"):
        tenon.Scorer(tmp_path / "net.tenon")(batch())


def test_read_only_arrays_are_read_where_they_lie():
    x = batch()["x"]
    assert tenon.tensor(x).numpy().ctypes.data == x.ctypes.data


def test_a_scorer_loads_once_in_a_process_and_runs_in_any_thread(network, monkeypatch):
    from tenon._batches import scorer as _scorer

    loads = []
    monkeypatch.setattr(
        _scorer, "load", lambda path, host: loads.append(path) or tenon.load(path, host=host)
    )
    scorer = tenon.Scorer(network)
    again = pickle.loads(pickle.dumps(scorer))
    results = []

    def score(one):
        for rows in range(1, 30):
            results.append(np.array_equal(one(batch(rows))["y"][:, 0], batch(rows)["x"] @ [1, 10]))

    workers = [
        threading.Thread(target=score, args=(one,)) for one in (scorer, again, scorer, again)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 4 * 29 and all(results) and loads == [str(network)]


def test_a_process_keeps_the_eight_graphs_that_were_used_last(network, monkeypatch):
    from tenon._batches import scorer as _scorer

    loads = []
    monkeypatch.setattr(
        _scorer, "load", lambda path, host: loads.append(path) or tenon.load(path, host=host)
    )
    monkeypatch.setattr(_scorer, "_loaded", {("another process",): None})
    scorers = [tenon.Scorer(network, seed=seed) for seed in range(9)]
    kept = [weakref.ref(scorer._loaded()) for scorer in scorers[:8]]
    scorers[0](batch())
    assert len(loads) == 8
    scorers[8](batch())  # in place of the second one
    gc.collect()
    assert [each() is None for each in kept] == [False, True] + 6 * [False]
    scorers[0](batch())
    assert len(loads) == 9 and len(_scorer._loaded) == 8 + 1
    assert scorers[1](batch())["y"].tolist() == [[10], [32], [54]]
    assert len(loads) == 10 and len(_scorer._loaded) == 8 + 1


def test_options_of_another_type_are_checked_however_often_the_graph_was_loaded(network):
    """1.0 equals 1, with which the graph is there already, but is not a seed."""
    for option in ("seed", "threads"):
        tenon.Scorer(network, **{option: 1})(batch())
        with pytest.raises(TypeError, match=f"{option}=1.0"):
            tenon.Scorer(network, **{option: 1.0})(batch())


def test_a_scorer_goes_to_another_process(network, tmp_path, python):
    sent = tmp_path / "scorer"
    sent.write_bytes(pickle.dumps(tenon.Scorer(network)))
    assert str(network).encode() in sent.read_bytes() and len(sent.read_bytes()) < 1000
    code = f"""
        import pickle, numpy as np
        scorer = pickle.load(open({str(sent)!r}, "rb"))
        try:
            print(scorer({{"x": np.ones((2, 2), np.float32)}})["y"].tolist())
        except Exception as error:
            print(type(error).__name__, error)
    """
    assert python(code) == "[[11.0], [11.0]]\n"
    network.write_bytes(network.read_bytes() + b"x")
    assert (
        python(code) == f"FileError '{network}' is not the file that the scorer was created with: "
        "its content differs here\n"
    )
    network.unlink()
    assert python(code) == f"FileError cannot read '{network}': No such file or directory\n"


def run_program(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "tenon", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_a_pack_is_scored_by_its_hash_only_and_gives_the_bits_of_the_program(
    network, tmp_path, python
):
    packed = tmp_path / "net.pack"
    trust = run_program("pack", network, "-o", packed)
    np.save(tmp_path / "x.npy", np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32))
    run_program(
        *("run", packed, "--trust", trust, "--input", f"x={tmp_path}/x.npy"),
        *("--output", f"y={tmp_path}/y.npy", "--output", f"positive={tmp_path}/positive.npy"),
    )
    scorer = tenon.Scorer(packed, trust=trust)
    network.unlink()
    for made in (
        scorer({"x": np.load(tmp_path / "x.npy")}),
        tenon.load(packed, trust=trust)(x=np.load(tmp_path / "x.npy")),
    ):
        for name, array in made.items():
            assert np.asarray(array).tobytes() == np.load(tmp_path / f"{name}.npy").tobytes()

    sent = tmp_path / "scorer"
    sent.write_bytes(pickle.dumps(scorer))
    code = f"""
        import pickle, numpy as np
        scorer = pickle.load(open({str(sent)!r}, "rb"))
        print(scorer({{"x": np.ones((2, 2), np.float32)}})["y"].tolist())
    """
    assert python(code) == "[[11.0], [11.0]]\n"
    for open_pack in (tenon.Scorer, tenon.load):
        with pytest.raises(tenon.FileError, match="hash must be trusted.*no hash was passed"):
            open_pack(packed)
        with pytest.raises(tenon.UsageError, match="is not a pack's hash"):
            open_pack(packed, trust="yes")
        with pytest.raises(tenon.UsageError, match="trust= is for packs"):
            open_pack(tmp_path / "x.npy", trust=trust)
    with pytest.raises(tenon.UsageError, match="shape= is for ONNX models"):
        tenon.load(packed, trust=trust, shape={"x": (1, 2)})
    changed = bytearray(packed.read_bytes())
    changed[len(changed) // 2] ^= 1
    packed.write_bytes(changed)
    for open_pack in (tenon.Scorer, tenon.load):
        with pytest.raises(tenon.FileError, match="is not the trusted pack"):
            open_pack(packed, trust=trust)


def test_what_a_batch_lacks_is_said(network):
    scorer = tenon.Scorer(network)
    with pytest.raises(tenon.UsageError, match="the batch has no column 'x'; it has id"):
        scorer({"id": np.arange(3)})
    with pytest.raises(tenon.UsageError, match="the batch has no column 'row'; it has x, id"):
        tenon.Scorer(network, keep="row")(batch())
    with pytest.raises(TypeError, match="a dict of arrays or an Arrow record batch, not ndarray"):
        scorer(np.ones((2, 2), np.float32))
    with pytest.raises(tenon.UsageError, match="outputs y, positive; select one with Scorer"):
        scorer.columns(batch()["x"])
    with pytest.raises(tenon.UsageError, match="the graph has the inputs x, but got 2 columns"):
        scorer.columns(batch()["x"], batch()["x"])
    with pytest.raises(tenon.FileError, match="cannot read"):
        tenon.Scorer("no_such.tenon")


def test_errors_of_wide_graphs_list_sixteen_names(tmp_path):
    graph = tenon.Graph()
    names = [f"x{number}" for number in range(20)]
    graph.outputs(**{f"y{name}": ops.relu(graph.input(name, "float32", (None,))) for name in names})
    graph.save(tmp_path / "wide.tenon")
    scorer, column = tenon.Scorer(tmp_path / "wide.tenon"), np.zeros(1, np.float32)
    with pytest.raises(
        tenon.UsageError, match="the graph has the inputs x0, .*, x15 and 4 more, but got 1 columns"
    ):
        scorer.columns(column)
    with pytest.raises(
        tenon.UsageError, match="the graph has the outputs yx0, .*, yx15 and 4 more; select"
    ):
        scorer.columns(*[column] * 20)
    with pytest.raises(tenon.UsageError, match="no column 'x0'; it has x1, .*, x16 and 3 more$"):
        scorer(dict.fromkeys(names[1:], column))


def test_engines_say_the_threads_by_the_environment(network, python):
    code = f"""
        import tenon
        from tenon._batches import scorer as _scorer
        scorer = tenon.Scorer({str(network)!r})
        print(scorer._loaded().session._host.threads)
    """
    assert python(code, OMP_NUM_THREADS="1") == "1\n"
    assert int(python(code, OMP_NUM_THREADS="")) >= 1
