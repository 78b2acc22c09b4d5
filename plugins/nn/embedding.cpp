// Rows of a table, looked up by number.
#include <algorithm>
#include <numeric>
#include <tenon/operator.hpp>

#include "indices.hpp"
#include "store.hpp"

struct Embedding : tenon::Operator {
  std::int64_t input_dim = 0, output_dim = 0;

  static constexpr void describe(auto& op) {
    op.doc("output[i, :] = weight[indices[i], :]");
    op.input("indices", "row numbers, each from 0 to input_dim - 1; any shape").types(tenon::integral);
    op.input("weight", "[input_dim, output_dim]");
    op.output("output", "[shape of indices ..., output_dim]");
    op.param("input_dim", &Embedding::input_dim, "rows of weight").required().at_least(1);
    op.param("output_dim", &Embedding::output_dim, "columns of weight").required().at_least(1);
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
          std::fill(sum.begin(), sum.end(), Wide<T>(0));
          for (auto use = uses.starts[static_cast<std::size_t>(row)]; use < uses.starts[static_cast<std::size_t>(row) + 1]; ++use)
            for (std::int64_t j = 0; j < output_dim; ++j)
              sum[static_cast<std::size_t>(j)] += Wide<T>(dy[uses.places[static_cast<std::size_t>(use)] * output_dim + j]);
          for (std::int64_t j = 0; j < output_dim; ++j) store(write, dw[row * output_dim + j], sum[static_cast<std::size_t>(j)]);
        }
      });
    });
  }

 private:
  /// The places of indices that hold row r are places[starts[r]] ... places[starts[r + 1] - 1], ascending.
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

  static std::int64_t count(const std::vector<std::int64_t>& rows) { return static_cast<std::int64_t>(rows.size()); }
  std::int64_t grain() const { return 1 + 8192 / output_dim; }
};
TENON_OPERATOR(embedding, Embedding)
