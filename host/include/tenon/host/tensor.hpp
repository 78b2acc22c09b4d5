// The tensors of applications.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>
#include <tenon/host/api.hpp>
#include <tenon/shape.hpp>
#include <vector>

struct DLManagedTensor;
struct DLManagedTensorVersioned;  // of DLPack 1.x

namespace tenon {

class Device;

/// A handle of an array of elements on one device. The elements are owned, or borrowed together
/// with an owner that keeps them alive; copies of the handle share them, clone() copies them.
/// `Tensor()` is empty: it has no elements and converts to false. Storage: dense, csr or
/// row_sparse; functions for dense tensors throw Failure (usage) for the others.
///
/// GPUs: the CPU cannot read the elements. values() throws, data() is a device address, and
/// to("cpu") returns a readable copy. The functions here and Host::call return when their work is
/// complete, so any stream may use the result. If you use a stream of your own, keep the tensor
/// alive until the stream's work is done; the host does not wait for it.
///
/// Threads: concurrent reads are safe; callers synchronize writes of elements. The indices of a
/// sparse tensor are checked when it is created and must not be changed afterwards.
class TENON_API Tensor {
 public:
  Tensor() = default;

  /// A tensor with undefined elements, or with zeros, aligned to 64 bytes. Devices: `cpu`, `cuda`,
  /// `cuda:1`. Throws Failure if `shape` has unknown dimensions, memory runs out, or the device
  /// does not exist.
  static Tensor empty(DType dtype, const Shape& shape, std::string_view device = "cpu");
  static Tensor zeros(DType dtype, const Shape& shape);

  /// A copy of `values`, in row-major order. Throws Failure if their number is not shape.size().
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape) {
    return copy_of(values.data(), values.size(), dtype_of<T>, shape);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return copy_of(values.begin(), values.size(), dtype_of<T>, shape);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }

  /// Wraps the caller's CPU memory, and keeps `owner` alive as long as any copy of the tensor.
  /// Strides are in elements; empty: contiguous. Throws Failure if `data` is null or not aligned to
  /// the element size.
  static Tensor borrow(void* data, DType dtype, const Shape& shape,
                       std::span<const std::int64_t> strides = {},
                       std::shared_ptr<const void> owner = nullptr);
  /// Like borrow(), for memory that must not be written: the tensor is read_only().
  static Tensor borrow_read_only(const void* data, DType dtype, const Shape& shape,
                                 std::span<const std::int64_t> strides = {},
                                 std::shared_ptr<const void> owner = nullptr);
  /// Borrows a tensor of the C ABI with any storage and device; checks indices as csr() and
  /// row_sparse() do.
  static Tensor borrow(const tenon_tensor& tensor, std::shared_ptr<const void> owner = nullptr);

  /// A matrix that stores some of its elements, row by row: values [n], the column of each [n], and
  /// the index of each row's first value [rows + 1]. Row starts increase from 0 to n; columns
  /// increase within a row, without duplicates. Both are int32, or both int64. All arrays must be
  /// on one device. Values are shared unless they are strided; indices are copied, since kernels
  /// use them unchecked, and the copies are read_only(). Throws Failure that names the first
  /// violated rule; indices on a GPU are copied to the CPU for these checks.
  static Tensor csr(const Tensor& values, const Tensor& columns, const Tensor& row_starts,
                    const Shape& shape);
  /// A tensor that stores some of its rows: values [n, shape[1], ...], and the index of each row
  /// [n], ascending, without duplicates.
  static Tensor row_sparse(const Tensor& values, const Tensor& row_ids, const Shape& shape);

  explicit operator bool() const { return impl_ != nullptr; }
  DType dtype() const;
  Shape shape() const;
  Storage storage() const;
  std::int64_t size() const;          ///< number of elements, stored or not
  std::int64_t bytes() const;         ///< of stored data, including indices
  const std::string& device() const;  ///< of the elements: `cpu`, `cuda:0`
  /// Whether the elements, for a sparse tensor the stored ones, are borrowed from memory that must
  /// not be written. Views such as reshape() are read-only, too; copies are not. The host refuses
  /// to write to it. data() and values() do not prevent writing, but you must not write either.
  bool read_only() const;

  /// A contiguous copy on that device, or the tensor itself if it is already there. Throws Failure
  /// if the device does not exist or memory runs out.
  Tensor to(std::string_view device) const;

