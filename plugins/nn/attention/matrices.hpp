// Matrix products of one head, on the calling thread.
#pragma once
#include <array>
#include <initializer_list>
#include <type_traits>

#include "../../shared/gemm.hpp"
#include "../../shared/product/fma.hpp"
#include "attention_choice.hpp"
#include "onednn/onednn.hpp"

namespace attention {

/// Number of blocks of queries per head: scores of a block fit into the cache, and all threads have
/// work. Sums do not depend on it.
inline std::int64_t blocks_of(const tenon::Call& call, std::int64_t heads, std::int64_t queries,
                              std::int64_t keys) {
  constexpr std::int64_t max_scores = 1 << 18, min_rows = 24;
  const auto up = [](std::int64_t size, std::int64_t divisor) {
    return (size + divisor - 1) / std::max<std::int64_t>(divisor, 1);
  };
  const auto needed = call.threads() == 1 ? 1 : up(2 * std::int64_t{call.threads()}, heads);
  const auto rows = std::min(max_scores / std::max<std::int64_t>(keys, 1), up(queries, needed));
  return up(queries, std::clamp(rows, min_rows, product::max_tall));
}

/// A result matrix: its first element and the distance between rows.
template <class W>
struct Result {
  W* data;
  std::int64_t row_size;
};

/// to[rows, columns] = (or with `add`: +=) left[rows, depth] * right[depth, columns].
template <class Arithmetic>
void multiply_in(const Arithmetic& arithmetic, const gemm::Operand<float>& left,
                 const typename Arithmetic::Right& right, const product::Size& size,
                 const Result<float>& to, bool add = false) {
  const auto wide = arithmetic.cut_for(left, right).wide;
  for (std::int64_t row = 0; row < size.rows; row += product::max_tall)
    for (std::int64_t column = 0; column < size.columns; column += wide) {
      const product::Target corner{to.data + row * to.row_size + column, to.row_size};
      arithmetic.multiply_tile(
          left, right, corner,
          add ? product::Start{corner.data, corner.row_size} : product::Start{},
          {row, std::min(product::max_tall, size.rows - row), column,
           std::min(wide, size.columns - column)});
    }
}

/// Product in the precision of W.
template <class W>
void multiply(const gemm::Operand<W>& left, const gemm::Operand<W>& right,
              const product::Size& size, const Result<W>& to, bool add = false) {
  constexpr AttentionProblem problem{std::is_same_v<W, double>};
  if constexpr (choice::first_of<attention_choices>(problem).algorithm == AttentionAlgorithm::fma) {
    multiply_in(product::FmaArithmetic(size), left, {right}, size, to, add);
  } else {
    for (std::int64_t i = 0; i < size.rows; ++i) {
      W* const row = to.data + i * to.row_size;
      if (!add) std::fill_n(row, size.columns, W(0));
      for (std::int64_t k = 0; k < size.depth; ++k) {
        const W factor =
            left.transposed ? left.data[k * left.row_size + i] : left.data[i * left.row_size + k];
        const W* const from = right.transposed ? right.data + k : right.data + k * right.row_size;
        const auto step = right.transposed ? right.row_size : 1;
        for (std::int64_t j = 0; j < size.columns; ++j) row[j] += factor * from[j * step];
      }
    }
  }
}

/// Arrays of the requested numbers of elements in this thread's scratch memory.
template <class W, std::size_t count>
std::array<W*, count> memory_of(const std::int64_t (&numbers)[count]) {
  std::size_t bytes = 0;
  for (const auto each : numbers)
    bytes += onednn::aligned(static_cast<std::size_t>(each) * sizeof(W));
  auto* next = onednn::scratch(bytes);
  std::array<W*, count> arrays;
  for (std::size_t i = 0; i < count; ++i) {
    arrays[i] = reinterpret_cast<W*>(next);
    next += onednn::aligned(static_cast<std::size_t>(numbers[i]) * sizeof(W));
  }
  return arrays;
}

}  // namespace attention
