#pragma once
#include <algorithm>
#include <tenon/same_sparsity.hpp>

#include "row_indices.hpp"
#include "sparse_rows.hpp"

/// The listed row indices in ascending order, with repetitions.
struct Listed {
  const std::int64_t* numbers;
  std::int64_t count;

  TENON_FN bool has(std::int64_t row) const {
    return tenon::gpu::index_of(numbers, count, row) >= 0;
  }
};

struct ListedRow {
  Listed listed;

  TENON_FN std::int64_t operator()(std::int64_t row) const { return listed.has(row) ? row : -1; }
};

/// Rows that are both listed and stored.
template <class T>
struct ListedStored {
  const std::int64_t* numbers;
  tenon::RowSparse<const T> data;

  TENON_FN PickedRow operator()(std::int64_t i) const {
    const auto row = numbers[i];
    return i > 0 && numbers[i - 1] == row ? PickedRow{-1, 0} : stored_as(data, row, row);
  }
};

struct Retain : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc(
        "data with zeros in all rows whose index is not in numbers; csr and row_sparse data keep "
        "their storage format");
    op.types(tenon::every_type);
    op.input("data", "[rows, ...]");
    op.input("numbers", "[n]; row indices from 0 to rows - 1, in any order, with repetitions")
        .types(tenon::integral);
    op.output("output", "same shape as data");
    op.linear("data");
    op.backward_reads("numbers");
    op.example({{"data", {4, 2}}, {"numbers", {2}, tenon::i64, {3, 0}}});
  }

  void infer(tenon::Infer& io) const {
    check_rows_and_indices(io);
    io.set_input(0, io.output(0).shape);
    io.set_output(0, io.input(0).shape, io.input(0).dtype);
  }

  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(1) == tenon::Storage::dense) keep_sparsity(io);
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto rows = sorted_numbers(call, type.shape[0]);
    const auto size = row_size(type.shape);
    tenon::visit<tenon::every_type>(type.dtype, [&]<class T>() {
      const auto data = call.input<T>(0);
      T* const output = call.output<T>(0).data();
      std::fill_n(output, data.size(), T(0));
      for (const auto row : rows) std::copy_n(data.data() + row * size, size, output + row * size);
    });
  }

  void forward_sparse(const tenon::Call& call) const {
    const auto rows = sorted_numbers(call, call.input_type(0).shape[0]);
    keep<PicksOnCpu>(call, {rows.data(), static_cast<std::int64_t>(rows.size())});
  }

  /// The gradient is the output's for retained rows and 0 for others, in the storage format of the
  /// output's gradient.
  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(0, g.add("retain", {g.output_grad(0), g.input(1)}));
  }

 protected:
  template <class Picks>
  static void keep(const tenon::Call& call, const Listed& listed) {
    visit_stored(
        call, [&](const auto& data) { Picks::csr(call, data, data.rows, ListedRow{listed}); },
        [&]<class T>(const tenon::RowSparse<const T>& data) {
          Picks::rows(call, data, listed.count, ListedStored<T>{listed.numbers, data});
        });
  }

 private:
  static std::vector<std::int64_t> sorted_numbers(const tenon::Call& call, std::int64_t rows) {
    auto numbers = read_row_indices(call, rows);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }
};
