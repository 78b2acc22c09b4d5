// Memory of outputs whose size is known only when kernels run: sparse outputs, and dense outputs of
// operators that allocate them.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tenon/host/tensor.hpp>
#include <unordered_map>

namespace tenon {

/// Prefix of the error for a dense output whose shape differs from the planned one.
inline constexpr const char* other_shape = "its kernel allocates";

/// Memory is cached for the next run, at the size that the largest run needed. It is allocated on
/// the tensor's device; on a GPU, any stream may use it. Thread-safe: allocate(), for different
/// tensors; all other functions: one thread at a time.
class SparseMemory {
 public:
  /// Returns new memory of exactly `bytes` for an array of the tensor.
  using Source = std::function<Tensor(const tenon_tensor& tensor, std::int64_t bytes)>;

  SparseMemory() : source_(source_of_all_) {}
  /// All memory comes from `source` and is never reused.
  explicit SparseMemory(Source source) : source_(std::move(source)) {}
  /// Makes all instances in this process that are created from now on use `source`. For checks of
  /// kernels, on one thread.
  static void use_for_all(Source source) { source_of_all_ = std::move(source); }

  /// Allocates `stored` values (csr) or rows (row_sparse) with int64 indices and points the tensor
  /// to them. Throws Failure if its shape cannot hold them, if their size overflows, or if memory
  /// runs out. Previous memory of the tensor may then be gone, and its `stored` is -1.
  void allocate(tenon_tensor& tensor, std::int64_t stored);

  /// Allocates a dense tensor whose storage is TENON_STORAGE_UNKNOWN. Its shape has -1 where `dims`
  /// may be anything; ndim is -1 if the rank is not known either. The tensor is then dense. Throws
  /// Failure if the shapes contradict each other, and as above.
  void allocate_dense(tenon_tensor& tensor, std::span<const std::int64_t> dims);

  /// Returns the tensor's memory as a Tensor; the next allocate() gets new memory. Kernels that
  /// write it must have finished. Throws Failure if a rule of its storage is broken (see
  /// Tensor::csr and Tensor::row_sparse). For this check, a GPU's indices are copied to the CPU: 8
  /// bytes for each value or row.
  Tensor release(tenon_tensor& tensor);
  /// Variant for tensors that passed sparse_fault() on the CPU: they are not checked again.
  Tensor release_checked(tenon_tensor& tensor);

  std::int64_t bytes() const;  ///< currently allocated
  void clear() { arrays_.clear(); }

 private:
  struct Arrays {
    Tensor values, indices, row_starts;  // as bytes
  };
  Arrays& arrays_of(const tenon_tensor& tensor);
  void* grow(Tensor& memory, const tenon_tensor& tensor, std::int64_t bytes) const;
  std::shared_ptr<const Arrays> release_arrays(const tenon_tensor& tensor);

  static inline Source source_of_all_;
  Source source_;
  std::unordered_map<const tenon_tensor*, Arrays> arrays_;
  std::mutex mutex_;  // guards the map, not its contents
};

/// Prepares a dense tensor that its kernel is to allocate; only `type` is known.
void expect_allocation(tenon_tensor& tensor, const tenon_type& type);

/// Returns the error message for a kernel that did not allocate its output.
std::string not_allocated(std::size_t output);

/// Returns a sentence about the first storage rule that a csr or row_sparse tensor with int64
/// indices breaks; empty if there is none. Tensors on a GPU are not examined: their kernels may
/// still be running. They are checked by release().
std::string sparse_fault(const tenon_tensor& tensor);

}  // namespace tenon
