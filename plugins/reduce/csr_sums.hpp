// Sums of a csr matrix over its rows, its columns or both, in time and memory proportional to the
// stored elements and the result. Floating-point numbers are added in float64, in an order that
// depends only on the matrix, not on the number of threads.
#pragma once
#include <algorithm>
#include <vector>

#include "../shared/rules.hpp"

/// Integers are added modulo 2^64.
template <class Out>
using CsrSum =
    std::conditional_t<std::is_integral_v<Out>, std::uint64_t,
                       std::conditional_t<tenon::is_complex<Out>, tenon::Complex<double>, double>>;

template <class Acc, class T>
Acc sum_values(const T* values, std::int64_t count) {
  Acc sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<Acc>(static_cast<Plain<T>>(values[i]));
  return sum;
}

template <class Acc, class T, class Put>
void sum_each_row(const tenon::Call& call, const tenon::Csr<const T>& x, Put put) {
  const auto grain = 1 + (1 << 14) * x.rows / (x.nnz + x.rows + 1);
  call.parallel_for(x.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row)
      put(row,
          sum_values<Acc>(x.values + x.row_starts[row], x.row_starts[row + 1] - x.row_starts[row]));
  });
}

template <class Acc, class T>
Acc sum_whole(const tenon::Call& call, const tenon::Csr<const T>& x) {
  constexpr std::int64_t length = 1 << 14;
  std::vector<Acc> sums(static_cast<std::size_t>((x.nnz + length - 1) / length));
  call.parallel_for(
      static_cast<std::int64_t>(sums.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto chunk = begin; chunk < end; ++chunk)
          sums[static_cast<std::size_t>(chunk)] =
              sum_values<Acc>(x.values + chunk * length, std::min(length, x.nnz - chunk * length));
      });
  return sum_values<Acc>(sums.data(), static_cast<std::int64_t>(sums.size()));
}

/// Rows are split into chunks with partial sums, as many as the memory for these is worth.
template <class Acc, class T, class Put>
void sum_each_column(const tenon::Call& call, const tenon::Csr<const T>& x, Put put) {
  const auto chunks = std::clamp<std::int64_t>(x.nnz / (4 * x.columns + (1 << 14)), 1, 32);
  std::vector<Acc> sums(static_cast<std::size_t>(chunks * x.columns), Acc(0));
  call.parallel_for(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto chunk = begin; chunk < end; ++chunk) {
      Acc* const own = sums.data() + chunk * x.columns;
      for (auto e = x.nnz * chunk / chunks; e < x.nnz * (chunk + 1) / chunks; ++e)
        own[x.columns_of[e]] += static_cast<Acc>(static_cast<Plain<T>>(x.values[e]));
    }
  });
  call.parallel_for(x.columns, 1 << 13, [&](std::int64_t begin, std::int64_t end) {
    for (auto column = begin; column < end; ++column) {
      Acc sum = 0;
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
        sum += sums[static_cast<std::size_t>(chunk * x.columns + column)];
      put(column, sum);
    }
  });
}

/// y = finish(sum of x over the axes whose bits are set in `reduced`).
template <class T, class Out, class Finish>
void reduce_csr(const tenon::Call& call, unsigned reduced, Finish finish) {
  using Acc = CsrSum<Out>;
  if (call.write(0) == tenon::Write::none) return;
  const auto x = call.csr<T>(0);
  Out* const y = call.output<Out>(0).data();
  const auto put = [&](std::int64_t i, Acc sum) { y[i] = static_cast<Out>(finish(sum)); };
  if (reduced == 1) return sum_each_column<Acc>(call, x, put);
  if (reduced == 2) return sum_each_row<Acc>(call, x, put);
  put(0, sum_whole<Acc>(call, x));
}

/// Storage inference of sum and mean: csr in, dense out.
inline void infer_csr_reduction(tenon::InferStorage& io) {
  if (!io.backward() && io.input(0) == tenon::Storage::csr) io.sparse_kernel();
}
