// A step of a plan that copies a value to another device.
#pragma once
#include "device/stream.hpp"
#include "tensor/sparse_memory.hpp"

namespace tenon {

/// A copy of that many bytes takes longer than a few calls of a GPU: kernels are worth asking for apart from others so that it runs beside
/// them.
inline constexpr std::int64_t large_copy = 1 << 20;

/// The tensors and the memory of sparse ones outlive it. Threads: one at a time.
class CopyStep {
 public:
  /// `stream` is one of the two devices', as copy() wants it.
  CopyStep(Device& from_device, const tenon_tensor& from, Device& to_device, tenon_tensor& to, const Stream& stream, SparseMemory& sparse)
      : from_device_(from_device), to_device_(to_device), from_(from), to_(to), stream_(stream), sparse_(sparse) {}

  /// A step's function; `self` is a CopyStep. What the CPU gets is there when it returns, unless it was put off; GPUs get it in the order
  /// of the stream. The reason of a failure goes to the call's error.
  static std::int32_t run(void* self, const tenon_call* call);

  /// Goes by way of memory of the CPU that the GPU reads and writes by itself, and that stays the copy's own until the stream has done it.
  /// What the CPU gets is then put off: it is where it belongs after deliver(), which comes after that.
  void pin(std::byte* memory) { pinned_ = memory; }
  void deliver() const;

  const Stream& stream() const { return stream_; }
  std::int64_t bytes() const;                                               ///< of a dense tensor
  bool waits() const { return to_device_.is_cpu() && pinned_ == nullptr; }  ///< for the GPU that it copies from
  bool is_large() const { return to_.storage == TENON_DENSE && bytes() >= large_copy; }

 private:
  void copy_dense(void* to, const void* from, std::int64_t bytes) const;
  void copy_pinned() const;
  void copy_sparse();
  void copy_all();
  bool is_empty() const;

  Device &from_device_, &to_device_;
  const tenon_tensor& from_;
  tenon_tensor& to_;
  Stream stream_;
  SparseMemory& sparse_;
  std::byte* pinned_ = nullptr;
};

}  // namespace tenon
