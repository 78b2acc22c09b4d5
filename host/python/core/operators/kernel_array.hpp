// A kernel's tensor as a numpy array, which is created once and reused in each call.
#pragma once
#include <tenon/abi.h>

#include <cstdint>

#include "python/core/interpreter.hpp"

namespace tenon::python {

void start_kernel_arrays();  ///< Called once, before anything else here. Throws ImportError.

/// One tensor of a kernel's calls. The array borrows the host's memory for the duration of a call.
/// Needs the GIL, except in the destructor.
class KernelArray {
 public:
  KernelArray() = default;
  KernelArray(KernelArray&& other) noexcept
      : array_(other.array_), dtype_(other.dtype_), described_(other.described_) {
    other.array_ = nullptr;
  }
  KernelArray(const KernelArray&) = delete;
  KernelArray& operator=(const KernelArray&) = delete;
  KernelArray& operator=(KernelArray&&) = delete;
  ~KernelArray() { drop(array_); }

  /// A dense CPU tensor as an array, borrowed from this object: the previous call's array if only
  /// the address changed.
  PyObject* show(const tenon_tensor& tensor, bool writable);
  PyObject* shown() const { return array_; }
  /// The number of references to the array by others, including arrays that begin in its memory.
  std::uint32_t references() const;
  /// Gives the array, which is still referenced, memory of its own with the same elements; the same
  /// for `derived`, the arrays that share its memory. This object is empty afterwards.
  void detach(nb::list derived);

 private:
  bool fits(const tenon_tensor& tensor, bool writable) const;

  PyObject* array_ = nullptr;
  int dtype_ = -1;
  void* described_ =
      nullptr;  // numpy's dtype object at that time, since a user may assign another one
};

}  // namespace tenon::python
