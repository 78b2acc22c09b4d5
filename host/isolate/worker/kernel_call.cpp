#include "isolate/worker/kernel_call.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "device/threads.hpp"
#include "isolate/requests.hpp"
#include "isolate/worker/conversation.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon::isolate {
namespace {

std::unique_ptr<Threads> threads;

Conversation& conversation_of(const tenon_call* call) {
  return *static_cast<Conversation*>(call->context);
}

void parallel_for(const tenon_call*, std::int64_t n, std::int64_t grain, tenon_body body,
                  void* context) {
  threads->parallel_for(n, grain, body, context);
}

// The host checks the output and provides the memory.
std::int32_t allocate_sparse(const tenon_call* call, std::uint32_t output, std::int64_t stored,
                             tenon_tensor** out, tenon_error* error) {
  *out = nullptr;
  auto& conversation = conversation_of(call);
  const SparseCallback callback{output, 0, stored};
  const std::lock_guard lock(
      conversation.callback_mutex());  // bodies of parallel loops may also allocate
  const auto& resume = conversation.call_host(Operation::allocate_sparse, callback, *error);
  if (resume.status != 0) return resume.status;
  auto* tensor = (is_backward(call->dispatch) ? call->input_grads : call->outputs)[output];
  tensor->dense.data = conversation.blocks().at(resume.values);
  tensor->indices = conversation.blocks().at(resume.indices);
  tensor->row_starts = conversation.blocks().at(resume.row_starts);
  tensor->index_dtype = TENON_I64;
  tensor->stored = stored;
  *out = tensor;
  return 0;
}

// Same for a dense output.
std::int32_t allocate(const tenon_call* call, std::uint32_t output, const std::int64_t* dims,
                      std::int32_t rank, tenon_tensor** out, tenon_error* error) {
  *out = nullptr;
  auto& conversation = conversation_of(call);
  DenseCallback callback{output, rank, {}};
  std::copy_n(dims, std::clamp(rank, 0, TENON_MAX_RANK), callback.dims);
  const std::lock_guard lock(conversation.callback_mutex());
  const auto& resume = conversation.call_host(Operation::allocate, callback, *error);
  if (resume.status != 0) return resume.status;
  auto* tensor = call->outputs[output];
  tensor->dense.data = conversation.blocks().at(resume.values);
  tensor->dense.ndim = rank;
  std::copy_n(dims, rank, tensor->dense.shape);
  tensor->storage = TENON_DENSE;
  *out = tensor;
  return 0;
}

tenon_function query(const char* name) {
  return name != nullptr && std::strcmp(name, "allocate/1") == 0
             ? reinterpret_cast<tenon_function>(allocate)
             : nullptr;
}

}  // namespace

const tenon_host& worker_host() {
  static constexpr tenon_host host{sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR,
                                   parallel_for,       allocate_sparse, query};
  return host;
}

void start_threads(int count) {
  threads = std::make_unique<Threads>(count);
}

void KernelCall::add_tensors(std::span<const TensorRecord> records,
                             const Conversation& conversation) {
  for (const auto& record : records) {
    if (record.present == 0) {
      pointers_.push_back(nullptr);
      continue;
    }
    auto& [tensor, dims] = tensors_.emplace_back();
    std::copy_n(record.dims, TENON_MAX_RANK, dims);
    const auto& blocks = conversation.blocks();
    tensor = {};
    tensor.size = sizeof tensor;
    tensor.dense.data = blocks.at(record.data);
    tensor.dense.device_type = TENON_CPU;
    tensor.dense.ndim =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(record.rank, -1, TENON_MAX_RANK));
    tensor.dense.type_code = record.type_code;
    tensor.dense.type_bits = record.type_bits;
    tensor.dense.type_lanes = 1;
    tensor.dense.shape = dims;
    tensor.storage = record.storage;
    tensor.dtype = record.dtype;
    tensor.index_dtype = record.index_dtype;
    tensor.stored = record.stored;
    tensor.indices = blocks.at(record.indices);
    tensor.row_starts = blocks.at(record.row_starts);
    pointers_.push_back(&tensor);
  }
}

std::int32_t KernelCall::run(const Object& object, std::span<const std::byte> message,
                             Conversation& conversation, tenon_error& error) {
  const auto [record, tensors, writes] = read_message<CallRequest>(message);
  const bool backward = is_backward(record.dispatch);
  const std::size_t inputs = record.input_count, outputs = record.output_count,
                    states = record.state_count;
  if (tensors.size() != inputs + outputs + states + (backward ? inputs + outputs : 0) ||
      writes.size() != (backward ? inputs : outputs))
    throw ProtocolError("a call lacks tensors");
  tensors_.clear();
  tensors_.reserve(tensors.size());  // pointers to elements must stay valid
  pointers_.clear();
  add_tensors(tensors, conversation);
  tenon_call call{};
  call.size = sizeof call;
  call.host = &worker_host();
  call.context = &conversation;
  call.error = &error;
  call.input_count = record.input_count;
  call.output_count = record.output_count;
  call.state_count = record.state_count;
  call.flags = record.flags;
  call.inputs = pointers_.data();
  call.outputs = pointers_.data() + inputs;
  call.states = call.outputs + outputs;
  if (backward) {
    call.output_grads = call.states + states;
    call.input_grads = call.states + states + outputs;
  }
  call.writes = writes.data();
  call.workspace = conversation.blocks().at(record.workspace, record.workspace_bytes);
  call.workspace_size = record.workspace_bytes;
  call.seed = record.seed;
  call.step = record.step;
  call.node = record.node;
  call.threads = threads->count();
  call.dispatch = record.dispatch;
  const auto function = function_of(*object.table, record.dispatch);
  if (function == nullptr) throw ProtocolError("the plugin has no such kernel");
  return function(object.instance, &call);
}

}  // namespace tenon::isolate
