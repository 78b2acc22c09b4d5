#include "python/core/plain_values.hpp"

#include <cstring>

namespace tenon::python {
namespace {

bool is_single(PyObject* value) {
  return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyUnicode_CheckExact(value) || PyBool_Check(value);
}

bool same_single(PyObject* left, PyObject* right) {
  if (Py_TYPE(left) != Py_TYPE(right)) return false;
  if (!PyFloat_CheckExact(left)) return PyObject_RichCompareBool(left, right, Py_EQ) == 1;
  const double a = PyFloat_AsDouble(left), b = PyFloat_AsDouble(right);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Of a tuple or a list.
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

nanobind::object kept_value(PyObject* value) {
  if (!PyList_CheckExact(value)) return nanobind::borrow(value);
  return nanobind::steal(PyList_GetSlice(value, 0, PyList_Size(value)));
}

}  // namespace tenon::python
