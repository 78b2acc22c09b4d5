#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "python/core/arrays.hpp"
#include "python/core/bindings.hpp"
#include "python/core/interrupts.hpp"
#include "python/core/session.hpp"

namespace tenon::python {
namespace {

constexpr std::size_t max_arrays = 8;  // maximum number of inputs, and of outputs

struct ArrayType {
  DType dtype;
  Shape shape;
};

/// The inputs and outputs of a session, and the types of its last run.
struct Arrays {
  std::vector<nb::object> inputs, outputs;  // names, interned
  nb::object core, results;
  SessionHandle* session = nullptr;
  std::vector<ArrayType> input_types, output_types;
};

/// A raw type, like tenon.Operator; tenon.Session derives from it.
struct SessionObject {
  PyObject ob_base;
  Arrays* arrays;
};

Arrays* arrays_of(PyObject* self) {
  return reinterpret_cast<SessionObject*>(self)->arrays;
}

bool is_like(PyObject* array, const ArrayType& type) {
  return dtype_of_array(array) == type.dtype && rank_of_array(array) == type.shape.rank() &&
         std::equal(type.shape.begin(), type.shape.end(), dims_of_array(array));
}

nb::object results_of(const Arrays& arrays, nb::object* made) {
  // Results takes no arguments, and a new dict needs no initialization, so __init__ is not called.
  static auto* const nothing = PyTuple_New(0);
  const auto make = reinterpret_cast<newfunc>(
      PyType_GetSlot(reinterpret_cast<PyTypeObject*>(arrays.results.ptr()), Py_tp_new));
  auto results =
      nb::steal(make(reinterpret_cast<PyTypeObject*>(arrays.results.ptr()), nothing, nullptr));
  if (!results.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < arrays.outputs.size(); ++i)
    if (PyDict_SetItem(results.ptr(), arrays.outputs[i].ptr(), made[i].ptr()) != 0)
      throw nb::python_error();
  return results;
}

bool run_in_order(Arrays& arrays, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto stop = interrupt_token();
  try {
    return arrays.session->use(
        [&](Session& session) { return session.run_in_order(inputs, outputs, stop); });
  } catch (const Failure&) {
    raise_interrupt();
    throw;
  }
}

/// Returns the results, or nothing and sets no Python error if the run must take the general path.
/// `capacity`: the capacity for inputs, and for outputs.
template <std::size_t capacity>
nb::object run_arrays(Arrays& arrays, PyObject* const* args) {
  const auto count = arrays.inputs.size();
  // after a first run, since a graph may have no inputs
  bool same = !arrays.output_types.empty() && arrays.input_types.size() == count;
  Tensor inputs[capacity], outputs[capacity];
  for (std::size_t i = 0; i < count; ++i) {
    if (args[i] == nullptr || !is_fast_array(args[i])) return {};
    same = same && is_like(args[i], arrays.input_types[i]);
    inputs[i] = borrow_array(args[i]);
  }
  nb::object made[capacity];
  const std::span results(outputs, arrays.outputs.size());
  if (same) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      made[i] = new_array(arrays.output_types[i].dtype, arrays.output_types[i].shape);
      outputs[i] = borrow_array(made[i].ptr());
    }
    run_in_order(arrays, {inputs, count}, results);
    return results_of(arrays, made);
  }
  // otherwise the types of the outputs are known only at run time
  const bool repeats = run_in_order(arrays, {inputs, count}, results);
  std::vector<ArrayType> types;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool plain = outputs[i].storage() == Storage::dense && outputs[i].device() == "cpu" &&
                       numpy_has(outputs[i].dtype());
    made[i] = plain ? array_from(outputs[i], true) : nb::cast(outputs[i]);
    if (plain) types.push_back({outputs[i].dtype(), outputs[i].shape()});
  }
  arrays.input_types.clear();
  arrays.output_types.clear();
  if (repeats && types.size() == results.size()) {
    for (std::size_t i = 0; i < count; ++i)
      arrays.input_types.push_back({inputs[i].dtype(), inputs[i].shape()});
    arrays.output_types = std::move(types);
  }
  return results_of(arrays, made);
}

template <std::size_t capacity>
nb::object quick(Arrays* arrays, PyObject* const* positional, std::size_t count, PyObject* inputs) {
  PyObject* args[capacity] = {};
  nb::object references[capacity];  // another thread may change the dict meanwhile
  const auto all = arrays->inputs.size();
  const auto named = inputs == nullptr ? 0 : static_cast<std::size_t>(PyDict_Size(inputs));
  if (count + named != all) return {};
  std::copy_n(positional, count, args);
  for (std::size_t i = count; i < all; ++i) {
    args[i] = PyDict_GetItemWithError(inputs, arrays->inputs[i].ptr());
    if (args[i] == nullptr) {
      PyErr_Clear();
      return {};
    }
    references[i] = nb::borrow(args[i]);
  }
  return run_arrays<capacity>(*arrays, args);
}

