// Prefix sums on a device: offsets of variable-sized segments.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

namespace detail {

/// Returns the bytes of temporary memory that prefix sums of n numbers need on the current device.
std::size_t scan_bytes(std::int64_t n);
/// Replaces each of n numbers by the sum of those before it.
void exclusive_sum(const Call& call, std::int64_t n, std::int64_t* numbers, void* temporary,
                   std::size_t bytes);

template <class Count>
struct PutCount {
  Count count;
  std::int64_t n;
  std::int64_t* to;

  TENON_DEVICE void operator()(std::int64_t i) const { to[i] = i < n ? count(i) : 0; }
};

}  // namespace detail

/// Returns the scratch size, in int64, of scan() for n counts on the current device, in addition to
/// the n + 1 of `sums`; for workspace(). Throws Error if CUDA fails.
inline std::int64_t scan_scratch(std::int64_t n) {
  return n < 0 ? 0
               : static_cast<std::int64_t>((detail::scan_bytes(n + 1) + sizeof(std::int64_t) - 1) /
                                           sizeof(std::int64_t));
}

/// Computes sums[i] = count(0) + ... + count(i - 1) for i from 0 to n, on the call's stream: n + 1
/// numbers, where sums[0] is 0 and sums[n] the total; n may be 0. Count is a trivially copyable
/// class with `TENON_FN std::int64_t operator()(std::int64_t i) const` that reads neither sums nor
/// scratch. One source of the plugin must include sort_and_scan.hpp. Throws Error.
///
/// Example: the row starts of a csr output.
///
///     struct StoredIn {
///       const std::int64_t* row_starts;
///       TENON_FN std::int64_t operator()(std::int64_t row) const {
///         return row_starts[row + 1] - row_starts[row];
///       }
///     };
///     tenon::gpu::scan(call, rows, StoredIn{x.row_starts}, sums, scratch);
template <class Count>
void scan(const Call& call, std::int64_t n, const Count& count, std::int64_t* sums,
          std::int64_t* scratch) {
  for_each(call, n + 1, detail::PutCount<Count>{count, n, sums});
  detail::exclusive_sum(call, n + 1, sums, scratch, detail::scan_bytes(n + 1));
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
