#include "python/core/attributes.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

#include "python/core/arrays.hpp"

namespace tenon::python {
namespace {

constexpr std::array<std::string_view, 41> reserved_names = {
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "for", "from", "finally", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield", "self", "cls",
    // arguments of every call
    "name", "device", "training", "out"};

[[noreturn]] void refuse(nb::handle object, const ParamInfo* param, const std::string& name) {
  std::string text =
      "parameter '" + name + "' is " + nb::type_name(object.type()).c_str() + ", but must be ";
  text += param != nullptr ? std::string(name_of(param->kind))
                           : "a bool, a number, a str, a list of these, or an array";
  throw nb::type_error(text.c_str());
}

std::string text_from(nb::handle object, const std::string& what) {
  Py_ssize_t size = 0;
  if (const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size); text != nullptr)
    return {text, static_cast<std::size_t>(size)};
  PyErr_Clear();
  throw Failure(FailureKind::usage, what + " is not valid Unicode: " +
                                        nb::steal<nb::str>(PyObject_ASCII(object.ptr())).c_str());
}

std::int64_t integer_from(nb::handle object, const std::string& name) {
  const auto whole = nb::steal(PyNumber_Index(object.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  const auto number = PyLong_AsLongLong(whole.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw Failure(FailureKind::usage,
                  "parameter '" + name + "' is an integer that does not fit in 64 bits");
  }
  return number;
}

bool is_real(nb::handle object) {
  return PyFloat_Check(object.ptr()) != 0 ||
         (PyNumber_Check(object.ptr()) != 0 && nb::hasattr(object, "__float__"));
}

double real_from(nb::handle object) {
  const double number = PyFloat_AsDouble(object.ptr());
  if (number != -1.0 || PyErr_Occurred() == nullptr) return number;
  if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw nb::python_error();
  PyErr_Clear();
  throw Failure(FailureKind::usage, "a parameter is a number that does not fit in float64");
}

AttributeValue list_from(nb::handle object, const ParamInfo* param, const std::string& name) {
  nb::list items(nb::borrow(object));
  if (items.size() > 0 && nb::isinstance<nb::str>(items[0])) {
    std::vector<std::string> texts;
    for (const nb::handle item : items) {
      if (!nb::isinstance<nb::str>(item)) refuse(item, param, name);
      texts.push_back(text_from(item, "parameter '" + name + "'"));
    }
    return texts;
  }
  const bool whole = std::all_of(items.begin(), items.end(),
                                 [](nb::handle item) { return PyIndex_Check(item.ptr()) != 0; });
  if (whole) {
    std::vector<std::int64_t> integers;
    for (const nb::handle item : items) integers.push_back(integer_from(item, name));
    if (integers.empty() && param != nullptr && param->kind == ParamKind::texts)
      return std::vector<std::string>();
    return integers;
  }
  std::vector<double> reals;
  for (const nb::handle item : items) {
    if (!is_real(item)) refuse(item, param, name);
    reals.push_back(real_from(item));
  }
  return reals;
}

bool is_instance(nb::handle object, const char* module, const char* type) {
  const auto found = nb::module_::import_(module).attr(type);
  return PyObject_IsInstance(object.ptr(), found.ptr()) == 1;
}

}  // namespace

AttributeValue attribute_from(nb::handle object, const ParamInfo* param, const std::string& name) {
  if (PyBool_Check(object.ptr()) != 0) return object.ptr() == Py_True;
  if (PyFloat_CheckExact(object.ptr()) != 0) return real_from(object);
  if (nb::isinstance<nb::str>(object)) return text_from(object, "parameter '" + name + "'");
  if (param != nullptr && param->kind == ParamKind::tensor) return tensor_from(object);
  if (is_array(object.ptr())) {
    if (dtype_of_array(object.ptr()) == unknown_dtype) refuse(object, param, name);
    return rank_of_array(object.ptr()) > 0 ? list_from(object.attr("tolist")(), param, name)
                                           : attribute_from(object.attr("item")(), param, name);
  }
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object) ||
      nb::isinstance<nb::iterator>(object))
    return list_from(object, param, name);
  if (PyIndex_Check(object.ptr()) != 0) return integer_from(object, name);
  if (nb::hasattr(object, "_graph_text"))
    return nb::cast<std::string>(object.attr("_graph_text")());
  if (PyType_Check(object.ptr()) != 0 || is_instance(object, "numpy", "dtype"))
    return std::string(name_of(dtype_from(object)));
  if (is_instance(object, "numpy", "bool_")) return nb::cast<bool>(object.attr("item")());
  if (is_real(object)) return real_from(object);
  refuse(object, param, name);
}

nb::object attribute_to_python(const AttributeValue& value) {
  return std::visit(
      []<class T>(const T& content) -> nb::object {
        if constexpr (std::is_same_v<T, Tensor>) {
          return array_from(content.clone(), true);
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
          return nb::cast(content);
        } else {
          nb::list items;
          for (const auto& item : content) items.append(item);
          return items;
        }
      },
      value.variant());
}

std::string python_name(const std::string& name) {
  return std::find(reserved_names.begin(), reserved_names.end(), name) != reserved_names.end()
             ? name + '_'
             : name;
}

std::string declared_name(const OperatorInfo& info, const std::string& keyword) {
  const auto is_declared = [&](const std::string& name) {
    return info.find_input(name) >= 0 || info.find_param(name) >= 0;
  };
  if (keyword.ends_with('_') && !is_declared(keyword))
    if (auto bare = keyword.substr(0, keyword.size() - 1); is_declared(bare)) return bare;
  return keyword;
}

std::string name_from(nb::handle object) {
  if (!nb::isinstance<nb::str>(object))
    throw nb::type_error(
        (std::string("a name must be a str, not ") + nb::type_name(object.type()).c_str()).c_str());
  auto name = text_from(object, "a name");
  if (name.find('\0') != std::string::npos)
    throw Failure(FailureKind::usage, std::string("a name contains a NUL character: ") +
                                          nb::steal<nb::str>(PyObject_ASCII(object.ptr())).c_str());
  return name;
}

Attributes attributes_from(const OperatorInfo* info, nb::dict params) {
  Attributes attributes;
  for (const auto [key, value] : params) {
    const auto keyword = name_from(key);
    const auto name = info != nullptr ? declared_name(*info, keyword) : keyword;
    const int at = info != nullptr ? info->find_param(name) : -1;
    attributes.set(
        name, attribute_from(value, at >= 0 ? &info->params[static_cast<std::size_t>(at)] : nullptr,
                             name));
  }
  return attributes;
}

nb::dict attributes_to_python(const Attributes& attributes) {
  nb::dict all;
  for (const auto& [name, value] : attributes)
    all[nb::str(name.c_str())] = attribute_to_python(value);
  return all;
}

void bind_attributes(nb::module_& module) {
  module.def("python_name", &python_name, nb::arg("name"));
}

}  // namespace tenon::python
