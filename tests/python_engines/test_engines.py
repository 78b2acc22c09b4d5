"""tenon.Scorer in the workers of real engines: the bits of one run, one load in each process, and
workers that are killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon import nn, ops

ROWS = 2000


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("network") / "net.tenon"
    draw = np.random.default_rng(1)
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, 16))
    hidden = ops.relu(x @ graph.variable("w1", draw.normal(size=(16, 32)).astype(np.float32)))
    graph.outputs(
        scores=hidden @ graph.variable("w2", draw.normal(size=(32, 3)).astype(np.float32))
    )
    graph.save(path)
    return path


@pytest.fixture(scope="session")
def data() -> np.ndarray:
    return np.random.default_rng(2).normal(size=(ROWS, 16)).astype(np.float32)


@pytest.fixture(scope="session")
def expected(network: Path, data: np.ndarray) -> np.ndarray:
    return np.asarray(tenon.load(network)(x=data)["scores"])


def lists(data: np.ndarray):
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(pa.array(data.reshape(-1)), data.shape[1])


def rows_of(column) -> np.ndarray:
    return np.stack([np.asarray(row, np.float32) for row in column])


def test_arrow_batches_are_read_where_they_lie(network, data, expected):
    import pyarrow as pa
    from tenon._batches import arrow

    column = lists(data)
    batch = pa.record_batch(
        [column, pa.array([f"row {i}" for i in range(ROWS)])], names=["x", "name"]
    )
    read = arrow.columns(batch, {"x"})["x"]
    assert read.ctypes.data == column.values.buffers()[1].address and not read.flags.writeable
    assert tenon.tensor(read).numpy().ctypes.data == read.ctypes.data
    part = batch.slice(7, 100)
    scored = next(tenon.Scorer(network, keep="name").batches([part]))
    assert scored.column("name").equals(part.column("name"))
    assert np.array_equal(rows_of(scored.column("scores").to_pylist()), expected[7:107])
    del batch, column
    assert np.array_equal(read, data)  # the memory lives as long as its arrays


def test_arrow_types(network):
    import pyarrow as pa
    from tenon._batches import arrow

    numbers = {
        kind: pa.array([1, 2, 3], getattr(pa, kind)())
        for kind in ["int8", "uint8", "int16", "uint32", "int64", "float32", "float64"]
    }
    numbers["bools"] = pa.array([True, False, True] * 5)[4:7]
    numbers["lists"] = pa.array([[0, 0], [1, 2], [3, 4], [5, 6]])[1:]
    numbers["nested"] = pa.array([[[1, 2], [3, 4]]] * 3, pa.list_(pa.list_(pa.int32(), 2), 2))
    read = arrow.columns(pa.record_batch(numbers))
    for name, array in numbers.items():
        assert read[name].tolist() == array.to_pylist(), name
    for column, words in (
        (pa.array([1, None]), "column 'x' has nulls"),
        (pa.array(["a", "b"]), "column 'x' has the Arrow format 'u'"),
        (pa.array([[1], [2, 3]]), "column 'x' has lists of different lengths, from 1 to 2"),
        (pa.array(["a", "b"]).dictionary_encode(), "column 'x' has the Arrow format 'i'"),
    ):
        with pytest.raises(tenon.UsageError, match=words.replace("+", r"\+")):
            arrow.columns(pa.record_batch([column], names=["x"]))
    for kind in (pa.list_(pa.float32()), pa.list_(pa.float32(), 16)):
        nothing = pa.record_batch([pa.array([], kind)], names=["x"])
        assert tenon.Scorer(network)(nothing)["scores"].shape == (0, 3)
    masked = pa.StructArray.from_arrays([pa.array([1.0, 2.0])], ["x"], mask=pa.array([False, True]))
    with pytest.raises(tenon.UsageError, match="the record batch itself has nulls"):
        arrow.columns(masked)
    with pytest.raises(tenon.UsageError, match="expected an Arrow record batch"):
        arrow.columns(pa.array([1]))


def convnet(graph: tenon.Graph):
    x = graph.input("x", "float32", (None, 3, 16, 16))
    y = ops.max_pool(ops.relu(nn.conv(x, 16, 3, pad=1)), kernel=[2, 2], stride=[2, 2])
    y = ops.relu(nn.conv(y, 64, 3, pad=1))
    return ops.softmax(nn.dense(ops.reshape(y, shape=[-1, 4096]), 10))


def encoder(graph: tenon.Graph):
    x = graph.input("x", "float32", (None, 24, 64))
    draw = np.random.default_rng(3)
    a = ops.layer_norm(x, *(graph.variable(name, np.ones(64, np.float32)) for name in "gb"))
    w = [
        graph.variable(f"w{i}", draw.normal(size=(64, 64)).astype(np.float32) / 8) for i in range(4)
    ]
    shares = ops.softmax(ops.matmul(a @ w[0], a @ w[1], transpose_b=True) * 0.125)
    return ops.gelu(x + ops.matmul(shares, a @ w[2]) @ w[3])


@pytest.mark.parametrize("make", [convnet, encoder])
@pytest.mark.parametrize("optimize", ["full", "exact", "none"])
@pytest.mark.filterwarnings("ignore:.*have no values")
def test_the_bits_of_a_row_do_not_depend_on_its_batch(make, optimize):
    graph = tenon.Graph()
    graph.outputs(y=make(graph))
    shape = graph["x"].shape[1:]
    x = np.random.default_rng(4).normal(size=(40, *shape)).astype(np.float32)
    session = tenon.Session(graph, optimize=optimize)
    whole = np.array(session.run({"x": x})["y"])
    for rows in (1, 2, 3, 5, 8, 17, 32):
        assert np.array_equal(np.asarray(session.run({"x": x[:rows]})["y"]), whole[:rows]), rows


def test_ray(network, data, expected):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        numbers = np.arange(ROWS)
        found = (
            ray.data.from_numpy([data[:900], data[900:]])
            .rename_columns({"data": "x"})
            .zip(ray.data.from_numpy([numbers[:900], numbers[900:]]).rename_columns({"data": "id"}))
            .map_batches(tenon.Scorer(network, keep="id"), batch_size=128, zero_copy_batch=True)
            .to_pandas()
            .sort_values("id")
        )
        assert np.array_equal(rows_of(found["scores"]), expected)
    finally:
        ray.shutdown()


def test_ray_with_a_pack(tmp_path, data, expected, network):
    ray = pytest.importorskip("ray")
    command = [sys.executable, "-m", "tenon", "pack", network, "-o", tmp_path / "net.pack"]
    packed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    with pytest.raises(tenon.FileError, match="its hash must be trusted"):
        tenon.Scorer(tmp_path / "net.pack")
    scorer = tenon.Scorer(tmp_path / "net.pack", trust=packed, keep="id")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        found = (
            ray.data.from_items([{"x": row, "id": i} for i, row in enumerate(data)])
            .map_batches(scorer, batch_size=128)
            .to_pandas()
            .sort_values("id")
        )
        assert np.array_equal(rows_of(found["scores"]), expected)
    finally:
        ray.shutdown()


def test_dask_with_a_killed_worker(network, data, expected):
    pytest.importorskip("distributed")
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        blocks = da.from_array(data, chunks=(50, 16))
        scores = blocks.map_blocks(tenon.Scorer(network).columns, dtype=np.float32, chunks=(50, 3))
        pending = client.compute(scores)
        os.kill(pids[0], signal.SIGKILL)
        assert np.array_equal(pending.result(), expected)


def test_spark(network, data, expected, monkeypatch):
    pytest.importorskip("pyspark")
    if not shutil.which("java"):
        pytest.skip("java is missing")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
        rows = [(i, row) for i, row in enumerate(data.tolist())]
        frame = spark.createDataFrame(rows, "id long, x array<float>")
        scorer = tenon.Scorer(network, keep="id")
        found = (
            frame.mapInArrow(scorer.batches, "id long, scores array<float>").orderBy("id").collect()
        )
        assert np.array_equal(rows_of([row.scores for row in found]), expected)
    finally:
        spark.stop()


def test_datafusion(network, data, expected):
    datafusion = pytest.importorskip("datafusion")
    import pyarrow as pa

    context = datafusion.SessionContext()
    kind, scores = pa.list_(pa.float32(), 16), pa.list_(pa.float32())
    batch = pa.record_batch([lists(data), pa.array(range(ROWS))], names=["x", "id"])
    frame = context.create_dataframe([[batch.slice(0, 700), batch.slice(700)]])
    score = datafusion.udf(tenon.Scorer(network).columns, [kind], scores, "stable")
    found = (
        frame.select(datafusion.col("id"), score(datafusion.col("x")).alias("scores"))
        .to_pandas()
        .sort_values("id")
    )
    assert np.array_equal(rows_of(found["scores"]), expected)
