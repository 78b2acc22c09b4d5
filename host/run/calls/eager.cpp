// Eager calls: run one operator now, with a prepared call that is cached for the next one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>

#include "run/calls/eager_call.hpp"
#include "run/control_flow/control_flow.hpp"
#include "tensor/backing_files.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

/// A cache key of an operator, its parameters, the types of its inputs and the mode. Short keys
/// need no heap allocation.
class CallKey {
 public:
  CallKey(std::string_view op, std::span<const Tensor> inputs, const Attributes& attributes,
          bool training) {
    add(op.data(), op.size());
    add_plain(training);
    add_plain(std::uint32_t(inputs.size()));
    for (const auto& tensor : inputs) add(tensor);
    for (const auto& [name, value] : attributes) {
      add_sized(name);
      add_plain(static_cast<std::uint8_t>(value.variant().index()));
      std::visit([&](const auto& content) { add_value(content); }, value.variant());
    }
  }
  std::string_view text() const {
    return long_.empty() ? std::string_view(short_.data(), size_) : std::string_view(long_);
  }

 private:
  void add(const void* bytes, std::size_t count) {
    if (long_.empty() && size_ + count <= short_.size()) {
      if (count > 0) std::memcpy(short_.data() + size_, bytes, count);
      size_ += count;
      return;
    }
    if (long_.empty()) long_.assign(short_.data(), size_);
    long_.append(static_cast<const char*>(bytes), count);
  }
  template <class T>
  void add_plain(const T& value) {
    add(&value, sizeof value);
  }
  void add_sized(std::string_view text) {
    add_plain(text.size());
    add(text.data(), text.size());
  }
  template <class T>
  void add_value(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      add_plain(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      add_sized(value);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      add_plain(value.size());
      for (const auto& text : value) add_sized(text);
    } else if constexpr (std::is_same_v<T, Tensor>) {
      add(value);
      if (value.storage() != Storage::dense) return;  // operators refuse sparse parameters
      const auto whole = value.to("cpu").make_contiguous();
      add(whole.data(), static_cast<std::size_t>(whole.bytes()));
    } else {
      add_plain(value.size());
      add(value.data(), value.size() * sizeof(typename T::value_type));
    }
  }
  void add(const Tensor& tensor) {
    if (!tensor) return add_plain(std::uint8_t{255});
    const auto& abi = tensor.abi();
    const std::uint8_t head[] = {abi.dtype, abi.storage, static_cast<std::uint8_t>(abi.dense.ndim)};
    add_plain(head);
    const std::int32_t device[] = {abi.dense.device_type, abi.dense.device_id};
    add_plain(device);
    add(abi.dense.shape, static_cast<std::size_t>(abi.dense.ndim) * sizeof(std::int64_t));
  }

  std::array<char, 384> short_;
  std::size_t size_ = 0;
  std::string long_;
};

/// Returns the declaration of an argument of a call; null for states, which follow the inputs.
const InputInfo* declared_input_of(const OperatorInfo& info, std::size_t argument) {
  const bool is_input = argument < info.inputs.size() || info.variadic();
  return is_input ? &info.inputs[declared_input(info, argument)] : nullptr;
}

std::string argument_name(const OperatorInfo& info, std::size_t i) {
  if (const auto* input = declared_input_of(info, i)) return "input '" + input->name + "'";
  const auto state = i - info.inputs.size();
  return state < info.states.size() ? "state '" + info.states[state].name + "'"
                                    : fmt::format("input {}", i);
}

