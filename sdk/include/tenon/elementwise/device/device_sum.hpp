// The gradient of a broadcast input on a CUDA device: each element is the sum over all positions
// where it was repeated.
#pragma once

#include <cstdint>

#include "../../version.hpp"
#include "device_map.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

struct DeviceSum {
  DeviceMap results;    ///< space: the elements of the gradient; sources: their first terms
  gpu::RowMajor terms;  ///< the terms of each element
  std::int64_t strides[max_sources][max_rank] = {};  ///< strides of the sources between terms

  template <int n>
  TENON_FN void add_term_offsets(std::int64_t (&offsets)[n], std::int64_t term) const {
    terms.add_offsets(offsets, term, [&](int k, int axis) { return strides[k][axis]; });
  }
};

/// `broadcast`: a tensor with the shape that the input was broadcast to.
inline DeviceSum device_sum(const Job& job, const tenon_dense& broadcast) {
  DeviceSum sum;
  DeviceOperand terms[max_sources], *all[max_sources + 1], *to_term[max_sources] = {};
  for (int i = 0; i < job.source_count; ++i) {
    sum.results.sources[i] = terms[i] = operand_of(job.sources[i], broadcast);
    all[i] = &sum.results.sources[i];
    to_term[i] = &terms[i];
  }
  sum.results.source_count = job.source_count;
  sum.results.out = operand_of(job.output, broadcast);
  all[job.source_count] = &sum.results.out;
  const tenon_dense& own = job.output->dense;
  const auto retained = [&](int axis) {
    const int at = axis - (broadcast.ndim - own.ndim);
    return at >= 0 && own.shape[at] != 1;
  };
  sum.terms =
      join_axes(broadcast, to_term, job.source_count, [&](int axis) { return !retained(axis); });
  for (int i = 0; i < job.source_count; ++i)
    for (int axis = 0; axis < sum.terms.rank(); ++axis)
      sum.strides[i][axis] = terms[i].strides[axis];
  sum.results.space = join_axes(broadcast, all, job.source_count + 1, retained);
  sum.results.add = job.write == Write::add;
  return sum;
}

/// Returns the sum in double of terms begin, begin + step, begin + 2 step ... of result i.
template <class Function, class Stored, class Class>
TENON_FN double sum_terms(const Class& f, const DeviceSum& sum, std::int64_t i, std::int64_t begin,
                          std::int64_t step) {
  using T = typename Function::Number;
  const DeviceMap& map = sum.results;
  constexpr int sources = Function::sources;
  std::int64_t first[sources] = {};
  map.add_source_offsets(first, i);
  double total = 0;
  for (std::int64_t term = begin, terms = sum.terms.count(); term < terms; term += step) {
    std::int64_t offsets[sources];
    for (int k = 0; k < sources; ++k) offsets[k] = first[k];
    sum.add_term_offsets(offsets, term);
    T x[sources];
    for (int k = 0; k < sources; ++k) x[k] = load<T, Stored>(map.sources[k], offsets[k]);
    total += static_cast<double>(Function::at(f, x));
  }
  return total;
}

template <class Function, class Stored>
TENON_FN void store_sum(const DeviceSum& sum, std::int64_t i, double total) {
  const DeviceMap& map = sum.results;
  typename Function::Number number = 0;
  if constexpr (is_half<Stored>)
    number = halves::round_to_odd(total);  // store() then rounds to 16 bits only once
  else
    number = static_cast<typename Function::Number>(total);
  store<Stored>(map.out, map.out_offset(i), number, map.add);
}

/// The body for many results with few terms: one thread per result.
template <class Function, class Stored, class Class>
struct SumBody {
  [[no_unique_address]] Class f;  // often empty: no undefined padding ahead of the other members
  DeviceSum sum;

  TENON_FN void operator()(std::int64_t i) const {
    store_sum<Function, Stored>(sum, i, sum_terms<Function, Stored>(f, sum, i, 0, 1));
  }
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
