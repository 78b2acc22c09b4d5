// What a Tensor's handle points to.
#pragma once
#include <atomic>
#include <memory>
#include <tenon/host/tensor.hpp>

#include "device/memory.hpp"

namespace tenon {

struct DlpackType {
  std::uint8_t code, bits;
  friend bool operator==(const DlpackType&, const DlpackType&) = default;
};
DlpackType dlpack_type(DType dtype);

/// Elements may lie there: a multiple of their size, which is a power of two.
inline bool is_aligned(const void* data, DType dtype) {
  return (reinterpret_cast<std::uintptr_t>(data) & (size_of(dtype) - 1)) == 0;
}

/// The arrays of a sparse tensor, each dense and contiguous; row_starts of csr alone.
struct Tensor::Parts {
  Tensor values, indices, row_starts;
};

/// One of the handles that graphs and sessions have of a tensor: the others are an application's.
struct Tensor::Hold {
  explicit Hold(std::shared_ptr<Impl> held);
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  const std::shared_ptr<Impl> of;
};

/// abi.dense points into the object itself, so it never moves. Strides there are null exactly where the elements are contiguous.
struct Tensor::Impl {
  /// Throws Failure where the shape is not known or its bytes cannot be counted. `strides` may be null: contiguous.
  Impl(DType dtype, const Shape& shape, const std::int64_t* strides);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  DType dtype() const { return static_cast<DType>(abi.dtype); }
  Shape shape() const { return {dims, abi.dense.ndim}; }
  bool sparse() const { return parts.values.impl_ != nullptr; }
  bool contiguous() const { return abi.dense.strides == nullptr; }
  std::byte* data() const { return static_cast<std::byte*>(abi.dense.data); }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(size) * size_of(dtype()); }  // were it dense

  tenon_tensor abi{};
  std::int64_t dims[TENON_MAX_RANK] = {};
  std::int64_t strides[TENON_MAX_RANK] = {};  // in elements, of contiguous tensors too
  std::int64_t size = 0;
  Memory memory;                      // null where the memory is somebody else's
  std::shared_ptr<const void> owner;  // keeps that memory alive
  bool read_only = false;             // of dense tensors; sparse ones ask their parts
  bool unchanging = false;            // somebody else's memory that nobody writes, as he says
  bool exclusive = false;             // borrowed memory that nobody reaches but through handles of this object
  bool frozen = false;                // indices of a sparse tensor: kernels follow them unchecked, so nobody writes them
  std::unique_ptr<const Hold> hold;   // of what HeldTensor::hold() made; it keeps the elements alive

  std::uint32_t holds = 0;  // of this object; under the lock of held_tensor.cpp
  std::atomic<std::uint64_t> times_given_out = 0;
  Parts parts;  // of sparse tensors; they own what abi points to
};

}  // namespace tenon
