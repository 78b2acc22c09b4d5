"""The numpy side of the test: `write FOLDER` writes arrays for Tenon, `check FOLDER` reads what
Tenon wrote.

Every array has the elements 0, 1, 2 ... (bool: their parity), so both sides know them. Exits 77
without numpy.
"""

import pathlib
import sys

try:
    import numpy
except ImportError:
    sys.exit(77)

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "int16",
    "uint16",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
]
SHAPES = [(), (1,), (7,), (2, 3), (0, 3), (2, 3, 4), (1, 1, 1, 1, 1, 1, 2, 2)]


def numbered(dtype, shape):
    count = int(numpy.prod(shape))
    values = numpy.arange(count) % 2 if dtype == "bool" else numpy.arange(count)
    return values.astype(dtype).reshape(shape)


def name(dtype, shape):
    return "_".join([dtype, *map(str, shape)])


def write(folder):
    arrays = {name(dtype, shape): numbered(dtype, shape) for dtype in DTYPES for shape in SHAPES}
    numpy.savez(folder / "stored.npz", **arrays)
    numpy.savez_compressed(folder / "compressed.npz", **arrays)
    for key, array in arrays.items():
        numpy.save(folder / f"{key}.npy", array)
        numpy.save(folder / f"{key}.fortran.npy", array.copy(order="F"))
        numpy.save(folder / f"{key}.big.npy", array.astype(array.dtype.newbyteorder(">")))
        for version in [(1, 0), (2, 0), (3, 0)]:
            with open(folder / f"{key}.{version[0]}.npy", "wb") as file:
                numpy.lib.format.write_array(file, array, version=version)


def check(folder):
    archives = []
    for archive_name in ["tenon.npz", "wide.npz"]:
        with numpy.load(folder / archive_name) as archive:
            archives.append(dict(archive))
        assert len(archives[-1]) == len(DTYPES) * len(SHAPES), len(archives[-1])
    for dtype in DTYPES:
        for shape in SHAPES:
            key, expected = name(dtype, shape), numbered(dtype, shape)
            for array in [
                numpy.load(folder / f"{key}.npy"),
                *(archived[key] for archived in archives),
            ]:
                assert array.dtype == expected.dtype and array.shape == shape, (
                    key,
                    array.dtype,
                    array.shape,
                )
                assert (array == expected).all(), key


{"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
