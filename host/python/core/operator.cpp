#include "python/core/operator.hpp"

#include <nanobind/stl/string.h>
#include <structmember.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "python/core/catalog.hpp"
#include "python/core/quick_calls.hpp"

namespace tenon::python {
namespace {

using Vectorcall = PyObject* (*)(PyObject*, PyObject* const*, std::size_t, PyObject*);

/// Raw, because nanobind's classes cannot be called by vectorcall, which takes a third of the time.
struct OperatorObject {
  PyObject ob_base;
  Vectorcall call;
  PyObject* dict;
  PyObject* weak_references;
  PyObject* name;  ///< as host and graphs take it
  PyObject* host;  ///< its own; null: the default host at the time of a call
  std::shared_ptr<QuickCalls>* quick;
};

HostHandle host_of(const OperatorObject& self) {
  return self.host != nullptr ? nb::cast<const HostHandle&>(nb::handle(self.host)) : current_host();
}

// The prepared calls for the host's operators as they are now; a call that runs meanwhile keeps its own.
std::shared_ptr<QuickCalls> quick_calls(OperatorObject& self, const HostHandle& handle) {
  const auto& host = handle.host;
  if (host && *self.quick && (*self.quick)->is_current(handle)) return *self.quick;
  handle.use();  // throws where it is closed
  const std::string name = nb::cast<std::string>(nb::handle(self.name));
  std::uint64_t generation = 0;
  auto op = without_gil([&] {
    host->catalog();  // reads the default folders where nobody has
    generation = host->generation();
    return host->catalog().find(name);
  });
  if (!op) return nullptr;  // the long way says why
  *self.quick = std::make_shared<QuickCalls>(handle, name, std::move(op), generation);
  return *self.quick;
}

nb::object call_the_long_way(PyObject* self, PyObject* const* given, std::size_t count, PyObject* keywords) {
  auto positional = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i)
    PyTuple_SetItem(positional.ptr(), static_cast<Py_ssize_t>(i), nb::borrow(given[i]).release().ptr());
  nb::dict named;
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_Size(keywords); ++i)
    named[nb::borrow(PyTuple_GetItem(keywords, i))] = nb::borrow(given[count + static_cast<std::size_t>(i)]);
  // Not a static object with an initialiser: an import lets other threads run, which would wait for the initialiser with the GIL.
  static PyObject* function = nullptr;
  if (function == nullptr) {
    auto found = nb::module_::import_("tenon._calls").attr("call");
    if (function == nullptr) function = nb::object(found).release().ptr();
  }
  return call_python(function, nb::make_tuple(nb::borrow(self), positional, named));
}

PyObject* call_operator(PyObject* object, PyObject* const* given, std::size_t count_and_flag, PyObject* keywords) {
  auto& self = *reinterpret_cast<OperatorObject*>(object);
  const auto count = static_cast<std::size_t>(NB_VECTORCALL_NARGS(count_and_flag));
  try {
    nb::object result;
    const auto host = host_of(self);  // not closed before the call ends
    if (const auto quick = quick_calls(self, host)) result = quick->call(given, count, keywords);
    if (!result.is_valid()) result = call_the_long_way(object, given, count, keywords);
    return result.release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* new_operator(PyTypeObject* type, PyObject* positional, PyObject* keywords) {
  static const char* names[] = {"name", "host", nullptr};
  PyObject *name = nullptr, *host = Py_None;
  if (PyArg_ParseTupleAndKeywords(positional, keywords, "U|O", const_cast<char**>(names), &name, &host) == 0) return nullptr;
  if (host != Py_None && !nb::isinstance<HostHandle>(nb::handle(host))) {
    PyErr_Format(PyExc_TypeError, "Operator(name, host=None): host is %R, but must be a tenon.Host", host);
    return nullptr;
  }
  auto* self = reinterpret_cast<OperatorObject*>(PyType_GenericAlloc(type, 0));
  if (self == nullptr) return nullptr;
  self->call = call_operator;
  self->name = nb::borrow(name).release().ptr();
  self->host = host == Py_None ? nullptr : nb::borrow(host).release().ptr();
  self->quick = new std::shared_ptr<QuickCalls>();
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
  delete self.quick;
  auto* type = Py_TYPE(object);
  PyObject_GC_Del(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// What tenon._operators knows of an operator: documentation, signature, page. Each is made when it is first asked for.
PyObject* page_of(PyObject* self, void* what) {
  try {
    return nb::module_::import_("tenon._operators").attr(static_cast<const char*>(what))(nb::borrow(self)).release().ptr();
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

#define TENON_PAGE(name, function) \
  { name, page_of, nullptr, nullptr, const_cast<char*>(function) }
PyGetSetDef properties[] = {TENON_PAGE("__doc__", "doc_of"),
                            TENON_PAGE("__signature__", "signature_of"),
                            TENON_PAGE("__qualname__", "python_name_of"),
                            TENON_PAGE("__name__", "python_name_of"),
                            TENON_PAGE("__module__", "module_of"),
                            TENON_PAGE("info", "info_of"),
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {}};
#undef TENON_PAGE
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, call), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(OperatorObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(OperatorObject, weak_references), READONLY, nullptr},
                         {"_name", T_OBJECT_EX, offsetof(OperatorObject, name), READONLY, nullptr},
                         {"_host", T_OBJECT, offsetof(OperatorObject, host), READONLY, nullptr},
                         {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {"_repr_html_", html_of, METH_NOARGS, nullptr}, {}};

constexpr unsigned has_vectorcall = 1U << 11;  // Py_TPFLAGS_HAVE_VECTORCALL, which the limited API names since 3.12 only

// What calls by tuple and dict, as the limited API has no PyVectorcall_Call before 3.12.
PyObject* call_by_tuple(PyObject* self, PyObject* positional, PyObject* named) {
  std::vector<PyObject*> given;
  for (Py_ssize_t i = 0; i < PyTuple_Size(positional); ++i) given.push_back(PyTuple_GetItem(positional, i));
  const auto count = given.size();
  nb::list names;
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t place = 0; named != nullptr && PyDict_Next(named, &place, &name, &value) != 0;) {
    names.append(nb::borrow(name));
    given.push_back(value);
  }
  const nb::tuple keywords(names);
  return call_operator(self, given.data(), count, names.size() == 0 ? nullptr : keywords.ptr());
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
                         {Py_tp_methods, methods},
                         {0, nullptr}};
  PyType_Spec spec = {"tenon.Operator", sizeof(OperatorObject), 0,
                      static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC) | has_vectorcall, slots};
  auto type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  module.attr("Operator") = type;
}

}  // namespace tenon::python
