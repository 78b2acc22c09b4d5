"""Graphs in a real Triton Inference Server: bits of `tenon run`, joined requests, statistics,
isolated failures.
"""

from __future__ import annotations

import concurrent.futures
import shutil
from pathlib import Path

import numpy as np
import pytest
from server import SOURCE, Server, compiled, copy_backend, tenon, write_graph
from tritonclient import grpc, http
from tritonclient.utils import InferenceServerException

DTYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "int8": "INT8", "int16": "INT16",
    "int32": "INT32", "int64": "INT64", "float16": "FP16", "float32": "FP32", "float64": "FP64",
}  # fmt: skip
DOUBLED = [{"name": "a", "op": "fragile", "inputs": ["x"]}]


def perceptron(folder: Path) -> Path:
    nodes = [
        {"name": "h", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 64}},
        {"name": "r", "op": "relu", "inputs": ["h"]},
        {"name": "s", "op": "fully_connected", "inputs": ["r"], "attrs": {"num_hidden": 10}},
        {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["s", "label"]},
    ]
    return write_graph(
        folder,
        "net",
        {"x": "float32 -1 64", "label": "int64 -1"},
        nodes,
        {"scores": "s", "loss": "loss"},
    )


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("triton")
    repository = folder / "repository"
    plugins = folder / "plugins"
    plugins.mkdir()
    compiled(
        "fragile.cpp",
        plugins / "fragile.so",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        f"-I{SOURCE}/sdk/include",
    )
    tenon("triton", perceptron(folder), "-o", repository, "--serve", "scores")
    fragile = write_graph(folder, "fragile", {"x": "float32 -1 2"}, DOUBLED, {"y": "a"}, plugins)
    tenon("triton", fragile, "-o", repository, "--plugins", plugins)
    tenon(
        "triton",
        fragile,
        "-o",
        repository,
        "--plugins",
        plugins,
        "--name",
        "isolated",
        "--isolate",
        "fragile",
        "--isolate-timeout",
        2,
    )
    tenon("triton", fragile, "-o", repository, "--plugins", plugins, "--name", "changed")
    changed = repository / "changed/1/plugins/fragile.so"
    changed.write_bytes(changed.read_bytes() + b"\0")

    reshaped = [
        {"name": f"r_{d}", "op": "reshape", "inputs": [f"x_{d}"], "attrs": {"shape": [-1, 2]}}
        for d in DTYPES
    ]
    types = write_graph(
        folder,
        "types",
        {f"x_{d}": f"{d} -1 2" for d in DTYPES},
        reshaped,
        {f"y_{d}": f"r_{d}" for d in DTYPES},
    )
    tenon("triton", types, "-o", repository)
    sums = write_graph(
        folder,
        "sums",
        {"x": "float32 -1 3"},
        [{"name": "a", "op": "sum", "inputs": ["x"], "attrs": {"axis": [0]}}],
        {"y": "a"},
    )
    tenon("triton", sums, "-o", repository)
    square = write_graph(
        folder,
        "numbers",
        {"x": "float32 -1"},
        [{"name": "a", "op": "square", "inputs": ["x"]}],
        {"y": "a"},
    )
    tenon("triton", square, "-o", repository)
    tenon("triton", square, "-o", repository, "--version", 2)

    nodes = [
        {"name": "a", "op": "add", "inputs": ["x", "w"]},
        {"name": "b", "op": "inferences", "inputs": ["a"]},
    ]
    counted = write_graph(
        folder,
        "counted",
        {"x": "float32 -1 -1", "w": "float32 -1 3"},
        nodes,
        {"y": "a", "count": "b"},
        plugins,
    )
    tenon("triton", counted, "-o", repository, "--plugins", plugins)

    bare = repository / "bare/1"
    bare.mkdir(parents=True)
    shutil.copy(square, bare / "model.tenon")
    (repository / "bare/config.pbtxt").write_text('backend: "tenon"')
    copy_backend(repository / "numbers/1", bare)
    return folder


