// The implementation behind a Tensor handle.
#pragma once
#include <atomic>
#include <memory>
#include <tenon/host/tensor.hpp>

#include "device/memory.hpp"

namespace tenon {

/// Whether the address is a multiple of the element size, which is a power of two.
inline bool is_aligned(const void* data, DType dtype) {
  return (reinterpret_cast<std::uintptr_t>(data) & (size_of(dtype) - 1)) == 0;
}

/// The arrays of a sparse tensor, dense and contiguous; row_starts only for csr.
struct Tensor::SparseArrays {
  Tensor values, indices, row_starts;
};

/// The handle of a graph or session; all other handles belong to applications.
struct Tensor::TrackedHandle {
  explicit TrackedHandle(std::shared_ptr<Impl> shared);
  ~TrackedHandle();
  TrackedHandle(const TrackedHandle&) = delete;
  TrackedHandle& operator=(const TrackedHandle&) = delete;
  const std::shared_ptr<Impl> original;
};

/// abi.dense points into this object, which therefore never moves. Its strides are null if and only
/// if the elements are contiguous.
struct Tensor::Impl {
  /// `strides` may be null: contiguous. Throws Failure if the shape is not known or its size in
  /// bytes overflows.
  Impl(DType dtype, const Shape& shape, const std::int64_t* strides);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  DType dtype() const { return static_cast<DType>(abi.dtype); }
  Shape shape() const { return {dims, abi.dense.ndim}; }
  bool sparse() const { return arrays.values.impl_ != nullptr; }
  bool contiguous() const { return abi.dense.strides == nullptr; }
  std::byte* data() const { return static_cast<std::byte*>(abi.dense.data); }
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(size) * size_of(dtype());
  }  // size if dense

  tenon_tensor abi{};
  std::int64_t dims[TENON_MAX_RANK] = {};
  std::int64_t strides[TENON_MAX_RANK] = {};  // in elements; also set for contiguous tensors
  std::int64_t size = 0;
  Memory memory;                      // null for external memory
  std::shared_ptr<const void> owner;  // keeps external memory alive
  bool read_only = false;             // dense tensors only; for sparse ones see their arrays
  bool unchanging = false;            // external memory that its owner promises not to write
  bool exclusive = false;  // borrowed memory that is reachable only through handles of this object
  // indices of a sparse tensor: kernels follow them unchecked, so they are never written
  bool frozen = false;
  // set by TrackedTensor::track(); keeps the elements alive
  std::unique_ptr<const TrackedHandle> tracked;

  // number of TrackedHandle objects; guarded by the lock of tracked_tensor.cpp
  std::uint32_t handle_count = 0;
  std::atomic<std::uint64_t> times_exposed = 0;
  SparseArrays arrays;  // sparse tensors only; owns what abi points to
};

}  // namespace tenon
