// How the body of a CUDA kernel tells what is wrong with the elements it was given.
#pragma once
#include <cstdint>

#include "../call.hpp"
#include "../version.hpp"
#include "runtime.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Goes to the device with a body. Work that is on a stream cannot throw: a body leaves out what it cannot do, and the host reports the
/// node's first fault when the device is done, as a CPU kernel's error would be.
class Fault {
 public:
  explicit Fault(const Call& call) : fault_(call.raw().fault) {}

  /// Whether an index is from 0 to limit - 1; where not, that becomes the fault.
  TENON_DEVICE bool fits(std::int64_t index, std::int64_t limit) const {
    if (index >= 0 && index < limit) return true;
    if (fault_ && first()) {
      fault_->value = index;
      fault_->limit = limit;
    }
    return false;
  }

 private:
  TENON_DEVICE bool first() const {
#if defined(__CUDACC__)
    return atomicCAS(reinterpret_cast<unsigned long long*>(&fault_->kind), static_cast<unsigned long long>(TENON_FAULT_NONE),
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