// The device of the inputs, except those that stay on the CPU; the CPU if there are none. Throws
// Failure if devices differ.
Device& common_device(const OperatorInfo& info, const std::vector<Tensor>& arguments) {
  const auto decides = [&](const Tensor& tensor) {
    const auto* input =
        declared_input_of(info, static_cast<std::size_t>(&tensor - arguments.data()));
    return tensor && (input == nullptr || !input->on_cpu);
  };
  const auto first = std::find_if(arguments.begin(), arguments.end(), decides);
  if (first == arguments.end()) return cpu_device();
  const auto other = std::find_if(first, arguments.end(), [&](const Tensor& tensor) {
    return decides(tensor) && tensor.device() != first->device();
  });
  if (other == arguments.end()) return device_of(*first);
  const auto name = [&](auto at) {
    return argument_name(info, static_cast<std::size_t>(at - arguments.begin()));
  };
  const auto& gpu = first->device() == "cpu" ? other->device() : first->device();
  throw Failure(FailureKind::usage,
                fmt::format("{} is on {}, but {} is on {}: a call runs on one device", name(first),
                            first->device(), name(other), other->device()),
                fmt::format("use .to(\"{}\") to move {}", gpu,
                            gpu == first->device() ? name(other) : name(first)));
}

/// The types of `count` inputs; trailing optional ones may be missing.
CallTypes types_of(const OperatorInfo& info, const std::vector<Argument>& arguments,
                   std::size_t count) {
  CallTypes types;
  for (std::size_t i = 0; i < count; ++i) {
    const bool present = i < arguments.size() && arguments[i].present;
    const auto& declared = info.inputs[declared_input(info, i)];
    if (!present && !declared.optional)
      throw Failure(FailureKind::usage,
                    fmt::format("input '{}' is missing ({})", declared.name, declared.doc));
    auto& type = types.inputs.emplace_back(present ? type_of(arguments[i].dtype, arguments[i].shape)
                                                   : unknown_type());
    type.present = present;
    if (present && (!is_sound(type) || !is_known(type)))
      throw Failure(FailureKind::usage,
                    fmt::format("input '{}' is {} but its shape must be fully known", declared.name,
                                to_string(type)));
    types.storages.push_back(
        static_cast<std::uint8_t>(present ? arguments[i].storage : Storage::dense));
  }
  types.states.assign(info.states.size(), unknown_type());
  return types;
}

/// `copies` keeps elements for infer() alive: it reads contiguous tensors only.
CallTypes types_of(const OperatorInfo& info, const std::vector<Tensor>& arguments,
                   std::vector<Tensor>& copies) {
  // States may follow the inputs; they are updated in place.
  const auto states = info.states.size();
  const bool has_states = info.variadic() || arguments.size() == info.inputs.size() + states;
  const auto count =
      input_count(info, arguments.size() - (has_states ? std::min(arguments.size(), states) : 0));
  const auto tensors = std::span(arguments).first(std::min(count, arguments.size()));
  std::vector<Argument> inputs;
  for (const auto& tensor : tensors) inputs.push_back(Argument::like(tensor));
  auto types = types_of(info, inputs, count);
  for (std::size_t i = 0; i < info.states.size() && arguments.size() > count; ++i) {
    const auto& state = arguments[count + i];
    if (!state) continue;
    if (state.storage() != Storage::dense)
      throw Failure(FailureKind::usage,
                    fmt::format("state '{}' is {} but states must be dense", info.states[i].name,
                                name_of(state.storage())),
                    "convert it with cast_storage(tensor, Storage::dense)");
    types.states[i] = type_of(state.dtype(), state.shape());
  }
  types.values.resize(count);
  copies.reserve(count);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor* tensor = &tensors[i];
    if (!*tensor) continue;
    if (tensor->storage() == Storage::dense && !tensor->contiguous() && tensor->device() == "cpu" &&
        tensor->bytes() <= max_bytes_for_infer)
      tensor = &copies.emplace_back(tensor->make_contiguous());
    if (may_infer_read(tensor->abi())) types.values[i] = &tensor->abi();
  }
  return types;
}

constexpr std::int64_t max_idle_bytes = 1 << 20;  // memory that one cached idle call may hold

