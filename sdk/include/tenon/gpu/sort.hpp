// Stable sorting on a device: the result is deterministic, and equal keys keep their order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// n keys in ascending order and their original indices: keys[i] is key(indices[i]). Both point
/// into the scratch of sort(), in device memory.
struct Sorted {
  std::int64_t* keys;
  union {
    std::int64_t* indices;
    [[deprecated("use indices; until 0.4")]] std::int64_t* places;
  };

  /// For structured bindings, which do not see through the union:
  /// `const auto [keys, indices] = tenon::gpu::sort(...)`.
  template <std::size_t member>
  TENON_FN std::int64_t* get() const {
    return member == 0 ? keys : indices;
  }
};

namespace detail {

/// Returns the bytes of temporary memory that sorting n keys from 0 to `max_key` needs on the
/// current device.
std::size_t sort_bytes(std::int64_t n, std::int64_t max_key);
/// Sorts `from` by its keys, none of which is above `max_key`. Returns `from` or `spare`, whichever
/// has the result.
Sorted sort_pairs(const Call& call, std::int64_t n, std::int64_t max_key, Sorted from, Sorted spare,
                  void* temporary, std::size_t bytes);

template <class Key>
struct PutKey {
  Key key;
  Sorted to;

  TENON_FN void operator()(std::int64_t i) const {
    to.keys[i] = key(i);
    to.indices[i] = i;
  }
};

}  // namespace detail

/// Returns the scratch size, in int64, of sort() for n keys from 0 to `max_key` on the current
/// device, including the result; for workspace(). 0 for n <= 0. Throws Error if CUDA fails.
inline std::int64_t sort_scratch(std::int64_t n, std::int64_t max_key) {
  return n <= 0 ? 0
                : 4 * n + static_cast<std::int64_t>(
                              (detail::sort_bytes(n, max_key) + sizeof(std::int64_t) - 1) /
                              sizeof(std::int64_t));
}

/// Sorts key(0) ... key(n - 1) on the call's stream. Key is a trivially copyable class with
/// `TENON_FN std::int64_t operator()(std::int64_t i) const`, which returns a number from 0 to
/// `max_key`; the position of negative or larger keys is undefined. Equal keys keep their order.
/// The time grows with the number of bits of `max_key`. One source of the plugin must include
/// sort_and_scan.hpp. Throws Error.
///
/// Example:
///
///     struct IndexAt {
///       const std::int64_t* indices;
///       TENON_FN std::int64_t operator()(std::int64_t i) const { return indices[i]; }
///     };
///     // sorted.indices groups uses by row
///     const auto sorted = tenon::gpu::sort(call, n, IndexAt{indices}, rows - 1, scratch);
template <class Key>
Sorted sort(const Call& call, std::int64_t n, const Key& key, std::int64_t max_key,
            std::int64_t* scratch) {
  const Sorted from{scratch, {scratch + 2 * n}}, spare{scratch + n, {scratch + 3 * n}};
  if (n <= 0) return from;
  for_each(call, n, detail::PutKey<Key>{key, from});
  return detail::sort_pairs(call, n, max_key, from, spare, scratch + 4 * n,
                            detail::sort_bytes(n, max_key));
}

}  // namespace tenon::TENON_SDK::gpu

// Not needed without the union, from 0.4 on.
template <>
struct std::tuple_size<tenon::gpu::Sorted> : std::integral_constant<std::size_t, 2> {};
template <std::size_t member>
struct std::tuple_element<member, tenon::gpu::Sorted> {
  using type = std::int64_t*;
};
#pragma GCC visibility pop
