// Sums of matrix products over the terms of a batch, on the host's threads.
#pragma once
#include <algorithm>
#include <vector>

#include "../shared/gemm.hpp"
#include "../shared/product/multiply.hpp"
#include "batch.hpp"

namespace batch {

/// Matrices of equal size, contiguous one after the other.
template <class T>
struct Matrices {
  gemm::Operand<T> first;
  std::int64_t size;

  gemm::Operand<T> operator[](std::int64_t i) const {
    return {first.data + i * size, first.row_size, first.transposed};
  }
  Matrices transpose() const { return {{first.data, first.row_size, !first.transposed}, size}; }
};

/// Matrices that have the shape [rows, columns] after transposition by `transposed`.
template <class T>
Matrices<T> matrices(const T* data, std::int64_t rows, std::int64_t columns, bool transposed) {
  return {{data, transposed ? rows : columns, transposed}, rows * columns};
}

/// The results: `count` matrices of rows x columns.
template <class T>
struct Results {
  T* data;
  std::int64_t count, rows, columns;
  tenon::Write write;
};

/// Calls body(term) for the terms of one result, in order; returns whether there are any.
template <class Body>
bool for_terms_of(std::int64_t result, const std::vector<Term>& terms, Body&& body) {
  const auto precedes = [](const Term& term, std::int64_t value) { return term.result < value; };
  const auto first = std::lower_bound(terms.begin(), terms.end(), result, precedes);
  auto term = first;
  for (; term != terms.end() && term->result == result; ++term) body(*term);
  return term != first;
}

/// Each result = (with Write::add: +=) the sum of left * right over its terms, 0 if it has none.
/// `packed`: the right matrices as Arithmetic::pack() leaves them, or null.
template <class Arithmetic>
void sum_products(const tenon::Call& call, const Results<float>& results, std::int64_t depth,
                  const std::vector<Term>& terms, const Matrices<float>& left,
                  const Matrices<float>& right,
                  const typename Arithmetic::Packed* packed = nullptr) {
  if (product::choose_operands({true, {results.rows, results.columns, depth}, packed != nullptr})
          .algorithm == product::OperandOrder::swapped)
    return sum_products<Arithmetic>(call,
                                    {results.data, results.count, 1, results.rows, results.write},
                                    depth, swapped(terms), right.transpose(), left.transpose());
  const product::Size size{results.rows, results.columns, depth};
  const Arithmetic arithmetic(size);
  const auto step = arithmetic.packed_size();
  const bool add = results.write == tenon::Write::add;
  const auto cut = product::for_sums(arithmetic.cut_for(left.first, {right.first, packed}), add);
  product::for_each_tile(
      call, cut, results.count, size, [&](std::int64_t result, const product::Tile& tile) {
        const product::Target whole{results.data + result * size.rows * size.columns, size.columns};
        product::write_tile(whole, add, tile, [&](product::Target to) {
          product::Start start;
          const bool any = for_terms_of(result, terms, [&](const Term& term) {
            arithmetic.multiply_tile(
                left[term.left], {right[term.right], packed ? packed + term.right * step : nullptr},
                to, start, tile);
            start = {to.data, to.row_size};
          });
          for (std::int64_t i = 0; !any && i < tile.rows; ++i)
            std::fill_n(to.data + i * to.row_size, tile.columns, 0.f);
        });
      });
}

template <class Arithmetic>
void sum_products(const tenon::Call& call, const Results<double>& results, std::int64_t depth,
                  const std::vector<Term>& terms, const Matrices<double>& left,
                  const Matrices<double>& right, const typename Arithmetic::Packed* = nullptr) {
  const gemm::Tiles tiles{results.rows, results.columns};
  gemm::prepare({tiles.rows, tiles.columns, depth});
  const auto one = [&](std::int64_t result, std::int64_t tile) {
    double* const to = results.data + result * tiles.rows * tiles.columns;
    double beta = results.write == tenon::Write::add ? 1 : 0;
    const bool any = for_terms_of(result, terms, [&](const Term& term) {
      gemm::multiply_tile(left[term.left], right[term.right], to, tiles, depth, beta, tile);
      beta = 1;
    });
    if (!any) gemm::multiply_tile(left.first, right.first, to, tiles, 0, beta, tile);
  };
  const auto grain = gemm::grain(tiles.count(), tiles.rows, tiles.columns, depth);
  call.parallel_for(results.count * tiles.count(), grain,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto item = begin; item < end; ++item)
                        one(item / tiles.count(), item % tiles.count());
                    });
}

}  // namespace batch
