// Memory of outputs whose size kernels tell only when they run: sparse ones, and dense ones of operators that allocate them.
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

/// How the refusal of a dense output begins whose shape is not the planned one.
inline constexpr const char* other_shape = "its kernel allocates";

/// Keeps what it gave for the next run: memory grows to what the largest one needed and stays there. It lies where the tensor says that it
/// lies; of a GPU, any stream may use it. Threads: allocate() from any, for different tensors; the rest from one at a time.
class SparseMemory {
 public:
  /// Gives new memory of exactly that many bytes for what the tensor points to.
  using Source = std::function<Tensor(const tenon_tensor& tensor, std::int64_t bytes)>;

  SparseMemory() : source_(source_of_all_) {}
  /// All memory comes from `source`, anew each time.
  explicit SparseMemory(Source source) : source_(std::move(source)) {}
  /// From now on, that of all others of this process comes from there, too: for checks of kernels, on one thread.
  static void use_for_all(Source source) { source_of_all_ = std::move(source); }

  /// Memory for `stored` values (csr) or rows (row_sparse), with int64 indices; the tensor then points to it. Throws Failure where its
  /// shape cannot hold so many, their bytes cannot be counted or memory runs out. What it gave the tensor before may be gone then, and the
  /// tensor stores -1.
  void allocate(tenon_tensor& tensor, std::int64_t stored);

  /// Memory for a dense tensor whose storage is TENON_STORAGE_UNKNOWN and whose shape has -1 where `dims` may have anything; ndim is -1
  /// if the rank is not known, either. It is dense then. Throws Failure where the shapes contradict each other, and as above.
  void allocate_dense(tenon_tensor& tensor, std::span<const std::int64_t> dims);

  /// What the tensor points to, as a tensor of its own; the next allocate() makes new memory. The kernels that write it are done. Throws
  /// Failure where a rule of its storage is broken (see Tensor::csr and Tensor::row_sparse); for that a GPU's indices are copied to the
  /// CPU, which costs 8 bytes over the bus for each value or row.
  Tensor release(tenon_tensor& tensor);
  /// The same of what sparse_fault() found nothing wrong with on the CPU: it is not looked at again.
  Tensor release_checked(tenon_tensor& tensor);

  std::int64_t bytes() const;  ///< that are held
  void clear() { parts_.clear(); }

 private:
  struct Parts {
    Tensor values, indices, row_starts;  // as bytes
  };
  Parts& parts_of(const tenon_tensor& tensor);
  void* grow(Tensor& memory, const tenon_tensor& tensor, std::int64_t bytes) const;
  std::shared_ptr<const Parts> give_away(const tenon_tensor& tensor);

  static inline Source source_of_all_;
  Source source_;
  std::unordered_map<const tenon_tensor*, Parts> parts_;
  std::mutex mutex_;  // guards the map, not what is in it
};

/// Before a call: a dense tensor that its kernel is to allocate, of which only `type` is known.
void expect_allocation(tenon_tensor& tensor, const tenon_type& type);

/// The sentence about a kernel that did not.
std::string not_allocated(std::size_t output);

/// One sentence about the first rule of its storage that a csr or row_sparse tensor with int64 indices breaks; empty where none is. Of a
/// GPU's tensor nothing is looked at: its kernel may not have written it yet. Such tensors are checked when they are released.
std::string sparse_fault(const tenon_tensor& tensor);

}  // namespace tenon
