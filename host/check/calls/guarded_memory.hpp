// Tensors between inaccessible guard pages.
#pragma once
#include <cstdint>
#include <string>
#include <tenon/host/tensor.hpp>

#include "check/short_text.hpp"
#include "io/crash/crash_report.hpp"

namespace tenon::checks {

enum class Placement : std::uint8_t {
  aligned,      ///< like the host's tensors, at least a page away from the guards
  unaligned,    ///< like aligned, shifted by one element
  after_guard,  ///< the first element directly follows a guard page
  before_guard  ///< the last element directly precedes a guard page
};

/// Fills all bytes with `fill`, including those between the tensor and the guards. `name`, as in
/// `input 'x'`, is used in reports of bad accesses; an empty name means the descriptors of a call.
/// `alignment` is in bytes and a power of two: with before_guard it may leave a few bytes before
/// the guard.
Tensor guarded_tensor(DType dtype, const Shape& shape, Placement placement, std::uint8_t fill,
                      const std::string& name = "a tensor", std::size_t alignment = 1);

/// Describes the first byte between a byte tensor and its guards that no longer equals `fill`;
/// empty if there is none.
std::string stray_write(const Tensor& bytes, std::uint8_t fill);

/// Makes the memory of a guarded_tensor() with placement after_guard or before_guard inaccessible;
/// has no effect on other tensors.
void protect(const Tensor& tensor);

/// From now on, accesses are reported in elements of this dtype.
void count_elements_as(const Tensor& tensor, DType dtype);

/// Describes an access to a guard page or to protected memory; returns false for other addresses.
/// Async-signal-safe.
bool describe_guard_hit(std::uintptr_t address, CrashReport::Access access, ShortText& text);

}  // namespace tenon::checks
