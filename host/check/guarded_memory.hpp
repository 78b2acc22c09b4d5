// Tensors between pages that may not be touched.
#pragma once
#include <cstdint>
#include <string>
#include <tenon/host/tensor.hpp>

#include "check/short_text.hpp"
#include "io/crash/ending.hpp"

namespace tenon::checks {

enum class Placement : std::uint8_t {
  apart,        ///< a page or more away from what may not be touched, aligned as the host's own tensors are
  unaligned,    ///< the same, one element further on
  after_guard,  ///< the first element right behind a guard page
  before_guard  ///< the last element right before one
};

/// All bytes are `fill`, those between the tensor and the guards, too. `name`: as in `input 'x'`, for reports of bad accesses; empty: the
/// descriptors of a call. `alignment`, a power of two of bytes: before_guard may leave a few bytes up to the guard for it.
Tensor guarded_tensor(DType dtype, const Shape& shape, Placement placement, std::uint8_t fill, const std::string& name = "a tensor",
                      std::size_t alignment = 1);

/// Describes the first byte between a tensor of bytes and its guards that is not `fill` any more; empty if all are.
std::string stray_write(const Tensor& bytes, std::uint8_t fill);

/// Of one beside a guard page, or an empty one: from now on all of its memory is one.
void forbid(const Tensor& tensor);

/// From now on its elements are reported as those of this dtype.
void count_elements_as(const Tensor& tensor, DType dtype);

/// Says it of an address that lies in a guard page or in forbidden memory; false elsewhere. Async-signal-safe.
bool describe_guard_hit(std::uintptr_t address, Ending::Access access, ShortText& text);

}  // namespace tenon::checks
