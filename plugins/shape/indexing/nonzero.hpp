#pragma once
#include <algorithm>
#include <array>
#include <tenon/operator.hpp>

/// The number of elements is known only after the kernel has run.
struct Nonzero : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc(
        "indices of the nonzero elements of x, in row-major order, one row for each element as "
        "torch.nonzero");
    op.types(tenon::any_type);
    op.input("x", "any shape");
    op.output("indices", "int64 [count, rank of x]").allocated();
    op.backward_reads();
    op.example({{"x", {2, 3}, tenon::unknown_dtype, {0, 1, 0, 2, 0, 3}}});
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    io.set_output(0, {tenon::unknown, x.has_rank() ? x.rank() : tenon::unknown}, tenon::i64);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::any_type>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto counts = [](T value) { return value != static_cast<T>(0); };
      const int rank = x.rank();
      const auto indices =
          call.allocate<std::int64_t>(0, {std::count_if(x.begin(), x.end(), counts), rank});
      std::array<std::int64_t, tenon::max_rank> at{};
      auto* next = indices.data();
      for (const T value : x) {
        if (counts(value)) next = std::copy_n(at.begin(), rank, next);
        for (int axis = rank - 1; axis >= 0 && ++at[static_cast<std::size_t>(axis)] == x.dim(axis);
             --axis)
          at[static_cast<std::size_t>(axis)] = 0;
      }
    });
  }
};