/// Runs the operator and passes its outputs, including hidden ones, to `use`.
template <class Use>
void run_eagerly(Host::Impl& host, std::string_view op, const std::vector<Tensor>& arguments,
                 const Attributes& attributes, bool training, Use&& use) {
  auto& cache = *host.calls;
  const CallKey key(op, arguments, attributes, training);
  const auto hash = std::hash<std::string_view>()(key.text());
  auto lease = cache.take(host.version(), hash,
                          [&](const EagerCall& each) { return each.key == key.text(); });
  const LoadedOperator* loaded = nullptr;
  try {
    if (!lease) {
      auto& plugins = host.plugins();
      const auto version = host.version();
      loaded = &plugins.load(op);
      auto& device = common_device(*loaded->info, arguments);
      std::vector<Tensor> copies;
      lease = cache.make(version, hash, key.text(), host, nullptr, *loaded, attributes, device,
                         types_of(*loaded->info, arguments, copies), training);
    }
    auto& call = lease->call;
    const std::span all(arguments);
    std::vector<Tensor> padded;
    const auto count = call.inputs.size();
    if (arguments.size() < count) (padded = arguments).resize(count);
    const auto inputs =
        arguments.size() < count ? std::span<const Tensor>(padded) : all.first(count);
    const auto states = arguments.size() > count ? all.subspan(count) : std::span<const Tensor>();
    std::array<Tensor, 4> inline_outputs;
    std::vector<Tensor> heap_outputs;
    if (call.outputs.size() > inline_outputs.size()) heap_outputs.resize(call.outputs.size());
    const auto made = heap_outputs.empty() ? std::span(inline_outputs).first(call.outputs.size())
                                           : std::span(heap_outputs);
    call.forward(inputs, made, states);
    if (FileMemory::any_mapped()) BackingFiles(arguments).require_unchanged();
    use(call.outputs, made);
  } catch (const Failure& failure) {
    if (!lease && loaded == nullptr) throw;
    throw Failure(
        failure.kind(),
        fmt::format("[{}] {}", (lease ? lease->call.info() : *loaded->info).name, failure.what()),
        failure.hint());
  }
  const auto& call = lease->call;
  if (!call.depends_on_values() && !holds_host(call.info()) && call.bytes() <= max_idle_bytes)
    cache.give_back(std::move(lease));
}

}  // namespace

std::vector<Tensor> Host::call_all(std::string_view op, const std::vector<Tensor>& inputs,
                                   const Attributes& attributes) {
  return call_all(op, inputs, attributes, false);
}

std::vector<Tensor> Host::call_all(std::string_view op, const std::vector<Tensor>& inputs,
                                   const Attributes& attributes, bool training) {
  std::vector<Tensor> visible;
  run_eagerly(*impl_, op, inputs, attributes, training,
              [&](const std::vector<Argument>& outputs, std::span<Tensor> made) {
                for (std::size_t i = 0; i < made.size(); ++i)
                  if (!outputs[i].hidden) visible.push_back(std::move(made[i]));
              });
  return visible;
}

Tensor Host::call(std::string_view op, const std::vector<Tensor>& inputs,
                  const Attributes& attributes) {
  Tensor found;
  run_eagerly(*impl_, op, inputs, attributes, false,
              [&](const std::vector<Argument>& outputs, std::span<Tensor> made) {
                for (std::size_t i = 0; i < made.size() && !found; ++i)
                  if (!outputs[i].hidden) found = std::move(made[i]);
              });
  if (!found)
    throw Failure(FailureKind::usage,
                  "[" + std::string(op) + "] has no output with these parameters");
  return found;
}

PreparedCall Host::prepare(std::string_view op, const std::vector<Argument>& inputs,
                           const Attributes& attributes, const PrepareOptions& options) {
  const auto& loaded = impl_->plugins().load(op);
  const auto& info = *loaded.info;
  try {
    auto& device = find_device(options.device.empty() ? "cpu" : options.device);
    auto types = types_of(info, inputs, input_count(info, inputs.size()));
    return PreparedCall(std::make_unique<PreparedCall::Impl>(
        *impl_, impl_, loaded, attributes, device, std::move(types), options.training));
  } catch (const Failure& failure) {
    throw Failure(failure.kind(), fmt::format("[{}] {}", info.name, failure.what()),
                  failure.hint());
  }
}

}  // namespace tenon
