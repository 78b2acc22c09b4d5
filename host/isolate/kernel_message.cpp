#include "isolate/kernel_message.hpp"

#include <algorithm>
#include <cstring>
#include <tenon/detail/host_error.hpp>
#include <tenon/dtype.hpp>
#include <utility>

#include "device/memory.hpp"
#include "isolate/isolated_plugin.hpp"
#include "isolate/requests.hpp"
#include "isolate/shared_memory.hpp"
#include "tensor/call_context.hpp"
#include "tensor/kernel_function.hpp"
#include "tensor/strided_copy.hpp"

namespace tenon {

using namespace isolate;

namespace {

// Placeholders for buffers that have no blocks yet.
constexpr std::uint64_t no_block = 0, read_buffer = UINT64_MAX, written_buffer = UINT64_MAX - 1;
constexpr std::uint64_t index_bytes = sizeof(std::int64_t);

std::uint64_t elements(const tenon_dense& dense, int first_axis = 0) {
  std::uint64_t count = 1;
  for (int axis = first_axis; axis < dense.ndim; ++axis)
    count *= static_cast<std::uint64_t>(dense.shape[axis]);
  return count;
}

std::uint64_t element_bytes(const tenon_tensor& tensor) {
  return size_of(static_cast<DType>(tensor.dtype));
}

std::byte* data_of(const tenon_tensor& tensor) {
  return tensor.dense.data == nullptr
             ? nullptr
             : static_cast<std::byte*>(tensor.dense.data) + tensor.dense.byte_offset;
}

struct SparseBytes {
  std::uint64_t values, indices, row_starts;
};

SparseBytes sparse_bytes(const tenon_tensor& tensor) {
  const auto stored = static_cast<std::uint64_t>(tensor.stored);
  const auto index = tensor.index_dtype == TENON_I32 ? sizeof(std::int32_t) : index_bytes;
  if (tensor.storage == TENON_CSR)
    return {stored * element_bytes(tensor), stored * index,
            (static_cast<std::uint64_t>(tensor.dense.shape[0]) + 1) * index};
  return {stored * elements(tensor.dense, 1) * element_bytes(tensor), stored * index, 0};
}

TensorRecord describe(const tenon_tensor& tensor) {
  TensorRecord record{};
  record.present = 1;
  record.dtype = tensor.dtype;
  record.storage = tensor.storage;
  record.index_dtype = tensor.index_dtype;
  record.type_code = tensor.dense.type_code;
  record.type_bits = tensor.dense.type_bits;
  record.rank = tensor.dense.ndim;
  if (record.rank > 0) std::copy_n(tensor.dense.shape, record.rank, record.dims);
  record.stored = tensor.stored;
  return record;
}

}  // namespace

std::uint64_t KernelMessage::Layout::add(const void* memory, std::uint64_t size, bool copy_in,
                                         bool copy_out) {
  const auto offset = bytes;
  chunks.push_back(
      {static_cast<std::byte*>(const_cast<void*>(memory)), size, offset, copy_in, copy_out});
  bytes += align_up(size);
  return offset;
}

std::optional<BlockPosition> KernelMessage::share(const tenon_tensor& tensor, std::uint64_t bytes,
                                                  SharedBlock::Access access) const {
  if (bytes < shared_memory::min_shared_bytes || tensor.dense.strides != nullptr)
    return std::nullopt;
  const auto* block = shared_memory::find(data_of(tensor), bytes);
  if (block == nullptr || (access == SharedBlock::Access::write && block->access() != access))
    return std::nullopt;
  const auto number = channel_->share(*block, access);
  if (number == 0) return std::nullopt;
  return BlockPosition{number, static_cast<std::uint64_t>(data_of(tensor) - block->data())};
}

// The kernel reads memory that it accumulates into, or that an input shares.
BlockPosition KernelMessage::lay_out_written(const tenon_tensor* tensor, std::uint8_t write,
                                             bool filled) {
  if (tensor == nullptr || tensor->storage != TENON_DENSE || data_of(*tensor) == nullptr)
    return {no_block, 0};
  const auto bytes = elements(tensor->dense) * element_bytes(*tensor);
  auto position =
      write == TENON_WRITE_NONE ? std::nullopt : share(*tensor, bytes, SharedBlock::Access::write);
  if (!position) {
    const bool copy_in = filled || write == TENON_WRITE_ADD || write == TENON_WRITE_IN_PLACE;
    position = {written_buffer,
                written_.add(data_of(*tensor), bytes, copy_in, write != TENON_WRITE_NONE)};
  }
  if (write == TENON_WRITE_IN_PLACE) in_place_.emplace_back(data_of(*tensor), *position);
  return *position;
}

TensorRecord KernelMessage::read_record(const tenon_tensor* tensor) {
  if (tensor == nullptr) return {};
  auto record = describe(*tensor);
  const auto* data = data_of(*tensor);
  const auto add = [&](const void* memory, std::uint64_t bytes) -> BlockPosition {
    strided_.push_back(nullptr);
    return {read_buffer, read_.add(memory, bytes, true, false)};
  };
  if (tensor->storage == TENON_DENSE) {
    if (data == nullptr) return record;
    const auto shared = std::find_if(in_place_.begin(), in_place_.end(),
                                     [&](const auto& each) { return each.first == data; });
    if (shared != in_place_.end()) {
      record.data = shared->second;
      return record;
    }
    const auto bytes = elements(tensor->dense) * element_bytes(*tensor);
    if (const auto position = share(*tensor, bytes, SharedBlock::Access::read)) {
      record.data = *position;
      return record;
    }
    record.data = add(data, bytes);
    if (tensor->dense.strides != nullptr) strided_.back() = &tensor->dense;
  } else if (tensor->storage == TENON_CSR || tensor->storage == TENON_ROW_SPARSE) {
    const auto bytes = sparse_bytes(*tensor);
    record.data = add(data, bytes.values);
    record.indices = add(tensor->indices, bytes.indices);
    if (tensor->storage == TENON_CSR) record.row_starts = add(tensor->row_starts, bytes.row_starts);
  }
  return record;
}

TensorRecord KernelMessage::written_record(const tenon_tensor* tensor,
                                           const BlockPosition& position) const {
  if (tensor == nullptr) return {};
  auto record = describe(*tensor);
  record.data = position;
  return record;
}

// Uses the order of CallRecord. Written tensors come first in the buffers, because inputs may share
// their memory.
void KernelMessage::lay_out(Channel& channel, const tenon_call& call) {
  channel_ = &channel;
  const bool backward = is_backward(call.dispatch),
             filled = static_cast<const CallContext*>(call.context)->filled;
  const auto written_count = backward ? call.input_count : call.output_count;
  auto* const* written = backward ? call.input_grads : call.outputs;
  read_.clear(), written_.clear();
  records_.clear(), written_positions_.clear(), in_place_.clear(), strided_.clear();
  for (std::uint32_t i = 0; i < written_count; ++i)
    written_positions_.push_back(lay_out_written(written[i], call.writes[i], filled));
  for (std::uint32_t i = 0; i < call.state_count; ++i)
    written_positions_.push_back(lay_out_written(call.states[i], TENON_WRITE_ADD, filled));
  workspace_offset_ = written_.add(call.workspace, call.workspace_size, filled, false);

  for (std::uint32_t i = 0; i < call.input_count; ++i)
    records_.push_back(read_record(call.inputs[i]));
  for (std::uint32_t i = 0; i < call.output_count; ++i)
    records_.push_back(backward ? read_record(call.outputs[i])
                                : written_record(call.outputs[i], written_positions_[i]));
  for (std::uint32_t i = 0; i < call.state_count; ++i)
    records_.push_back(written_record(call.states[i], written_positions_[written_count + i]));
  if (!backward) return;
  for (std::uint32_t i = 0; i < call.output_count; ++i)
    records_.push_back(read_record(call.output_grads[i]));
  for (std::uint32_t i = 0; i < call.input_count; ++i)
    records_.push_back(written_record(call.input_grads[i], written_positions_[i]));
}

void KernelMessage::fill_buffers(Conversation& conversation, const tenon_call& call) {
  const auto& read = conversation.channel().buffer(Channel::inputs, read_.bytes);
  const auto& written = conversation.channel().buffer(Channel::outputs, written_.bytes);
  written_memory_ = written.data();
  for (std::size_t i = 0; i < read_.chunks.size(); ++i) {
    const auto& chunk = read_.chunks[i];
    if (strided_[i] != nullptr)
      copy_to_contiguous(*strided_[i], read.data() + chunk.offset);
    else if (chunk.bytes > 0)
      std::memcpy(read.data() + chunk.offset, chunk.memory, chunk.bytes);
  }
  for (const auto& chunk : written_.chunks)
    if (chunk.copy_in && chunk.bytes > 0)
      std::memcpy(written.data() + chunk.offset, chunk.memory, chunk.bytes);
  const auto resolve = [&](BlockPosition& position) {
    if (position.block == read_buffer) position.block = read.id();
    if (position.block == written_buffer) position.block = written.id();
  };
  for (auto& record : records_)
    for (auto* position : {&record.data, &record.indices, &record.row_starts}) resolve(*position);
  CallRecord record{call.dispatch,    call.flags,   call.input_count,   call.output_count,
                    call.state_count, call.threads, call.seed,          call.step,
                    call.node,        {},           call.workspace_size};
  if (call.workspace_size > 0) record.workspace = {written.id(), workspace_offset_};
  const auto writes = is_backward(call.dispatch) ? call.input_count : call.output_count;
  Writer(message_).put(CallRequest{record, records_, {call.writes, writes}});
}

/// Allocates the host's memory as if the kernel ran in this process, and a buffer of the same size
/// for the worker to write to.
class KernelMessage::AllocationHandler : public CallbackHandler {
 public:
  AllocationHandler(KernelMessage& message, Channel& channel, const tenon_call& call)
      : message_(message), channel_(channel), call_(call) {}

