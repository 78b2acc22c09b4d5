// Selection of rows by index. The gradient adds the gradients of repeated rows in the order of the
// list.
#pragma once
#include <algorithm>
#include <numeric>
#include <tenon/same_sparsity.hpp>

#include "row_indices.hpp"
#include "sparse_rows.hpp"

struct NumberAt {
  const std::int64_t* numbers;

  TENON_FN std::int64_t operator()(std::int64_t i) const { return numbers[i]; }
};

/// Taken rows that are stored.
template <class T>
struct StoredRows {
  const std::int64_t* numbers;
  tenon::RowSparse<const T> data;

  TENON_FN PickedRow operator()(std::int64_t i) const { return stored_as(data, numbers[i], i); }
};

struct TakeRows : tenon::Operator {
  bool sparse_grad = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "rows of data at the indices in numbers: output[i] = data[numbers[i]], as "
        "torch.index_select; csr and row_sparse data keep their storage format");
    op.types(tenon::every_type);
    op.input("data", "[rows, ...]");
    op.input("numbers", "[n]; row indices from 0 to rows - 1, in any order, with repetitions")
        .types(tenon::integral);
    op.output("output", "[n, ...]");
    op.linear("data");
    op.param("sparse_grad", &TakeRows::sparse_grad,
             "row_sparse gradient of data with only the rows in numbers, in time and memory "
             "proportional to their number; false: dense gradient");
    op.backward_reads("numbers");
    op.example({{"data", {4, 2}}, {"numbers", {2}, tenon::i64, {3, 0}}});
  }

  void infer(tenon::Infer& io) const {
    check_rows_and_indices(io);
    auto output = io.input(0).shape;
    if (!output.has_rank()) return io.set_output(0, tenon::Shape(), io.input(0).dtype);
    output.set(0, io.input(1).shape[0]);
    io.set_output(0, output, io.input(0).dtype);
  }

  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(1) != tenon::Storage::dense) return;
    if (!io.backward()) return keep_sparsity(io);
    if (!sparse_grad || io.output_grad(0) != tenon::Storage::dense) return;
    io.set_output(0, tenon::Storage::row_sparse);
    io.sparse_kernel();
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto numbers = read_row_indices(call, type.shape[0]);
    const auto size = row_size(type.shape);
    tenon::visit<tenon::every_type>(type.dtype, [&]<class T>() {
      const T* const data = call.input<T>(0).data();
      T* const output = call.output<T>(0).data();
      call.parallel_for(static_cast<std::int64_t>(numbers.size()), grain(size),
                        [&](std::int64_t begin, std::int64_t end) {
                          for (auto i = begin; i < end; ++i)
                            std::copy_n(data + numbers[static_cast<std::size_t>(i)] * size, size,
                                        output + i * size);
                        });
    });
  }

  void forward_sparse(const tenon::Call& call) const {
    const auto numbers = read_row_indices(call, call.input_type(0).shape[0]);
    take<PicksOnCpu>(call, numbers.data());
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating + tenon::any_complex>(type.dtype, [&]<class T>() {
      const auto dx = call.input_grad<T>(0);
      std::fill(dx.data(), dx.data() + dx.size(), T(0));
      const auto uses = uses_of(read_row_indices(call, type.shape[0]));
      add_uses(call, uses, row_size(type.shape),
               [&](std::size_t i) { return dx.data() + uses.rows[i] * row_size(type.shape); });
    });
  }

  void backward_sparse(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating + tenon::any_complex>(type.dtype, [&]<class T>() {
      const auto uses = uses_of(read_row_indices(call, type.shape[0]));
      const auto out = call.allocate_row_sparse<T>(0, static_cast<std::int64_t>(uses.rows.size()));
      std::copy(uses.rows.begin(), uses.rows.end(), out.row_ids);
      add_uses(call, uses, row_size(type.shape), [&](std::size_t i) {
        return out.values + static_cast<std::int64_t>(i) * row_size(type.shape);
      });
    });
  }

 protected:
  template <class Picks>
  static void take(const tenon::Call& call, const std::int64_t* numbers) {
    const auto count = call.input_type(1).shape[0];
    visit_stored(
        call, [&](const auto& data) { Picks::csr(call, data, count, NumberAt{numbers}); },
        [&]<class T>(const tenon::RowSparse<const T>& data) {
          Picks::rows(call, data, count, StoredRows<T>{numbers, data});
        });
  }

 private:
  /// The distinct taken rows, ascending. Row i is at positions[starts[i]] ...
  /// positions[starts[i + 1] - 1] of the list.
  struct Uses {
    std::vector<std::int64_t> rows, starts, positions;
  };

  static std::int64_t grain(std::int64_t size) { return 1 + (1 << 15) / (size + 1); }

  static Uses uses_of(const std::vector<std::int64_t>& numbers) {
    Uses uses{{}, {0}, std::vector<std::int64_t>(numbers.size())};
    std::iota(uses.positions.begin(), uses.positions.end(), 0);
    const auto number = [&](std::int64_t position) {
      return numbers[static_cast<std::size_t>(position)];
    };
    std::stable_sort(uses.positions.begin(), uses.positions.end(),
                     [&](auto l, auto r) { return number(l) < number(r); });
    for (std::size_t i = 0; i < uses.positions.size(); ++i) {
      if (const auto row = number(uses.positions[i]);
          uses.rows.empty() || uses.rows.back() != row) {
        uses.rows.push_back(row);
        uses.starts.push_back(0);
      }
      uses.starts.back() = static_cast<std::int64_t>(i) + 1;
    }
    return uses;
  }

  /// Writes the sum of the gradients of row i's positions to to(i).
  template <class To>
  static void add_uses(const tenon::Call& call, const Uses& uses, std::int64_t size, To to) {
    using T = std::remove_pointer_t<decltype(to(0))>;
    using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
    const T* const dy = call.output_grad<T>(0).data();
    call.parallel_for(
        static_cast<std::int64_t>(uses.rows.size()), grain(size),
        [&](std::int64_t begin, std::int64_t end) {
          std::vector<Sum> sum(static_cast<std::size_t>(size));
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            std::fill(sum.begin(), sum.end(), Sum(0));
            for (auto use = uses.starts[i]; use < uses.starts[i + 1]; ++use) {
              const T* const from = dy + uses.positions[static_cast<std::size_t>(use)] * size;
              for (std::int64_t j = 0; j < size; ++j)
                sum[static_cast<std::size_t>(j)] += static_cast<Sum>(from[j]);
            }
            for (std::int64_t j = 0; j < size; ++j)
              to(i)[j] = static_cast<T>(sum[static_cast<std::size_t>(j)]);
          }
        });
  }
};
