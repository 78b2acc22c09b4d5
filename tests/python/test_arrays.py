"""Arrays of other libraries and tenon.Tensor: ownership of memory, write access, and files."""

import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import tenon
from tenon import ops


def read_only(array):
    array.flags.writeable = False
    return array


class Once:
    """An array with DLPack only, without max_version, as in libraries older than 2024."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        assert stream is None
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Capsule:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


# ---- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda a: a, Once])
def test_a_tensor_of_an_array_is_its_memory(make):
    array = np.arange(6.0)
    tensor = tenon.tensor(make(array))
    array[2] = 70
    assert tensor.numpy()[2] == 70
    tensor.numpy()[3] = 80
    assert array[3] == 80


def test_strided_and_transposed_arrays_keep_their_elements():
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    for view in (array.T, array[::2, 1::3], array[:, ::-1], array[3], array[:0]):
        np.testing.assert_array_equal(tenon.tensor(view).numpy(), view)
        np.testing.assert_array_equal(np.from_dlpack(tenon.tensor(view)), view)


def test_a_tensor_keeps_its_array_alive_and_lets_it_go():
    array = np.ones(3)
    gone = weakref.ref(array)
    tensor = tenon.tensor(array)
    view = np.from_dlpack(tensor)
    del array, tensor
    gc.collect()
    assert gone() is not None
    assert view.sum() == 3
    del view
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"],
)
def test_dlpack_carries_each_dtype(dtype):
    array = np.array([0, 1, 1], dtype=dtype)
    back = np.from_dlpack(tenon.tensor(array))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="the package ml_dtypes is not installed")
    array = np.array([1.5, -2.5], dtype=ml_dtypes.bfloat16)
    tensor = tenon.tensor(array)
    assert tensor.dtype_name == "bfloat16"
    assert tensor.numpy().dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(tensor.numpy().astype(np.float32), [1.5, -2.5])


def test_a_capsule_is_taken_once():
    capsule = np.ones(2).__dlpack__()
    assert tenon.tensor(Capsule(capsule)).size == 2
    with pytest.raises(ValueError, match="capsule|PyCapsule"):
        tenon.tensor(Capsule(capsule))


def test_a_capsule_without_a_consumer_is_freed():
    array = np.ones(3)
    gone = weakref.ref(array)
    capsules = [
        tenon.tensor(array).__dlpack__(),
        tenon.tensor(array).__dlpack__(max_version=(1, 0)),
    ]
    del array
    gc.collect()
    assert gone() is not None
    del capsules
    gc.collect()
    assert gone() is None


# ---- who may write -------------------------------------------------------------------------------


def test_read_only_arrays_make_read_only_tensors_and_arrays():
    array = read_only(np.arange(4.0))
    tensor = tenon.tensor(array)
    assert tensor.read_only and tensor.reshape(2, 2).read_only
    for made in (
        tensor.numpy(),
        np.asarray(tensor),
        np.from_dlpack(tensor),
        tensor.reshape(2, 2).numpy(),
    ):
        assert not made.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            made[...] = 1
    assert not tensor.clone().read_only
    assert tensor.clone().numpy().flags.writeable
    assert not tenon.tensor(np.arange(4.0)).read_only


def test_read_only_survives_dlpack_both_ways():
    again = tenon.tensor(np.from_dlpack(tenon.tensor(read_only(np.arange(3.0)))))
    assert again.read_only


def test_old_dlpack_cannot_carry_a_read_only_tensor():
    tensor = tenon.tensor(read_only(np.arange(3.0)))
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()
    copy = np.from_dlpack(Capsule(tensor.__dlpack__(copy=True)))
    np.testing.assert_array_equal(copy, [0, 1, 2])


def test_nothing_is_written_to_a_read_only_array():
    array = read_only(np.zeros(3))
    with pytest.raises(tenon.UsageError, match="read-only"):
        ops.add(np.ones(3), np.ones(3), out=array)
    graph = tenon.Graph()
    graph.output("y", ops.relu(graph.input("x", "float64", (3,))))
    with pytest.raises(tenon.UsageError, match="read-only"):
        graph.session().run({"x": np.ones(3)}, into={"y": tenon.tensor(array)})
    assert not array.any()


def test_results_of_read_only_arrays_are_new_and_writable():
    array = read_only(np.array([-1.0, 2.0]))
    made = ops.relu(array)
    made[0] = 5
    np.testing.assert_array_equal(array, [-1, 2])


def test_elements_of_a_graph_cannot_be_written_from_outside():
    graph = tenon.Graph()
    weight = graph.variable("w", np.array([1.0, 2.0]))
    constant = graph.constant(np.array([3.0, 4.0]))
    graph.outputs(w=weight, c=constant, y=ops.add(weight, constant))
    for value in (weight, constant):
        assert value.tensor.read_only
        with pytest.raises(ValueError, match="read-only"):
            value.tensor.numpy()[0] = 9
    assert graph.session().tensor("w").read_only
    out = graph()
    out["w"][:] = 9  # results belong to the caller
    out["c"][:] = 9
    np.testing.assert_array_equal(graph()["y"], [4, 6])
    with pytest.raises(tenon.UsageError, match="read-only"):
        graph.session().run({}, into={"y": weight.tensor})


# ---- the protocols -------------------------------------------------------------------------------


def test_array_protocol_of_numpy_2():
    tensor = tenon.tensor(np.arange(3.0))
    assert np.shares_memory(np.asarray(tensor), tensor.numpy())
    assert not np.shares_memory(np.array(tensor, copy=True), tensor.numpy())
    assert np.asarray(tensor, dtype=np.float32).dtype == np.float32
    assert np.shares_memory(tensor.__array__(copy=False), tensor.numpy())
    with pytest.raises(ValueError, match="copy is False"):
        tensor.__array__(np.float32, copy=False)


def test_dlpack_reports_version_copy_and_device():
    tensor = tenon.tensor(np.arange(3.0))
    assert tensor.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 1)))
    assert "dltensor_versioned" not in repr(tensor.__dlpack__(max_version=(0, 8)))
    assert not np.shares_memory(
        np.from_dlpack(Capsule(tensor.__dlpack__(copy=True))), tensor.numpy()
    )
    with pytest.raises(BufferError, match="device"):
        tensor.__dlpack__(dl_device=(2, 0), copy=False)
    with pytest.raises(BufferError, match="type"):
        tensor.__dlpack__(dl_device=(10, 0))
    assert np.shares_memory(
        np.from_dlpack(Capsule(tensor.__dlpack__(dl_device=(1, 0)))), tensor.numpy()
    )


class View(ctypes.Structure):
    """DLTensor"""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("view", View),
    )


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI of DLPack 1.3, as in its header."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        (
            "managed_of",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Managed))
            ),
        ),
        (
            "object_of",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(Managed), ctypes.POINTER(ctypes.py_object)
            ),
        ),
        ("view_of", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View))),
        ("stream", ctypes.c_void_p),
    )


def exchange():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return Exchange.from_address(
        get(tenon.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    )


def test_the_c_functions_of_dlpack_share_memory():
    table = exchange()
    assert table.version[0] == 1
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = tenon.tensor(array)
    view = View()
    assert table.view_of(tensor, ctypes.byref(view)) == 0
    assert (view.data, view.rank, list(view.shape[:2])) == (array.ctypes.data, 2, [2, 3])
    assert (list(view.dtype[:2]), list(view.device)) == (
        [2, 32],
        [1, 0],
    )  # a float of 32 bits, the CPU
    managed, back = ctypes.POINTER(Managed)(), ctypes.py_object()
    assert table.managed_of(tensor, ctypes.byref(managed)) == 0
    assert table.object_of(managed, ctypes.byref(back)) == 0
    assert isinstance(back.value, tenon.Tensor)
    assert np.shares_memory(back.value.numpy(), array)


def test_the_c_functions_of_dlpack_say_what_is_read_only_or_sparse():
    table, managed, view = exchange(), ctypes.POINTER(Managed)(), View()
    tensor = tenon.tensor(read_only(np.arange(3.0)))
    assert table.managed_of(tensor, ctypes.byref(managed)) == 0
    assert managed.contents.flags & 1
    back = ctypes.py_object()
    assert table.object_of(managed, ctypes.byref(back)) == 0
    assert back.value.read_only
    with pytest.raises(BufferError, match="read-only"):
        table.view_of(tensor, ctypes.byref(view))
    with pytest.raises(BufferError, match="sparse"):
        table.view_of(tenon.csr(sample()), ctypes.byref(view))


@pytest.mark.memory
def test_100_000_exports_do_not_grow():
    import resource

    tensor = tenon.tensor(np.ones(100))

    def export(times):
        for _ in range(times):
            np.from_dlpack(tensor)
            tenon.tensor(np.ones(10)).__dlpack__()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = export(5000)
    assert export(100_000) - before < 2048  # KiB


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([object()]), np.zeros(2, "M8[s]"), np.zeros((1,) * 9)]
)
def test_what_no_tensor_can_hold_is_refused(array):
    with pytest.raises((tenon.UsageError, TypeError)):
        tenon.tensor(array)


def test_other_byte_orders_and_odd_addresses_are_copied():
    big = np.arange(3, dtype=">f8")
    np.testing.assert_array_equal(tenon.tensor(big).numpy(), [0, 1, 2])
    odd = np.frombuffer(b"\0" + np.arange(3, dtype="f4").tobytes(), dtype="f4", offset=1, count=3)
    np.testing.assert_array_equal(tenon.tensor(odd).numpy(), [0, 1, 2])


# ---- sparse matrices -----------------------------------------------------------------------------


def sample(kind=sp.csr_array, dtype="float32", index=np.int32):
    made = kind(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0], [4, 0, 3]], dtype=dtype))
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return made


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_the_class_of_a_sparse_matrix_comes_back(kind):
    made = ops.cast_storage(sample(kind), storage="csr")
    assert type(made) is kind
    np.testing.assert_array_equal(made.toarray(), sample(kind).toarray())


def test_csr_shares_its_values_both_ways_and_copies_its_indices():
    matrix = sample(index=np.int64)
    tensor = tenon.csr(matrix)
    back = tensor.to_scipy()
    assert np.shares_memory(back.data, matrix.data)
    for part in ("indices", "indptr"):
        assert not np.shares_memory(getattr(back, part), getattr(matrix, part)), part
        assert np.array_equal(getattr(back, part), getattr(matrix, part))


def test_csr_with_int32_indices_is_widened_once():
    matrix = sample(index=np.int32)
    tensor = tenon.csr(matrix)
    assert tensor.columns.dtype == np.int64
    assert np.shares_memory(tensor.values.numpy(), matrix.data)
    parts = tenon.csr(matrix.data, matrix.indices, matrix.indptr, matrix.shape)
    assert parts.row_starts.dtype == np.int64
    np.testing.assert_array_equal(parts.to_dense().numpy(), matrix.toarray())


@pytest.mark.parametrize("index", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
def test_indices_of_scipy_have_any_integer_dtype(index):
    matrix = sp.csr_array((1, 3), dtype=np.float64)
    matrix.data = np.array([1.0, 2.0, 4.0])
    matrix.indices, matrix.indptr = np.array([2, 0, 2], index), np.array([0, 3], index)
    np.testing.assert_array_equal(tenon.csr(matrix).to_dense().numpy(), [[2, 0, 5]])
    np.testing.assert_array_equal(ops.neg(matrix).toarray(), [[-2, 0, -5]])
    assert matrix.nnz == 3 and matrix.indices.dtype == index


def test_a_matrix_that_is_not_canonical_is_summed_and_left_unchanged():
    matrix = sp.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3)
    )
    np.testing.assert_array_equal(tenon.csr(matrix).to_dense().numpy(), [[2, 0, 5]])
    assert matrix.nnz == 3


def test_other_formats_of_scipy_become_csr():
    for form in ("coo", "csc", "lil"):
        np.testing.assert_array_equal(
            tenon.csr(sample().asformat(form)).to_dense().numpy(), sample().toarray()
        )


def test_dense_csr_and_row_sparse():
    dense = sample().toarray()
    assert tenon.csr(dense).storage == "csr"
    np.testing.assert_array_equal(tenon.csr(dense).to_scipy().toarray(), dense)
    rows = tenon.row_sparse(np.array([[1.0, 2.0], [3.0, 4.0]]), [0, 2], (4, 2))
    np.testing.assert_array_equal(rows.to_dense().numpy(), [[1, 2], [0, 0], [3, 4], [0, 0]])
    with pytest.raises(tenon.UsageError, match="to_dense"):
        rows.numpy()
    with pytest.raises(BufferError, match="row_sparse"):
        rows.__dlpack__()
    with pytest.raises(tenon.UsageError):
        tenon.csr(np.ones(1), [5], [0, 1], (1, 3))
    with pytest.raises(TypeError, match="shape"):
        tenon.csr(np.ones(1), [0], [0, 1])


# ---- making and files ----------------------------------------------------------------------------


def test_tensors_of_a_dtype():
    assert tenon.tensor([1, 2]).dtype == np.int64
    assert tenon.tensor([1, 2], dtype="float32").dtype == np.float32
    array = np.ones(2)
    assert np.shares_memory(tenon.tensor(array, dtype=np.float64).numpy(), array)


def test_files_of_numpy_and_scipy(tmp_path):
    dense = np.arange(6, dtype=np.float32).reshape(2, 3)
    tenon.save_array(tmp_path / "x.npy", dense)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), dense)
    np.save(tmp_path / "y.npy", np.asfortranarray(dense))
    np.testing.assert_array_equal(tenon.load_array(tmp_path / "y.npy").numpy(), dense)
    np.testing.assert_array_equal(tenon.load_array(f"{tmp_path}/y.npy[1:2]").numpy(), dense[1:2])
    tenon.save_arrays(tmp_path / "z.npz", {"a": dense, "b": [1, 2]})
    with np.load(tmp_path / "z.npz") as found:
        np.testing.assert_array_equal(found["a"], dense)
        np.testing.assert_array_equal(found["b"], [1, 2])
    np.savez(tmp_path / "w.npz", c=dense)
    assert {name: each.shape for name, each in tenon.load_arrays(tmp_path / "w.npz").items()} == {
        "c": (2, 3)
    }
    tenon.save_array(tmp_path / "m.npz", sample())
    np.testing.assert_array_equal(sp.load_npz(tmp_path / "m.npz").toarray(), sample().toarray())
    sp.save_npz(tmp_path / "n.npz", sp.csr_matrix(sample()))
    np.testing.assert_array_equal(
        tenon.load_array(tmp_path / "n.npz").to_dense().numpy(), sample().toarray()
    )
    with pytest.raises(tenon.FileError, match=r"none\.npy"):
        tenon.load_array(tmp_path / "none.npy")
    with pytest.raises(tenon.UsageError):
        tenon.save_array(tmp_path / "x.txt", dense)


def test_tenon_imports_no_library_of_arrays_but_numpy():
    import subprocess

    code = (
        "import sys, tenon; print([name for name in ('torch', 'jax', 'scipy', 'cupy') "
        "if name in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_attributes_of_other_storages_are_missing():
    dense = tenon.tensor(np.eye(2, dtype=np.float32))
    tensors = {
        "dense": dense,
        "csr": dense.to_storage("csr"),
        "row_sparse": dense.to_storage("row_sparse"),
    }
    has = {
        name: [one for one in ("columns", "row_starts", "row_ids") if hasattr(tensor, one)]
        for name, tensor in tensors.items()
    }
    assert has == {"dense": [], "csr": ["columns", "row_starts"], "row_sparse": ["row_ids"]}
    with pytest.raises(tenon.UsageError, match="a csr tensor has no row"):
        tensors["csr"].row_ids
    with pytest.raises(AttributeError):
        dense.columns
