#include "python/core/exchange_calls.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <tenon/host/host.hpp>
#include <vector>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/dlpack.hpp"
#include "python/core/host.hpp"
#include "python/core/kept_calls.hpp"
#include "python/core/plain_values.hpp"

namespace tenon::python {
namespace {

constexpr std::size_t most_inputs = 16, most_params = 16;
constexpr std::int64_t small = 16 * 1024;  // bytes: below, a kernel takes less time than the GIL's way out and back

/// Prepared calls of one operator on dense tensors on the CPU, found again by types and parameters. Everything else it leaves to `other`.
/// With the GIL.
class ExchangeCalls {
 public:
  struct Ways {
    nb::object other;                ///< takes the same arguments: any memory, types and parameters
    nb::object differentiable;       ///< takes the same arguments: those that may need a gradient
    nb::object grad_enabled;         ///< whether gradients are wanted at all
    bool counted;                    ///< a parameter says how many outputs there are: the result is a list, even of one
    std::size_t tensors;             ///< arguments by position; what comes behind them are parameters
    std::vector<nb::object> placed;  ///< the names of these
    std::uint64_t plain_keys;        ///< of a tensor in which nothing but autograd is interested
  };
  ExchangeCalls(nb::object host, std::string op, const ExchangeTable& table, Ways ways)
      : host_object_(std::move(host)), op_(std::move(op)), table_(table), ways_(std::move(ways)) {}

  nb::object call(PyObject* const* given, std::size_t count, PyObject* keywords);
  /// The same where the first argument is torch's set of dispatch keys, and gradients may be wanted.
  nb::object call_with_keys(PyObject* const* given, std::size_t count, PyObject* keywords);

 private:
  struct Given {
    std::size_t inputs = 0, params = 0;
    PyObject* object[most_inputs] = {};
    DLTensor view[most_inputs];
    DType dtype[most_inputs];
    PyObject *key[most_params], *value[most_params];
    std::int64_t bytes = 0;
  };
  struct Entry {
    struct Input {
      DType dtype = unknown_dtype;  // unknown: left out
      std::vector<std::int64_t> dims;
    };
    std::vector<Input> inputs;
    std::vector<std::pair<nb::object, nb::object>> params;
    std::optional<PreparedCall> call;
    std::vector<std::size_t> visible;  // places of outputs
    std::int64_t bytes = 0;            // of outputs
    bool usable = false, busy = false;
  };

  std::shared_ptr<Host> current();
  bool sort(PyObject* const* given, std::size_t count, PyObject* keywords, Given& found) const;
  bool look(PyObject* object, Given& found) const;
  static bool add_param(PyObject* name, PyObject* value, Given& found);
  Entry* find(const Given& given);
  Entry* prepare(const Given& given);
  nb::object run(Entry& entry, const Given& given);
  static nb::object go(const nb::object& way, PyObject* const* given, std::size_t count, PyObject* keywords);

