#include "run/execution/fused_step.hpp"

#include <algorithm>
#include <cstdio>

#include "plugin/plugin_call.hpp"

namespace tenon {
namespace {

std::size_t bytes_of_names(const Plan& plan, const FusedGroup& group) {
  std::size_t bytes = 0;
  for (const auto id : group.nodes)
    bytes += plan.model().strings[plan.model().nodes[id].name].size() + 1;
  return bytes;
}

// Threads that compute a block run nested parallel loops themselves: the other threads have blocks
// of their own.
void run_serially(const tenon_call*, std::int64_t n, std::int64_t grain, tenon_body body,
                  void* context) {
  for (std::int64_t begin = 0; begin < n; begin += grain)
    body(context, begin, std::min(begin + grain, n));
}

tenon_host host_for_blocks(const tenon_host& host) {
  auto serial = host;
  serial.parallel_for = run_serially;
  return serial;
}

}  // namespace

/// Borrows an idle ThreadState; waits for one if all are in use.
class FusedStep::ThreadStateLease {
 public:
  explicit ThreadStateLease(FusedStep& step) : step_(step) {
    std::unique_lock lock(step.idle_mutex_);
    step.returned_.wait(lock, [&] { return !step.idle_.empty(); });
    state_ = step.idle_.back();
    step.idle_.pop_back();
  }
  ~ThreadStateLease() {
    {
      const std::lock_guard lock(step_.idle_mutex_);
      step_.idle_.push_back(state_);
    }
    step_.returned_.notify_one();
  }
  ThreadStateLease(const ThreadStateLease&) = delete;
  ThreadStateLease& operator=(const ThreadStateLease&) = delete;
  ThreadState& operator*() const { return *state_; }

