// Parameters as Python gives them, compared: whether a call was prepared for the same ones.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <tenon/host/tensor.hpp>

namespace tenon::python {

/// Whether what equals it, and is of its type, means the same: numbers, texts, and tuples and lists of these.
bool is_plain(PyObject* value);
/// Of plain ones. -0.0 equals 0.0, but is another value.
bool same_value(PyObject* left, PyObject* right);
/// A plain one to compare with later: of a list a copy, since its owner may change it.
nanobind::object kept_value(PyObject* value);

bool is_scalar(PyObject* object);  ///< a number of Python's own, and no bool
/// A Python number as one element of an array's dtype.
class Scalar {
 public:
  bool set(PyObject* number, DType dtype);  ///< false if it is not the same number there
  Tensor borrow(DType dtype) { return Tensor::borrow(bytes_, dtype, Shape::scalar()); }

 private:
  bool put(double value, DType dtype);
  alignas(16) std::byte bytes_[16];
};

}  // namespace tenon::python
