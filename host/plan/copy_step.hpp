// A step of a plan that copies a value to another device.
#pragma once
#include <optional>

#include "device/copy.hpp"
#include "device/sparse_memory.hpp"

namespace tenon {

/// The tensors and the memory of sparse ones outlive it. Threads: one at a time.
class CopyStep {
 public:
  CopyStep(const tenon_tensor& from, tenon_tensor& to, const Stream& from_stream, const Stream& to_stream, SparseMemory& sparse)
      : from_(from), to_(to), from_stream_(from_stream), to_stream_(to_stream), sparse_(sparse) {
    if (between_gpus()) made_.emplace(from_stream.device()), copied_.emplace(to_stream.device());
  }

  /// A step's function; `self` is a CopyStep. What the CPU gets is there when it returns, unless it was put off; GPUs get it in the order
  /// of their streams. The reason of a failure goes to the call's error.
  static std::int32_t run(void* self, const tenon_call* call);

  /// Goes by way of memory of the CPU that the GPU reads and writes by itself, and that stays the copy's own until the stream has done it.
  /// What the CPU gets is then put off: it is where it belongs after deliver(), which comes after that.
  void pin(std::byte* memory) { pinned_ = memory; }
  void deliver() const;

  std::int64_t bytes() const;                                                        ///< of a dense tensor
  bool waits() const { return to_stream_.device().is_cpu() && pinned_ == nullptr; }  ///< for the GPU that it copies from

 private:
  bool between_gpus() const { return !from_stream_.device().is_cpu() && !to_stream_.device().is_cpu(); }
  const Stream& stream() const { return to_stream_.device().is_cpu() ? from_stream_ : to_stream_; }
  void copy_dense(void* to, const void* from, std::int64_t bytes) const;
  void copy_pinned() const;
  void copy_sparse();
  void copy_all();

  const tenon_tensor& from_;
  tenon_tensor& to_;
  Stream from_stream_, to_stream_;
  SparseMemory& sparse_;
  std::optional<Event> made_, copied_;  // between GPUs
  std::byte* pinned_ = nullptr;
};

}  // namespace tenon