 private:
  FusedStep& step_;
  ThreadState* state_;
};

FusedStep::FusedStep(const Plan& plan, const FusedGroup& group, const Kernels& kernels,
                     CallContext& context)
    : group_(group),
      threads_(context.threads),
      host_(host_for_blocks(*context.host)),
      records_(group.nodes.size(), bytes_of_names(plan, group)),
      writes_(group.writes),
      data_(group.tensors.size()) {
  make_kernels(plan, kernels);
  find_writers(plan);
  for (int i = 0; i < group.threads; ++i) add_thread_state(plan, context);
  for (auto& state : thread_states_) idle_.push_back(&state);
}

void FusedStep::make_kernels(const Plan& plan, const Kernels& kernels) {
  for (const auto id : group_.nodes) {
    const auto& node = plan.model().nodes[id];
    const auto dispatch = dispatch_of(node.pass == Pass::backward, false);
    const auto& kernel = plan.graph.kernel_of(id, kernels);
    const auto* running =
        records_.add(kernel.owner(), plan.model().strings[node.name], called_by(dispatch));
    kernels_.push_back(
        {function_of(*kernel.table(), dispatch), kernel.get(), &plan.operator_of(id), running});
  }
}

void FusedStep::find_writers(const Plan& plan) {
  writers_.resize(group_.adds.size());
  std::vector<bool> found(writers_.size());
  std::size_t write = 0;
  const auto* operands = group_.operands.data();
  for (const auto id : group_.nodes) {
    const auto& node = plan.model().nodes[id];
    const auto* outputs = operands + node.input_count;
    for (std::uint32_t i = 0; i < node.output_count; ++i, ++write) {
      if (outputs[i] == none || group_.tensors[outputs[i]].where != GroupTensor::Where::output)
        continue;
      const auto output = group_.tensors[outputs[i]].index;
      if (!found[output]) writers_[output] = {write, {operands, outputs}};
      found[output] = true;
    }
    operands = outputs + node.output_count;
  }
}

void FusedStep::add_thread_state(const Plan& plan, CallContext& context) {
  auto& state = thread_states_.emplace_back();
  state.number = thread_states_.size() - 1;
  for (const auto& tensor : group_.tensors)
    state.tensors.push_back(tensor_for(state, tensor.dtype, tensor.extent));
  state.calls.reserve(group_.nodes.size());
  const auto* operands = group_.operands.data();
  const auto* writes = writes_.data();
  for (const auto id : group_.nodes) {
    const auto& node = plan.model().nodes[id];
    add_call(plan, id, operands, writes, state, context);
    operands += node.input_count + node.output_count;
    writes += node.output_count;
  }
}

// Its shape points into the ThreadState, where bind_block() sets it.
tenon_tensor FusedStep::tensor_for(ThreadState& state, std::uint8_t dtype,
                                   GroupTensor::Extent extent) const {
  const bool has_rows = group_.blocks.row > 0 && group_.blocks.row <= group_.blocks.size;
  tenon_type type{};
  type.dtype = dtype;
  type.rank = extent == GroupTensor::Extent::whole && has_rows ? 2 : 1;
  auto tensor = tensor_of(type, TENON_DENSE);
  tensor.dense.shape = extent == GroupTensor::Extent::whole ? state.whole
                       : extent == GroupTensor::Extent::row ? state.row
                                                            : state.single;
  return tensor;
}

void FusedStep::add_call(const Plan& plan, NodeId id, const std::uint32_t* operands,
                         const std::uint8_t* writes, ThreadState& state, CallContext& context) {
  const auto& model = plan.model();
  const auto& node = model.nodes[id];
  const auto& forward = forward_of(model, node);
  const bool backward = node.pass == Pass::backward;
  const auto tensors = [&](const std::uint32_t* first,
                           std::uint32_t count) -> std::vector<tenon_tensor*>& {
    auto& pointers = state.pointers.emplace_back();
    for (std::uint32_t i = 0; i < count; ++i)
      pointers.push_back(first[i] == none ? nullptr : &state.tensors[first[i]]);
    return pointers;
  };
  // Tensors that backward does not read carry types only, as in StepCalls.
  const auto with_unread = [&](std::vector<tenon_tensor*>& pointers,
                               const auto& value_of) -> std::vector<tenon_tensor*>& {
    for (std::uint32_t i = 0; i < pointers.size(); ++i) {
      if (const auto value = value_of(i); pointers[i] == nullptr && value != none) {
        pointers[i] = &state.unread.emplace_back(
            tensor_for(state, plan.types()[value].dtype, GroupTensor::Extent::whole));
        pointers[i]->storage = TENON_STORAGE_UNKNOWN;
      }
    }
    return pointers;
  };
  auto& call = state.calls.emplace_back(make_call(context, dispatch_of(backward, false)));
  if (backward) {
    call.output_grads = tensors(operands, forward.output_count).data();
    set_inputs(call,
               with_unread(tensors(operands + forward.output_count, forward.input_count),
                           [&](std::uint32_t i) { return model.edges[forward.first_edge + i]; }));
    set_outputs(call, with_unread(tensors(operands + forward.output_count + forward.input_count,
                                          forward.output_count),
                                  [&](std::uint32_t i) { return forward.first_output + i; }));
    call.input_grads = tensors(operands + node.input_count, node.output_count).data();
  } else {
    set_inputs(call, tensors(operands, node.input_count));
    set_outputs(call, tensors(operands + node.input_count, node.output_count));
  }
  call.host = &host_;
  call.error = &state.error.error;
  call.writes = writes;
  call.threads = 1;
}

std::int32_t FusedStep::run(void* self, const tenon_call* call) {
  return static_cast<FusedStep*>(self)->run(*call);
}

std::int32_t FusedStep::run(const tenon_call& call) {
  bind(call);
  threads_.parallel_for(
      group_.blocks.count(), 1,
      [](void* self, std::int64_t begin, std::int64_t end) {
        static_cast<FusedStep*>(self)->run_blocks(begin, end);
      },
      this);
  return stopped_ ? 1 : 0;
}

void FusedStep::bind(const tenon_call& call) {
  error_ = call.error;
  stopped_ = false;
  scratch_ = static_cast<std::byte*>(call.workspace);
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const auto& tensor = group_.tensors[i];
    if (tensor.where == GroupTensor::Where::scratch) continue;
    const auto& dense = (tensor.where == GroupTensor::Where::input ? *call.inputs[tensor.index]
                                                                   : *call.outputs[tensor.index])
                            .dense;
    data_[i] = static_cast<std::byte*>(dense.data) + dense.byte_offset;
  }
  for (std::uint32_t output = 0; output < writers_.size(); ++output) {
    const auto& writer = writers_[output];
    const auto* memory = static_cast<const std::byte*>(call.outputs[output]->dense.data) +
                         call.outputs[output]->dense.byte_offset;
    auto write = call.writes[output];
    // Memory to be reused in place may be read by an earlier node only.
    if (write == TENON_WRITE_IN_PLACE &&
        std::none_of(writer.read.begin(), writer.read.end(), [&](std::uint32_t tensor) {
          return tensor != none && data_[tensor] == memory;
        }))
      write = TENON_WRITE_TO;
    writes_[writer.write] = write;
  }
}

