// A kernel's tensor as numpy's array, which is made once and shown again in each call.
#pragma once
#include <tenon/abi.h>

#include "python/core/interpreter.hpp"

namespace tenon::python {

void start_kernel_arrays();  ///< once, before anything else here. Throws ImportError

/// One tensor of a kernel's calls. The array borrows the host's memory for the length of a call. With the GIL, but for the destructor.
class KernelArray {
 public:
  KernelArray() = default;
  KernelArray(KernelArray&& other) noexcept : array_(other.array_), dtype_(other.dtype_), described_(other.described_) {
    other.array_ = nullptr;
  }
  KernelArray(const KernelArray&) = delete;
  KernelArray& operator=(const KernelArray&) = delete;
  KernelArray& operator=(KernelArray&&) = delete;
  ~KernelArray() { drop(array_); }

  /// A dense tensor of the CPU's as an array, borrowed from this object: that of the call before, where nothing but the address changed.
  PyObject* show(const tenon_tensor& tensor, bool writable);
  PyObject* shown() const { return array_; }
  /// Whether anybody but `owners` has the array, or another array that begins in its memory.
  bool is_kept(int owners) const;
  /// Gives the array, which somebody keeps, memory of its own with the same elements, and `derived` arrays, too: those that look into it.
  /// This object is empty then.
  void part_with(nb::list derived);

 private:
  bool fits(const tenon_tensor& tensor, bool writable) const;

  PyObject* array_ = nullptr;
  int dtype_ = -1;
  void* described_ = nullptr;  // numpy's dtype object at that time: an author may give the array another one
};

}  // namespace tenon::python
