// Eager calls: one operator, now.
#include <fmt/format.h>

#include <atomic>

#include "graph/operator_inference.hpp"
#include "graph/operator_use.hpp"
#include "graph/parameters.hpp"
#include "plan/kernels.hpp"
#include "run/host_impl.hpp"

namespace tenon {
namespace {

// One node's worth of everything that a graph and a plan would hold.
class EagerCall {
 public:
  EagerCall(Host::Impl& host, const LoadedOperator& op, const Attributes& attributes) : host_(host), op_(op) {
    add_parameters(model_, node_, *op.info, attributes);
    node_.output_count = output_count(model_, node_, *op.info);
    fill_attributes(model_, node_, attributes_);
    require_kernel(op);
    instance_ = Instance(*op.table, attributes_);
    if (op.cpu != op.table) kernel_ = Instance(*op.cpu, attributes_);
  }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::uint64_t step) {
    take_inputs(inputs);
    infer_operator(op_, instance_.get(), types_);
    check_types();
    for (const auto& type : types_.outputs) outputs_.push_back(Tensor::empty(static_cast<DType>(type.dtype), shape_of(type)));
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
      types_.states.push_back(states_[i] ? type_of(states_[i].dtype(), states_[i].shape()) : unknown_type());
    }
    types_.outputs.assign(node_.output_count, unknown_type());
  }

  void check_types() {
    for (std::size_t i = 0; i < types_.outputs.size(); ++i)
      if (!is_known(types_.outputs[i]) || byte_count(types_.outputs[i]) < 0)
        throw Failure(FailureKind::failed, fmt::format("output {} would be {}, which cannot be made {}", i, to_string(types_.outputs[i]),
                                                       describe_inputs(*op_.info, types_.inputs)));
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i]) continue;
      if (!is_known(types_.states[i])) throw Failure(FailureKind::failed, fmt::format("state '{}' is not known", op_.info->states[i].name));
      states_[i] = Tensor::zeros(static_cast<DType>(types_.states[i].dtype), shape_of(types_.states[i]));
    }
  }

  void invoke(std::uint64_t step) {
    const auto& kernel = kernel_.table() != nullptr ? kernel_ : instance_;
    const auto scratch = workspace_bytes(*op_.info, kernel, TENON_FORWARD, types_);
    Tensor workspace;
    if (scratch > 0) workspace = Tensor::empty(DType::u8, {static_cast<std::int64_t>(scratch)});
    std::vector<const tenon_tensor*> inputs;
    for (const auto& input : inputs_) inputs.push_back(input ? &input.abi() : nullptr);
    auto outputs = writable(outputs_), states = writable(states_);
    std::vector<tenon_tensor*> output_pointers, state_pointers;
    for (auto& tensor : outputs) output_pointers.push_back(&tensor);
    for (auto& tensor : states) state_pointers.push_back(&tensor);
    const std::vector<std::uint8_t> writes(outputs.size(), TENON_WRITE_TO);
    ErrorBuffer buffer;
    tenon_call call{};
    call.size = sizeof call;
    call.host = &host_table();
    call.context = &host_.threads;
    call.error = &buffer.error;
    call.threads = host_.threads.count();
    call.input_count = static_cast<std::uint32_t>(inputs.size());
    call.inputs = inputs.data();
    call.output_count = static_cast<std::uint32_t>(outputs.size());
    call.outputs = output_pointers.data();
    call.state_count = static_cast<std::uint32_t>(states.size());
    call.states = state_pointers.data();
    call.writes = writes.data();
    call.workspace = workspace ? workspace.data() : nullptr;
    call.workspace_size = scratch;
    call.seed = host_.options.seed;
    call.step = step;
    if (kernel.table()->forward(kernel.get(), &call) != 0)
      throw Failure(FailureKind::failed, buffer.reason() + ' ' + describe_inputs(*op_.info, types_.inputs));
  }

  static std::vector<tenon_tensor> writable(const std::vector<Tensor>& tensors) {
    std::vector<tenon_tensor> copies;
    for (const auto& tensor : tensors) copies.push_back(tensor.abi());
    return copies;
  }

  std::vector<Tensor> visible_outputs() const {
    std::vector<Tensor> visible;
    std::size_t next = 0;
    for (const auto& output : op_.info->outputs) {
      const auto count = count_of(model_, node_, output);
      for (std::uint32_t i = 0; i < count; ++i, ++next)
        if (!output.hidden) visible.push_back(outputs_[next]);
    }
    return visible;
  }

  Host::Impl& host_;
  const LoadedOperator& op_;
  GraphModel model_;
  NodeRecord node_;
  std::vector<tenon_attribute> attributes_;
  Instance instance_, kernel_;
  OperatorTypes types_;
  std::vector<Tensor> inputs_, outputs_, states_;
};

}  // namespace

std::vector<Tensor> Host::call_all(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  const auto& loaded = impl_->plugins().load(op);
  try {
    return EagerCall(*impl_, loaded, attributes).run(inputs, impl_->eager_calls.fetch_add(1));
  } catch (const Failure& failure) {
    throw Failure(failure.kind(), fmt::format("[{}] {}", loaded.info->name, failure.what()), failure.hint());
  }
}

}  // namespace tenon
