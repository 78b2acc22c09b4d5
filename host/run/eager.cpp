// Eager calls: one operator, now.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <tenon/cast_storage.hpp>

#include "graph/initialize.hpp"
#include "run/host_impl.hpp"
#include "run/operator_call.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

// Tensors of the caller and new ones around one OperatorCall.
class EagerCall {
 public:
  EagerCall(Host::Impl& host, const LoadedOperator& op, const Attributes& attributes, Device& device)
      : host_(host), op_(op), call_(op, attributes, device) {}

  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::uint64_t step) {
    take_inputs(inputs);
    call_.infer(types_);
    check_types();
    choose_storage();
    for (std::size_t i = 0; i < types_.outputs.size(); ++i) {
      const auto& type = types_.outputs[i];
      outputs_.push_back(choice_.outputs[i] == TENON_DENSE
                             ? Tensor::empty(static_cast<DType>(type.dtype), shape_of(type), call_.device().name())
                             : Tensor());
    }
    invoke(step);
    return visible_outputs();
  }

 private:
  // States may follow the inputs; they are changed where they are.
  void take_inputs(const std::vector<Tensor>& given) {
    const auto& info = *op_.info;
    const auto states = info.states.size();
    auto count = info.inputs.size();
    if (info.variadic()) count = std::max(given.size(), count - 1 + states) - states;
    if (given.size() > count && given.size() != count + states)
      throw Failure(FailureKind::usage, fmt::format("{} inputs are given but it takes {}", given.size(), count));
    for (std::size_t i = 0; i < count; ++i) {
      const bool present = i < given.size() && given[i];
      const auto& declared = info.inputs[declared_input(info, i)];
      if (!present && !declared.optional)
        throw Failure(FailureKind::usage, fmt::format("input '{}' is missing: {}", declared.name, declared.doc));
      inputs_.push_back(!present ? Tensor() : info.strides ? given[i] : given[i].make_contiguous());
      auto& type = types_.inputs.emplace_back(present ? type_of(given[i].dtype(), given[i].shape()) : unknown_type());
      type.present = present;
    }
    for (std::size_t i = 0; i < states; ++i) {
      states_.push_back(given.size() > count ? given[count + i] : Tensor());
      if (states_[i]) require_dense_state(states_[i], info.states[i].name);
      types_.states.push_back(states_[i] ? type_of(states_[i].dtype(), states_[i].shape()) : unknown_type());
    }
    types_.outputs.assign(call_.outputs(), unknown_type());
  }

  static void require_dense_state(const Tensor& tensor, const std::string& name) {
    if (tensor.storage() == Storage::dense) return;
    throw Failure(FailureKind::usage, fmt::format("state '{}' is {}, and states are dense", name, name_of(tensor.storage())),
                  "cast_storage(tensor, Storage::dense) gives one");
  }

  // Where no kernel takes the inputs' storages, they are made dense.
  void choose_storage() {
    std::vector<std::uint8_t> storages;
    for (auto& input : inputs_) {
      storages.push_back(static_cast<std::uint8_t>(input ? input.storage() : Storage::dense));
      if (storages.back() != TENON_DENSE) input = cast_storage(input, input.storage());  // kernels read int64 indices
    }
    choice_ = call_.storage(storages, types_.inputs);
    for (std::size_t i = 0; i < choice_.outputs.size(); ++i) require_fits(types_.outputs[i], choice_.outputs[i], i);
    if (choice_.sparse) return;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (storages[i] == TENON_DENSE) continue;
      const auto& name = op_.info->name;
      const auto storage = name_of(inputs_[i].storage());
      const auto bytes = byte_count(types_.inputs[i]);
      host_.storage_notes.made_dense(fmt::format("{} {}", name, storage),
                                     fmt::format("[{}]: {} is {} and is made dense, {} bytes, because {} has no kernel for these storages",
                                                 name, op_.info->inputs[declared_input(*op_.info, i)].name, storage, bytes, name));
      inputs_[i] = cast_storage(inputs_[i], Storage::dense);
    }
  }

  void check_types() {
    for (std::size_t i = 0; i < types_.outputs.size(); ++i)
      if (!is_known(types_.outputs[i]) || byte_count(types_.outputs[i]) < 0)
        throw Failure(FailureKind::failed, fmt::format("output {} would be {}, which cannot be made {}", i, to_string(types_.outputs[i]),
                                                       describe_inputs(*op_.info, types_.inputs)));
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i]) continue;
      if (!is_known(types_.states[i])) throw Failure(FailureKind::failed, fmt::format("state '{}' is not known", op_.info->states[i].name));
      states_[i] = first_state(op_.info->states[i], types_.states[i]).to(call_.device().name());
    }
  }

  void invoke(std::uint64_t step) {
    CallTensors tensors;
    for (const auto& input : inputs_) tensors.inputs.push_back(input ? &input.abi() : nullptr);
    auto outputs = writable(outputs_), states = writable(states_);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (choice_.outputs[i] != TENON_DENSE) outputs[i] = planned(types_.outputs[i], choice_.outputs[i]);
    for (auto& tensor : outputs) tensors.outputs.push_back(&tensor);
    for (auto& tensor : states) tensors.states.push_back(&tensor);
    tensors.writes.assign(outputs.size(), TENON_WRITE_TO);
    SparseMemory memory;
    call_.forward(types_, tensors, {host_.threads, host_.options.seed, step, choice_.sparse ? &memory : nullptr});
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (choice_.outputs[i] != TENON_DENSE) outputs_[i] = take(memory, outputs[i], i);
  }

  tenon_tensor planned(tenon_type& type, std::uint8_t storage) const {
    auto tensor = tensor_of(type, storage);
    tensor.dense.device_type = call_.device().type();
    tensor.dense.device_id = call_.device().id();
    tensor.stored = -1;
    return tensor;
  }

  static Tensor take(SparseMemory& memory, tenon_tensor& output, std::size_t i) {
    if (output.stored < 0)
      throw Failure(FailureKind::failed, fmt::format("its kernel broke a rule of sparse tensors in output {}: it was not allocated", i));
    return memory.release(output);
  }

  static std::vector<tenon_tensor> writable(const std::vector<Tensor>& tensors) {
    std::vector<tenon_tensor> copies;
    copies.reserve(tensors.size());
    for (const auto& tensor : tensors) copies.push_back(tensor ? tensor.abi() : tenon_tensor{});
    return copies;
  }

  std::vector<Tensor> visible_outputs() const {
    std::vector<Tensor> visible;
    std::size_t next = 0;
    for (const auto& output : op_.info->outputs) {
      const auto count = call_.count_of(output);
      for (std::uint32_t i = 0; i < count; ++i, ++next)
        if (!output.hidden) visible.push_back(outputs_[next]);
    }
    return visible;
  }

  Host::Impl& host_;
  const LoadedOperator& op_;
  OperatorCall call_;
  OperatorTypes types_;
  StorageChoice choice_;
  std::vector<Tensor> inputs_, outputs_, states_;
};