@pytest.fixture(scope="session")
def server(place: Path):
    running = Server(place / "repository", place / "log")
    yield running
    assert running.is_alive()
    assert running.close() == 0


def given(module, name: str, array: np.ndarray, dtype: str):
    tensor = module.InferInput(name, array.shape, dtype)
    tensor.set_data_from_numpy(array)
    return tensor


def client(module, server: Server):
    return module.InferenceServerClient(
        f"127.0.0.1:{server.http if module is http else server.grpc}"
    )


def infer(module, server: Server, model: str, x: np.ndarray, output: str = "y") -> np.ndarray:
    with client(module, server) as to:
        return to.infer(model, [given(module, "x", x, "FP32")]).as_numpy(output)


def run(place: Path, x: np.ndarray) -> np.ndarray:
    np.save(place / "x.npy", x)
    tenon(
        "run",
        place / "net.tenon",
        "--input",
        f"x={place}/x.npy",
        "--output",
        f"scores={place}/scores.npy",
    )
    return np.load(place / "scores.npy")


@pytest.mark.parametrize("module", [http, grpc])
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_bits_of_run(place: Path, server: Server, module, rows: int):
    x = np.random.default_rng(rows).normal(size=(rows, 64)).astype(np.float32)
    assert infer(module, server, "net", x, "scores").tobytes() == run(place, x).tobytes()


def test_json_is_served_too(server: Server):
    code, body = server.post(
        "/v2/models/numbers/infer",
        {"inputs": [{"name": "x", "shape": [2, 1], "datatype": "FP32", "data": [3, -4]}]},
    )
    assert (
        code == 200
        and body["outputs"][0]["data"] == [9, 16]
        and body["outputs"][0]["shape"] == [2, 1]
    )


@pytest.mark.parametrize("module", [http, grpc])
def test_every_dtype(server: Server, module):
    draw = np.random.default_rng(3)
    arrays = {
        dtype: draw.integers(0, 2 if dtype == "bool" else 100, (5, 2)).astype(dtype)
        for dtype in DTYPES
    }
    with client(module, server) as to:
        result = to.infer(
            "types",
            [given(module, f"x_{dtype}", array, DTYPES[dtype]) for dtype, array in arrays.items()],
        )
    for dtype, array in arrays.items():
        assert result.as_numpy(f"y_{dtype}").dtype == array.dtype
        assert result.as_numpy(f"y_{dtype}").tobytes() == array.tobytes()


def test_waiting_requests_are_joined_and_counted(place: Path, server: Server):
    requests = 600
    x = np.random.default_rng(5).normal(size=(requests, 64)).astype(np.float32)
    expected = run(place, x)
    before, counted = server.statistics("net"), server.metric("nv_inference_request_success", "net")
    with client(grpc, server) as to, concurrent.futures.ThreadPoolExecutor(32) as pool:
        rows = list(
            pool.map(
                lambda i: to.infer("net", [given(grpc, "x", x[i : i + 1], "FP32")]).as_numpy(
                    "scores"
                ),
                range(requests),
            )
        )
    np.testing.assert_allclose(np.concatenate(rows), expected, rtol=1e-5, atol=1e-6)
    after = server.statistics("net")
    executions = after["execution_count"] - before["execution_count"]
    assert after["inference_count"] - before["inference_count"] == requests
    assert executions < requests, "no two requests became one run"
    assert max(each["batch_size"] for each in after["batch_stats"]) > 1
    assert (
        after["inference_stats"]["success"]["count"] - before["inference_stats"]["success"]["count"]
        == requests
    )
    assert server.metric("nv_inference_request_success", "net") - counted == requests
    print(
        f"{requests} requests in {executions} runs; "
        f"{(np.concatenate(rows) != expected).any(1).sum()} rows differ in bits from one run of all"
    )


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "words"),
    [
        ("x", (1, 63), "FP32", "unexpected shape for input 'x'"),
        ("x", (65, 64), "FP32", "batch-size must be <= 64"),
        ("x", (1, 64), "FP64", "input 'x' data-type is 'FP64'"),
        ("z", (1, 64), "FP32", "z"),
    ],
)
def test_wrong_requests_are_refused(
    server: Server, name: str, shape: tuple, dtype: str, words: str
):
    array = np.zeros(shape, np.float64 if dtype == "FP64" else np.float32)
    with client(http, server) as to, pytest.raises(InferenceServerException, match=words):
        to.infer("net", [given(http, name, array, dtype)])


