#include <nanobind/stl/string.h>
#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/core/array_calls.hpp"
#include "python/core/arrays.hpp"
#include "python/core/bindings.hpp"
#include "python/core/catalog.hpp"

namespace tenon::python {
namespace {

struct NumpyArrays {
  static constexpr std::size_t max_inputs = 8;
  struct View {};

  static bool can_call(const OperatorInfo& info) {
    const auto visible = std::count_if(info.outputs.begin(), info.outputs.end(),
                                       [](const OutputInfo& output) { return !output.hidden; });
    return visible == 1 && info.outputs[0].count.empty() && !info.inputs.empty() &&
           info.conditions.empty();
  }
  static bool can_make(DType dtype) { return numpy_has(dtype); }
  static bool lists_results() { return false; }
  static Tensor borrow(const ArrayInput<View>& input) { return borrow_array(input.object); }
  static nb::object memory_for(const Argument& output, Tensor& tensor) {
    auto array = new_array(output.dtype, output.shape);
    tensor = borrow_array(array.ptr());
    return array;
  }
  static nb::object result_of(nb::object memory, const Tensor&) { return memory; }
};

/// Calls with numpy arrays and plain parameters, in one version of a host.
class NumpyCalls : public ArrayCalls<NumpyArrays> {
 public:
  NumpyCalls(const HostVersion& version, const std::string& name,
             std::shared_ptr<const CatalogOperator> op, bool isolated)
      : ArrayCalls(version, name, std::move(op), isolated, {}) {
    const auto intern = [](const std::string& name) {
      return nb::steal(PyUnicode_InternFromString(python_name(name).c_str()));
    };
    for (const auto& input : info().inputs) input_names_.push_back(intern(input.name));
    for (const auto& param : info().params) param_names_.push_back(intern(param.name));
  }

  /// Returns false for calls that need the general path: without arrays, with other kinds of
  /// arrays, or with unknown keywords.
  bool sort(PyObject* const* args, std::size_t count, PyObject* keywords, Arguments& found) const;

 private:
  using Names = std::vector<nb::object>;  // interned
  static std::size_t index_of(const Names& names, PyObject* name) {
    return static_cast<std::size_t>(
        std::find_if(names.begin(), names.end(),
                     [&](const auto& each) { return each.ptr() == name; }) -
        names.begin());
  }
  bool sort_keywords(PyObject* const* args, PyObject* keywords, Arguments& found) const;

