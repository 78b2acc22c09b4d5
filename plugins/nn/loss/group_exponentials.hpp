// The exponentials of a row on a CUDA device.
#pragma once
#include "exponentials.hpp"
#include "shared/thread_group.hpp"

/// For `length` elements, `step` apart; all threads of the group receive the result.
template <class T, class ThreadGroup>
TENON_DEVICE Exponentials<T> exponentials(const ThreadGroup& threads, const T* x,
                                          std::int64_t length, std::int64_t step) {
  Exponentials<T> row{below_all<T>, 0};
  for (std::int64_t i = threads.thread(); i < length; i += group_size<ThreadGroup>) {
    const auto value = Wide<T>(x[i * step]);
    row.maximum = row.maximum < value ? value : row.maximum;
  }
  row.maximum = threads.max(row.maximum);
  for (std::int64_t i = threads.thread(); i < length; i += group_size<ThreadGroup>)
    row.sum += std::exp(Wide<T>(x[i * step]) - row.maximum);
  row.sum = threads.sum(row.sum);
  return row;
}
