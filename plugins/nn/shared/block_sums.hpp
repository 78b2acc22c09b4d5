// Long sums on a CUDA device. The order of summation depends only on sizes, so that results are
// deterministic.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tenon/gpu/launch.hpp>
#include <utility>

/// `count` sums of `terms` terms each. One thread block computes each sum; if there are few long
/// sums, each is split into chunks for several blocks.
struct BlockSums {
  std::int64_t count, terms, chunks;

  static BlockSums of(std::int64_t count, std::int64_t terms) {
    const auto blocks = 1024 / std::max<std::int64_t>(count, 1), worthwhile = (terms + 4095) / 4096;
    return {count, terms, std::max<std::int64_t>(std::min(blocks, worthwhile), 1)};
  }

  /// Bytes of scratch memory for partial sums.
  template <class Value>
  std::size_t bytes() const {
    return chunks > 1 ? static_cast<std::size_t>(count * chunks) * sizeof(Value) : 0;
  }
};

/// Two sums that are computed together.
struct TwoSums {
  double first = 0, second = 0;

  TENON_DEVICE TwoSums operator+(const TwoSums& other) const {
    return {first + other.first, second + other.second};
  }
};

template <class Value, class Term, class Put>
struct SumChunk {
  BlockSums sums;
  Term term;
  Put put;
  Value* partial;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t i) const {
    const auto sum = i / sums.chunks, length = (sums.terms + sums.chunks - 1) / sums.chunks,
               begin = i % sums.chunks * length;
    const auto end = begin + length < sums.terms ? begin + length : sums.terms;
    Value value{};
    for (auto t = begin + block.thread(); t < end; t += tenon::gpu::block_threads)
      value = value + term(sum, t);
    value = block.sum(value);
    if (block.thread() != 0) return;
    if (sums.chunks == 1)
      put(sum, value);
    else
      partial[i] = value;
  }
};

template <class Value, class Put>
struct SumOfChunks {
  std::int64_t chunks;
  Put put;
  const Value* partial;

  TENON_DEVICE void operator()(std::int64_t sum) const {
    Value value{};
    for (auto i = sum * chunks; i < (sum + 1) * chunks; ++i) value = value + partial[i];
    put(sum, value);
  }
};

/// Calls put(s, the sum over t of term(s, t)) for each sum s, on one thread. Value is double or
/// TwoSums; `scratch` has sums.bytes<Value>().
template <class Value, class Term, class Put>
void sum_by_blocks(const tenon::Call& call, const BlockSums& sums, const Term& term, const Put& put,
                   Value* scratch) {
  tenon::gpu::for_each_block(call, sums.count * sums.chunks,
                             SumChunk<Value, Term, Put>{sums, term, put, scratch});
  if (sums.chunks > 1)
    tenon::gpu::for_each(call, sums.count, SumOfChunks<Value, Put>{sums.chunks, put, scratch});
}
