// Sorting the places of a batch by the rows that they name, on a CUDA device: by digits, the lowest first, as places_by_row.hpp does on the
// CPU. Equal rows stay in the order of their places, so sums over them have the same bits every time.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>
#include <utility>

#include "index_reader.hpp"

namespace sorted_places {

inline constexpr int digit_bits = 4, digits = 1 << digit_bits, places_of_thread = 8;
inline constexpr std::int64_t tile = places_of_thread * tenon::gpu::block_threads;  ///< places that a block takes

inline std::int64_t tiles_of(std::int64_t places) {
  return (places + tile - 1) / tile;
}

/// The row that a place names, `limit` where that is none of the rows below it.
struct Rows {
  IndexReader indices;
  std::int64_t limit;
  TENON_DEVICE std::int64_t operator[](std::int64_t place) const {
    const auto row = indices[place];
    return row >= 0 && row < limit ? row : limit;
  }
};

/// Counts of four digits, which the threads of a block add up together.
struct Four {
  std::int32_t of[4];
  TENON_DEVICE explicit Four(int all) : of{all, all, all, all} {}
  TENON_DEVICE Four operator+(const Four& other) const {
    Four sum(0);
    for (int i = 0; i < 4; ++i) sum.of[i] = of[i] + other.of[i];
    return sum;
  }
};

/// One pass over the places by one digit of their rows.
struct Pass {
  Rows rows;
  int shift;
  std::int64_t count, tiles;
  const std::int64_t* from;  ///< null: the places in their own order
  std::int64_t *to, *counters;

  TENON_DEVICE std::int64_t place(std::int64_t i) const { return from ? from[i] : i; }
  TENON_DEVICE int digit(std::int64_t place) const { return static_cast<int>(rows[place] >> shift & (digits - 1)); }
  /// body(place) for those of this thread, in their order.
  template <class Body>
  TENON_DEVICE void for_each_place(const tenon::gpu::Block& block, std::int64_t number, Body&& body) const {
    const auto begin = number * tile + block.thread() * places_of_thread;
    for (auto i = begin; i < begin + places_of_thread && i < count; ++i) body(place(i));
  }
};

/// counters[digit * tiles + t]: how many places of tile t have that digit.
struct CountDigits {
  Pass pass;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t t) const {
    std::int32_t found[digits] = {};
    pass.for_each_place(block, t, [&](std::int64_t place) {
      ++found[pass.digit(place)];
      if (!pass.from) fault.fits(pass.rows.indices[place], pass.rows.limit);
    });
    for (int first = 0; first < digits; first += 4) {
      Four four(0);
      for (int i = 0; i < 4; ++i) four.of[i] = found[first + i];
      four = block.sum(four);
      if (block.thread() == 0)
        for (int i = 0; i < 4; ++i) pass.counters[(first + i) * pass.tiles + t] = four.of[i];
    }
  }
};

/// Each counter becomes the sum of those before it, and one more, behind the last, the sum of all. For one block.
struct SumBefore {
  std::int64_t* counters;
  std::int64_t count;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t) const {
    std::int64_t carried = 0;
    for (std::int64_t first = 0; first < count; first += tenon::gpu::block_threads) {
      const auto i = first + block.thread();
      std::int64_t total = 0;
      const auto before = block.sum_before(i < count ? counters[i] : std::int64_t{0}, total);
      if (i < count) counters[i] = carried + before;
      carried += total;
    }
    if (block.thread() == 0) counters[count] = carried;
  }
};

/// Puts each place behind those with lower digits and those with the same one before it.
struct MovePlaces {
  Pass pass;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t t) const {
    std::int32_t found[digits] = {};
    std::int64_t next[digits];
    pass.for_each_place(block, t, [&](std::int64_t place) { ++found[pass.digit(place)]; });
    for (int first = 0; first < digits; first += 4) {
      Four four(0), all(0);
      for (int i = 0; i < 4; ++i) four.of[i] = found[first + i];
      const Four before = block.sum_before(four, all);
      for (int i = 0; i < 4; ++i) next[first + i] = pass.counters[(first + i) * pass.tiles + t] + before.of[i];
    }
    pass.for_each_place(block, t, [&](std::int64_t place) { pass.to[next[pass.digit(place)]++] = place; });
  }
};

/// Elements of scratch for `places` places: two orders of them, and counters.
inline std::size_t scratch(std::int64_t places) {
  return static_cast<std::size_t>(2 * places + digits * tiles_of(places) + 1);
}

/// The places in the order of their rows, in the scratch, with `counters` behind them free for use again. Places whose row is not there
/// come last, and the first of them becomes the call's fault.
struct Sorted {
  const std::int64_t* places;
  std::int64_t* counters;
};
inline Sorted sort(const tenon::Call& call, const Rows& rows, std::int64_t count, std::int64_t* scratch) {
  const tenon::gpu::Fault fault(call);
  std::int64_t *to = scratch, *other = scratch + count, *const counters = scratch + 2 * count;
  const std::int64_t* from = nullptr;
  const auto tiles = tiles_of(count);
  for (int shift = 0; shift < static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows.limit))); shift += digit_bits) {
    const Pass pass{rows, shift, count, tiles, from, to, counters};
    tenon::gpu::for_each_block(call, tiles, CountDigits{pass, fault});
    tenon::gpu::for_each_block(call, 1, SumBefore{counters, digits * tiles});
    tenon::gpu::for_each_block(call, tiles, MovePlaces{pass});
    from = to;
    std::swap(to, other);
  }
  return {from, counters};
}

}  // namespace sorted_places
