#include "python/core/quick_calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <tenon/half.hpp>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/plain_values.hpp"

namespace tenon::python {
namespace {

constexpr std::int64_t small = 16 * 1024;  // bytes: below, a kernel takes less time than the GIL's way out and back

bool is_scalar(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}

// A Python number as one element of an array's dtype; false where that is not the same number.
struct Scalar {
  alignas(16) std::byte bytes[16];
  bool set(PyObject* number, DType dtype) {
    if (PyFloat_CheckExact(number)) {
      if (dtype != f32 && dtype != f64) return false;
      return put(PyFloat_AsDouble(number), dtype);
    }
    int overflow = 0;
    const auto whole = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0) return false;
    if (dtype == f32 || dtype == f64)
      return std::abs(static_cast<double>(whole)) <= static_cast<double>(1LL << (dtype == f32 ? 24 : 53)) &&
             put(static_cast<double>(whole), dtype);
    if (dtype == i64) return std::memcpy(bytes, &whole, sizeof whole), true;
    if (dtype != i32 || whole != static_cast<std::int32_t>(whole)) return false;
    const auto narrow = static_cast<std::int32_t>(whole);
    return std::memcpy(bytes, &narrow, sizeof narrow), true;
  }

 private:
  bool put(double value, DType dtype) {
    const auto single = static_cast<float>(value);
    if (dtype == f32 && std::isinf(single) && !std::isinf(value)) return false;
    dtype == f32 ? std::memcpy(bytes, &single, sizeof single) : std::memcpy(bytes, &value, sizeof value);
    return true;
  }
};

}  // namespace

struct QuickCalls::Entry {
  struct Input {
    DType dtype = unknown_dtype;  // unknown: left out
    int rank = 0;
    std::int64_t dims[TENON_MAX_RANK] = {};
  };
  std::vector<Input> inputs;
  std::vector<std::pair<nb::object, nb::object>> params;
  std::optional<PreparedCall> call;
  std::size_t result = 0;
  bool usable = false, busy = false;
};

QuickCalls::QuickCalls(const HostHandle& host, std::string name, std::shared_ptr<const CatalogOperator> op, std::uint64_t generation)
    : host_(host.use().get()), host_number_(host.number), generation_(generation), name_(std::move(name)), op_(std::move(op)) {
  const auto& info = op_->info;
  const auto visible = std::count_if(info.outputs.begin(), info.outputs.end(), [](const OutputInfo& output) { return !output.hidden; });
  possible_ = info.states.empty() && !info.random && visible == 1 && info.outputs[0].count.empty() && !info.inputs.empty() &&
              info.inputs.size() <= most_inputs && info.params.size() <= most_params && info.conditions.empty();
  keeps_gil_ = op_->file >= 0 && !host.isolated && !info.has("compose");
  const auto intern = [](const std::string& name) { return PyUnicode_InternFromString(python_name(name).c_str()); };
  for (const auto& input : info.inputs) input_names_.push_back(intern(input.name));
  for (const auto& param : info.params) param_names_.push_back(intern(param.name));
}

QuickCalls::~QuickCalls() {
  for (auto* name : input_names_) drop(name);
  for (auto* name : param_names_) drop(name);
}

bool QuickCalls::sort_keywords(PyObject* const* given, PyObject* keywords, Given& found) const {
  const auto& info = op_->info;
  for (Py_ssize_t i = 0, count = PyTuple_Size(keywords); i < count; ++i) {
    auto* name = PyTuple_GetItem(keywords, i);
    if (const auto at = std::find(param_names_.begin(), param_names_.end(), name); at != param_names_.end()) {
      if (!is_plain(given[i])) return false;
      found.key[found.params] = name;
      found.value[found.params++] = given[i];
      continue;
    }
    const auto at = std::find(input_names_.begin(), input_names_.end(), name);
    if (at == input_names_.end() || info.variadic()) return false;
    auto& slot = found.input[at - input_names_.begin()];
    if (slot != nullptr) return false;
    slot = given[i];
  }
  return true;
}

bool QuickCalls::sort(PyObject* const* given, std::size_t count, PyObject* keywords, Given& found) const {
  const auto& info = op_->info;
  if (count > (info.variadic() ? most_inputs : info.inputs.size())) return false;
  std::copy_n(given, count, found.input);
  found.inputs = info.variadic() ? count : info.inputs.size();
  return (keywords == nullptr || sort_keywords(given + count, keywords, found)) && take_inputs(found);
}

bool QuickCalls::take_inputs(Given& given) const {
  bool any = false;
  for (std::size_t i = 0; i < given.inputs; ++i) {
    auto*& object = given.input[i];
    if (object == Py_None) object = nullptr;
    if (object == nullptr || is_scalar(object)) continue;
    if (!is_fast_array(object)) return false;
    given.bytes += bytes_of_array(object);
    any = true;
  }
  return any;
}