/// `inputs`: a dict, or null; the inputs in `positional` come first.
nb::object quick(PyObject* self, PyObject* const* positional, std::size_t count, PyObject* inputs) {
  auto* arrays = arrays_of(self);
  if (arrays == nullptr || arrays->session == nullptr) return {};
  // a larger capacity costs time
  const bool has_few = arrays->inputs.size() <= 2 && arrays->outputs.size() <= 2;
  return has_few ? quick<2>(arrays, positional, count, inputs)
                 : quick<max_arrays>(arrays, positional, count, inputs);
}

// session.run(inputs) on the fast path. Session._run handles everything else.
PyObject* run_session(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  try {
    nb::object results;
    if (count == 1 && keywords == nullptr && PyDict_CheckExact(args[0]))
      results = quick(self, nullptr, 0, args[0]);
    if (results.is_valid()) return results.release().ptr();
    nb::list positional;
    for (Py_ssize_t i = 0; i < count; ++i) positional.append(nb::borrow(args[i]));
    nb::dict named;
    for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_Size(keywords); ++i)
      named[nb::borrow(PyTuple_GetItem(keywords, i))] = nb::borrow(args[count + i]);
    const auto function = nb::borrow(self).attr("_run");
    return call_python(function, nb::tuple(positional), named).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* call(PyObject* self, PyObject* positional, PyObject* named) {
  try {
    nb::object results;
    PyObject* args[max_arrays] = {};
    const auto count = static_cast<std::size_t>(PyTuple_Size(positional));
    for (std::size_t i = 0; i < std::min(count, max_arrays); ++i)
      args[i] = PyTuple_GetItem(positional, static_cast<Py_ssize_t>(i));
    if (count <= max_arrays) results = quick(self, args, count, named);
    if (results.is_valid()) return results.release().ptr();
    const auto function = nb::borrow(self).attr("_call");
    return call_python(function, nb::borrow<nb::tuple>(positional), named).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// _attach(core, inputs, outputs, results, quick): without `quick` every run takes the general path.
PyObject* attach(PyObject* self, PyObject* arguments) {
  PyObject *core = nullptr, *inputs = nullptr, *outputs = nullptr, *results = nullptr;
  int possible = 0;
  if (PyArg_ParseTuple(arguments, "OO!O!Op", &core, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs,
                       &results, &possible) == 0)
    return nullptr;
  try {
    auto made = std::make_unique<Arrays>();
    const auto names = [](PyObject* tuple) {
      std::vector<nb::object> all;
      for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) {
        auto* name = nb::borrow(PyTuple_GetItem(tuple, i)).release().ptr();
        PyUnicode_InternInPlace(&name);
        all.push_back(nb::steal(name));
      }
      return all;
    };
    made->inputs = names(inputs);
    made->outputs = names(outputs);
    made->core = nb::borrow(core);
    made->results = nb::borrow(results);
    const bool has_few = made->inputs.size() <= max_arrays && made->outputs.size() <= max_arrays &&
                         !made->outputs.empty();
    if (possible != 0 && has_few) made->session = nb::cast<SessionHandle*>(nb::handle(core));
    delete std::exchange(reinterpret_cast<SessionObject*>(self)->arrays, made.release());
  } catch (...) {
    set_python_error();
    return nullptr;
  }
  return nb::none().release().ptr();
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const auto* arrays = arrays_of(self); arrays != nullptr) Py_VISIT(arrays->core.ptr());
  return 0;
}

void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete std::exchange(reinterpret_cast<SessionObject*>(self)->arrays, nullptr);
  auto* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMethodDef session_methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_session)),
     METH_FASTCALL | METH_KEYWORDS,
     "run($self, inputs=None, *, outputs=None, into=None, add=False, batch=0)\n--\n\n"
     "Runs the graph with arrays by name, and returns outputs by name.\n\n"
     "outputs: name or names of the outputs to compute; default: all. into: arrays by output name, "
     "to which the outputs are written, or added if `add` is set.\n"
     "batch: rows of one run, for inputs that are longer than one run can take. The results are in "
     "the order of the graph's outputs.\n"
     "Raises UsageError for inputs that are missing or unknown, or whose dtype or shape differs "
     "from the graph's, before anything runs;\n"
     "ExecutionError if an operator fails. A run that fails changes no state and no "
     "variable, and does not count in `step`."},
    {"_attach", attach, METH_VARARGS, nullptr},
    {}};

}  // namespace

void bind_quick_session(nb::module_& module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_call, reinterpret_cast<void*>(call)},
                         {Py_tp_methods, session_methods},
                         {0, nullptr}};
  PyType_Spec spec = {
      "tenon._core.SessionBase", sizeof(SessionObject), 0,
      static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE), slots};
  auto type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  module.attr("SessionBase") = type;
}

}  // namespace tenon::python