def test_a_request_that_fails_does_not_affect_others(server: Server):
    def ask(value: float):
        try:
            return infer(http, server, "fragile", np.full((1, 2), value, np.float32)).tolist()
        except InferenceServerException as error:
            return str(error)

    values = [1.0, 500.0] * 40
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for value, answer in zip(values, pool.map(ask, values)):
            if value == 1:
                assert answer == [[2, 2]]
            else:
                assert "[fragile] node 'a'" in answer and "x has 500, which is too much" in answer
    assert server.statistics("fragile")["inference_stats"]["fail"]["count"] == 40
    assert server.metric("nv_inference_request_failure", "fragile") >= 0


def test_a_request_whose_shapes_are_refused_costs_no_plan(server: Server):
    def ask(to: http.InferenceServerClient, rows: int, columns: int) -> int:
        x, w = np.ones((rows, columns), np.float32), np.ones((rows, 3), np.float32)
        result = to.infer("counted", [given(http, "x", x, "FP32"), given(http, "w", w, "FP32")])
        assert (result.as_numpy("y") == 2).all()
        return int(result.as_numpy("count").max())

    with client(http, server) as to:
        first = [ask(to, rows, 3) for rows in (1, 2, 3)]
        assert first[0] < first[1] < first[2], "each shape has a plan of its own"
        for columns in (4, 5, 4, 7, 0):
            with pytest.raises(InferenceServerException, match="node 'a'"):
                ask(to, 2, columns)
            assert [ask(to, rows, 3) for rows in (2, 1, 3)] == [first[2]] * 3, (
                "a request that is refused cost others a plan"
            )
        assert ask(to, 4, 3) > first[2]


def test_what_throws_is_an_error_of_the_server(server: Server):
    code, body = server.post(
        "/v2/models/fragile/infer",
        {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [500, 0]}]},
    )
    assert code == 500 and "x has 500, which is too much" in body["error"]
    assert "/" not in body["error"].split("too much")[0].split("]", 1)[1], "an error names no path"


@pytest.mark.parametrize(
    ("value", "words"), [(2000, "SIGABRT"), (-2000, "did not answer within 2 s")]
)
def test_an_isolated_plugin_ends_no_server(server: Server, value: float, words: str):
    with pytest.raises(InferenceServerException, match=words):
        infer(http, server, "isolated", np.full((1, 2), value, np.float32))
    assert infer(http, server, "isolated", np.full((1, 2), 3, np.float32)).tolist() == [[6, 6]]


def test_rows_that_depend_on_each_other_are_not_joined(server: Server):
    with client(http, server) as to:
        assert to.get_model_config("sums")["max_batch_size"] == 0
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert infer(http, server, "sums", x).tolist() == [3, 5, 7]


def test_a_configuration_that_names_only_the_backend_is_completed(server: Server):
    with client(http, server) as to:
        config = to.get_model_config("bare")
    assert (
        config["max_batch_size"] == 64
        and "dynamic_batching" in config
        and config["instance_group"][0]["kind"] == "KIND_CPU"
    )
    assert infer(http, server, "bare", np.float32([[3], [4]])).tolist() == [[9], [16]]


def test_versions(server: Server):
    with client(http, server) as to:
        assert to.get_model_metadata("numbers")["versions"] == ["2"]


def test_a_plugin_that_was_changed_is_not_loaded(place: Path, server: Server):
    with client(http, server) as to:
        assert not to.is_model_ready("changed")
    assert "is not on your list of trusted plugins" in server.log.read_text()