std::string name_of_given(const OperatorInfo& info, std::size_t i) {
  if (i < info.inputs.size() || info.variadic()) return "input '" + info.inputs[declared_input(info, i)].name + "'";
  const auto state = i - info.inputs.size();
  return state < info.states.size() ? "state '" + info.states[state].name + "'" : fmt::format("input {}", i);
}

// Where the call runs: on the device of all that it is given; on the CPU where it is given nothing.
Device& common_device(const OperatorInfo& info, const std::vector<Tensor>& given) {
  const auto first = std::find_if(given.begin(), given.end(), [](const Tensor& tensor) { return static_cast<bool>(tensor); });
  if (first == given.end()) return cpu_device();
  const auto other = std::find_if(first, given.end(), [&](const Tensor& tensor) { return tensor && tensor.device() != first->device(); });
  if (other == given.end()) return device_of(*first);
  const auto name = [&](auto at) { return name_of_given(info, static_cast<std::size_t>(at - given.begin())); };
  const auto& gpu = first->device() == "cpu" ? other->device() : first->device();
  throw Failure(
      FailureKind::usage,
      fmt::format("{} lies on {}, but {} on {}: a call runs on one device", name(first), first->device(), name(other), other->device()),
      fmt::format(".to(\"{}\") brings {} there", gpu, gpu == first->device() ? name(other) : name(first)));
}

}  // namespace

std::vector<Tensor> Host::call_all(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  const auto& loaded = impl_->plugins().load(op);
  try {
    return EagerCall(*impl_, loaded, attributes, common_device(*loaded.info, inputs)).run(inputs, impl_->eager_calls.fetch_add(1));
  } catch (const Failure& failure) {
    throw Failure(failure.kind(), fmt::format("[{}] {}", loaded.info->name, failure.what()), failure.hint());
  }
}

}  // namespace tenon
