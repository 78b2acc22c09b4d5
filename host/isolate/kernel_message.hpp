// A kernel's call as a message. Large tensors in shared memory are used where they are; others are copied to where the worker reads them,
// and results back when it has succeeded.
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

/// Of one object; it keeps its memory from call to call. Threads: one at a time.
class KernelMessage {
 public:
  /// Sends the call and waits. Throws Failure. The conversation goes on until take_results() is done.
  const isolate::Report& exchange(Conversation& conversation, std::uint64_t object, const tenon_call& call);
  /// Copies what a call that succeeded wrote: until then states, and outputs that are not the call's alone, are as they were before it.
  void take_results() const;

 private:
  class AllocationHandler;
  /// Bytes that are copied into a room before the call, or from there after it.
  struct Part {
    std::byte* memory;
    std::uint64_t bytes, offset;
    bool before, after;
  };
  /// What lies in one room.
  struct Layout {
    std::vector<Part> parts;
    std::uint64_t bytes = 0;
    std::uint64_t add(const void* memory, std::uint64_t bytes, bool before, bool after);
    void clear() { parts.clear(), bytes = 0; }
  };

  void lay_out(Channel& channel, const tenon_call& call);
  std::optional<isolate::Place> share(const tenon_tensor& tensor, std::uint64_t bytes, SharedBlock::Access access) const;
  isolate::Place place_written(const tenon_tensor* tensor, std::uint8_t write, bool filled);
  isolate::TensorRecord read_record(const tenon_tensor* tensor);
  isolate::TensorRecord written_record(const tenon_tensor* tensor, const isolate::Place& place) const;
  void fill_rooms(Conversation& conversation, const tenon_call& call);

  Channel* channel_ = nullptr;  // of the call that is made
  Layout read_, written_;
  std::vector<isolate::TensorRecord> records_;
  std::vector<isolate::Place> places_;  // of what is written, then of states
  std::vector<std::pair<const std::byte*, isolate::Place>> in_place_;
  std::vector<const tenon_dense*> strided_;  // as read_.parts; null: contiguous
  std::vector<std::byte> message_;
  std::vector<std::pair<const std::byte*, std::vector<Part>>> allocated_;  // of each result: memory of its room, and its parts there
  std::uint64_t workspace_offset_ = 0;
  const std::byte* written_memory_ = nullptr;
};

}  // namespace tenon
