// Operators with sparse kernels, correct and faulty ones.
#pragma once
#include <algorithm>
#include <tenon/host/udf.hpp>
#include <tenon/operator.hpp>
#include <vector>

/// Rows of a matrix by index; the gradient of the matrix is row_sparse.
struct TakeRows : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("rows of data by their numbers");
    op.input("data", "[rows, size]");
    op.input("numbers", "[n], each from 0 to rows - 1").types({tenon::i64});
    op.output("output", "[n, size]");
    op.backward_reads("numbers");
    op.accumulates();
  }
  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape, numbers = io.input(1).shape;
    if (data.has_rank() && numbers.has_rank()) io.set_output(0, {numbers[0], data[1]});
  }
  void infer_storage(tenon::InferStorage& io) const {
    if (!io.backward()) return;
    io.set_output(0, tenon::Storage::row_sparse);
    io.sparse_kernel();
  }
  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    const auto numbers = call.input<std::int64_t>(1);
    const auto size = call.input_type(0).shape[1];
    auto* out = call.output<float>(0).data();
    if (call.write(0) != tenon::Write::add) std::fill_n(out, numbers.size() * size, 0.f);
    for (std::int64_t i = 0; i < numbers.size(); ++i)
      for (std::int64_t j = 0; j < size; ++j)
        out[i * size + j] += data.data()[numbers.data()[i] * size + j];
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }
  void backward_sparse(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto numbers = call.input<std::int64_t>(1);
    const auto dy = call.output_grad<float>(0);
    const auto size = call.input_type(0).shape[1];
    std::vector<std::int64_t> rows(numbers.begin(), numbers.end());
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const auto out = call.allocate_row_sparse<float>(0, static_cast<std::int64_t>(rows.size()));
    std::copy(rows.begin(), rows.end(), out.row_ids);
    std::fill_n(out.values, static_cast<std::int64_t>(rows.size()) * size, 0.f);
    for (std::int64_t i = 0; i < numbers.size(); ++i) {
      const auto row = std::lower_bound(rows.begin(), rows.end(), numbers.data()[i]) - rows.begin();
      for (std::int64_t j = 0; j < size; ++j) out.values[row * size + j] += dy.data()[i * size + j];
    }
  }
  void backward(const tenon::Call&) const {
    throw tenon::Error("the dense gradient was asked for");
  }
};

/// Copies csr, with a fault that the caller selects.
struct FaultyCopy : tenon::Operator {
  enum class Fault : std::uint8_t { none, unallocated, descending, outside, starts, too_many };
  Fault fault = Fault::none;

  static constexpr void describe(auto& op) {
    op.doc("its csr input, or something that is no csr tensor");
    op.input("data", "[rows, columns], csr");
    op.output("output", "like data");
    op.param("fault", &FaultyCopy::fault, "what is done wrong")
        .one_of({{"none", Fault::none},
                 {"unallocated", Fault::unallocated},
                 {"descending", Fault::descending},
                 {"outside", Fault::outside},
                 {"starts", Fault::starts},
                 {"too_many", Fault::too_many}});
  }
  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(0) != tenon::Storage::csr) return;
    io.set_output(0, tenon::Storage::csr);
    io.sparse_kernel();
  }
  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    std::copy(data.begin(), data.end(), call.output<float>(0).begin());
  }
  void forward_sparse(const tenon::Call& call) const {
    if (fault == Fault::unallocated) return;
    const auto in = call.csr<float>(0);
    const auto out =
        call.allocate_csr<float>(0, fault == Fault::too_many ? in.rows * in.columns + 1 : in.nnz);
    std::copy_n(in.values, in.nnz, out.values);
    std::copy_n(in.columns_of, in.nnz, out.columns_of);
    std::copy_n(in.row_starts, in.rows + 1, out.row_starts);
    if (fault == Fault::descending) std::swap(out.columns_of[0], out.columns_of[1]);
    if (fault == Fault::outside) out.columns_of[in.nnz - 1] = in.columns;
    if (fault == Fault::starts) out.row_starts[in.rows] = in.nnz + 1;
  }
};
