// Row-wise work on a CUDA device, with as many threads per row as the row keeps busy.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <tenon/gpu/launch.hpp>

template <class Body>
struct WorkOnRow {
  Body body;
  std::int64_t log;  ///< log2 of the threads per row: powers of two need no division

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto row = i >> log;
    body(row, i - (row << log), std::int64_t{1} << log);
  }
};

/// Calls body(row, first, step) for each row in [0, rows) on several threads; each processes
/// elements first, first + step ... of the row, which has about `length` elements. Neighbouring
/// threads process neighbouring elements.
template <class Body>
void for_each_row(const tenon::Call& call, std::int64_t rows, std::int64_t length,
                  const Body& body) {
  const int log = std::bit_width(static_cast<std::uint64_t>(
                      std::clamp<std::int64_t>(length, 1, tenon::gpu::block_threads))) -
                  1;
  tenon::gpu::for_each(call, rows << log, WorkOnRow<Body>{body, log});
}
