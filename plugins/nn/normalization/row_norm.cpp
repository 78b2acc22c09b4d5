// rms_norm, group_norm and instance_norm on the CPU.
#include "row_norm.hpp"

#include <cmath>
#include <vector>

#include "shared/store.hpp"
#include "shared/sum.hpp"

TENON_OPERATOR(rms_norm, RmsNorm)
TENON_OPERATOR(group_norm, GroupNorm)
TENON_OPERATOR(instance_norm, InstanceNorm)

namespace row_norm {

/// The value subtracted from a row, and the factor applied to the result.
template <class W>
struct Statistics {
  W mean, scale;
};

template <class T>
Statistics<Wide<T>> statistics(const T* x, std::int64_t size, bool centred, double epsilon) {
  using W = Wide<T>;
  const auto n = static_cast<double>(size);
  const double mean =
      centred ? sum(size, [=](std::int64_t i) { return static_cast<W>(x[i]); }) / n : 0;
  const double squares = sum(size, [=](std::int64_t i) {
    const double difference = static_cast<double>(static_cast<W>(x[i])) - mean;
    return difference * difference;
  });
  return {static_cast<W>(mean), static_cast<W>(1 / std::sqrt(squares / n + epsilon))};
}

/// Calls body(first element, count, index of gamma) for the runs of a row that share a gamma:
/// `repeat` elements each, or one run if each element has its own.
template <class Body>
void each_run(const NormRows& rows, std::int64_t row, const Body& body) {
  if (rows.per_group == 0) return body(std::int64_t{0}, rows.size, std::int64_t{0});
  for (std::int64_t channel = 0; channel < rows.per_group; ++channel)
    body(channel * rows.repeat, rows.repeat, row % rows.groups * rows.per_group + channel);
}

template <class T>
void forward(const tenon::Call& call, const NormRows& rows, bool centred, double epsilon) {
  using W = Wide<T>;
  const T *const data = call.input<T>(0).data(), *const gamma = call.input<T>(1).data();
  const T* const beta = centred ? call.input<T>(2).data() : nullptr;
  T* const output = call.output<T>(0).data();
  call.parallel_for(
      rows.count, 1 + 8192 / (rows.size + 1), [&](std::int64_t begin, std::int64_t end) {
        for (auto row = begin; row < end; ++row) {
          const T* const x = data + row * rows.size;
          T* const y = output + row * rows.size;
          const auto [mean, scale] = statistics(x, rows.size, centred, epsilon);
          each_run(rows, row,
                   [&, m = mean, s = scale](std::int64_t first, std::int64_t count,
                                            std::int64_t number) {
                     if (rows.per_group == 0) {
                       for (std::int64_t i = 0; i < count; ++i)
                         y[i] = T(static_cast<W>(x[i]) * s * static_cast<W>(gamma[i]));
                     } else {
                       const W g = static_cast<W>(gamma[number]), b = static_cast<W>(beta[number]);
                       for (auto i = first; i < first + count; ++i)
                         y[i] = T((static_cast<W>(x[i]) - m) * s * g + b);
                     }
                   });
        }
      });
}

template <class T>
void backward(const tenon::Call& call, const NormRows& rows, bool centred, double epsilon) {
  using W = Wide<T>;
  const T *const data = call.input<T>(0).data(), *const gamma = call.input<T>(1).data(),
                 *const dy = call.output_grad<T>(0).data();
  std::vector<Statistics<W>> all(static_cast<std::size_t>(rows.count));
  const auto of_row = [&](std::int64_t row) { return all[static_cast<std::size_t>(row)]; };
  const auto number_of = [&](std::int64_t row, std::int64_t i) {
    return rows.per_group == 0 ? i : row % rows.groups * rows.per_group + i / rows.repeat;
  };
  T* const dx = call.write(0) != tenon::Write::none ? call.input_grad<T>(0).data() : nullptr;
  call.parallel_for(
      rows.count, 1 + 8192 / (rows.size + 1), [&](std::int64_t begin, std::int64_t end) {
        for (auto row = begin; row < end; ++row) {
          const auto start = row * rows.size;
          const auto found = all[static_cast<std::size_t>(row)] =
              statistics(data + start, rows.size, centred, epsilon);
          if (!dx) continue;
          const auto normal = [&](std::int64_t i) {
            return (static_cast<W>(data[start + i]) - found.mean) * found.scale;
          };
          const auto slope = [&](std::int64_t i) {
            return static_cast<W>(dy[start + i]) * static_cast<W>(gamma[number_of(row, i)]);
          };
          const auto n = static_cast<double>(rows.size);
          const W mean = centred ? static_cast<W>(sum(rows.size, slope) / n) : W(0);
          const W along = static_cast<W>(
              sum(rows.size, [&](std::int64_t i) { return slope(i) * normal(i); }) / n);
          for (std::int64_t i = 0; i < rows.size; ++i)
            dx[start + i] = T(found.scale * (slope(i) - mean - normal(i) * along));
        }
      });
  const auto channels = rows.groups * rows.per_group;
  for (int input = 1; input < (centred ? 3 : 2); ++input) {
    if (call.write(input) == tenon::Write::none) continue;
    T* const to = call.input_grad<T>(input).data();
    const auto term = [&](std::int64_t row, std::int64_t i) {
      const W slope = static_cast<W>(dy[row * rows.size + i]);
      return input == 2 ? slope
                        : slope * (static_cast<W>(data[row * rows.size + i]) - of_row(row).mean) *
                              of_row(row).scale;
    };
    if (rows.per_group == 0) {
      sum_columns(call, rows.count, rows.size, term,
                  [=](std::int64_t i, double sum) { to[i] = T(sum); });
      continue;
    }
    call.parallel_for(channels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto channel = begin; channel < end; ++channel) {
        double all_rows = 0;
        for (auto row = channel / rows.per_group; row < rows.count; row += rows.groups) {
          const auto first = channel % rows.per_group * rows.repeat;
          all_rows += sum(rows.repeat, [&](std::int64_t i) { return term(row, first + i); });
        }
        to[channel] = T(static_cast<W>(all_rows));
      }
    });
  }
}

}  // namespace row_norm

void RowNorm::normalise(const tenon::Call& call, const NormRows& rows, bool centred) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    row_norm::forward<T>(call, rows, centred, epsilon);
  });
}

void RowNorm::gradients(const tenon::Call& call, const NormRows& rows, bool centred) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    row_norm::backward<T>(call, rows, centred, epsilon);
  });
}
