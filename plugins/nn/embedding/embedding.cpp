// embedding on the CPU.
#include "embedding.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "positions_by_row.hpp"
#include "shared/indices.hpp"
#include "shared/store.hpp"

namespace {

std::int64_t count(const std::vector<std::int64_t>& rows) {
  return static_cast<std::int64_t>(rows.size());
}
std::int64_t grain(const Embedding& op) {
  return 1 + 8192 / op.output_dim;
}

/// The positions of the indices equal to row r, or to the r-th used row, are positions[starts[r]]
/// ... positions[starts[r + 1] - 1], ascending.
struct Uses {
  std::vector<std::int64_t> starts, positions;
};

std::vector<std::int64_t> read_rows(const Embedding& op, const tenon::Call& call) {
  return read_indices(call, 0, op.input_dim, "indices", "rows in weight");
}

Uses uses_by_row(const std::vector<std::int64_t>& rows, std::int64_t input_dim) {
  Uses uses{std::vector<std::int64_t>(static_cast<std::size_t>(input_dim) + 1),
            std::vector<std::int64_t>(rows.size())};
  for (const auto row : rows) ++uses.starts[static_cast<std::size_t>(row) + 1];
  std::partial_sum(uses.starts.begin(), uses.starts.end(), uses.starts.begin());
  auto next = uses.starts;
  for (std::size_t position = 0; position < rows.size(); ++position)
    uses.positions[static_cast<std::size_t>(next[static_cast<std::size_t>(rows[position])]++)] =
        static_cast<std::int64_t>(position);
  return uses;
}

/// The distinct rows, ascending, and the positions of each; without cost for unused rows.
Uses uses_of_used(const std::vector<std::int64_t>& rows, std::int64_t input_dim,
                  std::vector<std::int64_t>& row_ids) {
  Uses uses{{}, positions_by_row(rows, input_dim)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows[static_cast<std::size_t>(uses.positions[i])];
    if (!row_ids.empty() && row_ids.back() == row) continue;
    row_ids.push_back(row);
    uses.starts.push_back(static_cast<std::int64_t>(i));
  }
  uses.starts.push_back(count(rows));
  return uses;
}

template <class T>
void sum_uses(const Uses& uses, std::int64_t row, const T* dy, std::vector<Wide<T>>& sum) {
  const auto output_dim = static_cast<std::int64_t>(sum.size());
  std::fill(sum.begin(), sum.end(), Wide<T>(0));
  for (auto use = uses.starts[static_cast<std::size_t>(row)];
       use < uses.starts[static_cast<std::size_t>(row) + 1]; ++use)
    for (std::int64_t j = 0; j < output_dim; ++j)
      sum[static_cast<std::size_t>(j)] +=
          Wide<T>(dy[uses.positions[static_cast<std::size_t>(use)] * output_dim + j]);
}

}  // namespace

void Embedding::forward(const tenon::Call& call) const {
  const auto rows = read_rows(*this, call);
  const auto write = call.write(0);
  tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
    const T* const weight = call.input<T>("weight").data();
    T* const output = call.output<T>(0).data();
    call.parallel_for(count(rows), grain(*this), [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i)
        for (std::int64_t j = 0; j < output_dim; ++j)
          store(write, output[i * output_dim + j],
                Wide<T>(weight[rows[static_cast<std::size_t>(i)] * output_dim + j]));
    });
  });
}

/// Each row of weight's gradient is the sum of the gradients at its positions, added in their
/// order.
void Embedding::backward(const tenon::Call& call) const {
  if (call.write(1) == tenon::Write::none) return;
  const auto uses = uses_by_row(read_rows(*this, call), input_dim);
  const auto write = call.write(1);
  tenon::visit<tenon::floating>(call.input_type(1).dtype, [&]<class T>() {
    const T* const dy = call.output_grad<T>(0).data();
    T* const dw = call.input_grad<T>("weight").data();
    call.parallel_for(input_dim, grain(*this), [&](std::int64_t begin, std::int64_t end) {
      std::vector<Wide<T>> sum(static_cast<std::size_t>(output_dim));
      for (auto row = begin; row < end; ++row) {
        sum_uses(uses, row, dy, sum);
        for (std::int64_t j = 0; j < output_dim; ++j)
          store(write, dw[row * output_dim + j], sum[static_cast<std::size_t>(j)]);
      }
    });
  });
}

/// Computes the gradient's used rows only, with the same sums as backward().
void Embedding::backward_sparse(const tenon::Call& call) const {
  if (call.write(1) == tenon::Write::none) return;
  std::vector<std::int64_t> row_ids;
  const auto uses = uses_of_used(read_rows(*this, call), input_dim, row_ids);
  tenon::visit<tenon::floating>(call.input_type(1).dtype, [&]<class T>() {
    const T* const dy = call.output_grad<T>(0).data();
    const auto out = call.allocate_row_sparse<T>(1, count(row_ids));
    std::copy(row_ids.begin(), row_ids.end(), out.row_ids);
    call.parallel_for(count(row_ids), grain(*this), [&](std::int64_t begin, std::int64_t end) {
      std::vector<Wide<T>> sum(static_cast<std::size_t>(output_dim));
      for (auto row = begin; row < end; ++row) {
        sum_uses(uses, row, dy, sum);
        std::transform(sum.begin(), sum.end(), out.values + row * output_dim,
                       [](Wide<T> value) { return T(value); });
      }
    });
  });
}

TENON_OPERATOR(embedding, Embedding)
