// Comparison of Python parameters: whether a call was prepared for the same values.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <tenon/host/tensor.hpp>

namespace tenon::python {

/// Whether a value is fully described by its type and equality: numbers, texts, and tuples and
/// lists of these.
bool is_plain(PyObject* value);
/// Compares plain values. -0.0 equals 0.0, but is a different value here.
bool same_value(PyObject* left, PyObject* right);
/// A copy of a plain value for later comparison; a list is copied, since its owner may change it.
nanobind::object copy_of_value(PyObject* value);

bool is_scalar(PyObject* object);  ///< a Python number, but not a bool
/// A Python number as one element of an array's dtype.
class Scalar {
 public:
  bool set(PyObject* number, DType dtype);  ///< false if the dtype cannot hold the number exactly
  Tensor borrow(DType dtype) { return Tensor::borrow(bytes_, dtype, Shape::scalar()); }

 private:
  bool put(double value, DType dtype);
  alignas(16) std::byte bytes_[16];
};

}  // namespace tenon::python
