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
  std::int64_t count, terms, parts;

  static BlockSums of(std::int64_t count, std::int64_t terms) {
    const auto blocks = 1024 / std::max<std::int64_t>(count, 1), worthwhile = (terms + 4095) / 4096;
    return {count, terms, std::max<std::int64_t>(std::min(blocks, worthwhile), 1)};
  }

  /// Bytes of scratch memory for partial sums.
  template <class Value>
  std::size_t bytes() const {
    return parts > 1 ? static_cast<std::size_t>(count * parts) * sizeof(Value) : 0;
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
struct SumPart {
  BlockSums sums;
  Term term;
  Put put;
  Value* partial;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t i) const {
    const auto sum = i / sums.parts, length = (sums.terms + sums.parts - 1) / sums.parts,
               begin = i % sums.parts * length;
    const auto end = begin + length < sums.terms ? begin + length : sums.terms;
    Value value{};
    for (auto t = begin + block.thread(); t < end; t += tenon::gpu::block_threads)
      value = value + term(sum, t);
    value = block.sum(value);
    if (block.thread() != 0) return;
    if (sums.parts == 1)
      put(sum, value);
    else
      partial[i] = value;
  }
};

template <class Value, class Put>
struct SumOfParts {
  std::int64_t parts;
  Put put;
  const Value* partial;

  TENON_DEVICE void operator()(std::int64_t sum) const {
    Value value{};
    for (auto i = sum * parts; i < (sum + 1) * parts; ++i) value = value + partial[i];
    put(sum, value);
  }
};

/// Calls put(s, the sum over t of term(s, t)) for each sum s, on one thread. Value is double or
/// TwoSums; `scratch` has sums.bytes<Value>().
template <class Value, class Term, class Put>
void sum_by_blocks(const tenon::Call& call, const BlockSums& sums, const Term& term, const Put& put,
                   Value* scratch) {
  tenon::gpu::for_each_block(call, sums.count * sums.parts,
                             SumPart<Value, Term, Put>{sums, term, put, scratch});
  if (sums.parts > 1)
    tenon::gpu::for_each(call, sums.count, SumOfParts<Value, Put>{sums.parts, put, scratch});
}
