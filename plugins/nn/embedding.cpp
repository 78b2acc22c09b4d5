// Rows of a table, looked up by number.
#include <algorithm>
#include <numeric>
#include <tenon/operator.hpp>
#include <vector>

#include "indices.hpp"
#include "places_by_row.hpp"
#include "store.hpp"

struct Embedding : tenon::Operator {
  std::int64_t input_dim = 0, output_dim = 0;
  bool sparse_grad = false;

  static constexpr void describe(auto& op) {
    op.doc("output[i, :] = weight[indices[i], :]");
    op.version(2);
    op.input("indices", "row numbers, each from 0 to input_dim - 1; any shape").types(tenon::integral);
    op.input("weight", "[input_dim, output_dim]");
    op.output("output", "[shape of indices ..., output_dim]");
    op.param("input_dim", &Embedding::input_dim, "rows of weight").required().at_least(1);
    op.param("output_dim", &Embedding::output_dim, "columns of weight").required().at_least(1);
    op.param("sparse_grad", &Embedding::sparse_grad,
             "give weight's gradient as row_sparse: the rows that indices name, in time and memory of the batch alone. False, because "
             "optimizers then change only these rows (see their lazy_update), and what has no kernel for such a gradient makes it dense");
    op.added(2, "sparse_grad");
    op.backward_reads("indices");
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    io.set_input("weight", {input_dim, output_dim});
    const auto indices = io.input("indices").shape;
    if (!indices.has_rank()) return io.set_output(0, tenon::Shape(), io.input("weight").dtype);  // the dtype of indices else
    io.require(indices.rank() < 8, "indices is ", indices, ": needs at most 7 dimensions, as output has one more");
    auto output = tenon::Shape::of_rank(indices.rank() + 1);
    for (int axis = 0; axis < indices.rank(); ++axis) output.set(axis, indices[axis]);
    output.set(-1, output_dim);
    io.set_output(0, output, io.input("weight").dtype);
  }

  void infer_storage(tenon::InferStorage& io) const {
    if (!sparse_grad || !io.backward()) return;
    for (int i = 0; i < io.inputs(); ++i)
      if (io.input(i) != tenon::Storage::dense) return;
    if (io.output_grad(0) != tenon::Storage::dense) return;
    io.set_output(1, tenon::Storage::row_sparse);
    io.sparse_kernel();
  }

  void forward(const tenon::Call& call) const {
    const auto rows = read_rows(call);
    const auto write = call.write(0);
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const T* const weight = call.input<T>("weight").data();
      T* const output = call.output<T>(0).data();
      call.parallel_for(count(rows), grain(), [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i)
          for (std::int64_t j = 0; j < output_dim; ++j)
            store(write, output[i * output_dim + j], Wide<T>(weight[rows[static_cast<std::size_t>(i)] * output_dim + j]));
      });
    });
  }

  /// Each row of weight gets the sum of the gradients of the places where it was used, added in the order of those places.
  void backward(const tenon::Call& call) const {
    if (call.write(1) == tenon::Write::none) return;
    const auto uses = uses_by_row(read_rows(call));
    const auto write = call.write(1);
    tenon::visit<tenon::floating>(call.input_type(1).dtype, [&]<class T>() {
      const T* const dy = call.output_grad<T>(0).data();
      T* const dw = call.input_grad<T>("weight").data();
      call.parallel_for(input_dim, grain(), [&](std::int64_t begin, std::int64_t end) {
        std::vector<Wide<T>> sum(static_cast<std::size_t>(output_dim));
        for (auto row = begin; row < end; ++row) {
          sum_uses(uses, row, dy, sum);
          for (std::int64_t j = 0; j < output_dim; ++j) store(write, dw[row * output_dim + j], sum[static_cast<std::size_t>(j)]);
        }
      });
    });
  }

  /// The same sums, of the rows that were used.
  void backward_sparse(const tenon::Call& call) const {
    if (call.write(1) == tenon::Write::none) return;
    std::vector<std::int64_t> row_ids;
    const auto uses = uses_of_used(read_rows(call), row_ids);
    tenon::visit<tenon::floating>(call.input_type(1).dtype, [&]<class T>() {
      const T* const dy = call.output_grad<T>(0).data();
      const auto out = call.allocate_row_sparse<T>(1, count(row_ids));
      std::copy(row_ids.begin(), row_ids.end(), out.row_ids);
      call.parallel_for(count(row_ids), grain(), [&](std::int64_t begin, std::int64_t end) {
        std::vector<Wide<T>> sum(static_cast<std::size_t>(output_dim));
        for (auto row = begin; row < end; ++row) {
          sum_uses(uses, row, dy, sum);
          std::transform(sum.begin(), sum.end(), out.values + row * output_dim, [](Wide<T> value) { return T(value); });
        }
      });
    });
  }

 private:
  /// The places of indices that hold row r, or the r-th row in use, are places[starts[r]] ... places[starts[r + 1] - 1], ascending.
  struct Uses {
    std::vector<std::int64_t> starts, places;
  };

  std::vector<std::int64_t> read_rows(const tenon::Call& call) const {
    return read_indices(call, 0, input_dim, "indices", "rows in weight");
  }

  Uses uses_by_row(const std::vector<std::int64_t>& rows) const {
    Uses uses{std::vector<std::int64_t>(static_cast<std::size_t>(input_dim) + 1), std::vector<std::int64_t>(rows.size())};
    for (const auto row : rows) ++uses.starts[static_cast<std::size_t>(row) + 1];
    std::partial_sum(uses.starts.begin(), uses.starts.end(), uses.starts.begin());
    auto next = uses.starts;
    for (std::size_t place = 0; place < rows.size(); ++place)
      uses.places[static_cast<std::size_t>(next[static_cast<std::size_t>(rows[place])]++)] = static_cast<std::int64_t>(place);
    return uses;
  }

  /// The distinct rows, ascending, and the places of each; at no cost for the rows that nobody names.
  Uses uses_of_used(const std::vector<std::int64_t>& rows, std::vector<std::int64_t>& row_ids) const {
    Uses uses{{}, places_by_row(rows, input_dim)};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = rows[static_cast<std::size_t>(uses.places[i])];
      if (!row_ids.empty() && row_ids.back() == row) continue;
      row_ids.push_back(row);
      uses.starts.push_back(static_cast<std::int64_t>(i));
    }
    uses.starts.push_back(count(rows));
    return uses;
  }

  template <class T>
  void sum_uses(const Uses& uses, std::int64_t row, const T* dy, std::vector<Wide<T>>& sum) const {
    std::fill(sum.begin(), sum.end(), Wide<T>(0));
    for (auto use = uses.starts[static_cast<std::size_t>(row)]; use < uses.starts[static_cast<std::size_t>(row) + 1]; ++use)
      for (std::int64_t j = 0; j < output_dim; ++j)
        sum[static_cast<std::size_t>(j)] += Wide<T>(dy[uses.places[static_cast<std::size_t>(use)] * output_dim + j]);
  }

  static std::int64_t count(const std::vector<std::int64_t>& rows) { return static_cast<std::int64_t>(rows.size()); }
  std::int64_t grain() const { return 1 + 8192 / output_dim; }
};
TENON_OPERATOR(embedding, Embedding)
