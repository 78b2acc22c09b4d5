// The exponentials of a row on a CUDA device.
#pragma once
#include "exponentials.hpp"
#include "shared/thread_group.hpp"

/// For `length` elements, `step` apart; all threads of the group receive the result.
template <class T, class ThreadGroup>
TENON_DEVICE Exponentials<T> exponentials(const ThreadGroup& team, const T* x, std::int64_t length,
                                          std::int64_t step) {
  Exponentials<T> row{below_all<T>, 0};
  for (std::int64_t i = team.thread(); i < length; i += group_size<ThreadGroup>) {
    const auto value = Wide<T>(x[i * step]);
    row.largest = row.largest < value ? value : row.largest;
  }
  row.largest = team.max(row.largest);
  for (std::int64_t i = team.thread(); i < length; i += group_size<ThreadGroup>)
    row.sum += std::exp(Wide<T>(x[i * step]) - row.largest);
  row.sum = team.sum(row.sum);
  return row;
}
