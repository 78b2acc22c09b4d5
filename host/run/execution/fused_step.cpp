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
void run_here(const tenon_call*, std::int64_t n, std::int64_t grain, tenon_body body,
              void* context) {
  for (std::int64_t begin = 0; begin < n; begin += grain)
    body(context, begin, std::min(begin + grain, n));
}

tenon_host host_for_parts(const tenon_host& host) {
  auto own = host;
  own.parallel_for = run_here;
  return own;
}

}  // namespace

/// Borrows an idle Lane; waits for one if all are in use.
class FusedStep::LaneInUse {
 public:
  explicit LaneInUse(FusedStep& step) : step_(step) {
    std::unique_lock lock(step.choosing_);
    step.given_back_.wait(lock, [&] { return !step.idle_.empty(); });
    lane_ = step.idle_.back();
    step.idle_.pop_back();
  }
  ~LaneInUse() {
    {
      const std::lock_guard lock(step_.choosing_);
      step_.idle_.push_back(lane_);
    }
    step_.given_back_.notify_one();
  }
  LaneInUse(const LaneInUse&) = delete;
  LaneInUse& operator=(const LaneInUse&) = delete;
  Lane& operator*() const { return *lane_; }

 private:
  FusedStep& step_;
  Lane* lane_;
};

FusedStep::FusedStep(const Plan& plan, const FusedGroup& group, const Kernels& kernels,
                     CallContext& context)
    : group_(group),
      threads_(context.threads),
      host_(host_for_parts(*context.host)),
      records_(group.nodes.size(), bytes_of_names(plan, group)),
      writes_(group.writes),
      data_(group.places.size()) {
  make_kernels(plan, kernels);
  find_writers(plan);
  for (int i = 0; i < group.threads; ++i) make_lane(plan, context);
  for (auto& lane : lanes_) idle_.push_back(&lane);
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
      if (outputs[i] == none || group_.places[outputs[i]].where != GroupTensor::Where::output)
        continue;
      const auto output = group_.places[outputs[i]].index;
      if (!found[output]) writers_[output] = {write, {operands, outputs}};
      found[output] = true;
    }
    operands = outputs + node.output_count;
  }
}

void FusedStep::make_lane(const Plan& plan, CallContext& context) {
  auto& lane = lanes_.emplace_back();
  lane.number = lanes_.size() - 1;
  for (const auto& place : group_.places)
    lane.tensors.push_back(tensor_for(lane, place.dtype, place.extent));
  lane.calls.reserve(group_.nodes.size());
  const auto* operands = group_.operands.data();
  const auto* writes = writes_.data();
  for (const auto id : group_.nodes) {
    const auto& node = plan.model().nodes[id];
    add_call(plan, id, operands, writes, lane, context);
    operands += node.input_count + node.output_count;
    writes += node.output_count;
  }
}

// Its shape points into the Lane, where place() sets it.
tenon_tensor FusedStep::tensor_for(Lane& lane, std::uint8_t dtype,
                                   GroupTensor::Extent extent) const {
  const bool has_rows = group_.blocks.row > 0 && group_.blocks.row <= group_.blocks.size;
  tenon_type type{};
  type.dtype = dtype;
  type.rank = extent == GroupTensor::Extent::whole && has_rows ? 2 : 1;
  auto tensor = tensor_of(type, TENON_DENSE);
  tensor.dense.shape = extent == GroupTensor::Extent::whole ? lane.whole
                       : extent == GroupTensor::Extent::row ? lane.row
                                                            : lane.single;
  return tensor;
}

