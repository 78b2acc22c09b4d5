// Reports an out-of-range index from the body of a CUDA kernel.
#pragma once
#include <cstdint>

#include "../call.hpp"
#include "../version.hpp"
#include "runtime.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Passed to the device as part of a body. Work on a stream cannot throw: the body skips the
/// invalid element, and the host reports the node's first fault when the device is done, like an
/// error of a CPU kernel. The user reads
///
///     index 7 is out of range: it must be from 0 to 3
///
/// or, if the limit is 0, "index 7 is out of range: the dimension is empty". Later faults of the
/// same node are not reported. The run fails, so elements that the body skipped may stay undefined.
/// Works in captured kernels, too.
///
/// Example: select one element of each row of x [count, columns].
///
///     struct Pick {
///       const float* x;
///       const std::int64_t* indices;
///       std::int64_t columns;
///       float* y;
///       tenon::gpu::Fault fault;
///       TENON_DEVICE void operator()(std::int64_t i) const {
///         if (fault.fits(indices[i], columns)) y[i] = x[i * columns + indices[i]];
///       }
///     };
///     tenon::gpu::for_each(call, count, Pick{x, indices, columns, y, tenon::gpu::Fault(call)});
class Fault {
 public:
  /// Call it on the host, before the launch. Copies share the call's one fault; valid until the
  /// device has finished the node.
  explicit Fault(const Call& call) : fault_(call.raw().fault) {}

  /// Whether an index is from 0 to limit - 1. If not, it is recorded as the node's fault, unless
  /// there already is one. Thread-safe on the device; which of several faults is recorded may
  /// differ between runs.
  TENON_DEVICE bool fits(std::int64_t index, std::int64_t limit) const {
    if (index >= 0 && index < limit) return true;
    if (fault_ && first()) {
      fault_->value = index;
      fault_->limit = limit;
    }
    return false;
  }

 private:
  // Claims the fault for this thread. Simulated GPUs run one thread at a time.
  TENON_DEVICE bool first() const {
#if defined(__CUDACC__)
    return atomicCAS(reinterpret_cast<unsigned long long*>(&fault_->kind),
                     static_cast<unsigned long long>(TENON_FAULT_NONE),
                     static_cast<unsigned long long>(TENON_FAULT_INDEX)) == TENON_FAULT_NONE;
#else
    if (fault_->kind != TENON_FAULT_NONE) return false;
    fault_->kind = TENON_FAULT_INDEX;
    return true;
#endif
  }

  tenon_fault* fault_;
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
