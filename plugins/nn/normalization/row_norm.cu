// rms_norm, group_norm and instance_norm on CUDA.
#include <cmath>

#include "row_norm.hpp"
#include "shared/column_sums.hpp"
#include "shared/store_sum.hpp"
#include "shared/thread_group.hpp"

namespace row_norm_cuda {

template <class T>
struct Rows {
  NormRows rows;
  const T *data, *gamma;

  TENON_DEVICE Wide<T> at(std::int64_t row, std::int64_t i) const {
    return Wide<T>(data[row * rows.size + i]);
  }
  TENON_DEVICE std::int64_t number(std::int64_t row, std::int64_t i) const {
    return rows.per_group == 0 ? i : row % rows.groups * rows.per_group + i / rows.repeat;
  }
};

/// The value subtracted from a row, and the factor applied to the result.
template <class W>
struct Statistics {
  W mean, scale;
};

template <class T, class ThreadGroup>
TENON_DEVICE Statistics<Wide<T>> statistics(const ThreadGroup& threads, const Rows<T>& from,
                                            std::int64_t row, bool centred, double epsilon) {
  const auto n = static_cast<double>(from.rows.size);
  double total = 0, squares = 0;
  if (centred)
    for (std::int64_t i = threads.thread(); i < from.rows.size; i += group_size<ThreadGroup>)
      total += static_cast<double>(from.at(row, i));
  const double mean = centred ? threads.sum(total) / n : 0;
  for (std::int64_t i = threads.thread(); i < from.rows.size; i += group_size<ThreadGroup>) {
    const double difference = static_cast<double>(from.at(row, i)) - mean;
    squares += difference * difference;
  }
  squares = threads.sum(squares);
  return {static_cast<Wide<T>>(mean), static_cast<Wide<T>>(1 / std::sqrt(squares / n + epsilon))};
}

template <class T>
struct NormaliseRow {
  Rows<T> from;
  const T* beta;  ///< nullptr: nothing is subtracted or added
  T* output;
  double epsilon;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t row) const {
    const auto found = statistics(threads, from, row, beta != nullptr, epsilon);
    for (std::int64_t i = threads.thread(); i < from.rows.size; i += group_size<ThreadGroup>) {
      const auto number = from.number(row, i);
      const auto scaled =
          (from.at(row, i) - found.mean) * found.scale * Wide<T>(from.gamma[number]);
      output[row * from.rows.size + i] = T(beta ? scaled + Wide<T>(beta[number]) : scaled);
    }
  }
};

/// Inputs of backward; the statistics have been computed before.
template <class T>
struct RowGradients {
  Rows<T> from;
  const T* dy;
  Statistics<Wide<T>>* found;

  TENON_DEVICE Wide<T> grad(std::int64_t row, std::int64_t i) const {
    return Wide<T>(dy[row * from.rows.size + i]);
  }
  TENON_DEVICE Wide<T> normal(std::int64_t row, std::int64_t i) const {
    return (from.at(row, i) - found[row].mean) * found[row].scale;
  }
  TENON_DEVICE Wide<T> slope(std::int64_t row, std::int64_t i) const {
    return grad(row, i) * Wide<T>(from.gamma[from.number(row, i)]);
  }
};

template <class T>
struct PutStatistics {
  RowGradients<T> back;
  bool centred;
  double epsilon;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t row) const {
    const auto found = statistics(threads, back.from, row, centred, epsilon);
    if (threads.thread() == 0) back.found[row] = found;
  }
};

/// The gradient of gamma or beta.
template <class T>
struct Term {
  RowGradients<T> back;
  bool of_gamma;

  TENON_DEVICE Wide<T> operator()(std::int64_t row, std::int64_t i) const {
    return of_gamma ? back.grad(row, i) * back.normal(row, i) : back.grad(row, i);
  }
};

/// The sum of a channel over the rows of its group.
template <class T>
struct ChannelGradient {
  Term<T> term;
  T* to;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t channel) const {
    const auto& rows = term.back.from.rows;
    const auto group = channel / rows.per_group, first = channel % rows.per_group * rows.repeat,
               count = rows.count / rows.groups;
    double sum = 0;
    for (std::int64_t i = block.thread(); i < count * rows.repeat; i += tenon::gpu::block_threads)
      sum +=
          static_cast<double>(term(i / rows.repeat * rows.groups + group, first + i % rows.repeat));
    sum = block.sum(sum);
    if (block.thread() == 0) to[channel] = T(sum);
  }
};

