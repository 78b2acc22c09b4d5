#include "python/core/operators/kernel_array.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstring>

#include "python/core/arrays.hpp"

namespace tenon::python {
namespace {

PyArrayObject* array_of(PyObject* object) {
  return reinterpret_cast<PyArrayObject*>(object);
}

// numpy has no function to change an array's address, but its structure is unchanged since version
// 1.7 and part of its ABI.
PyArrayObject_fields& fields_of(PyObject* object) {
  return *reinterpret_cast<PyArrayObject_fields*>(object);
}

char* address_of(const tenon_tensor& tensor) {
  static char nothing alignas(
      64)[64];  // a tensor without elements may have no memory; numpy would allocate some
  return tensor.dense.data == nullptr
             ? nothing
             : static_cast<char*>(tensor.dense.data) + tensor.dense.byte_offset;
}

}  // namespace

void start_kernel_arrays() {
  if (_import_array() < 0) throw nb::python_error();
}

bool KernelArray::fits(const tenon_tensor& tensor, bool writable) const {
  if (array_ == nullptr || dtype_ != tensor.dtype) return false;
  auto* array = array_of(array_);
  const auto& dense = tensor.dense;
  if (PyArray_DESCR(array) != described_ || PyArray_NDIM(array) != dense.ndim ||
      PyArray_ISWRITEABLE(array) != writable)
    return false;
  if (!std::equal(dense.shape, dense.shape + dense.ndim, PyArray_DIMS(array))) return false;
  if (dense.strides == nullptr) return PyArray_IS_C_CONTIGUOUS(array);
  for (int axis = 0; axis < dense.ndim; ++axis)
    if (PyArray_STRIDE(array, axis) != dense.strides[axis] * PyArray_ITEMSIZE(array)) return false;
  return true;
}

PyObject* KernelArray::show(const tenon_tensor& tensor, bool writable) {
  if (fits(tensor, writable)) {
    fields_of(array_).data = address_of(tensor);
    return array_;
  }
  auto* descr = reinterpret_cast<PyArray_Descr*>(
      numpy_dtype(static_cast<DType>(tensor.dtype)).release().ptr());
  const auto& dense = tensor.dense;
  npy_intp dims[TENON_MAX_RANK] = {}, strides[TENON_MAX_RANK] = {};
  std::copy(dense.shape, dense.shape + dense.ndim, dims);
  for (int axis = 0; dense.strides != nullptr && axis < dense.ndim; ++axis)
    strides[axis] =
        dense.strides[axis] * static_cast<npy_intp>(size_of(static_cast<DType>(tensor.dtype)));
  auto* made = PyArray_NewFromDescr(
      &PyArray_Type, descr, dense.ndim, dims, dense.strides == nullptr ? nullptr : strides,
      address_of(tensor), writable ? NPY_ARRAY_WRITEABLE : 0, nullptr);
  if (made == nullptr) throw nb::python_error();
  PyArray_UpdateFlags(array_of(made), NPY_ARRAY_UPDATE_ALL);
  // An owner that provides no writable memory; without it, numpy before 2.3 lets callers make the
  // array writable.
  if (!writable && PyArray_SetBaseObject(array_of(made), nb::none().release().ptr()) < 0)
    throw nb::python_error();
  drop(array_);
  array_ = made;
  dtype_ = tensor.dtype;
  described_ = PyArray_DESCR(array_of(made));
  return array_;
}

std::uint32_t KernelArray::references() const {
  // Since Python 3.14 the upper half of the field contains flags.
  return array_ == nullptr ? 0 : static_cast<std::uint32_t>(Py_REFCNT(array_)) - 1;
}

void KernelArray::detach(nb::list derived) {
  auto* array = array_of(array_);
  npy_intp bytes = PyArray_SIZE(array) == 0 ? 0 : PyArray_ITEMSIZE(array);
  for (int axis = 0; bytes > 0 && axis < PyArray_NDIM(array); ++axis)
    bytes += (PyArray_DIM(array, axis) - 1) * PyArray_STRIDE(array, axis);
  auto* before = static_cast<char*>(PyArray_DATA(array));
  auto* memory = PyByteArray_FromStringAndSize(before, bytes);
  if (memory == nullptr) throw nb::python_error();
  auto& own = fields_of(array_);
  own.data = PyByteArray_AsString(memory);
  Py_XDECREF(own.base);
  own.base = memory;
  for (const nb::handle one : derived)
    if (PyArray_Check(one.ptr())) fields_of(one.ptr()).data += own.data - before;
  drop(array_);
  array_ = nullptr;
}

}  // namespace tenon::python