void FusedStep::add_call(const Plan& plan, NodeId id, const std::uint32_t* operands,
                         const std::uint8_t* writes, Lane& lane, CallContext& context) {
  const auto& model = plan.model();
  const auto& node = model.nodes[id];
  const auto& forward = forward_of(model, node);
  const bool backward = node.pass == Pass::backward;
  const auto tensors = [&](const std::uint32_t* first,
                           std::uint32_t count) -> std::vector<tenon_tensor*>& {
    auto& pointers = lane.pointers.emplace_back();
    for (std::uint32_t i = 0; i < count; ++i)
      pointers.push_back(first[i] == none ? nullptr : &lane.tensors[first[i]]);
    return pointers;
  };
  // Tensors that backward does not read carry types only, as in StepCalls.
  const auto with_unread = [&](std::vector<tenon_tensor*>& pointers,
                               const auto& value_of) -> std::vector<tenon_tensor*>& {
    for (std::uint32_t i = 0; i < pointers.size(); ++i) {
      if (const auto value = value_of(i); pointers[i] == nullptr && value != none) {
        pointers[i] = &lane.unread.emplace_back(
            tensor_for(lane, plan.types()[value].dtype, GroupTensor::Extent::whole));
        pointers[i]->storage = TENON_STORAGE_UNKNOWN;
      }
    }
    return pointers;
  };
  auto& call = lane.calls.emplace_back(make_call(context, dispatch_of(backward, false)));
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
  call.error = &lane.error.error;
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
    const auto& place = group_.places[i];
    if (place.where == GroupTensor::Where::scratch) continue;
    const auto& dense = (place.where == GroupTensor::Where::input ? *call.inputs[place.index]
                                                                  : *call.outputs[place.index])
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
        std::none_of(writer.read.begin(), writer.read.end(),
                     [&](std::uint32_t place) { return place != none && data_[place] == memory; }))
      write = TENON_WRITE_TO;
    writes_[writer.write] = write;
  }
}

void FusedStep::run_blocks(std::int64_t begin, std::int64_t end) noexcept {
  const LaneInUse lane(*this);
  const auto modes = FloatModes::now();
  RunningCalls running;
  for (auto block = begin; block < end && !stopped_.load(std::memory_order_relaxed); ++block)
    if (!run_block(*lane, block, modes, running)) return;
}

bool FusedStep::run_block(Lane& lane, std::int64_t block, const FloatModes& modes,
                          RunningCalls& running) {
  place(lane, block);
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const auto& kernel = kernels_[i];
    running.enter(kernel.running);
    const bool failed = kernel.function(kernel.instance, &lane.calls[i]) != 0;
    if (const auto left = FloatModes::after_call(); left != modes) [[unlikely]]
      put_back(modes, left, *kernel.op, called_by(lane.calls[i].dispatch));
    if (!failed) continue;
    fail(i, lane);
    return false;
  }
  return true;
}

void FusedStep::place(Lane& lane, std::int64_t block) const {
  const auto& blocks = group_.blocks;
  const bool has_rows = blocks.row > 0 && blocks.row <= blocks.size,
             has_parts = blocks.row > blocks.size;
  const auto in_row = has_parts ? block % blocks.per_row() * blocks.size : 0;
  const auto first =
      has_parts ? block / blocks.per_row() * blocks.row + in_row : block * blocks.size;
  const auto count =
      std::min(blocks.size, has_parts ? blocks.row - in_row : blocks.elements - first);
  lane.whole[0] = has_rows ? count / blocks.row : count;
  lane.whole[1] = blocks.row;
  lane.row[0] = has_rows ? blocks.row : count;
  auto* const scratch = scratch_ + lane.number * group_.bytes_of_thread();
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const auto& place = group_.places[i];
    const auto size = static_cast<std::int64_t>(size_of(static_cast<DType>(place.dtype)));
    auto* data = place.where == GroupTensor::Where::scratch
                     ? scratch + place.index * group_.slot_bytes
                 : place.extent == GroupTensor::Extent::whole ? data_[i] + first * size
                 : place.extent == GroupTensor::Extent::row   ? data_[i] + in_row * size
                                                              : data_[i];
    lane.tensors[i].dense.data = data;
  }
}

void FusedStep::fail(std::size_t node, Lane& lane) {
  if (stopped_.exchange(true)) return;
  failed_ = node;
  error_->kind = lane.error.error.kind;
  std::snprintf(error_->text, error_->capacity, "%s", lane.error.reason().c_str());
}

}  // namespace tenon