void FusedStep::run_blocks(std::int64_t begin, std::int64_t end) noexcept {
  const ThreadStateLease state(*this);
  const auto modes = FloatModes::now();
  CallSequenceScope running;
  for (auto block = begin; block < end && !stopped_.load(std::memory_order_relaxed); ++block)
    if (!run_block(*state, block, modes, running)) return;
}

bool FusedStep::run_block(ThreadState& state, std::int64_t block, const FloatModes& modes,
                          CallSequenceScope& running) {
  bind_block(state, block);
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const auto& kernel = kernels_[i];
    running.enter(kernel.running);
    const bool failed = kernel.function(kernel.instance, &state.calls[i]) != 0;
    if (const auto left = FloatModes::after_call(); left != modes) [[unlikely]]
      put_back(modes, left, *kernel.op, called_by(state.calls[i].dispatch));
    if (!failed) continue;
    fail(i, state);
    return false;
  }
  return true;
}

void FusedStep::bind_block(ThreadState& state, std::int64_t block) const {
  const auto& blocks = group_.blocks;
  const bool has_rows = blocks.row > 0 && blocks.row <= blocks.size,
             splits_rows = blocks.row > blocks.size;
  const auto in_row = splits_rows ? block % blocks.per_row() * blocks.size : 0;
  const auto first =
      splits_rows ? block / blocks.per_row() * blocks.row + in_row : block * blocks.size;
  const auto count =
      std::min(blocks.size, splits_rows ? blocks.row - in_row : blocks.elements - first);
  state.whole[0] = has_rows ? count / blocks.row : count;
  state.whole[1] = blocks.row;
  state.row[0] = has_rows ? blocks.row : count;
  auto* const scratch = scratch_ + state.number * group_.bytes_of_thread();
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const auto& tensor = group_.tensors[i];
    const auto size = static_cast<std::int64_t>(size_of(static_cast<DType>(tensor.dtype)));
    auto* data = tensor.where == GroupTensor::Where::scratch
                     ? scratch + tensor.index * group_.slot_bytes
                 : tensor.extent == GroupTensor::Extent::whole ? data_[i] + first * size
                 : tensor.extent == GroupTensor::Extent::row   ? data_[i] + in_row * size
                                                               : data_[i];
    state.tensors[i].dense.data = data;
  }
}

void FusedStep::fail(std::size_t node, ThreadState& state) {
  if (stopped_.exchange(true)) return;
  failed_ = node;
  error_->kind = state.error.error.kind;
  std::snprintf(error_->text, error_->capacity, "%s", state.error.reason().c_str());
}

}  // namespace tenon
