// Copies indices between sparse tensors on a CUDA device.
#pragma once
#include <cstdint>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Makes tenon::SameSparsity copy `count` int64 indices from one sparse tensor to another on the
/// device, on the call's stream. Throws Error if CUDA rejects the copy. A count of 0 copies
/// nothing.
///
/// Example:
///
///     // the output has the input's sparsity pattern
///     const tenon::SameSparsity tensors(call, tenon::gpu::CopyIndices{call});
struct CopyIndices {
  const Call& call;
  void operator()(std::int64_t* to, const std::int64_t* from, std::int64_t count) const {
    copy(call, to, from, static_cast<std::size_t>(count) * sizeof *to);
  }
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
