// A step of a plan that copies a value to another device.
#pragma once
#include "device/stream.hpp"
#include "tensor/sparse/sparse_memory.hpp"

namespace tenon {

/// The tensors and the memory of sparse ones outlive it. Threads: one at a time.
class CopyStep {
 public:
  /// `stream` belongs to one of the two devices, as copy() requires.
  CopyStep(Device& from_device, const tenon_tensor& from, Device& to_device, tenon_tensor& to,
           const Stream& stream, SparseMemory& sparse)
      : from_device_(from_device),
        to_device_(to_device),
        from_(from),
        to_(to),
        stream_(stream),
        sparse_(sparse) {}

  /// A step's function; `self` is a CopyStep. Data for the CPU has arrived when it returns, unless
  /// it is staged; data for a GPU arrives in stream order. A failure's reason is stored in the
  /// call's error.
  static std::int32_t run(void* self, const tenon_call* call);

  /// Copies through a pinned staging buffer, which must not be reused until the stream has finished
  /// the copy. Data for the CPU then arrives in deliver(), which must be called after that.
  void stage(std::byte* memory) { staging_ = memory; }
  void deliver() const;

  const Stream& stream() const { return stream_; }
  std::int64_t bytes() const;                                                ///< of a dense tensor
  bool waits() const { return to_device_.is_cpu() && staging_ == nullptr; }  ///< for the source GPU

 private:
  void copy_dense(void* to, const void* from, std::int64_t bytes) const;
  void copy_staged() const;
  void copy_sparse();
  void copy_all();
  bool is_empty() const;

  Device &from_device_, &to_device_;
  const tenon_tensor& from_;
  tenon_tensor& to_;
  Stream stream_;
  SparseMemory& sparse_;
  std::byte* staging_ = nullptr;
};

}  // namespace tenon
