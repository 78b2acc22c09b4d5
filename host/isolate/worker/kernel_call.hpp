// A kernel call in the worker: converts the host's message to ABI structs.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "isolate/worker/plugin.hpp"

namespace tenon::isolate {

class Conversation;

/// Returns the host table for plugins in the worker. The context of its calls is the Conversation.
const tenon_host& worker_host();
/// Starts the threads for parallel loops; call once, before the first kernel call.
void start_threads(int count);

/// Keeps its memory from call to call.
class KernelCall {
 public:
  /// Throws ProtocolError.
  std::int32_t run(const Object& object, std::span<const std::byte> message,
                   Conversation& conversation, tenon_error& error);

 private:
  struct Tensor {
    tenon_tensor tensor;
    std::int64_t dims[TENON_MAX_RANK];
  };
  void add_tensors(std::span<const TensorRecord> records, const Conversation& conversation);

  std::vector<Tensor> tensors_;
  std::vector<tenon_tensor*> pointers_;
};

}  // namespace tenon::isolate
