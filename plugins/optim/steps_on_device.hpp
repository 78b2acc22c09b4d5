// Optimizer steps on a CUDA device, with the same update rules as on the CPU.
#pragma once
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>
#include <tenon/gpu/search.hpp>

#include "../shared/rows.hpp"
#include "optimizer.hpp"

/// The learning rate is in device memory, so each element computes the rule's coefficients itself.
template <class Rule>
struct AtRate {
  Rule rule;
  const float* learning_rate;

  template <class W>
  TENON_FN W operator()(std::int64_t i, W weight, W grad) const {
    Rule begun = rule;
    begun.begin(static_cast<double>(*learning_rate));
    return begun(i, weight, grad);
  }
};

/// A rule whose coefficients have been computed on the device.
template <class Rule>
struct Begun {
  const Rule* rule;

  template <class W>
  TENON_FN W operator()(std::int64_t i, W weight, W grad) const {
    return (*rule)(i, weight, grad);
  }
};

template <class T, class Rule>
struct DenseStep {
  const T *from, *grad;
  T* to;
  Rule rule;

  TENON_FN void operator()(std::int64_t i) const {
    to[i] = static_cast<T>(rule(i, Wide<T>(from[i]), Wide<T>(grad[i])));
  }
};

/// Updates the elements of stored rows only.
template <class T, class Rule>
struct StoredRowsStep {
  const T* from;
  tenon::RowSparse<const T> grad;
  T* to;
  Rule rule;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(std::int64_t index, std::int64_t first, std::int64_t step) const {
    const auto row = grad.row_ids[index];
    if (!fault.fits(row, grad.total_rows)) return;
    for (auto j = first; j < grad.row_size; j += step) {
      const auto i = row * grad.row_size + j;
      to[i] = static_cast<T>(
          rule(i, Wide<T>(from[i]), Wide<T>(grad.values[index * grad.row_size + j])));
    }
  }
};

/// Updates all elements, with a zero gradient in rows that are not stored.
template <class T, class Rule>
struct AllRowsStep {
  const T* from;
  tenon::RowSparse<const T> grad;
  T* to;
  Rule rule;

  TENON_DEVICE void operator()(std::int64_t row, std::int64_t first, std::int64_t step) const {
    const auto index = tenon::gpu::index_of(grad.row_ids, grad.rows, row);
    for (auto j = first; j < grad.row_size; j += step) {
      const auto i = row * grad.row_size + j;
      const auto slope = index >= 0 ? Wide<T>(grad.values[index * grad.row_size + j]) : Wide<T>(0);
      to[i] = static_cast<T>(rule(i, Wide<T>(from[i]), slope));
    }
  }
};

template <class T, class Rule>
void step_on_device(const tenon::Call& call, bool lazy, const Rule& rule) {
  const auto weight = call.input<T>("weight");
  const T* const from = weight.data();
  T* const to = call.output<T>(0).data();
  if (call.storage(1) != tenon::Storage::row_sparse)
    return tenon::gpu::for_each(call, weight.size(),
                                DenseStep<T, Rule>{from, call.input<T>("grad").data(), to, rule});
  const auto grad = call.row_sparse<T>(1);
  if (!lazy)
    return for_each_row(call, grad.total_rows, grad.row_size,
                        AllRowsStep<T, Rule>{from, grad, to, rule});
  if (to != from)
    tenon::gpu::copy(call, to, from, static_cast<std::size_t>(weight.size()) * sizeof(T));
  for_each_row(call, grad.rows, grad.row_size,
               StoredRowsStep<T, Rule>{from, grad, to, rule, tenon::gpu::Fault(call)});
}
