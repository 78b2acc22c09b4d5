#pragma once
#include <algorithm>

#include "row_numbers.hpp"
#include "sparse_rows.hpp"

struct Retain : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data with all rows set to 0 that are not listed; of a csr or row_sparse data the output has the same storage without them");
    op.types(tenon::any_type);
    op.input("data", "[rows, ...]");
    op.input("numbers", "[n], row numbers from 0 to rows - 1 in any order, any number of times").types(tenon::integral);
    op.output("output", "like data");
    op.backward_reads("numbers");
  }

  void infer(tenon::Infer& io) const {
    check_rows_and_numbers(io);
    io.set_input(0, io.output(0).shape);
    io.set_output(0, io.input(0).shape, io.input(0).dtype);
  }

  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(0) == tenon::Storage::dense || io.input(1) != tenon::Storage::dense) return;
    io.set_output(0, io.input(0));
    io.sparse_kernel();
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto rows = sorted_numbers(call, type.shape[0]);
    const auto size = row_size(type.shape);
    tenon::visit(type.dtype, [&]<class T>() {
      const auto data = call.input<T>(0);
      T* const output = call.output<T>(0).data();
      std::fill_n(output, data.size(), T(0));
      for (const auto row : rows) std::copy_n(data.data() + row * size, size, output + row * size);
    });
  }

  void forward_sparse(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto rows = sorted_numbers(call, type.shape[0]);
    tenon::visit(type.dtype, [&]<class T>() {
      if (call.storage(0) == tenon::Storage::csr) {
        const auto listed = [&](std::int64_t row) { return std::binary_search(rows.begin(), rows.end(), row) ? row : -1; };
        pick_rows(call, call.csr<T>(0), type.shape[0], listed);
      } else {
        retain_stored<T>(call, rows);
      }
    });
  }

  /// The gradient of a row that is retained is the output's, that of others 0, in the storage that the output's gradient has.
  void gradient(tenon::Gradient& g) const { g.set_input_grad(0, g.add("retain", {g.output_grad(0), g.input(1)})); }

 private:
  static std::vector<std::int64_t> sorted_numbers(const tenon::Call& call, std::int64_t rows) {
    auto numbers = read_row_numbers(call, rows);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  template <class T>
  static void retain_stored(const tenon::Call& call, const std::vector<std::int64_t>& rows) {
    const auto data = call.row_sparse<T>(0);
    std::vector<PickedRow> picked;
    for (const auto row : rows)
      if (const auto place = place_of(data, row); place >= 0) picked.push_back({row, place});
    put_rows(call, data, picked);
  }
};