template <class T>
struct RowDataGradient {
  RowGradients<T> back;
  bool centred;
  T* dx;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t row) const {
    const auto size = back.from.rows.size;
    double slopes = 0, along = 0;
    for (std::int64_t i = threads.thread(); i < size; i += group_size<ThreadGroup>) {
      slopes += static_cast<double>(back.slope(row, i));
      along += static_cast<double>(back.slope(row, i) * back.normal(row, i));
    }
    const auto n = static_cast<double>(size);
    const auto mean = centred ? static_cast<Wide<T>>(threads.sum(slopes) / n) : Wide<T>(0),
               mean_along = static_cast<Wide<T>>(threads.sum(along) / n);
    for (std::int64_t i = threads.thread(); i < size; i += group_size<ThreadGroup>)
      dx[row * size + i] =
          T(back.found[row].scale * (back.slope(row, i) - mean - back.normal(row, i) * mean_along));
  }
};

ColumnSums column_sums(const NormRows& rows) {
  return rows.per_group == 0 ? ColumnSums::of(rows.count, rows.size) : ColumnSums{0, 0, 1};
}
std::size_t statistics_bytes(const NormRows& rows) {
  return static_cast<std::size_t>(rows.count) * sizeof(Statistics<double>);
}

}  // namespace row_norm_cuda

void RowNorm::normalise(const tenon::Call& call, const NormRows& rows, bool centred) const {
  using namespace row_norm_cuda;
  if (rows.size == 0) return;
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const Rows<T> from{rows, call.input<T>(0).data(), call.input<T>(1).data()};
    for_each_group(call, rows.count, rows.size, false,
                   NormaliseRow<T>{from, centred ? call.input<T>(2).data() : nullptr,
                                   call.output<T>(0).data(), epsilon});
  });
}

void RowNorm::gradients(const tenon::Call& call, const NormRows& rows, bool centred) const {
  using namespace row_norm_cuda;
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const auto sums = column_sums(rows);
    std::byte* const scratch = call.workspace<std::byte>(statistics_bytes(rows) + sums.bytes());
    const RowGradients<T> back{{rows, call.input<T>(0).data(), call.input<T>(1).data()},
                               call.output_grad<T>(0).data(),
                               reinterpret_cast<Statistics<Wide<T>>*>(scratch)};
    if (rows.size > 0)
      for_each_group(call, rows.count, rows.size, false, PutStatistics<T>{back, centred, epsilon});
    // Computed before data's gradient, which may share memory with the output's gradient.
    for (int input = 1; input < (centred ? 3 : 2); ++input) {
      if (call.write(input) == tenon::Write::none) continue;
      T* const to = call.input_grad<T>(input).data();
      const Term<T> term{back, input == 1};
      if (rows.per_group == 0)
        sum_columns(call, sums, term, StoreSum<T>{to, tenon::Write::to},
                    reinterpret_cast<double*>(scratch + statistics_bytes(rows)));
      else
        tenon::gpu::for_each_block(call, rows.groups * rows.per_group,
                                   ChannelGradient<T>{term, to});
    }
    if (call.write(0) == tenon::Write::none || rows.size == 0) return;
    for_each_group(call, rows.count, rows.size, false,
                   RowDataGradient<T>{back, centred, call.input_grad<T>(0).data()});
  });
}

template <class Op>
struct RowNormCuda : Op {
  static constexpr bool capturable = true;

  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    if (!data.known()) return 0;
    const auto rows = this->rows_of(data);
    return row_norm_cuda::statistics_bytes(rows) + row_norm_cuda::column_sums(rows).bytes();
  }
};
TENON_KERNEL(rms_norm, cuda, RowNormCuda<RmsNorm>)
TENON_KERNEL(group_norm, cuda, RowNormCuda<GroupNorm>)
TENON_KERNEL(instance_norm, cuda, RowNormCuda<InstanceNorm>)