  nb::object host_object_;  // a Host, or None: the default one at the time of a call
  std::string op_;
  const ExchangeTable& table_;
  Ways ways_;
  Host* host_ = nullptr;  // which a call holds
  std::uint64_t host_number_ = 0, generation_ = 0;
  bool possible_ = false, keeps_gil_ = false;
  std::size_t declared_ = 0;
  KeptCalls<Entry> entries_;
};

nb::object ExchangeCalls::go(const nb::object& way, PyObject* const* given, std::size_t count, PyObject* keywords) {
  auto positional = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i)
    PyTuple_SetItem(positional.ptr(), static_cast<Py_ssize_t>(i), nb::borrow(given[i]).release().ptr());
  nb::dict named;
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_Size(keywords); ++i)
    named[nb::borrow(PyTuple_GetItem(keywords, i))] = nb::borrow(given[count + static_cast<std::size_t>(i)]);
  auto result = nb::steal(PyObject_Call(way.ptr(), positional.ptr(), named.ptr()));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

// The host, which lives until the call ends; nothing where the other way has to be gone. What was prepared is of the host's operators at
// that time.
std::shared_ptr<Host> ExchangeCalls::current() {
  const HostHandle handle = host_object_.is_none() ? current_host() : nb::cast<const HostHandle&>(host_object_);
  auto host = handle.use();
  if (handle.number == host_number_ && host->generation() == generation_) return possible_ ? host : nullptr;
  const auto generation = host->generation();
  const auto op = without_gil([&] { return host->catalog().find(op_); });
  if (!op || entries_.any_busy()) return nullptr;
  entries_.clear();
  host_ = host.get();
  host_number_ = handle.number;
  generation_ = generation;
  const auto& info = op->info;
  declared_ = info.variadic() ? 0 : info.inputs.size();
  possible_ = info.states.empty() && !info.random && info.inputs.size() <= most_inputs && info.params.size() <= most_params;
  keeps_gil_ = op->file >= 0 && !handle.isolated && !info.has("compose");
  return possible_ ? host : nullptr;
}

bool ExchangeCalls::look(PyObject* object, Given& found) const {
  if (found.inputs >= most_inputs) return false;
  const auto i = found.inputs++;
  found.object[i] = object == Py_None ? nullptr : object;
  found.dtype[i] = unknown_dtype;
  if (object == Py_None) return true;
  if (exchange_of(Py_TYPE(object)) != &table_) return false;
  auto& view = found.view[i];
  if (table_.view_of(object, &view) != 0) {
    PyErr_Clear();
    return false;
  }
  found.dtype[i] = dtype_of(view.dtype);
  std::int64_t size = view.dtype.bits / 8;
  for (int axis = 0; axis < view.ndim; ++axis) size *= view.shape[axis];
  found.bytes += size;
  return view.device.device_type == kDLCPU && found.dtype[i] != unknown_dtype && view.ndim <= max_rank;
}

bool ExchangeCalls::add_param(PyObject* name, PyObject* value, Given& found) {
  if (found.params >= most_params || !is_plain(value)) return false;
  found.key[found.params] = name;
  found.value[found.params++] = value;
  return true;
}

bool ExchangeCalls::sort(PyObject* const* given, std::size_t count, PyObject* keywords, Given& found) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= ways_.tensors) {
      if (i - ways_.tensors >= ways_.placed.size() || !add_param(ways_.placed[i - ways_.tensors].ptr(), given[i], found)) return false;
      continue;
    }
    if (!PyList_CheckExact(given[i])) {
      if (!look(given[i], found)) return false;
      continue;
    }
    for (Py_ssize_t each = 0; each < PyList_Size(given[i]); ++each)
      if (!look(PyList_GetItem(given[i], each), found)) return false;
  }
  while (found.inputs < declared_)
    if (!look(Py_None, found)) return false;
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_Size(keywords); ++i)
    if (!add_param(PyTuple_GetItem(keywords, i), given[count + static_cast<std::size_t>(i)], found)) return false;
  return true;
}

ExchangeCalls::Entry* ExchangeCalls::find(const Given& given) {
  const auto same_key = [](PyObject* left, PyObject* right) { return left == right || PyUnicode_Compare(left, right) == 0; };
  return entries_.find([&](const Entry& entry) {
    if (entry.inputs.size() != given.inputs || entry.params.size() != given.params) return false;
    for (std::size_t i = 0; i < given.inputs; ++i) {
      const auto& [dtype, dims] = entry.inputs[i];
      if (dtype != given.dtype[i]) return false;
      if (dtype != unknown_dtype && !std::equal(dims.begin(), dims.end(), given.view[i].shape, given.view[i].shape + given.view[i].ndim))
        return false;
    }
    for (std::size_t i = 0; i < given.params; ++i)
      if (!same_key(entry.params[i].first.ptr(), given.key[i]) || !same_value(entry.params[i].second.ptr(), given.value[i])) return false;
    return true;
  });
}

ExchangeCalls::Entry* ExchangeCalls::prepare(const Given& given) {
  auto entry = std::make_unique<Entry>();
  std::vector<Argument> arguments(given.inputs);
  for (std::size_t i = 0; i < given.inputs; ++i) {
    auto& input = entry->inputs.emplace_back();
    arguments[i].present = given.object[i] != nullptr;
    if (!arguments[i].present) continue;
    const auto& view = given.view[i];
    input = {given.dtype[i], {view.shape, view.shape + view.ndim}};
    arguments[i].dtype = given.dtype[i];
    arguments[i].shape = Shape::of_tensor(view.shape, view.ndim);
  }
  nb::dict params;
  for (std::size_t i = 0; i < given.params; ++i) {
    entry->params.emplace_back(nb::borrow(given.key[i]), kept_value(given.value[i]));
    params[nb::borrow(given.key[i])] = entry->params.back().second;
  }
  try {
    const auto op = without_gil([&] { return host_->catalog().find(op_); });
    const auto attributes = attributes_from(op ? &op->info : nullptr, params);
    entry->call.emplace(without_gil([&] { return host_->prepare(op_, arguments, attributes); }));
  } catch (const Failure&) {
    return nullptr;  // the other way says what is wrong
  }
  const auto& outputs = entry->call->outputs();
  entry->usable = !entry->call->depends_on_values();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].hidden) continue;
    entry->visible.push_back(i);
    const bool known = outputs[i].storage == Storage::dense && outputs[i].shape.known();
    entry->usable = entry->usable && known;
    if (known) entry->bytes += outputs[i].shape.size() * static_cast<std::int64_t>(size_of(outputs[i].dtype));
  }
  if (entry->visible.empty() || host_->generation() != generation_) return nullptr;
  return entries_.keep(std::move(entry));
}

