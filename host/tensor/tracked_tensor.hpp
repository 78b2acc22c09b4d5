// Tracks who may write a tensor's elements, so that data that a session derived from them is not
// used after they change.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// Whether a tensor's elements can change.
enum class Constancy : std::uint8_t {
  changes,         ///< external memory, which may be written at any time
  unless_exposed,  ///< cannot change unless an application has a handle
  always           ///< read-only
};

/// Graphs and sessions refer to tensors through a separate kind of handle, to distinguish it from
/// handles of applications. Thread-safe.
struct TrackedTensor {
  /// Returns the handle for a graph or session: another tensor that shares the elements. Returns
  /// `tensor` itself if it cannot be tracked: sparse tensors, tensors on GPUs, borrowed memory.
  static Tensor track(const Tensor& tensor);
  /// Marks borrowed memory that is reachable only through handles of this tensor, such as that of a
  /// mapped file.
  static Tensor exclusive(Tensor tensor);
  /// Marks indices of a sparse tensor that were just created and have no other writable handle.
  /// Tensor::csr() copies all others.
  static Tensor frozen(Tensor indices);
  /// Returns the indices themselves if frozen, else a copy.
  static Tensor frozen_or_copy(const Tensor& indices);
  /// Returns a handle for an application. From now on, elements may be written.
  static Tensor expose(const Tensor& tensor);

  static Constancy constancy(const Tensor& tensor);
  /// Whether an application has a handle of the tracked tensor.
  static bool has_application_handle(const Tensor& tensor);
  /// Whether the application may write the elements without receiving another handle. Read
  /// versions first, so that they show a handle that is given out meanwhile.
  static bool may_be_written(const Tensor& tensor);
  /// Number of times that an application received a handle, which may have changed the
  /// elements.
  static std::uint64_t version(const Tensor& tensor);
  /// Sum of the versions of all tensors of this process: if it is unchanged, so are all versions.
  static std::uint64_t all_versions();
};

/// Returns whether at least `count` pointers own the object. If not, the writes of threads that
/// dropped theirs are visible to the caller: use_count() alone does not acquire them, copying the
/// pointer does.
template <class T>
bool has_owners(const std::shared_ptr<T>& pointer, std::size_t count) {
  if (static_cast<std::size_t>(pointer.use_count()) >= count) return true;
  [[maybe_unused]] const auto acquired = pointer;
  return false;
}

}  // namespace tenon