QuickCalls::Entry* QuickCalls::find(const Given& given) {
  return entries_.find([&](const Entry& entry) {
    if (entry.inputs.size() != given.inputs || entry.params.size() != given.params) return false;
    for (std::size_t i = 0; i < given.inputs; ++i) {
      const auto& input = entry.inputs[i];
      auto* object = given.input[i];
      if (object == nullptr || is_scalar(object)) {
        if (object == nullptr ? input.dtype != unknown_dtype : (input.rank != 0 || input.dtype == unknown_dtype)) return false;
      } else if (dtype_of_array(object) != input.dtype || rank_of_array(object) != input.rank ||
                 !std::equal(input.dims, input.dims + input.rank, dims_of_array(object))) {
        return false;
      }
    }
    for (std::size_t i = 0; i < given.params; ++i)
      if (entry.params[i].first.ptr() != given.key[i] || !same_value(entry.params[i].second.ptr(), given.value[i])) return false;
    return true;
  });
}

QuickCalls::Entry* QuickCalls::prepare(const Given& given) {
  DType shared = unknown_dtype;
  for (std::size_t i = 0; i < given.inputs && shared == unknown_dtype; ++i)
    if (given.input[i] != nullptr && !is_scalar(given.input[i])) shared = dtype_of_array(given.input[i]);
  auto entry = std::make_unique<Entry>();
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < given.inputs; ++i) {
    auto* object = given.input[i];
    auto& input = entry->inputs.emplace_back();
    auto& argument = arguments.emplace_back();
    argument.present = object != nullptr;
    if (object == nullptr) continue;
    const bool scalar = is_scalar(object);
    if (const auto& declared = op_->info.inputs[std::min(i, op_->info.inputs.size() - 1)]; scalar && declared.types) return nullptr;
    input.dtype = scalar ? shared : dtype_of_array(object);
    input.rank = scalar ? 0 : rank_of_array(object);
    if (!scalar) std::copy_n(dims_of_array(object), input.rank, input.dims);
    argument.dtype = input.dtype;
    argument.shape = Shape::of_tensor(input.dims, input.rank);
  }
  nb::dict params;
  for (std::size_t i = 0; i < given.params; ++i) {
    entry->params.emplace_back(nb::borrow(given.key[i]), kept_value(given.value[i]));
    params[nb::borrow(given.key[i])] = entry->params.back().second;
  }
  const auto attributes = attributes_from(&op_->info, params);
  try {
    entry->call.emplace(without_gil([&] { return host_->prepare(name_, arguments, attributes); }));
  } catch (const Failure&) {
    return nullptr;  // the long way says what is wrong
  }
  const auto& outputs = entry->call->outputs();
  const auto first = std::find_if(outputs.begin(), outputs.end(), [](const Argument& output) { return !output.hidden; });
  if (entry->call->depends_on_values() || first == outputs.end() || host_->generation() != generation_) return nullptr;
  entry->result = static_cast<std::size_t>(first - outputs.begin());
  entry->usable = first->storage == Storage::dense && first->shape.known() && first->dtype != bf16;
  return entries_.keep(std::move(entry));
}

nb::object QuickCalls::run(Entry& entry, const Given& given) {
  Tensor inputs[most_inputs];
  Scalar scalars[most_inputs];
  for (std::size_t i = 0; i < given.inputs; ++i) {
    auto* object = given.input[i];
    if (object == nullptr) continue;
    if (is_scalar(object)) {
      const auto dtype = entry.inputs[i].dtype;
      if (!scalars[i].set(object, dtype)) return {};
      inputs[i] = Tensor::borrow(scalars[i].bytes, dtype, Shape::scalar());
    } else {
      inputs[i] = borrow_array(object);
    }
  }
  const auto& outputs = entry.call->outputs();
  const auto& output = outputs[entry.result];
  auto result = new_array(output.dtype, output.shape);
  Tensor one, *made = &one;
  std::vector<Tensor> several;
  if (outputs.size() > 1) {
    several.resize(outputs.size());
    made = several.data();
  }
  made[entry.result] = borrow_array(result.ptr());
  const auto forward = [&] { entry.call->forward({inputs, given.inputs}, {made, outputs.size()}); };
  require_not_forked();
  if (keeps_gil_ && given.bytes + bytes_of_array(result.ptr()) < small) {
    forward();
    return result;
  }
  entry.busy = true;
  struct Idle {
    Entry& entry;
    ~Idle() { entry.busy = false; }
  } const idle{entry};
  without_gil(forward);
  return result;
}

nb::object QuickCalls::call(PyObject* const* arguments, std::size_t count, PyObject* keywords) {
  if (!possible_) return {};
  Given given;
  if (!sort(arguments, count, keywords, given)) return {};
  auto* entry = find(given);
  if (entry == nullptr) entry = prepare(given);
  return entry != nullptr && entry->usable ? run(*entry, given) : nb::object();
}

}  // namespace tenon::python