bool is_contiguous(const DLTensor& view) {
  if (view.strides == nullptr) return true;
  std::int64_t next = 1;
  for (int axis = view.ndim - 1; axis >= 0; --axis) {
    if (view.shape[axis] != 1 && view.strides[axis] != next) return false;
    next *= view.shape[axis];
  }
  return true;
}

Tensor borrow(const DLTensor& view, DType dtype) {
  static char nothing alignas(16)[16];
  auto* data = view.data == nullptr ? nothing : static_cast<char*>(view.data) + view.byte_offset;
  const auto shape = Shape::of_tensor(view.shape, view.ndim);
  if (is_contiguous(view)) return Tensor::borrow(data, dtype, shape);
  return Tensor::borrow(data, dtype, shape, {view.strides, static_cast<std::size_t>(view.ndim)});
}

nb::object ExchangeCalls::run(Entry& entry, const Given& given) {
  Tensor inputs[most_inputs];
  for (std::size_t i = 0; i < given.inputs; ++i)
    if (given.object[i] != nullptr) inputs[i] = borrow(given.view[i], given.dtype[i]);
  const auto count = entry.call->outputs().size();
  Tensor one;
  std::vector<Tensor> several(count > 1 ? count : 0);
  Tensor* made = count > 1 ? several.data() : &one;
  require_not_forked();
  const auto forward = [&] { entry.call->forward({inputs, given.inputs}, {made, count}); };
  if (keeps_gil_ && given.bytes + entry.bytes < small) {
    forward();
  } else {
    entry.busy = true;
    struct Idle {
      Entry& entry;
      ~Idle() { entry.busy = false; }
    } const idle{entry};
    without_gil(forward);
  }
  if (entry.visible.size() == 1 && !ways_.counted) return object_from(made[entry.visible[0]], table_);
  nb::list all;
  for (const auto i : entry.visible) all.append(object_from(made[i], table_));
  return all;
}

nb::object ExchangeCalls::call(PyObject* const* given, std::size_t count, PyObject* keywords) {
  Given found;
  const auto host = current();
  if (!host || !sort(given, count, keywords, found)) return go(ways_.other, given, count, keywords);
  auto* entry = find(found);
  if (entry == nullptr) entry = prepare(found);
  return entry != nullptr && entry->usable ? run(*entry, found) : go(ways_.other, given, count, keywords);
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

nb::object ExchangeCalls::call_with_keys(PyObject* const* given, std::size_t count, PyObject* keywords) {
  if (count == 0) throw nb::type_error("the set of dispatch keys is missing");
  static auto* name = PyUnicode_InternFromString("raw_repr");
  const auto keys = nb::steal(PyObject_CallMethodObjArgs(given[0], name, nullptr));
  if (!keys.is_valid()) throw nb::python_error();
  if (PyLong_AsUnsignedLongLongMask(keys.ptr()) != ways_.plain_keys) return go(ways_.differentiable, given + 1, count - 1, keywords);
  const auto* const end = given + 1 + std::min(count - 1, ways_.tensors);
  const bool wanted =
      std::any_of(given + 1, end, requires_grad) && nb::steal(PyObject_CallNoArgs(ways_.grad_enabled.ptr())).ptr() != Py_False;
  return wanted ? go(ways_.differentiable, given + 1, count - 1, keywords) : call(given + 1, count - 1, keywords);
}

constexpr const char* capsule_name = "tenon.ExchangeCalls";

template <nb::object (ExchangeCalls::*way)(PyObject* const*, std::size_t, PyObject*)>
PyObject* enter(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  auto* calls = static_cast<ExchangeCalls*>(PyCapsule_GetPointer(self, capsule_name));
  try {
    return (calls->*way)(given, static_cast<std::size_t>(count), keywords).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <auto function>
PyMethodDef method(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS, nullptr};
}

// Two functions over one cache: for tensors that nobody differentiates, and the one that finds out.
nb::tuple exchange_calls(nb::object host, const std::string& op, nb::handle type, nb::object other, nb::object differentiable,
                         nb::object grad_enabled, bool counted, std::size_t tensors, std::vector<nb::object> placed,
                         std::uint64_t plain_keys) {
  const auto* table = exchange_of(reinterpret_cast<PyTypeObject*>(type.ptr()));
  if (table == nullptr || table->view_of == nullptr) return nb::make_tuple(nb::none(), nb::none());
  auto calls = std::make_unique<ExchangeCalls>(std::move(host), op, *table,
                                               ExchangeCalls::Ways{std::move(other), std::move(differentiable), std::move(grad_enabled),
                                                                   counted, tensors, std::move(placed), plain_keys});
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
  module.def("exchange_calls", &exchange_calls, nb::arg("host").none(), nb::arg("op"), nb::arg("type"), nb::arg("other"),
             nb::arg("differentiable"), nb::arg("grad_enabled"), nb::arg("counted"), nb::arg("tensors"), nb::arg("placed"),
             nb::arg("plain_keys"));
}

}  // namespace tenon::python
