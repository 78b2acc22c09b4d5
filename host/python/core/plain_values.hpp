// Parameters as Python gives them, compared: whether a call was prepared for the same ones.
#pragma once
#include <nanobind/nanobind.h>

namespace tenon::python {

/// Whether what equals it, and is of its type, means the same: numbers, texts, and tuples and lists of these.
bool is_plain(PyObject* value);
/// Of plain ones. -0.0 equals 0.0, but is another value.
bool same_value(PyObject* left, PyObject* right);
/// A plain one to compare with later: of a list a copy, since its owner may change it.
nanobind::object kept_value(PyObject* value);

}  // namespace tenon::python
