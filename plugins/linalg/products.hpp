// Sums of matrix products over the terms of a batch, on the host's threads.
#pragma once
#include <algorithm>
#include <vector>

#include "../shared/gemm.hpp"
#include "batch.hpp"

namespace batch {

/// Matrices of one size that follow each other in memory.
template <class T>
struct Matrices {
  gemm::Operand<T> first;
  std::int64_t size;

  gemm::Operand<T> operator[](std::int64_t i) const { return {first.data + i * size, first.row_size, first.transposed}; }
  Matrices transpose() const { return {{first.data, first.row_size, !first.transposed}, size}; }
};

/// Matrices that are [rows, columns] once read as `transposed` says.
template <class T>
Matrices<T> matrices(const T* data, std::int64_t rows, std::int64_t columns, bool transposed) {
  return {{data, transposed ? rows : columns, transposed}, rows * columns};
}

/// Where the sums go: `count` matrices of the size of `tiles`.
template <class T>
struct Results {
  T* data;
  std::int64_t count;
  gemm::Tiles tiles;
  tenon::Write write;
};

/// Each result becomes (with Write::add: grows by) the sum of left * right over its terms; 0 where it has none.
template <class T>
void sum_products(const tenon::Call& call, Results<T> results, std::int64_t depth, const std::vector<Term>& terms, Matrices<T> left,
                  Matrices<T> right) {
  const auto tiles = results.tiles;
  gemm::prepare({tiles.rows, tiles.columns, depth});
  const auto before = [](const Term& term, std::int64_t result) { return term.result < result; };
  const auto one = [&](std::int64_t result, std::int64_t tile) {
    T* const to = results.data + result * tiles.rows * tiles.columns;
    T beta = results.write == tenon::Write::add ? 1 : 0;
    auto term = std::lower_bound(terms.begin(), terms.end(), result, before);
    if (term == terms.end() || term->result != result) gemm::multiply_tile(left.first, right.first, to, tiles, 0, beta, tile);
    for (; term != terms.end() && term->result == result; ++term, beta = 1)
      gemm::multiply_tile(left[term->left], right[term->right], to, tiles, depth, beta, tile);
  };
  const auto grain = gemm::grain(tiles.count(), tiles.rows, tiles.columns, depth);
  call.parallel_for(results.count * tiles.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto item = begin; item < end; ++item) one(item / tiles.count(), item % tiles.count());
  });
}

}  // namespace batch