  /// The components of sparse tensors, as dense tensors that share the elements. They throw Failure
  /// if the storage has no such component.
  std::int64_t stored() const;  ///< csr: number of values; row_sparse: number of rows; dense: 0
  DType index_dtype() const;    ///< int32 or int64
  Tensor stored_values()
      const;               ///< csr: [stored]; row_sparse: [stored, ...]; dense: the tensor itself
  Tensor columns() const;  ///< csr: [stored]
  Tensor row_starts() const;  ///< csr: [rows + 1]
  Tensor row_ids() const;     ///< row_sparse: [stored]

  /// The functions below are for dense tensors, unless stated otherwise.
  std::vector<std::int64_t> strides() const;
  bool contiguous() const;  ///< true for sparse tensors, whose components are always contiguous
  void* data() const;       ///< for a tensor on a GPU, a device address

  /// Typed elements. Throws Failure if T is not the dtype's type.
  template <class T>
  T* data() const {
    require_dtype(dtype_of<T>);
    return static_cast<T*>(data());
  }
  /// The elements in row-major order. Throws Failure if the tensor is strided or on a GPU, or if T
  /// is not the dtype's type.
  template <class T>
  std::span<T> values() const {
    require_contiguous();
    require_on_cpu();
    return {data<T>(), static_cast<std::size_t>(size())};
  }

  /// Returns a read_only() tensor that shares the elements; the tensor itself if it is already
  /// read-only, or sparse.
  Tensor read_only_view() const;
  Tensor clone() const;  ///< a contiguous copy on the same device; any storage
  Tensor make_contiguous()
      const;  ///< a contiguous copy, or the tensor itself if it is contiguous; any storage

  /// Returns a tensor of another shape that shares the elements. The tensor must be contiguous. One
  /// dimension of `shape` may be unknown (-1).
  Tensor reshape(const Shape& shape) const;

  /// DLPack 0.x and 1.x, in both directions: CPU or CUDA memory, including strided tensors. Work on
  /// a tensor must be complete before from_dlpack(): the host does not wait for streams. The
  /// receiver of to_dlpack()'s handle must call its deleter. On CUDA, pending work on the device's
  /// default streams may still use the memory at that time; work on other streams must be done.
  /// from_dlpack() takes ownership of its handle, unless it throws. 1.x transfers read_only(). 0.x
  /// cannot: to_dlpack() throws Failure (usage) for such a tensor.
  DLManagedTensor* to_dlpack() const;
  DLManagedTensorVersioned* to_dlpack_versioned() const;
  static Tensor from_dlpack(DLManagedTensor* managed);
  static Tensor from_dlpack(DLManagedTensorVersioned* managed);

  /// dtype, shape and the first stored elements, for any storage and device: `float32 [2, 3]  1 2 3
  /// ...`, `csr float32 [9, 9], 2 stored  (0, 3) 1 (7, 0) 2`, `row_sparse float32 [9, 2], 1 stored
  /// (4) 1 2`, `float32 [2] on cuda:0  1 2`
  std::string to_string(std::int64_t limit = 16) const;

  /// The tensor as plugins receive it, in any storage. The struct lives as long as the tensor.
  const tenon_tensor& abi() const;

 private:
  struct TENON_HIDDEN Impl;
  struct TENON_HIDDEN SparseArrays;
  struct TENON_HIDDEN TrackedHandle;
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const;  // throws if the handle is empty
  static Tensor copy_of(const void* values, std::size_t count, DType dtype, const Shape& shape);
  static Tensor borrow_on(const Device& device, void* data, DType dtype, const Shape& shape,
                          std::span<const std::int64_t> strides, std::shared_ptr<const void> owner);
  static Tensor empty_on(Device& device, DType dtype, const Shape& shape);
  Tensor strided_on_cpu() const;
  std::string dense_text(const std::string& where, std::int64_t limit) const;
  static Tensor sparse(Storage storage, SparseArrays arrays, const Shape& shape);
  static SparseArrays borrow_arrays(const tenon_tensor& from,
                                    const std::shared_ptr<const void>& owner);
  static Tensor borrow_checked(const tenon_tensor& from, const std::shared_ptr<const void>& owner);
  const SparseArrays& arrays(Storage requested, const char* name) const;
  void require_dense() const;
  void require_dtype(DType requested) const;
  void require_contiguous() const;
  void require_on_cpu() const;

  std::shared_ptr<Impl> impl_;
  friend struct TrackedTensor;  // detects whether the application can write elements
  friend class SparseMemory;    // its kernels' results were already checked
};

/// Whether storage, dtype, shape and bits are equal, on any devices; for sparse tensors also the
/// indices and their dtype.
TENON_API bool same_bits(const Tensor& left, const Tensor& right);

}  // namespace tenon
