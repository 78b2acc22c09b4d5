// Serialization of a kernel call. Large tensors in shared memory are used in place; others are
// copied to a buffer that the worker reads, and results are copied back after success.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "isolate/channel.hpp"
#include "isolate/protocol.hpp"

namespace tenon {

class Conversation;

/// The message of one operator object's calls. Reuses its buffers. Used by one thread at a time.
class KernelMessage {
 public:
  /// Sends the call and waits. Throws Failure. The conversation must stay open until take_results()
  /// returns.
  const isolate::Report& exchange(Conversation& conversation, std::uint64_t object,
                                  const tenon_call& call);
  /// Copies what a successful call wrote. Until then, states and outputs that are not exclusive to
  /// the call are unchanged.
  void take_results() const;

 private:
  class AllocationHandler;
  /// Bytes that are copied into a buffer before the call (copy_in), or back after it (copy_out).
  struct Chunk {
    std::byte* memory;
    std::uint64_t bytes, offset;
    bool copy_in, copy_out;
  };
  /// Layout of one buffer.
  struct Layout {
    std::vector<Chunk> chunks;
    std::uint64_t bytes = 0;
    std::uint64_t add(const void* memory, std::uint64_t bytes, bool copy_in, bool copy_out);
    void clear() { chunks.clear(), bytes = 0; }
  };

  void lay_out(Channel& channel, const tenon_call& call);
  std::optional<isolate::BlockPosition> share(const tenon_tensor& tensor, std::uint64_t bytes,
                                              SharedBlock::Access access) const;
  isolate::BlockPosition lay_out_written(const tenon_tensor* tensor, std::uint8_t write,
                                         bool filled);
  isolate::TensorRecord read_record(const tenon_tensor* tensor);
  isolate::TensorRecord written_record(const tenon_tensor* tensor,
                                       const isolate::BlockPosition& position) const;
  void fill_buffers(Conversation& conversation, const tenon_call& call);

  Channel* channel_ = nullptr;  // of the current call
  Layout read_, written_;
  std::vector<isolate::TensorRecord> records_;
  std::vector<isolate::BlockPosition> written_positions_;  // of written tensors, then of states
  std::vector<std::pair<const std::byte*, isolate::BlockPosition>> in_place_;
  std::vector<const tenon_dense*>
      strided_;  // parallel to read_.chunks; null for contiguous tensors
  std::vector<std::byte> message_;
  // for each result: the memory of its buffer, and its chunks there
  std::vector<std::pair<const std::byte*, std::vector<Chunk>>> allocated_;
  std::uint64_t workspace_offset_ = 0;
  const std::byte* written_memory_ = nullptr;
};

}  // namespace tenon