  void answer(const Report& report, std::span<const std::byte> payload, Resume& resume) override {
    if (report.operation == Operation::allocate_sparse)
      return allocate_sparse(read_message<SparseCallback>(payload), resume);
    if (report.operation == Operation::allocate)
      return allocate(read_message<DenseCallback>(payload), resume);
    throw ProtocolError("it made a callback that kernels may not make");
  }

 private:
  // On failure, an earlier allocation of the output is discarded.
  void forget(std::uint32_t output) {
    if (output < message_.allocated_.size()) message_.allocated_[output] = {};
  }
  // Creates a buffer for these chunks of the output.
  const SharedBlock& add_buffer(
      std::uint32_t output, std::initializer_list<std::pair<const void*, std::uint64_t>> chunks) {
    Layout layout;
    for (const auto& [memory, size] : chunks) layout.add(memory, size, false, true);
    const auto& buffer = channel_.buffer(Channel::first_of_sparse + output, layout.bytes);
    message_.allocated_[output] = {buffer.data(), std::move(layout.chunks)};
    return buffer;
  }
  BlockPosition position(std::uint32_t output, std::size_t chunk, const SharedBlock& buffer) const {
    return {buffer.id(), message_.allocated_[output].second[chunk].offset};
  }

  void allocate_sparse(const SparseCallback& callback, Resume& resume) {
    forget(callback.output);
    HostError error;
    tenon_tensor* tensor = nullptr;
    if (call_.host->allocate_sparse(&call_, callback.output, callback.stored, &tensor,
                                    error.raw()) != 0)
      error.raise();
    const auto bytes = sparse_bytes(*tensor);
    const auto stored = std::exchange(tensor->stored, -1);
    const auto& buffer = add_buffer(callback.output, {{tensor->dense.data, bytes.values},
                                                      {tensor->indices, bytes.indices},
                                                      {tensor->row_starts, bytes.row_starts}});
    resume.values = position(callback.output, 0, buffer);
    resume.indices = position(callback.output, 1, buffer);
    if (tensor->storage == TENON_CSR) resume.row_starts = position(callback.output, 2, buffer);
    tensor->stored = stored;
  }

