#include "python/core/plain_values.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tenon::python {
namespace {

bool is_single(PyObject* value) {
  return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyUnicode_CheckExact(value) ||
         PyBool_Check(value);
}

bool same_single(PyObject* left, PyObject* right) {
  if (Py_TYPE(left) != Py_TYPE(right)) return false;
  if (!PyFloat_CheckExact(left)) return PyObject_RichCompareBool(left, right, Py_EQ) == 1;
  const double a = PyFloat_AsDouble(left), b = PyFloat_AsDouble(right);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// The size of a tuple or list.
Py_ssize_t size_of(PyObject* several) {
  return PyTuple_CheckExact(several) ? PyTuple_Size(several) : PyList_Size(several);
}
PyObject* item_of(PyObject* several, Py_ssize_t i) {
  return PyTuple_CheckExact(several) ? PyTuple_GetItem(several, i) : PyList_GetItem(several, i);
}

}  // namespace

bool is_plain(PyObject* value) {
  if (is_single(value)) return true;
  if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value)) return false;
  for (Py_ssize_t i = 0; i < size_of(value); ++i)
    if (!is_single(item_of(value, i))) return false;
  return true;
}

bool same_value(PyObject* left, PyObject* right) {
  if (left == right) return true;
  if (Py_TYPE(left) != Py_TYPE(right)) return false;
  if (!PyTuple_CheckExact(left) && !PyList_CheckExact(left)) return same_single(left, right);
  if (size_of(left) != size_of(right)) return false;
  for (Py_ssize_t i = 0; i < size_of(left); ++i)
    if (!same_single(item_of(left, i), item_of(right, i))) return false;
  return true;
}

nanobind::object copy_of_value(PyObject* value) {
  if (!PyList_CheckExact(value)) return nanobind::borrow(value);
  return nanobind::steal(PyList_GetSlice(value, 0, PyList_Size(value)));
}

bool is_scalar(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}

bool Scalar::set(PyObject* number, DType dtype) {
  if (PyFloat_CheckExact(number)) {
    if (dtype != f32 && dtype != f64) return false;
    return put(PyFloat_AsDouble(number), dtype);
  }
  int overflow = 0;
  const auto whole = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0) return false;
  if (dtype == f32 || dtype == f64)
    return std::abs(static_cast<double>(whole)) <=
               static_cast<double>(1LL << (dtype == f32 ? 24 : 53)) &&
           put(static_cast<double>(whole), dtype);
  if (dtype == i64) return std::memcpy(bytes_, &whole, sizeof whole), true;
  if (dtype != i32 || whole != static_cast<std::int32_t>(whole)) return false;
  const auto narrow = static_cast<std::int32_t>(whole);
  return std::memcpy(bytes_, &narrow, sizeof narrow), true;
}

bool Scalar::put(double value, DType dtype) {
  const auto single = static_cast<float>(value);
  if (dtype == f32 && std::isinf(single) && !std::isinf(value)) return false;
  dtype == f32 ? std::memcpy(bytes_, &single, sizeof single)
               : std::memcpy(bytes_, &value, sizeof value);
  return true;
}

}  // namespace tenon::python
