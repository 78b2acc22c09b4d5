// Who may write the elements of a tensor: what a session prepares of them must not grow old unnoticed.
#pragma once
#include <cstdint>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// What is known of a tensor's elements.
enum class Constancy : std::uint8_t {
  changes,      ///< somebody else's memory, which may be written at any time
  unless_held,  ///< nobody can write them while no application has a handle
  always        ///< read-only
};

/// Graphs and sessions keep handles of a kind of their own, so that those of applications can be told from them. Threads: any.
struct HeldTensor {
  /// The handle that a graph or a session keeps: another tensor with the same elements. The given one itself where that would tell nothing:
  /// sparse tensors, those on GPUs, borrowed memory.
  static Tensor hold(const Tensor& tensor);
  /// Borrowed memory that nobody reaches but through handles of this tensor, such as a file's.
  static Tensor exclusive(Tensor tensor);
  /// Indices for a sparse tensor that the caller has just made and keeps no writable handle of. Tensor::csr() copies all others.
  static Tensor frozen(Tensor indices);
  /// The indices themselves if they are frozen, else a copy.
  static Tensor own_indices(const Tensor& indices);
  /// The handle that an application gets of what is held: elements may be written from now on.
  static Tensor give_out(const Tensor& tensor);

  static Constancy constancy(const Tensor& tensor);
  /// Whether an application has a handle of what is held.
  static bool is_held_outside(const Tensor& tensor);
  /// How often the elements were given out, which may have changed them.
  static std::uint64_t version(const Tensor& tensor);
  /// The sum of all versions in this process: where it is the same, none has changed.
  static std::uint64_t all_versions();
};

}  // namespace tenon