  void allocate(const DenseCallback& callback, Resume& resume) {
    forget(callback.output);
    HostError error;
    tenon_tensor* tensor = nullptr;
    const auto function = reinterpret_cast<tenon_allocate>(call_.host->query("allocate/1"));
    const auto rank = std::clamp(callback.rank, -1, TENON_MAX_RANK + 1);
    std::int64_t dims[TENON_MAX_RANK + 1]{};
    std::copy_n(callback.dims, TENON_MAX_RANK, dims);
    if (function(&call_, callback.output, dims, rank, &tensor, error.raw()) != 0) error.raise();
    tensor->storage = TENON_STORAGE_UNKNOWN;  // until the worker has its own memory
    const auto& buffer = add_buffer(
        callback.output, {{tensor->dense.data, elements(tensor->dense) * element_bytes(*tensor)}});
    resume.values = position(callback.output, 0, buffer);
    tensor->storage = TENON_DENSE;
  }

  KernelMessage& message_;
  Channel& channel_;
  const tenon_call& call_;
};

const Report& KernelMessage::exchange(Conversation& conversation, std::uint64_t object,
                                      const tenon_call& call) {
  lay_out(conversation.channel(), call);
  fill_buffers(conversation, call);
  allocated_.assign(is_backward(call.dispatch) ? call.input_count : call.output_count, {});
  AllocationHandler handler(*this, conversation.channel(), call);
  return conversation.exchange(Operation::call, object, message_, sizeof(DenseCallback), &handler);
}

void KernelMessage::take_results() const {
  const auto take = [](const std::byte* buffer, const Chunk& chunk) {
    if (chunk.copy_out && chunk.bytes > 0)
      std::memcpy(chunk.memory, buffer + chunk.offset, chunk.bytes);
  };
  for (const auto& chunk : written_.chunks) take(written_memory_, chunk);
  for (const auto& [buffer, chunks] : allocated_)
    for (const auto& chunk : chunks) take(buffer, chunk);
}

}  // namespace tenon