  Names input_names_, param_names_;
};

bool NumpyCalls::sort_keywords(PyObject* const* args, PyObject* keywords, Arguments& found) const {
  for (Py_ssize_t i = 0, count = PyTuple_Size(keywords); i < count; ++i) {
    auto* name = PyTuple_GetItem(keywords, i);
    if (index_of(param_names_, name) < param_names_.size()) {
      if (!found.add_param(name, args[i])) return false;
      continue;
    }
    const auto at = index_of(input_names_, name);
    if (at == input_names_.size() || info().variadic() || found.input[at].object != nullptr)
      return false;
    found.input[at].object = args[i];
  }
  return true;
}

bool NumpyCalls::sort(PyObject* const* args, std::size_t count, PyObject* keywords,
                      Arguments& found) const {
  if (count > (info().variadic() ? NumpyArrays::max_inputs : info().inputs.size())) return false;
  for (std::size_t i = 0; i < count; ++i) found.input[i].object = args[i];
  found.inputs = info().variadic() ? count : info().inputs.size();
  if (keywords != nullptr && !sort_keywords(args + count, keywords, found)) return false;
  bool any = false;
  for (std::size_t i = 0; i < found.inputs; ++i) {
    auto& input = found.input[i];
    if (input.object == Py_None) input.object = nullptr;
    if (input.object == nullptr) continue;
    input.scalar = is_scalar(input.object);
    if (input.scalar) continue;
    if (!is_fast_array(input.object)) return false;
    input.dtype = dtype_of_array(input.object);
    input.rank = rank_of_array(input.object);
    input.dims = dims_of_array(input.object);
    found.bytes += bytes_of_array(input.object);
    any = true;
  }
  return any;
}

using Vectorcall = PyObject* (*)(PyObject*, PyObject* const*, std::size_t, PyObject*);

/// A raw type, because nanobind's classes do not support vectorcall, which takes a third of the
/// time.
struct OperatorObject {
  PyObject ob_base;
  Vectorcall call;
  PyObject* dict;
  PyObject* weak_references;
  PyObject* name;  ///< as hosts and graphs accept it
  PyObject* host;  ///< the operator's own host; null: the default host at the time of a call
  CallCacheByVersion<NumpyCalls>* calls;
};

HostHandle host_of(const OperatorObject& self) {
  return self.host != nullptr ? nb::cast<const HostHandle&>(nb::handle(self.host)) : current_host();
}

nb::object call_fast(OperatorObject& self, PyObject* const* args, std::size_t count,
                     PyObject* keywords) {
  const auto handle = host_of(self);  // keeps the host open during the call
  const auto calls =
      self.calls->of(handle, [&](const HostVersion& version, const std::string& name, auto op) {
        return std::make_shared<NumpyCalls>(version, name, std::move(op), handle.isolated);
      });
  NumpyCalls::Arguments found;
  if (!calls || !calls->possible() || !calls->sort(args, count, keywords, found)) return {};
  return calls->call(*handle.host, found);
}

nb::object call_general(PyObject* self, PyObject* const* args, std::size_t count,
                        PyObject* keywords) {
  static PyObject* function = nullptr;
  const auto [positional, named] = arguments_of(args, count, keywords);
  return call_python(function_of(function, "tenon._calls.dispatch", "call"),
                     nb::make_tuple(nb::borrow(self), positional, named));
}

PyObject* call_operator(PyObject* object, PyObject* const* args, std::size_t count_and_flag,
                        PyObject* keywords) {
  auto& self = *reinterpret_cast<OperatorObject*>(object);
  const auto count = static_cast<std::size_t>(NB_VECTORCALL_NARGS(count_and_flag));
  try {
    auto result = call_fast(self, args, count, keywords);
    if (!result.is_valid()) result = call_general(object, args, count, keywords);
    return result.release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* new_operator(PyTypeObject* type, PyObject* positional, PyObject* keywords) {
  static const char* names[] = {"name", "host", nullptr};
  PyObject *name = nullptr, *host = Py_None;
  if (PyArg_ParseTupleAndKeywords(positional, keywords, "U|O", const_cast<char**>(names), &name,
                                  &host) == 0)
    return nullptr;
  if (host != Py_None && !nb::isinstance<HostHandle>(nb::handle(host))) {
    PyErr_Format(PyExc_TypeError, "Operator(name, host=None): host is %R, but must be a tenon.Host",
                 host);
    return nullptr;
  }
  const auto* text = PyUnicode_AsUTF8AndSize(name, nullptr);
  if (text == nullptr) return nullptr;
  auto* self = reinterpret_cast<OperatorObject*>(PyType_GenericAlloc(type, 0));
  if (self == nullptr) return nullptr;
  self->call = call_operator;
  self->name = nb::borrow(name).release().ptr();
  self->host = host == Py_None ? nullptr : nb::borrow(host).release().ptr();
  self->calls = new CallCacheByVersion<NumpyCalls>(text);
  return reinterpret_cast<PyObject*>(self);
}

int traverse_operator(PyObject* object, visitproc visit, void* arg) {
  auto& self = *reinterpret_cast<OperatorObject*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self.dict);
  Py_VISIT(self.host);
  return 0;
}

int clear_operator(PyObject* object) {
  auto& self = *reinterpret_cast<OperatorObject*>(object);
  Py_CLEAR(self.dict);
  Py_CLEAR(self.host);
  return 0;
}

void delete_operator(PyObject* object) {
  auto& self = *reinterpret_cast<OperatorObject*>(object);
  PyObject_GC_UnTrack(object);
  if (self.weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear_operator(object);
  Py_CLEAR(self.name);
  delete self.calls;
  auto* type = Py_TYPE(object);
  PyObject_GC_Del(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// Documentation, signature and page of an operator, from tenon._operators.manifest, created
// when first requested.
PyObject* page_of(PyObject* self, void* what) {
  try {
    return nb::module_::import_("tenon._operators.manifest")
        .attr(static_cast<const char*>(what))(nb::borrow(self))
        .release()
        .ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* text_of(PyObject* self) {
  return page_of(self, const_cast<char*>("text_of"));
}

PyObject* reduce(PyObject* self, PyObject*) {
  return page_of(self, const_cast<char*>("reduce"));
}

PyObject* html_of(PyObject* self, PyObject*) {
  return page_of(self, const_cast<char*>("html_of"));
}

PyObject* counts_of(PyObject* self, void*) {
  return counts_to_python(reinterpret_cast<OperatorObject*>(self)->calls->counts()).release().ptr();
}

#define TENON_PAGE(name, function) \
  { name, page_of, nullptr, nullptr, const_cast<char*>(function) }
PyGetSetDef properties[] = {
    TENON_PAGE("__doc__", "doc_of"),
    TENON_PAGE("__signature__", "signature_of"),
    TENON_PAGE("__qualname__", "python_name_of"),
    TENON_PAGE("__name__", "python_name_of"),
    TENON_PAGE("__module__", "module_of"),
    TENON_PAGE("info", "info_of"),
    {"_counts", counts_of, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
#undef TENON_PAGE
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(OperatorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OperatorObject, weak_references), READONLY,
     nullptr},
    {"_name", T_OBJECT_EX, offsetof(OperatorObject, name), READONLY, nullptr},
    {"_host", T_OBJECT, offsetof(OperatorObject, host), READONLY, nullptr},
    {}};
PyMethodDef operator_methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                                  {"_repr_html_", html_of, METH_NOARGS, nullptr},
                                  {}};

constexpr unsigned has_vectorcall =
    1U << 11;  // Py_TPFLAGS_HAVE_VECTORCALL, in the limited API only since 3.12

// For calls by tuple and dict, since the limited API has no PyVectorcall_Call before 3.12.
PyObject* call_by_tuple(PyObject* self, PyObject* positional, PyObject* named) {
  std::vector<PyObject*> args;
  for (Py_ssize_t i = 0; i < PyTuple_Size(positional); ++i)
    args.push_back(PyTuple_GetItem(positional, i));
  const auto count = args.size();
  nb::list names;
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t position = 0;
       named != nullptr && PyDict_Next(named, &position, &name, &value) != 0;) {
    names.append(nb::borrow(name));
    args.push_back(value);
  }
  const nb::tuple keywords(names);
  return call_operator(self, args.data(), count, names.size() == 0 ? nullptr : keywords.ptr());
}

}  // namespace

void bind_operator(nb::module_& module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(new_operator)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(delete_operator)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse_operator)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear_operator)},
                         {Py_tp_call, reinterpret_cast<void*>(call_by_tuple)},
                         {Py_tp_repr, reinterpret_cast<void*>(text_of)},
                         {Py_tp_getset, properties},
                         {Py_tp_members, members},
                         {Py_tp_methods, operator_methods},
                         {0, nullptr}};
  PyType_Spec spec = {
      "tenon.Operator", sizeof(OperatorObject), 0,
      static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC) | has_vectorcall, slots};
  auto type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  module.attr("Operator") = type;
}

}  // namespace tenon::python
