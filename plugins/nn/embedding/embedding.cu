// embedding on CUDA. The gradient sorts positions by row, so that every sum has a fixed order.
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/number.hpp>
#include <tenon/gpu/scan.hpp>
#include <tenon/gpu/search.hpp>
#include <tenon/gpu/sort.hpp>

#include "../../shared/rows.hpp"
#include "embedding.hpp"
#include "shared/index_reader.hpp"
#include "shared/store.hpp"

namespace {

template <class T>
struct LookUp {
  IndexReader indices;
  tenon::gpu::Fault fault;
  std::int64_t rows, columns;
  const T* weight;
  T* output;
  tenon::Write write;

  TENON_DEVICE void operator()(std::int64_t position, std::int64_t first, std::int64_t step) const {
    const auto row = indices[position];
    if (!fault.fits(row, rows)) return;
    for (auto j = first; j < columns; j += step)
      store(write, output[position * columns + j], Wide<T>(weight[row * columns + j]));
  }
};

struct RequireRow {
  IndexReader indices;
  tenon::gpu::Fault fault;
  std::int64_t rows;
  TENON_DEVICE void operator()(std::int64_t position) const { fault.fits(indices[position], rows); }
};

/// The row at a position. An index out of range becomes the row after the last one, which sorts to
/// the end.
struct RowAt {
  IndexReader indices;
  std::int64_t rows;
  TENON_FN std::int64_t operator()(std::int64_t position) const {
    const auto row = indices[position];
    return row >= 0 && row < rows ? row : rows;
  }
};

/// Positions sorted by row.
struct Uses {
  tenon::gpu::Sorted sorted;
  std::int64_t count, rows;

  TENON_FN bool first(std::int64_t i) const {
    return sorted.keys[i] < rows && (i == 0 || sorted.keys[i - 1] != sorted.keys[i]);
  }
  /// The first use whose row is not below `row`.
  TENON_FN std::int64_t find(std::int64_t row) const {
    return tenon::gpu::first_not_below(sorted.keys, count, row);
  }
};

/// Row i of a gradient, or row row_ids[i] if there are ids: the sum over its positions, in their
/// order.
template <class T>
struct SumOfUses {
  Uses uses;
  const std::int64_t* row_ids;
  std::int64_t columns;
  const T* dy;
  T* dw;
  tenon::Write write;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    const auto row = row_ids ? row_ids[i] : i, begin = uses.find(row), end = uses.find(row + 1);
    for (auto j = first; j < columns; j += step) {
      Wide<T> sum = 0;
      for (auto use = begin; use < end; ++use)
        sum += Wide<T>(dy[uses.sorted.indices[use] * columns + j]);
      store(write, dw[i * columns + j], sum);
    }
  }
};

struct IsFirst {
  Uses uses;
  TENON_FN std::int64_t operator()(std::int64_t i) const { return uses.first(i); }
};

struct StoreRowId {
  Uses uses;
  const std::int64_t* offsets;
  std::int64_t* row_ids;
  TENON_FN void operator()(std::int64_t i) const {
    if (uses.first(i)) row_ids[offsets[i]] = uses.sorted.keys[i];
  }
};

}  // namespace

/// backward_sparse waits for the device to compute the number of rows of a row_sparse gradient;
/// calls with sparse tensors are never captured in CUDA graphs. All others can be.
struct EmbeddingCuda : Embedding {
  static constexpr bool capturable = true;

  std::size_t backward_workspace(const tenon::Infer& io) const {
    return static_cast<std::size_t>(scratch(io.input("indices").shape.size())) *
           sizeof(std::int64_t);
  }

  void forward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto indices = IndexReader::of(call, 0);
    const tenon::gpu::Fault fault(call);
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const auto output = call.output<T>(0);
      const LookUp<T> body{
          indices,       fault,        input_dim, output_dim, call.input<T>("weight").data(),
          output.data(), call.write(0)};
      for_each_row(call, call.input_type(0).shape.size(), output_dim, body);
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(1) == tenon::Write::none) return;
    const auto uses = sorted_uses(call);
    tenon::visit<tenon::floating>(call.input_type(1).dtype, [&]<class T>() {
      const T* const dy = call.output_grad<T>(0).data();
      const SumOfUses<T> body{
          uses, nullptr, output_dim, dy, call.input_grad<T>("weight").data(), call.write(1)};
      for_each_row(call, input_dim, output_dim, body);
    });
  }

  void backward_sparse(const tenon::Call& call) const {
    if (call.write(1) == tenon::Write::none) return;
    const auto uses = sorted_uses(call);
    std::int64_t* const offsets = memory(call) + tenon::gpu::sort_scratch(uses.count, input_dim);
    tenon::gpu::scan(call, uses.count, IsFirst{uses}, offsets, offsets + uses.count + 1);
    const auto used = tenon::gpu::wait_for(call, offsets + uses.count);
    tenon::visit<tenon::floating>(call.input_type(1).dtype, [&]<class T>() {
      const auto out = call.allocate_row_sparse<T>(1, used);
      tenon::gpu::for_each(call, uses.count, StoreRowId{uses, offsets, out.row_ids});
      const T* const dy = call.output_grad<T>(0).data();
      const SumOfUses<T> body{uses, out.row_ids, output_dim, dy, out.values, tenon::Write::to};
      for_each_row(call, used, output_dim, body);
    });
  }

 private:
  /// Number of elements for sorting, then for the number of rows that precede each use.
  std::int64_t scratch(std::int64_t positions) const {
    return tenon::gpu::sort_scratch(positions, input_dim) + positions + 1 +
           tenon::gpu::scan_scratch(positions);
  }
  std::int64_t* memory(const tenon::Call& call) const {
    return call.workspace<std::int64_t>(
        static_cast<std::size_t>(scratch(call.input_type(0).shape.size())));
  }

  Uses sorted_uses(const tenon::Call& call) const {
    const auto indices = IndexReader::of(call, 0);
    const auto count = call.input_type(0).shape.size();
    tenon::gpu::for_each(call, count, RequireRow{indices, tenon::gpu::Fault(call), input_dim});
    return {tenon::gpu::sort(call, count, RowAt{indices, input_dim}, input_dim, memory(call)),
            count, input_dim};
  }
};
TENON_KERNEL(embedding, cuda, EmbeddingCuda)
