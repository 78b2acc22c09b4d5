#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "python/core/array_calls.hpp"
#include "python/core/dlpack.hpp"

namespace tenon::python {
namespace {

bool is_contiguous(const DLTensor& view) {
  if (view.strides == nullptr) return true;
  std::int64_t next = 1;
  for (int axis = view.ndim - 1; axis >= 0; --axis) {
    if (view.shape[axis] != 1 && view.strides[axis] != next) return false;
    next *= view.shape[axis];
  }
  return true;
}

/// Dense tensors on the CPU.
class ExchangeArrays {
 public:
  static constexpr std::size_t max_inputs = 16;
  using View = DLTensor;
  ExchangeArrays(const ExchangeTable& table, bool counted) : table_(&table), counted_(counted) {}

  static bool can_call(const OperatorInfo&) { return true; }
  static bool can_make(DType) { return true; }
  bool lists_results() const { return counted_; }
  static nb::object memory_for(const Argument&, const Tensor&) { return {}; }
  nb::object result_of(const nb::object&, const Tensor& tensor) const {
    return object_from(tensor, *table_);
  }

  static Tensor borrow(const ArrayInput<View>& input) {
    static char nothing alignas(16)[16];
    const auto& view = input.view;
    auto* data = view.data == nullptr ? nothing : static_cast<char*>(view.data) + view.byte_offset;
    const auto shape = Shape::of_tensor(view.shape, view.ndim);
    if (is_contiguous(view)) return Tensor::borrow(data, input.dtype, shape);
    return Tensor::borrow(data, input.dtype, shape,
                          {view.strides, static_cast<std::size_t>(view.ndim)});
  }

  /// Adds an argument. Returns false for another kind of object or memory.
  bool read(PyObject* object, ArrayArguments<ExchangeArrays>& found) const {
    if (found.inputs >= max_inputs) return false;
    auto& input = found.input[found.inputs++];
    input.object = object == Py_None ? nullptr : object;
    if (object == Py_None) return true;
    if (exchange_of(Py_TYPE(object)) != table_) return false;
    auto& view = input.view;
    if (table_->view_of(object, &view) != 0) {
      PyErr_Clear();
      return false;
    }
    input.scalar = false;
    input.dtype = dtype_of(view.dtype);
    input.rank = view.ndim;
    input.dims = view.shape;
    found.bytes += std::accumulate(view.shape, view.shape + view.ndim,
                                   std::int64_t{view.dtype.bits / 8}, std::multiplies());
    return view.device.device_type == kDLCPU && input.dtype != unknown_dtype &&
           view.ndim <= max_rank;
  }

 private:
  const ExchangeTable* table_;
  bool counted_;  // a parameter sets the number of outputs
};

nb::object call_function(const nb::object& function, PyObject* const* args, std::size_t count,
                         PyObject* keywords) {
  const auto [positional, named] = arguments_of(args, count, keywords);
  return call_python(function, positional, named);
}

/// One operator on dense tensors on the CPU. Delegates everything else to `other`. Needs the GIL.
class ExchangeCalls {
 public:
  struct Targets {
    nb::object other;           ///< takes the same arguments: for all memory, types and parameters
    nb::object differentiable;  ///< takes the same arguments: for tensors that may need a gradient
    nb::object grad_enabled;    ///< whether gradients are enabled at all
    std::size_t tensors;        ///< the number of tensor arguments by position; parameters follow
    std::vector<nb::object> positional_params;  ///< the names of these parameters
    std::uint64_t plain_keys;  ///< the dispatch keys of a tensor that only autograd handles
  };
  ExchangeCalls(nb::object host, std::string op, ExchangeArrays arrays, Targets targets)
      : host_(std::move(host)),
        arrays_(arrays),
        targets_(std::move(targets)),
        calls_(std::move(op)) {}

  nb::object call(PyObject* const* args, std::size_t count, PyObject* keywords);
  /// Like call(), if the first argument is torch's set of dispatch keys and gradients may be
  /// needed.
  nb::object call_with_keys(PyObject* const* args, std::size_t count, PyObject* keywords);
  CallCacheCounts counts() const { return calls_.counts(); }

 private:
  using Calls = ArrayCalls<ExchangeArrays>;

  bool sort(const OperatorInfo& info, PyObject* const* args, std::size_t count, PyObject* keywords,
            Calls::Arguments& found) const;

  nb::object host_;  // a Host, or None: the default host at the time of the call
  ExchangeArrays arrays_;
  Targets targets_;
  CallCacheByVersion<Calls> calls_;
};

bool ExchangeCalls::sort(const OperatorInfo& info, PyObject* const* args, std::size_t count,
                         PyObject* keywords, Calls::Arguments& found) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= targets_.tensors) {
      if (i - targets_.tensors >= targets_.positional_params.size() ||
          !found.add_param(targets_.positional_params[i - targets_.tensors].ptr(), args[i]))
        return false;
      continue;
    }
    if (!PyList_CheckExact(args[i])) {
      if (!arrays_.read(args[i], found)) return false;
      continue;
    }
    for (Py_ssize_t each = 0; each < PyList_Size(args[i]); ++each)
      if (!arrays_.read(PyList_GetItem(args[i], each), found)) return false;
  }
  while (!info.variadic() && found.inputs < info.inputs.size())
    if (!arrays_.read(Py_None, found)) return false;
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_Size(keywords); ++i)
    if (!found.add_param(PyTuple_GetItem(keywords, i), args[count + static_cast<std::size_t>(i)]))
      return false;
  return true;
}

nb::object ExchangeCalls::call(PyObject* const* args, std::size_t count, PyObject* keywords) {
  // keeps the host open during the call
  const HostHandle host = host_.is_none() ? current_host() : nb::cast<const HostHandle&>(host_);
  const auto calls = calls_.of(host, [&](const HostVersion& version, const std::string& name,
                                         std::shared_ptr<const CatalogOperator> op) {
    return std::make_shared<Calls>(version, name, std::move(op), host.isolated, arrays_);
  });
  Calls::Arguments found;
  nb::object result;
  if (calls && calls->possible() && sort(calls->info(), args, count, keywords, found))
    result = calls->call(*host.host, found);
  return result.is_valid() ? result : call_function(targets_.other, args, count, keywords);
}

bool requires_grad(PyObject* object) {
  static auto* name = PyUnicode_InternFromString("requires_grad");
  if (PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyList_Size(object); ++i)
      if (requires_grad(PyList_GetItem(object, i))) return true;
    return false;
  }
  if (object == Py_None) return false;
  const auto found = nb::steal(PyObject_GetAttr(object, name));
  if (!found.is_valid()) throw nb::python_error();
  return found.ptr() != Py_False;
}

nb::object ExchangeCalls::call_with_keys(PyObject* const* args, std::size_t count,
                                         PyObject* keywords) {
  if (count == 0) throw nb::type_error("the set of dispatch keys is missing");
  static auto* name = PyUnicode_InternFromString("raw_repr");
  const auto keys = nb::steal(PyObject_CallMethodObjArgs(args[0], name, nullptr));
  if (!keys.is_valid()) throw nb::python_error();
  if (PyLong_AsUnsignedLongLongMask(keys.ptr()) != targets_.plain_keys)
    return call_function(targets_.differentiable, args + 1, count - 1, keywords);
  const auto* const end = args + 1 + std::min(count - 1, targets_.tensors);
  const bool needs_gradient =
      std::any_of(args + 1, end, requires_grad) &&
      nb::steal(PyObject_CallNoArgs(targets_.grad_enabled.ptr())).ptr() != Py_False;
  return needs_gradient ? call_function(targets_.differentiable, args + 1, count - 1, keywords)
                        : call(args + 1, count - 1, keywords);
}

constexpr const char* capsule_name = "tenon.ExchangeCalls";

template <nb::object (ExchangeCalls::*function)(PyObject* const*, std::size_t, PyObject*)>
PyObject* enter(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  auto* calls = static_cast<ExchangeCalls*>(PyCapsule_GetPointer(self, capsule_name));
  try {
    return (calls->*function)(args, static_cast<std::size_t>(count), keywords).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <auto function>
PyMethodDef method(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL | METH_KEYWORDS, nullptr};
}

// Two functions over one cache: one for tensors without gradients, and one that checks for them.
nb::tuple exchange_calls(nb::object host, const std::string& op, nb::handle type, nb::object other,
                         nb::object differentiable, nb::object grad_enabled, bool counted,
                         std::size_t tensors, std::vector<nb::object> positional_params,
                         std::uint64_t plain_keys) {
  const auto* table = exchange_of(reinterpret_cast<PyTypeObject*>(type.ptr()));
  if (table == nullptr || table->view_of == nullptr) return nb::make_tuple(nb::none(), nb::none());
  auto calls = std::make_unique<ExchangeCalls>(
      std::move(host), op, ExchangeArrays(*table, counted),
      ExchangeCalls::Targets{std::move(other), std::move(differentiable), std::move(grad_enabled),
                             tensors, std::move(positional_params), plain_keys});
  auto capsule = nb::steal(PyCapsule_New(calls.release(), capsule_name, [](PyObject* object) {
    delete static_cast<ExchangeCalls*>(PyCapsule_GetPointer(object, capsule_name));
  }));
  static PyMethodDef plain = method<&enter<&ExchangeCalls::call>>("call");
  static PyMethodDef keyed = method<&enter<&ExchangeCalls::call_with_keys>>("call_with_keys");
  return nb::make_tuple(nb::steal(PyCFunction_NewEx(&plain, capsule.ptr(), nullptr)),
                        nb::steal(PyCFunction_NewEx(&keyed, capsule.ptr(), nullptr)));
}

}  // namespace

void bind_exchange_calls(nb::module_& module) {
  module.def("exchange_calls", &exchange_calls, nb::arg("host").none(), nb::arg("op"),
             nb::arg("type"), nb::arg("other"), nb::arg("differentiable"), nb::arg("grad_enabled"),
             nb::arg("counted"), nb::arg("tensors"), nb::arg("placed"), nb::arg("plain_keys"));
  module.def("exchange_counts", [](nb::handle function) {
    const nb::object capsule = function.attr("__self__");
    const auto* calls =
        static_cast<const ExchangeCalls*>(PyCapsule_GetPointer(capsule.ptr(), capsule_name));
    return counts_to_python(calls->counts());
  });
}

}  // namespace tenon::python
